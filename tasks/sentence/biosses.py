"""BIOSSES: how similar are two sentences of biomedical articles, from 0 to 4 in the mean of five annotators?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataError
from medsenteval.support.files import read_word_tables
from medsenteval.tasks.reading.builder import DatasetBuilder, SplitBuilder
from medsenteval.tasks.reading.layouts import read_sts_folder
from medsenteval.tasks.similarity import evaluate_similarity

ANNOTATORS = ("A", "B", "C", "D", "E")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read the two official Word documents, the tab-separated copy, or SentEval's STS.input / STS.gs pair."""
    builder = DatasetBuilder("BIOSSES", folder, pairs=True)
    split = builder.split("all")
    pairs, ratings = builder.find("Annotation-Pairs.docx"), builder.find("Annotator-Scores.docx")
    if pairs and ratings:
        _read_word(builder, pairs, ratings, split)
    elif (copy := builder.find("*biosses*.tsv")) is not None:
        _read_copy(builder, copy, split)
    else:
        builder.require("Annotation-Pairs.docx", "*biosses*.tsv", "STS.input.BIOSSES.txt")
        read_sts_folder(builder, "all", "BIOSSES")
    return builder.build()


def _add(split: SplitBuilder, file: Path, line: int, pair: str, texts: Sequence[str], ratings: Sequence[str]) -> None:
    try:
        mean = fmean(float(rating) for rating in ratings)
    except ValueError:
        split.reject(file, line, f"the ratings {list(ratings)} are not five numbers", f"pair {pair}")
        return
    split.add(file, line, texts[0], texts[1], score=mean, item=f"pair {pair}")


def _read_word(builder: DatasetBuilder, pairs_file: Path, ratings_file: Path, split: SplitBuilder) -> None:
    """Join the sentences and the ratings on the number of the pair; both documents hold one table with a header row."""
    tables = [read_word_tables(builder.opened(file)) for file in (pairs_file, ratings_file)]
    for file, found, columns in zip((pairs_file, ratings_file), tables, (3, 1 + len(ANNOTATORS)), strict=True):
        if len(found) != 1 or any(len(row) != columns for row in found[0]):
            raise DataError(f"{file}: expected one table of {columns} columns, found {[len(table) for table in found]} rows")
    ratings_of: dict[str, list[str]] = {}
    for line, (pair, *ratings) in enumerate(tables[1][0][1:], start=2):
        if ratings_of.setdefault(pair, ratings) != ratings:
            split.reject(ratings_file, line, "this pair is rated before, and otherwise", f"pair {pair}")
    for line, (pair, first, second) in enumerate(tables[0][0][1:], start=2):
        if pair in ratings_of:
            _add(split, pairs_file, line, pair, (first, second), ratings_of[pair])
        else:
            split.reject(pairs_file, line, f"no ratings in {ratings_file.name}", f"pair {pair}")


def _read_copy(builder: DatasetBuilder, file: Path, split: SplitBuilder) -> None:
    """Read a TSV with a header: a pair's number, two sentences, and one column an annotator."""
    rows = [(number, line.split("\t")) for number, line in builder.lines(file) if line.strip()]
    header = [re.sub(r"[\W_]+", "", name).casefold() for name in rows[0][1]] if rows else []

    def column(*names: str) -> int:
        found = [header.index(name) for name in names if name in header]
        if not found:
            raise DataError(f"{file}:1: the header has no column {' or '.join(names)}")
        return found[0]

    number_column = column("sentenceid", "id")
    text_columns = (column("sentence1"), column("sentence2"))
    rating_columns = [column(f"annotator{letter.casefold()}", letter.casefold()) for letter in ANNOTATORS]
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            split.reject(file, line, f"{len(fields)} fields where the header has {len(header)}")
            continue
        texts = [fields[i] for i in text_columns]
        _add(split, file, line, fields[number_column].strip(), texts, [fields[i] for i in rating_columns])


TASK = Task(
    name="BIOSSES",
    version="1",
    family="similarity",
    protocol="cosine",
    uses_probe=False,
    metrics=("pearson", "spearman"),
    folders=("BIOSSES",),
    read=read,
    evaluate=evaluate_similarity,
    published_counts={"all": 100},
    citation="Sogancioglu, Öztürk and Özgür 2017, BIOSSES: a semantic sentence similarity estimation system for the biomedical "
    "domain, Bioinformatics",
    licence="GPL-3.0 for the repository; nothing separate for the data",
    access="open",
    obtain="take BIOSSES-Dataset.rar from the BIOSSES page of TABI lab, Boğaziçi University, and put Annotation-Pairs.docx and "
    "Annotator-Scores.docx into BIOSSES/",
)
