"""Embeddings kept on disk between runs: each text is encoded once for each encoder, whatever data sets it stands in.

A store belongs to one encoder's identity. It is a folder with one file of rows, which only ever grows, and one small record for
each block of rows: where they are, the hashes of their texts, and a hash over all of it. A block counts only once its record
exists and matches: a run that was killed, a full disk, a flipped bit or a foreign file leave blocks without a matching record,
and their texts are encoded again. Records appear by renaming, so they are never half there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import MedSentEvalError, MedSentEvalWarning
from medsenteval.support.atomic_files import write_atomically

_LAYOUT: Final = 2
_CHUNK: Final = 1 << 22
_HASH_BYTES: Final = 16


class CacheError(MedSentEvalError, OSError):
    """The cache folder cannot be written."""


class CacheWarning(MedSentEvalWarning):
    """Something in the cache was damaged and is computed again."""


def cache_folder() -> Path:
    """Return the folder named by MEDSENTEVAL_CACHE, or the user's cache folder; it may not exist yet."""
    named = os.environ.get("MEDSENTEVAL_CACHE") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/medsenteval"
    return Path(named).expanduser()


@dataclass(frozen=True, eq=False)
class _Block:
    """A record: ``rows`` rows of ``columns`` float32 from byte ``at``, with the hash and the token count of each text."""

    path: Path
    at: int
    rows: int
    columns: int
    digest: str
    texts: bytes
    tokens: NDArray[np.uint32]

    @classmethod
    def read(cls, path: Path) -> _Block | None:
        """Return the record in this file, or None if there is none to be read."""
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            at, rows, columns = map(int, head.split()[:3])
            texts, tokens = body[: _HASH_BYTES * rows], np.frombuffer(body[_HASH_BYTES * rows :], "<u4")
            block = cls(path, at, rows, columns, head.split()[3].decode("ascii"), texts, tokens)
        except (OSError, ValueError, IndexError):
            return None
        sound = 0 <= block.at < 2**60 and 0 < block.columns < 2**31 and 0 < block.rows == len(block.tokens)
        return block if sound and len(block.texts) == _HASH_BYTES * block.rows else None

    @property
    def size(self) -> int:
        return 4 * self.rows * self.columns

    def hashed(self, key: str) -> Any:
        """Return a hash of everything but the rows, to be fed these; the key keeps another store's blocks from passing."""
        digest = hashlib.blake2b(f"{self.at} {self.rows} {self.columns} ".encode(), digest_size=20, key=key.encode())
        digest.update(self.texts)
        digest.update(self.tokens.tobytes())
        return digest


@dataclass(frozen=True, eq=False)
class Lookup:
    """Where a store has some texts: at which byte the row of each one begins, -1 for a missing one, and its token count."""

    at: NDArray[np.int64]
    tokens: NDArray[np.uint32]
    columns: int | None

    @property
    def missing(self) -> NDArray[np.intp]:
        """The places of the texts that are not there."""
        return np.flatnonzero(self.at < 0)


@dataclass(frozen=True)
class VectorStore:
    """The vectors of one encoder's texts, in the folder of one identity's hash."""

    folder: Path
    key: str

    @property
    def path(self) -> Path:
        return self.folder / "rows.f32"

    @property
    def about(self) -> dict[str, Any]:
        """What the store says of itself; nothing depends on it."""
        try:
            about = json.loads((self.folder / "about.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return about if isinstance(about, dict) else {}

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())

    @property
    def days_unused(self) -> float:
        """Days since vectors were last read; reading touches the description."""
        about = self.folder / "about.json"
        return (time.time() - (about if about.is_file() else self.folder).stat().st_mtime) / 86_400

    def blocks(self) -> list[_Block]:
        """Return the records in the order of their making; those that cannot be read are left out."""
        names = sorted(self.folder.glob("block-*")) if self.folder.is_dir() else []
        return [block for block in map(_Block.read, names) if block is not None]

    def damaged(self, blocks: Sequence[_Block]) -> list[_Block]:
        """Return those blocks whose rows, or texts, are not what their record says."""
        wrong = []
        try:
            stream = open(self.path, "rb", opener=_opened_itself)  # noqa: SIM115
        except OSError:
            return list(blocks)
        with stream:
            for block in blocks:
                digest, left = block.hashed(self.key), block.size
                stream.seek(block.at)
                while left and (chunk := stream.read(min(left, _CHUNK))):
                    digest.update(chunk)
                    left -= len(chunk)
                if left or digest.hexdigest() != block.digest:
                    wrong.append(block)
        return wrong

    def find(self, texts: Sequence[str], *, check: bool = True, repair: bool = False) -> Lookup:
        """Look texts up; with ``check``, the blocks that have them are read, and damaged ones do not count.

        ``repair``, for the holder of a lock, forgets the damaged ones with a warning.
        """
        if repair and (unreadable := set(self.folder.glob("block-*")) - {block.path for block in self.blocks()}):
            self._forget(unreadable)
        wanted, blocks = _hashes(texts), self.blocks()
        checked: set[Path] = set()
        while True:
            known = [block.texts[at : at + _HASH_BYTES] for block in blocks for at in range(0, len(block.texts), _HASH_BYTES)]
            # Of several rows of one text the first counts.
            row_of = dict(zip(reversed(known), range(len(known) - 1, -1, -1), strict=True))
            rows = np.array([row_of.get(each, -1) for each in wanted], dtype=np.intp)
            block_of = np.repeat(np.arange(len(blocks)), [block.rows for block in blocks])
            used = [blocks[number] for number in np.unique(block_of[rows[rows >= 0]])]
            if not used:
                return Lookup(np.full(len(rows), -1), np.zeros(len(rows), np.uint32), None)
            # Vectors of another width than the first are those of an encoder that broke its promise to be the same one.
            wrong = [block for block in used if block.columns != used[0].columns]
            if check and not wrong:
                wrong = self.damaged([block for block in used if block.path not in checked])
                checked.update(block.path for block in used)
            if not wrong:
                begins = np.concatenate([block.at + 4 * block.columns * np.arange(block.rows) for block in blocks])
                tokens = np.concatenate([block.tokens for block in blocks])
                return Lookup(np.where(rows < 0, -1, begins[rows]), tokens[rows], used[0].columns)
            if repair:
                self._forget({block.path for block in wrong})
            blocks = [block for block in blocks if block not in wrong]

    def _forget(self, records: set[Path]) -> None:
        message = f"{len(records)} block(s) in {self.folder} damaged: computed again"
        warnings.warn(message, CacheWarning, stacklevel=4)
        for path in records:
            with suppress(OSError):  # what cannot be written says so when the texts are stored again
                path.unlink()

    def read(self, found: Lookup) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
        """Return rows and token counts (0 where the encoder did not say) of texts that are all there.

        Rows are mapped where they lie one after the other, else copied together.
        """
        with suppress(OSError):  # a cache may be read where it cannot be written
            os.utime(self.folder / "about.json")
        at, columns = found.at, found.columns or 0
        with open(self.path, "rb", opener=_opened_itself) as stream:
            if (np.diff(at) == 4 * columns).all():
                return np.memmap(stream, dtype="<f4", mode="r", offset=int(at[0]), shape=(len(at), columns)), found.tokens
            stored = np.asarray(np.memmap(stream, dtype="<f4", mode="r", shape=(int(at.max()) // 4 + columns,)))
            return np.lib.stride_tricks.sliding_window_view(stored, columns)[at // 4], found.tokens

    def append(
        self, texts: Sequence[str], rows: NDArray[np.float32], tokens: NDArray[np.uint32], about: dict[str, str]
    ) -> None:
        """Store a block: its rows first, behind all others and flushed; its record only then."""
        with self.locked("lock"):
            try:
                described = {"layout": _LAYOUT, **about}
                if self.about != described:
                    write_atomically(self.folder / "about.json", json.dumps(described))
                payload = np.ascontiguousarray(rows, dtype="<f4").data
                with open(self.path, "ab", opener=_opened_itself) as stream:
                    # Rows begin at whole numbers of floats, even behind what a killed run left.
                    at = -(-stream.seek(0, os.SEEK_END) // 4) * 4
                    try:
                        stream.truncate(at)
                        stream.write(payload)
                        stream.flush()
                        os.fsync(stream.fileno())
                    except BaseException:
                        # Nobody knows of these bytes yet, and a full disk needs them back.
                        os.ftruncate(stream.fileno(), at)
                        raise
                numbers = [int(path.name[6:]) for path in self.folder.glob("block-*") if path.name[6:].isdecimal()]
                path = self.folder / f"block-{max(numbers, default=-1) + 1:06d}"
                counted = np.ascontiguousarray(tokens, dtype="<u4")
                block = _Block(path, at, *rows.shape, "", b"".join(_hashes(texts)), counted)  # type: ignore[call-arg]
                digest = block.hashed(self.key)
                digest.update(payload)
                head = f"{at} {block.rows} {block.columns} {digest.hexdigest()}\n".encode()
                write_atomically(path, head + block.texts + counted.tobytes())
            except OSError as error:
                raise self._unwritable(error) from error

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold one of the store's locks; the system frees it if the holder dies."""
        from filelock import FileLock

        lock = FileLock(self.folder / name, mode=0o600)
        check_owner(self.folder / name, may_be_link=False)
        try:
            # For this user alone, whatever others' folders are like here.
            for folder in (self.folder.parent.parent, self.folder.parent, self.folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire()
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            yield
        finally:
            lock.release()

    def encoding(self, texts: Sequence[str]) -> Any:
        """Hold the lock of a set of texts, so that two runs do not encode them both."""
        return self.locked(f"lock-{hashlib.blake2b(b''.join(_hashes(texts)), digest_size=8).hexdigest()}")

    def _unwritable(self, error: OSError) -> CacheError:
        return CacheError(
            f"{self.folder}: cannot be written: {error.strerror or error}; free some space (`medsenteval cache prune`), "
            "or name another folder with MEDSENTEVAL_CACHE, or run with --no-cache. What was complete before is kept"
        )


class EmbeddingCache:
    """All stores below one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or cache_folder()) / "encoded"

    def store(self, identity: str) -> VectorStore:
        """Return the store of the encoder of this identity; it need not exist yet."""
        key = hashlib.blake2b(f"{_LAYOUT}|{identity}".encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
        store = VectorStore(self.folder / key, key)
        for path in (self.folder.parent, self.folder, store.folder, store.path, store.folder / "lock"):
            check_owner(path, may_be_link=path in (self.folder.parent, self.folder))
        return store

    def stores(self) -> list[VectorStore]:
        """Return every store."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [VectorStore(folder, folder.name) for folder in folders if folder.is_dir() and not folder.is_symlink()]

    def remove(self, store: VectorStore) -> None:
        shutil.rmtree(store.folder)


def _hashes(texts: Sequence[str]) -> list[bytes]:
    return [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest() for text in texts]


def _opened_itself(path: str, flags: int) -> int:
    """Open or make a file, for this user alone, and never what a link in its place points to."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _has_others(group: int) -> bool:
    """Whether a group is more than this user's own: many systems give each user one, others share one between all."""
    import grp
    import pwd

    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(group).gr_mem}
    except KeyError:  # a group, or a member, that this machine does not know
        return True
    first = {user.pw_uid for user in pwd.getpwall() if user.pw_gid == group}
    return not (members | first) <= {os.geteuid(), 0}


def check_owner(path: Path, may_be_link: bool) -> None:
    """Refuse a file or folder that another user can change: vectors found there would be trusted."""
    try:
        found = path.stat() if may_be_link else path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise CacheError(f"{path}: a link, and links inside the cache are not followed; remove it")
    if os.name != "posix":
        return
    remedy = "or name another folder with MEDSENTEVAL_CACHE, or run with --no-cache"
    if found.st_uid not in (os.geteuid(), 0):
        raise CacheError(f"{path}: belongs to another user (number {found.st_uid}), who can change it; copy it, {remedy}")
    if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and _has_others(found.st_gid)):
        raise CacheError(f"{path}: other users can write here, and so change scores; `chmod go-w {path}`, {remedy}")
