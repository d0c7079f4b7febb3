"""Rows of a user's tables as the splits of a Dataset: each is taken whole, or rejected with its row and column.

The same rows give the same data set whatever file they come in: 2, 2.0 and "2" are one label, and so are true, True and "TRUE".
Reasons name row and column and never quote a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError
from medsenteval.support.files import clean_text
from medsenteval.support.tables import BLANK, Table
from medsenteval.tasks.ner.corpus import AUTO, TaggedSentences, parse_sentences, table_sentences
from medsenteval.tasks.reading.column_roles import Columns
from medsenteval.tasks.reading.copies import SPLITS, split_of
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, finite_number
from medsenteval.tasks.similarity import concatenate_splits

#: A number as it is written: a code such as 007 is none, nor is what no float holds.
_NUMBER: Final = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})(\.[0-9]{0,18})?([eE][+-]?[0-9]{1,2})?")
_LIST: Final = re.compile(r"\[.*\]", re.DOTALL)


class _Bad(Exception):
    """Why one cell cannot be what its column is."""


def read_rows(builder: DatasetBuilder, parts: Sequence[tuple[str, Table]], columns: Columns, told: bool) -> None:
    """Read tables, each with the split that it is or "", into splits of texts with labels or scores.

    ``told`` says that the user named the column of labels, which may then hold numbers with fractions.
    """
    kept: dict[str, list[Any]] = {role: [] for role in columns.of}
    places: list[tuple[Path, int]] = []
    splits: list[str] = []
    for split, table in parts:
        file = Path(table.name)
        classes = table.classes.get(columns.of.get("label", ""), ())
        for number, cells in table.pick(list(columns.of.values())):
            if isinstance(cells, str):
                if cells != BLANK:
                    builder.reject(file, number, cells)
                continue
            row: dict[str, Any] = {}
            try:
                for role, cell in zip(columns.of, cells, strict=True):
                    value = _taken(role, cell)
                    row[role] = _class_name(value, classes) if role == "label" and classes else value
            except _Bad as error:
                builder.reject(file, number, f"column {columns.of[role]!r}: {error}")
                continue
            for role, value in row.items():
                kept[role].append(value)
            places.append((file, number))
            splits.append(split)
    if not places:
        raise builder.unreadable(f"not one row with {' and '.join(columns.of.values())} was read")
    for role in ("label", "group", "id", "split"):
        if role in kept:
            kept[role] = _as_names(kept[role])
    if "split" in kept:
        splits = _splits(builder.name, columns.of["split"], kept["split"], places)
    if "label" in kept:
        builder.labels = _label_names(builder.name, columns.of["label"], kept["label"], told)
        builder.notes += _missing_by_name(columns.of["label"], kept["label"])
    if "id" in kept:
        _check_ids(builder.name, columns.of["id"], kept["id"], places)
    for name in (*SPLITS, ""):
        if name in splits:
            builder.split(name or "all")
    for at, (file, number) in enumerate(places):
        cell_of = {role: cells[at] for role, cells in kept.items() if role not in ("split", "id")}
        builder.split(splits[at] or "all").add(file, number, **cell_of, item=kept["id"][at] if "id" in kept else "")


def read_sentences(builder: DatasetBuilder, parts: Sequence[tuple[str, Table]], columns: Columns) -> dict[str, TaggedSentences]:
    """Read tables of a token and its tag a row, or of a sentence's tokens and tags a row, into splits of sentences."""
    read = [
        (name, Path(table.name), blocks)
        for split, table in parts
        for name, blocks in table_sentences(split, table, columns, builder.rejected).items()
    ]
    lines = (line for _, _, blocks in read for block in blocks for _, line in block)
    builder.labels = tuple(sorted({line.partition("\t")[2].partition("-")[2] for line in lines} - {""}))
    if not builder.labels:
        raise DataError(f"{parts[0][1].name}: column {columns.of['tag']!r}: no tag names an entity, such as B-Disease")
    found: dict[str, TaggedSentences] = {}
    for name in (*SPLITS, ""):
        if own := [parse_sentences(builder, file, blocks, AUTO) for each, file, blocks in read if each == name]:
            found[{"dev": "devel", "": "all"}.get(name, name)] = concatenate_splits(own)
    return found


def _taken(role: str, cell: Any) -> Any:
    """Return a cell as what its column is; only an id may be empty."""
    listed = isinstance(cell, (list, tuple, dict))
    if cell is None and role != "id":
        raise _Bad("empty")
    if role == "score":
        if (value := finite_number(cell)) is None:
            comma = isinstance(cell, str) and _NUMBER.fullmatch(cell.strip().replace(",", "."))
            raise _Bad("a decimal comma; write a point" if comma else "not a finite number")
        return value
    if role in ("text", "text2"):
        if listed:
            raise _Bad("a list or an object where a text is expected")
        return _number_text(cell)
    if role == "label" and (listed or (isinstance(cell, str) and _LIST.fullmatch(cell.strip()))):
        raise DataError(
            "the label column holds lists, so that a text has several labels: a probe here chooses one of several classes, and "
            "an accuracy over sets of labels would not compare with anything. Make one column for each label and score each"
        )
    return str(cell) if listed else cell


def _class_name(value: Any, classes: Sequence[str]) -> Any:
    """Return the name of a class that a file gives by its number; the hub writes -1 for no label."""
    if not isinstance(value, int):
        return value
    if not 0 <= value < len(classes):
        raise _Bad("no label" if value == -1 else "a number that is none of the file's classes")
    return classes[value]


def _number_text(value: Any) -> str:
    """Write a number in one way, whatever it was read as."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _as_names(values: list[Any]) -> list[str]:
    """Return a column's cells as names, so that numbers and truth values are the same from every kind of file."""
    distinct = {(type(value), value): "" for value in values if value is not None}
    texts = {key: clean_text(_number_text(key[1])) for key in distinct}
    if all(text.casefold() in ("true", "false") for text in texts.values()):
        texts = {key: text.casefold() for key, text in texts.items()}
    elif all(_NUMBER.fullmatch(text) for text in texts.values()):
        texts = {key: _number_text(int(text) if text.lstrip("+-").isdigit() else float(text)) for key, text in texts.items()}
    return ["" if value is None else texts[type(value), value] for value in values]


def _splits(name: str, column: str, values: list[str], places: Sequence[tuple[Path, int]]) -> list[str]:
    meant = {value: split_of(value) for value in dict.fromkeys(values)}
    for value, place in zip(values, places, strict=True):
        if meant[value] is None:
            raise DataError(
                f"{name}: row {place[1]}: column {column!r}: {value[:40]!r} is neither train, dev nor test; "
                "name another column with split=COLUMN, or none with split="
            )
    return [meant[value] or "" for value in values]


def _label_names(name: str, column: str, values: list[str], told: bool) -> tuple[str, ...]:
    counts = Counter(values)
    numbers = all(_NUMBER.fullmatch(label) for label in counts)
    if numbers and not told and any(not float(label).is_integer() for label in counts):
        raise DataError(
            f"{name}: column {column!r}: numbers with fractions; is it a score? Write score={column}, or label={column} if "
            "they are classes all the same"
        )
    if len(counts) < 2:
        raise DataError(f"{name}: column {column!r}: every row has the same label; a classifier needs two or more")
    if len(counts) > max(2, len(values) // 2):
        raise DataError(
            f"{name}: column {column!r}: {len(counts):,} different labels for {len(values):,} rows; is it an id or a text? "
            "Name another column with label=COLUMN"
        )
    return tuple(sorted(counts, key=float if numbers else str))


def _missing_by_name(column: str, values: list[str]) -> list[str]:
    """Say where a label reads as if it meant nothing; it is a label all the same, because only the user can know."""
    counts = Counter(value for value in values if value.casefold() in ("na", "n/a", "nan", "null", "none", "?", "-"))
    return [f"{n:,} row(s) have the label {label!r} in {column!r}: a class like any other here" for label, n in counts.items()]


def _check_ids(name: str, column: str, values: list[str], places: Sequence[tuple[Path, int]]) -> None:
    """Refuse two rows of one id; a row without one is named by its place."""
    seen: dict[str, tuple[Path, int]] = {}
    for own, place in zip(values, places, strict=True):
        if own and (first := seen.setdefault(own, place)) != place:
            raise DataError(
                f"{name}: column {column!r}: the same id in row {first[1]} and row {place[1]}. If it names a patient or a "
                f"document, write group={column} and id= (rows are then numbered); if rows are there twice, take one out"
            )
