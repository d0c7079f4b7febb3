"""Embeddings kept on disk between runs: each text of a data set is encoded once for each encoder, even across crashes.

An entry belongs to an encoder's identity and the set of texts. It is a folder with one matrix file, in which every block of
rows has its fixed place, and one small record for each block that is complete. A block counts only once its record exists,
and the record holds the hash of the block's bytes: a run that was killed, a full disk, a flipped bit or a foreign file leaves
blocks without a matching record, and those are computed again. Records appear by renaming, so they are never half there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import MedSentEvalError
from medsenteval.writing import write_atomically

__all__ = ["BLOCK_ROWS", "CacheEntry", "CacheError", "CacheWarning", "EmbeddingCache", "cache_folder"]

#: Rows in a block: what a crash costs at most, and what one worker encodes at a time.
BLOCK_ROWS: Final = 4096
_LAYOUT: Final = 1


class CacheError(MedSentEvalError, OSError):
    """The cache folder cannot be written."""


class CacheWarning(UserWarning):
    """Something in the cache was damaged and is computed again."""


def cache_folder() -> Path:
    """Return the folder named by MEDSENTEVAL_CACHE, or the user's cache folder; it may not exist yet."""
    named = os.environ.get("MEDSENTEVAL_CACHE")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "medsenteval"


@dataclass(frozen=True)
class CacheEntry:
    """The embeddings of one set of texts by one encoder; ``n_rows`` rows in blocks of BLOCK_ROWS."""

    folder: Path
    key: str
    n_rows: int

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // BLOCK_ROWS)

    @property
    def _matrix_path(self) -> Path:
        return self.folder / "matrix.f32"

    def rows_of(self, block: int) -> slice:
        return slice(block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, self.n_rows))

    @property
    def about(self) -> dict[str, Any] | None:
        """What the entry says of itself, or None if it is new, damaged or another entry's."""
        try:
            about = json.loads((self.folder / "about.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        expected = {"layout": _LAYOUT, "key": self.key, "rows": self.n_rows}
        if not isinstance(about, dict) or any(about.get(name) != value for name, value in expected.items()):
            return None
        return about if isinstance(about.get("dimension"), int) else None

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())

    @property
    def days_unused(self) -> float:
        """Days since the entry was last opened; opening it touches its description."""
        about = self.folder / "about.json"
        return (time.time() - (about if about.is_file() else self.folder).stat().st_mtime) / 86_400

    @property
    def n_recorded(self) -> int:
        return self.n_blocks - len(self.unrecorded_blocks())

    def unrecorded_blocks(self) -> list[int]:
        """Return the blocks that have no record; unlike ``missing_blocks`` this reads no vectors."""
        if self.about is None:
            return list(range(self.n_blocks))
        return [block for block in range(self.n_blocks) if self._recorded(block) is None]

    def damaged_blocks(self) -> list[int]:
        """Return the blocks that have a record which their bytes do not match."""
        return self._inspect()[1]

    def missing_blocks(self) -> list[int]:
        """Return the blocks that are not there, or not as their record says; damage is reported here."""
        missing, damaged = self._inspect()
        if damaged:
            message = f"{len(damaged)} of {self.n_blocks} blocks in {self.folder} were damaged and are computed again"
            warnings.warn(message, CacheWarning, stacklevel=2)
        return sorted(missing + damaged)

    def _inspect(self) -> tuple[list[int], list[int]]:
        about = self.about
        if about is None:
            return list(range(self.n_blocks)), []
        missing: list[int] = []
        damaged: list[int] = []
        with open(self._matrix_path, "rb") if self._matrix_path.is_file() else nullcontext() as stream:
            for block in range(self.n_blocks):
                recorded = self._recorded(block)
                if recorded is None:
                    missing.append(block)
                elif stream is None or recorded != _digest(self.key, block, self._read(stream, block, about["dimension"])):
                    damaged.append(block)
        return missing, damaged

    def write_block(self, block: int, rows: NDArray[np.float32], description: dict[str, str]) -> None:
        """Store a block: its bytes first, flushed; its record only then."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            about = self.about
            if about is None or about["dimension"] != rows.shape[1] or not self._matrix_path.is_file():
                self._start(rows.shape[1], description)
            payload = np.ascontiguousarray(rows, dtype="<f4").data
            with open(self._matrix_path, "r+b") as stream:
                stream.seek(4 * rows.shape[1] * self.rows_of(block).start)
                stream.write(payload)
                stream.flush()
                os.fsync(stream.fileno())
            write_atomically(self._record_path(block), _digest(self.key, block, payload))
        except OSError as error:
            raise CacheError(
                f"{self.folder}: cannot be written: {error.strerror or error}; free some space (`medsenteval cache prune`), "
                "or name another folder with MEDSENTEVAL_CACHE, or run with --no-cache. What was complete before is kept"
            ) from error

    def matrix(self) -> NDArray[np.float32]:
        """Map the whole matrix; call it only when no block is missing."""
        about = self.about
        if about is None:
            raise CacheError(f"{self.folder}: its description vanished while it was read; run again")
        os.utime(self.folder / "about.json")
        return np.memmap(self._matrix_path, dtype="<f4", mode="r", shape=(self.n_rows, about["dimension"]))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the entry alone, so that two runs do not encode the same texts; the system frees it if the holder dies."""
        from filelock import FileLock

        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock"):
            yield

    def _start(self, dimension: int, description: dict[str, str]) -> None:
        """Reserve the matrix's whole space at once, so that a disk too small is noticed before anything is encoded."""
        for record in self.folder.glob("block-*"):
            record.unlink()
        with open(self._matrix_path, "wb") as stream:
            size = 4 * dimension * self.n_rows
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, size)
            else:
                stream.truncate(size)
        about = {**description, "layout": _LAYOUT, "key": self.key, "rows": self.n_rows, "dimension": dimension}
        write_atomically(self.folder / "about.json", json.dumps(about, ensure_ascii=False, indent=1))

    def _record_path(self, block: int) -> Path:
        return self.folder / f"block-{block:06d}"

    def _recorded(self, block: int) -> str | None:
        try:
            return self._record_path(block).read_text("ascii")
        except (OSError, ValueError):
            return None

    def _read(self, stream: Any, block: int, dimension: int) -> bytes:
        rows = self.rows_of(block)
        stream.seek(4 * dimension * rows.start)
        content: bytes = stream.read(4 * dimension * (rows.stop - rows.start))
        return content


class EmbeddingCache:
    """All entries below one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or cache_folder()) / "embeddings"

    def entry(self, identity: str, texts: Sequence[str]) -> CacheEntry:
        """Return the entry for these texts, in this order, by the encoder of this identity; it need not exist yet."""
        digest = hashlib.blake2b(f"{_LAYOUT}|{identity}|{len(texts)}|".encode(), digest_size=20)
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little"))
            digest.update(encoded)
        key = digest.hexdigest()
        return CacheEntry(self.folder / key, key, len(texts))

    def entries(self) -> list[tuple[CacheEntry, dict[str, Any]]]:
        """Return every entry with what it says of itself, {} for one that cannot be read."""
        found = []
        for folder in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if folder.is_dir():
                try:
                    stored = json.loads((folder / "about.json").read_text("utf-8"))
                    entry = CacheEntry(folder, folder.name, int(stored["rows"]))
                except (OSError, ValueError, KeyError, TypeError):
                    entry, stored = CacheEntry(folder, folder.name, 0), {}
                found.append((entry, stored if entry.about is not None else {}))
        return found

    def remove(self, entry: CacheEntry) -> None:
        shutil.rmtree(entry.folder)


def _digest(key: str, block: int, payload: bytes | memoryview) -> str:
    """Hash a block together with where it belongs, so that a block of another place or entry never passes."""
    return hashlib.blake2b(payload, digest_size=20, key=f"{key[:40]}{block}".encode()[:64]).hexdigest()
