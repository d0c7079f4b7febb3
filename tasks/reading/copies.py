"""Copies of a data set as tables: what the model hub, BigBIO or BLUE made of it, known by their columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from medsenteval.errors import DataError, MedSentEvalError
from medsenteval.registry import name_key
from medsenteval.support.tables import BLANK, ENDINGS, Table, ending_of, read_table
from medsenteval.tasks.reading.column_roles import Kind, infer_columns
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, finite_number

SPLITS: Final[Mapping[str, tuple[str, ...]]] = {
    "train": ("train", "training", "trn"),
    "dev": ("dev", "devel", "development", "valid", "validation", "val"),
    "test": ("test", "testing", "tst"),
}
_MAKE: Final = {
    "classification": "a text and its label",
    "pair classification": "two texts and their label",
    "similarity": "two texts and their score",
}


@dataclass(frozen=True)
class Copy:
    """What the tables of a data set look like.

    ``kind`` is what their columns make (``reading.columns``); ``columns`` has the names that a role's column goes by beside the
    usual ones, the best first; ``means`` has sets of columns whose mean is the score. Without ``splits`` all rows are one.
    ``numbering`` returns the names of labels that are numbers, given how many rows have each, or None.
    """

    kind: Kind
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    means: tuple[tuple[str, ...], ...] = ()
    splits: tuple[str, ...] = ()
    grouped_by_text: bool = False
    numbering: Callable[[Mapping[int, int]], Sequence[str] | None] | None = None


def split_of(name: str) -> str | None:
    """Return train, dev or test for any usual name of one of them."""
    return next((split for split, names in SPLITS.items() if name.strip().casefold() in names), None)


def name_splits(place: Path, files: Iterable[Path], called: str = "") -> list[tuple[str, Path]]:
    """Return files with the split that each name says; where none says so, those in a folder below ``place`` that is named so.

    Several numbered parts make one split, other doubles are an error. ``called`` is what errors call the place.
    """
    by_file: dict[str, list[Path]] = {}
    by_folder: dict[str, list[Path]] = {}
    for file in files:
        folder = "" if file.parent == place else file.parent.name
        for named, name in ((by_file, file.name), (by_folder, folder)):
            splits = {split for part in re.split(r"[\W_]+", name) if (split := split_of(part)) is not None}
            if len(splits) == 1:
                named.setdefault(next(iter(splits)), []).append(file)
            if splits:
                break
    found = by_folder | by_file
    for split, several in found.items():
        if len(several) > 1 and not all(re.search(r"\d+-of-\d+|^\d{4,}\.", file.name) for file in several):
            listed = ", ".join(file.relative_to(place).as_posix() for file in several)
            raise DataError(f"{called or place}: several files could be {split}: {listed}; keep one")
    if not found:
        raise DataError(
            f"{called or place}: no file named train, dev or test, such as train.csv and test.csv; name one file instead"
        )
    return [(split, file) for split in SPLITS for file in found.get(split, ())]


class _Fitting(NamedTuple):
    """A table that has all columns: of each role, and those whose mean is the score."""

    table: Table
    of: Mapping[str, str]
    mean: tuple[str, ...]


def read_copy(builder: DatasetBuilder, copy: Copy, *names: str) -> None:
    """Read a data set whose official files, ``names``, are not there from tables; where none fits, say of each why."""
    tables, reasons = fitting_tables(builder.folder, lambda table: _fit(table, copy))
    if not copy.splits:
        parts = [("all", path) for _, path in (name_splits(builder.folder, tables) if len(tables) > 1 else enumerate(tables))]
    elif all("split" in each.of for each in tables.values()):
        parts = [("", path) for path in tables]
    else:
        parts = name_splits(builder.folder, tables)
        reasons += [f"no table is the split {split}" for split in copy.splits if split not in dict(parts)]
    if not parts or (copy.splits and "" not in dict(parts) and not set(copy.splits) <= dict(parts).keys()):
        raise builder.missing(*names, reasons=reasons)
    label_names = _numbered(builder, [tables[path] for _, path in parts], copy)
    for part, path in parts:
        builder.opened(path)
        builder.notes += tables[path].table.notes
        _read_rows(builder, path, tables[path], part, copy, label_names)
    for split in copy.splits:
        builder.split(split)  # without rows it is an error


def fitting_tables(
    folder: Path, fit: Callable[[Table], Any], endings: Collection[str] = ENDINGS
) -> tuple[dict[Path, Any], list[str]]:
    """Return what ``fit`` makes of each table below a folder, and why others cannot be read or do not fit."""
    found: dict[Path, Any] = {}
    reasons: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and ending_of(path) in endings:
            try:
                found[path] = fit(read_table(path))
            except MedSentEvalError as error:
                reasons.append(str(error).replace(f"{folder}/", ""))
    return found, reasons


def _fit(table: Table, copy: Copy) -> _Fitting:
    """Find the columns; what a data set does not need, ids for one, is passed over."""
    keys = {name_key(column): column for column in table.columns}
    mean = next((tuple(keys[each] for each in names) for names in copy.means if keys.keys() >= set(names)), ())
    given = dict.fromkeys(("id", "group", "label" if copy.kind == "similarity" else "score"), "")
    for role, names in copy.columns.items():
        if there := [keys[name_key(name)] for name in names if name_key(name) in keys]:
            given[role] = there[0]
    if mean:
        given["score"] = mean[0]
    with suppress(DataError):  # said below in other words: a data set has no options that name its columns
        columns = infer_columns(table.name, table.columns, given)
        if columns.kind == copy.kind:
            return _Fitting(table, columns.of, mean)
    listed = ", ".join(table.columns[:12]) + (", ..." if len(table.columns) > 12 else "")
    raise DataError(f"{table.name} has the columns {listed}, which do not make {_MAKE[copy.kind]}")


def _numbered(builder: DatasetBuilder, tables: Sequence[_Fitting], copy: Copy) -> Sequence[str]:
    """Return the names of labels that are numbers without names; none if they are names."""
    if copy.numbering is None:
        return ()
    counts: Counter[int] = Counter()
    for each in tables:
        if each.of["label"] in each.table.classes:
            return ()
        for _, cells in each.table.pick([each.of["label"]]):
            if isinstance(cells, tuple) and cells[0] is not None:
                text = str(cells[0]).strip()
                if not re.fullmatch("[0-9]{1,3}", text):
                    return ()
                counts[int(text)] += 1
    names = copy.numbering(counts)
    if names is None:
        listed = ", ".join(f"{number} in {count:,} rows" for number, count in sorted(counts.items()))
        raise DataError(
            f"{builder.name}: {tables[0].table.name}: its labels are numbers ({listed}), and their frequencies fit no "
            f"numbering of {', '.join(builder.labels)} that is known; write the names"
        )
    listed = ", ".join(f"{number} as {name}" for number, name in enumerate(names))
    builder.notes.append(f"labels are numbers, read by their frequencies: {listed}")
    return names


def _read_rows(
    builder: DatasetBuilder, file: Path, fitting: _Fitting, part: str, copy: Copy, label_names: Sequence[str]
) -> None:
    classes = fitting.table.classes.get(fitting.of.get("label", ""), label_names)
    for number, cells in fitting.table.pick([*fitting.of.values(), *fitting.mean]):
        if isinstance(cells, str):
            if cells != BLANK:
                builder.reject(file, number, cells)
            continue
        row = dict(zip(fitting.of, cells, strict=False))
        try:
            name = part or split_of(str(row["split"]))
            if name is None:
                raise ValueError(f"{row['split']!r} in the column {fitting.of['split']!r} is neither train, dev nor test")
            builder.split(name).add(file, number, **_columns(row, cells[len(row) :], classes, copy))
        except ValueError as error:
            builder.reject(file, number, str(error))


def _columns(row: Mapping[str, Any], rated: Sequence[Any], classes: Sequence[str], copy: Copy) -> dict[str, Any]:
    """Return what a row adds to its split, or raise why it cannot."""
    for role, cell in row.items():
        if role != "id" and (cell is None or isinstance(cell, (list, tuple, dict))):
            raise ValueError(f"the {role} is {'empty' if cell is None else 'a list or an object'}")
    found: dict[str, Any] = {role: str(row[role]) for role in ("text", "text2") if role in row}
    found["item"] = "" if row.get("id") is None else str(row["id"])
    if "label" in row:
        label = str(row["label"]).strip()
        numbered = re.fullmatch("[0-9]{1,3}", label) and int(label) < len(classes)
        found["label"] = classes[int(label)] if numbered else label
    else:
        found["score"] = row["score"]
    if rated:
        numbers = [number for number in map(finite_number, rated) if number is not None]
        if len(numbers) < len(rated):
            raise ValueError(f"the ratings {list(rated)} are not {len(rated)} numbers")
        found["score"] = fmean(numbers)
    if copy.grouped_by_text:
        found["group"] = found["text"]
    elif "group" in row:
        found["group"] = str(row["group"]).lstrip("#").strip()
    return found
