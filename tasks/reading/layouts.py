"""File layouts that several data sets share: ``###id`` abstracts, SentEval's STS and NLI folders, tab columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from medsenteval.support.files import clean_text
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, SplitBuilder


def tab_rows(
    builder: DatasetBuilder, file: Path, split: SplitBuilder, columns: tuple[str, ...]
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of a tab-separated file without header; tabs beyond the last column belong to its text."""
    for number, line in builder.filled_lines(file):
        fields = line.split("\t", len(columns) - 1)
        if len(fields) < len(columns):
            expected = " TAB ".join(columns)
            split.reject(file, number, f"{len(fields)} tab-separated field(s) where {len(columns)} are expected: {expected}")
        else:
            yield number, fields


def read_abstracts(builder: DatasetBuilder, file: Path, split: SplitBuilder, separator: str, fields: int) -> None:
    """Read ``###id`` lines followed by one labelled sentence a line, the label being the last field before the text.

    PubMed RCT has ``LABEL<TAB>text`` (2 fields), PubMed PICO ``HEADING|LABEL|text`` (3 fields, where the text may hold
    further bars). The id of the abstract becomes the group.
    """
    abstract = ""
    for number, line in builder.filled_lines(file):
        if line.startswith("###"):
            abstract = line[3:].strip().rstrip(":")
            continue
        parts = line.split(separator, fields - 1)
        if len(parts) < fields:
            named = "a tab" if separator == "\t" else repr(separator)
            split.reject(file, number, f"{len(parts)} field(s) where {fields} separated by {named} are expected")
        else:
            split.add(file, number, parts[-1], label=parts[-2], group=abstract)


def read_parallel_nli(builder: DatasetBuilder, split_name: str) -> None:
    """Read SNLI-style files ``s1.X``, ``s2.X`` and ``labels.X`` whose lines belong together by number."""
    split = builder.split(split_name)
    files = [builder.require(f"{stem}.{split_name}") for stem in ("s1", "s2", "labels")]
    columns = [[line for _, line in builder.lines(file)] for file in files]
    for number, row in enumerate(zip_longest(*columns), start=1):
        premise, hypothesis, label = row
        if premise is None or hypothesis is None or label is None:
            short = [file.name for file, value in zip(files, row, strict=True) if value is None]
            split.reject(files[0], number, f"no line {number} in {', '.join(short)}")
        else:
            split.add(files[0], number, premise, hypothesis, label=label)


def read_sts_folder(builder: DatasetBuilder, split_name: str, stem: str) -> None:
    """Read SentEval's ``STS.input.NAME.txt`` (two tab columns) and ``STS.gs.NAME.txt`` (a score a line, blank = not scored)."""
    inputs, gold = (builder.require(f"STS.{kind}.{stem}.txt") for kind in ("input", "gs"))
    read_scored_pairs(builder, builder.split(split_name), inputs, gold)


def read_scored_pairs(builder: DatasetBuilder, split: SplitBuilder, inputs: Path, gold: Path) -> None:
    """Read pairs, two tab columns, and their scores in a file of their own; lines belong together by number."""
    columns = [[line for _, line in builder.lines(file)] for file in (gold, inputs)]
    unscored = 0
    for number, (score, line) in enumerate(zip_longest(*columns), start=1):
        if score is None:
            split.reject(inputs, number, f"no line {number} in {gold.name}")
        elif not score.strip():
            unscored += line is not None
        elif line is None:
            split.reject(gold, number, f"no line {number} in {inputs.name}")
        elif len(fields := line.split("\t")) != 2:
            reason = f"{len(fields)} tab-separated field(s) where 2 are expected: {clean_text(line)[:60]!r}"
            split.reject(inputs, number, reason)
        else:
            split.add(inputs, number, *fields, score=score.strip())
    if unscored:
        builder.notes.append(f"{unscored} pair(s) of {inputs.name} have no gold score and are left out, as in SentEval")
