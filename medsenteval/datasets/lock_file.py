"""The lock file of a data folder: what was downloaded first, so that a later change is noticed (trust on first use)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError
from medsenteval.support.atomic_files import write_atomically

__all__ = ["LOCK_NAME", "DataLock", "LockedFile"]

LOCK_NAME: Final = "data.lock.json"
_SCHEMA: Final = 1


@dataclass(frozen=True)
class LockedFile:
    """What is remembered of a download."""

    sha256: str
    size: int
    url: str


class DataLock:
    """The downloads of one data folder by data set and file name."""

    def __init__(self, root: Path) -> None:
        self.path = root / LOCK_NAME
        self._files = _read(self.path)

    def find(self, data_set: str, name: str) -> LockedFile | None:
        return self._files.get(f"{data_set}/{name}")

    def record(self, data_set: str, name: str, file: LockedFile) -> None:
        """Remember a download and write the lock file; one that is remembered already keeps its entry."""
        self._files[f"{data_set}/{name}"] = file
        entries = {key: vars(entry) for key, entry in sorted(self._files.items())}
        try:
            write_atomically(self.path, json.dumps({"schema": _SCHEMA, "files": entries}, indent=1) + "\n")
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error


def _read(path: Path) -> dict[str, LockedFile]:
    if not path.exists():
        return {}
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        if content["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}, not {_SCHEMA}")
        return {str(key): _entry(entry) for key, entry in content["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: not a lock file of this toolkit: {error}; repair it, or remove it to trust anew") from error


def _entry(entry: Any) -> LockedFile:
    found = LockedFile(**entry)
    well_formed = isinstance(found.size, int) and isinstance(found.url, str) and isinstance(found.sha256, str)
    if not well_formed or not re.fullmatch("[0-9a-f]{64}", found.sha256):
        raise ValueError(f"an entry is {str(entry)[:80]}")
    return found
