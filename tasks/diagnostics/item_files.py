"""Where diagnostic items come from: the user's JSON file in ``<data>/diagnostics/``, or else the bundled ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError
from medsenteval.support.files import clean_text, read_json
from medsenteval.tasks.diagnostics.items import Change, Inference

__all__ = ["FOLDER", "read_changes", "read_inferences"]

FOLDER: Final = "diagnostics"


def read_changes(root: Path, name: str, bundled: Sequence[Change]) -> tuple[Sequence[Change], tuple[str, ...]]:
    """Return the items of a test of changes and the files they come from: ``[{"text": ..., "changed": ...}, ...]``."""
    file = root / FOLDER / f"{name}.json"
    if not file.is_file():
        return bundled, ()
    rows = _rows(file)
    return [Change(_name(row, number), *_texts(file, number, row, "text", "changed")) for number, row in rows], (_shown(file),)


def read_inferences(
    root: Path, name: str, bundled: Sequence[Inference], labels: Sequence[str], also: str
) -> tuple[Sequence[Inference], tuple[str, ...]]:
    """Return inferences ``[{"premise": ..., "hypothesis": ..., "label": ..., also: ...}, ...]`` and their files.

    ``also`` is the further key that the test needs: "expanded" or "relation".
    """
    file = root / FOLDER / f"{name}.json"
    if not file.is_file():
        return bundled, ()
    found = []
    for number, row in _rows(file):
        premise, hypothesis, label, further = _texts(file, number, row, "premise", "hypothesis", "label", also)
        if label not in labels:
            raise DataError(f"{file}: item {number}: unknown label {label!r}; known: {', '.join(labels)}")
        found.append(Inference(_name(row, number), premise, hypothesis, label, **{also: further}))
    return found, (_shown(file),)


def _rows(file: Path) -> list[tuple[int, dict[str, Any]]]:
    parsed = read_json(file)
    if not isinstance(parsed, list) or not parsed or not all(isinstance(row, dict) for row in parsed):
        raise DataError(f"{file}: expected a list of objects, one an item, and at least one")
    return list(enumerate(parsed, start=1))


def _name(row: dict[str, Any], number: int) -> str:
    return str(row.get("id") or f"item {number}")


def _texts(file: Path, number: int, row: dict[str, Any], *keys: str) -> list[str]:
    wrong = [key for key in keys if not isinstance(row.get(key), str) or not row[key].strip()]
    if wrong:
        raise DataError(f"{file}: item {number}: {', '.join(wrong)} must be texts; an item has {', '.join(keys)}")
    return [clean_text(row[key]) for key in keys]


def _shown(file: Path) -> str:
    return f"{FOLDER}/{file.name}"
