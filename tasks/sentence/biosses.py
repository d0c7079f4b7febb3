"""BIOSSES: how similar are two sentences of biomedical articles, from 0 to 4 in the mean of five annotators?"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from medsenteval.errors import DataError
from medsenteval.support.files import read_word_tables
from medsenteval.tasks.reading.copies import Copy, read_copy
from medsenteval.tasks.reading.layouts import read_sts_folder
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, SplitBuilder, finite_number
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.tasks.similarity import evaluate_similarity

ANNOTATORS = ("A", "B", "C", "D", "E")
#: Tables of the model hub (sentence1, sentence2, score), BLUE (the same in three files) and BigBIO (text_1, text_2, label or
#: ratings); five ratings count before their mean, which may be rounded.
COPY = Copy(
    "similarity",
    {"score": ("score", "label"), "id": ("sentence_id", "document_id")},
    means=(tuple(f"annotator{each.casefold()}" for each in ANNOTATORS), tuple(each.casefold() for each in ANNOTATORS)),
)


def read(builder: DatasetBuilder) -> None:
    """Read the two official Word documents, SentEval's STS.input / STS.gs pair, or a table of pairs with scores or ratings."""
    split = builder.split("all")
    pairs, ratings = builder.find("Annotation-Pairs.docx"), builder.find("Annotator-Scores.docx")
    if pairs and ratings:
        _read_word(builder, pairs, ratings, split)
    elif builder.find("STS.input.BIOSSES.txt"):
        read_sts_folder(builder, "all", "BIOSSES")
    else:
        read_copy(builder, COPY, "Annotation-Pairs.docx", "STS.input.BIOSSES.txt")


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
        ratings = ratings_of.get(pair, [])
        numbers = [number for number in map(finite_number, ratings) if number is not None]
        if numbers and len(numbers) == len(ratings):
            split.add(pairs_file, line, first, second, score=fmean(numbers), item=f"pair {pair}")
        else:
            reason = f"the ratings {ratings} are not five numbers" if ratings else f"no ratings in {ratings_file.name}"
            split.reject(pairs_file, line, reason, f"pair {pair}")


TASK = file_task("sentence", "BIOSSES", read, evaluate_similarity)
