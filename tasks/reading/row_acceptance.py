"""Collecting rows into a Dataset: a row is added whole or rejected with file, line and reason, so nothing can shift."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, RejectedRow, Split
from medsenteval.errors import DataError, DataMissingError
from medsenteval.support.files import clean_text, find_file, read_lines

#: What a column of labels or scores is called in a header row, without case and punctuation.
_COLUMN_NAMES: Final = frozenset((
    "label", "labels", "goldlabel", "class", "category", "target", "sentiment", "score", "scores", "similarity", "gold",
    "mean",
))  # fmt: skip


def hash_texts(texts: Iterable[str]) -> str:
    """Return the SHA-256 of texts, each behind its length, so that none can run into the next."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


class SplitBuilder:
    """The rows of one split while they are read."""

    def __init__(self, builder: DatasetBuilder) -> None:
        # A label is matched as it is written first, so that two labels may differ in case alone (probing tasks on words).
        self._label_number = {name.casefold(): number for number, name in enumerate(builder.labels)}
        self._label_number |= {name: number for number, name in enumerate(builder.labels)}
        self._labels = builder.labels
        self._pairs = builder.pairs
        self.reject = builder.reject
        self._items: set[str] = set()
        #: Of each row its id, texts, label or score, and group.
        self._rows: list[tuple[str, str, str, float, str | None]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self,
        file: Path,
        line: int | None,
        text: str,
        text2: str | None = None,
        *,
        label: str | None = None,
        score: str | float | None = None,
        group: str | None = None,
        item: str = "",
        clean: Callable[[str], str] = clean_text,
    ) -> None:
        """Add one whole row, or reject it; texts are cleaned of repeated white space, and an empty text is kept.

        An ``item`` is the row's own id, and a second row of the same id is rejected.
        Either ``label`` (a name of the task's labels, in any case) or ``score`` (a finite number) must be given.
        """
        target: float | None
        if label is None:
            target = finite_number(score)
        else:
            target = self._label_number.get(label.strip(), self._label_number.get(label.strip().casefold()))
        if target is None and label is None:
            reason = _header(line, score) or f"the score {score!r} is not a finite number"
        elif target is None:
            known = ", ".join(self._labels)
            reason = _header(line, label) or f"unknown label {str(label).strip()!r}; known: {known}"
        elif self._pairs and text2 is None:
            reason = "the second text is missing"
        elif item and item in self._items:
            reason = "this id occurs before"
        else:
            name = item or (file.name if line is None else f"{file.name}:{line}")
            self._items.add(item)
            self._rows.append((name, clean(text), clean(text2 or ""), target, group))
            return
        self.reject(file, line, reason, item)

    def build(self) -> Split:
        columns: tuple[Any, ...] = tuple(zip(*self._rows, strict=True)) or ((),) * 5
        ids, texts, texts2, targets, groups = columns
        if None in groups and set(groups) != {None}:
            raise DataError(f"of {len(ids)} rows {groups.count(None)} have no group; all rows need one, or none")
        return Split(
            ids=ids,
            texts=texts,
            texts2=texts2 if self._pairs else None,
            labels=np.array(targets, dtype=np.int64) if self._labels else None,
            scores=None if self._labels else np.array(targets, dtype=np.float64),
            groups=None if None in groups or not groups else groups,
        )


def finite_number(cell: Any) -> float | None:
    """Return the finite number that a cell of a file is, or None; Python alone reads 1_000 as one, in a file it is a slip."""
    try:
        value = math.nan if isinstance(cell, bool) or "_" in str(cell) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _header(line: int | None, cell: object) -> str:
    """Say of a first line that names columns what it is."""
    named = line == 1 and re.sub(r"[\W_]+", "", str(cell)).casefold() in _COLUMN_NAMES
    return f"a header row, not data: the column is called {str(cell).strip()!r}; take the line out" if named else ""


class DatasetBuilder:
    """A data set while it is read: where its files are, its splits so far, and what was found odd."""

    def __init__(self, name: str, folder: Path, *, labels: tuple[str, ...] = (), pairs: bool = False) -> None:
        self.name = name
        self.folder = folder
        self.labels = labels
        self.options: dict[str, str] = {}
        self.files: list[Path] = []
        self.rejected: list[RejectedRow] = []
        self.notes: list[str] = []
        self.edition = ""
        self.pairs = pairs
        self._splits: dict[str, SplitBuilder] = {}

    def split(self, name: str) -> SplitBuilder:
        return self._splits.setdefault(name, SplitBuilder(self))

    def find(self, *names: str) -> Path | None:
        return find_file(self.folder, *names)

    def require(self, *names: str) -> Path:
        """Find a file or say under which names it was looked for."""
        found = self.find(*names)
        if found is None:
            raise self.missing(*names)
        return found

    def missing(self, *names: str, reasons: Sequence[str] = ()) -> DataMissingError:
        """Return the error that says which files were looked for, and what is there instead or why it was not taken."""
        there = [path.relative_to(self.folder).as_posix() for path in sorted(self.folder.rglob("*")) if path.is_file()]
        listed = ", ".join(there[:5]) + (f" and {len(there) - 5:,} more" if len(there) > 5 else "")
        said = "; ".join(reasons[:5]) or (f"it holds {listed}" if there else "it is empty")
        return DataMissingError(f"{self.name}: {self.folder} holds no file {' or '.join(names)}; {said}")

    def reject(self, file: Path, line: int | None, reason: str, item: str = "") -> None:
        self.rejected.append(RejectedRow(file.name, line, item, reason))

    def opened(self, file: Path) -> Path:
        """Note that the data set rests on this file."""
        self.files.append(file)
        return file

    def lines(self, file: Path) -> Iterator[tuple[int, str]]:
        """Yield (line number, line) of a text file, blank lines included."""
        lines, latin1 = read_lines(self.opened(file))
        if latin1:
            self.notes.append(f"{file.name} is not UTF-8 and was read as Latin-1")
        yield from enumerate(lines, start=1)

    def filled_lines(self, file: Path) -> Iterator[tuple[int, str]]:
        """Yield (line number, line) of the lines that are not blank."""
        return ((number, line) for number, line in self.lines(file) if line.strip())

    def build(self) -> Dataset:
        """Close the data set; a split without a single readable row is an error."""
        splits = {name: builder.build() for name, builder in self._splits.items()}
        for name, split in splits.items():
            if len(split) == 0:
                raise self.unreadable(f"no readable row in the split {name!r} of {self.folder}")
            if empty := [split.ids[i % len(split)] for i, text in enumerate(split.all_texts()) if not text]:
                shown = ", ".join(empty[:3]) + (", ..." if len(empty) > 3 else "")
                self.notes.append(f"{len(empty)} empty text(s) kept in {name}: {shown}")
        return Dataset(**self.facts(), splits=splits)

    def unreadable(self, what: str) -> DataError:
        first = f"; the first rejected: {self.rejected[0]}" if self.rejected else ""
        return DataError(f"{self.name}: {what}{first}")

    def facts(self) -> dict[str, Any]:
        """Return all fields of a Dataset but its splits."""
        return {
            "name": self.name,
            "label_names": self.labels,
            "files": tuple(
                str(file.relative_to(self.folder)) if file.is_relative_to(self.folder) else file.name for file in self.files
            ),
            "options": self.options,
            "rejected": tuple(self.rejected),
            "notes": tuple(self.notes),
            "edition": self.edition,
        }
