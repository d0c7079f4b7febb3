"""Which of the files at hand is which file of a data set: by hash, else by content together with name or number of rows."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from medsenteval.datasets.manifest import DataFile, Manifest, manifests
from medsenteval.errors import DataError
from medsenteval.support.files import name_fits, read_bytes

_HEAD: Final = 1 << 18
_BLOCK: Final = 1 << 20
_MOST_FILES: Final = 200_000


def file_digest(path: Path) -> str:
    """Return a file's SHA-256, or a DataError that says why it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; check the path and its permissions") from error
    return digest.hexdigest()


@dataclass(frozen=True)
class Candidate:
    """A file at hand; ``name`` is its path as the user would say it, ``given`` whether the user named just this file."""

    path: Path
    name: str
    given: bool = False

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        return read_bytes(self.path, _HEAD)

    @cached_property
    def sha256(self) -> str:
        return file_digest(self.path)

    def rows(self, file: DataFile) -> int:
        """Count the rows that the file would have if it were ``file``."""
        return sum(1 for _ in re.finditer(file.row.encode(), read_bytes(self.path), re.MULTILINE))

    def shows(self, file: DataFile) -> bool:
        return re.search(file.content.encode(), self.head, re.MULTILINE) is not None

    def is_surely(self, file: DataFile) -> bool:
        """Whether it is the official file, byte for byte."""
        return bool(file.sha256) and file.size in (None, self.size) and self.sha256 in file.sha256

    def name_rank(self, file: DataFile) -> int | None:
        """Say how well the name fits: 0 for the official one, then the further names in order; None if none does."""
        patterns = enumerate((file.path, *file.names))
        return next((rank for rank, pattern in patterns if name_fits(self.name.split("/"), pattern)), None)


@dataclass(frozen=True)
class Match:
    """A layout of a data set as far as it was found; ``refused`` says of an archive why it was not opened."""

    found: Mapping[DataFile, Candidate]
    missing: tuple[DataFile, ...]
    refused: str = ""

    @property
    def complete(self) -> bool:
        return bool(self.found) and not self.missing


def candidates_below(source: Path) -> Iterator[Candidate]:
    """Yield the plain files of a folder, or the file itself; hidden ones and macOS's resource forks are left out."""
    if source.is_file():
        yield Candidate(source, source.name, given=True)
        return

    def fail(error: OSError) -> None:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}; check its permissions") from error

    count = 0
    for folder, folders, files in os.walk(source, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__MACOSX")
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith(".") or not path.is_file():
                continue
            count += 1
            if count > _MOST_FILES:
                raise DataError(f"{source}: more than {_MOST_FILES:,} files; name the data set's own folder")
            yield Candidate(path, (Path(source.name) / path.relative_to(source)).as_posix())


def recognise(manifest: Manifest, candidates: Sequence[Candidate]) -> Match:
    """Return the first complete layout, or the one of which most was found."""
    matches = [_match_layout(manifest, files, candidates) for files in manifest.layouts.values()]
    return next((match for match in matches if match.complete), max(matches, key=lambda match: len(match.found)))


def _match_layout(manifest: Manifest, files: Sequence[DataFile], candidates: Sequence[Candidate]) -> Match:
    """Assign candidates to the files of one layout, each to one at most; two different ones that fit equally are an error."""
    found: dict[DataFile, Candidate] = {}
    showing = {file: [candidate for candidate in candidates if candidate.shows(file)] for file in files}
    for surely in (True, False):
        for file in (each for each in files if each not in found):
            used = {each.path for each in found.values()}
            left = [candidate for candidate in showing[file] if candidate.path not in used]
            best = next((each for each in left if each.is_surely(file)), None) if surely else _best(manifest, file, left)
            if best is not None:
                found[file] = best
    missing = tuple(file for file in files if file not in found and not file.optional)
    return Match({file: found[file] for file in files if file in found}, missing)


@cache
def _common_patterns() -> frozenset[str]:
    """Content patterns of several data sets: a file of the right number of rows may then belong to another of them."""
    counts = Counter(pattern for each in manifests().values() for pattern in {file.content for file in each.files})
    return frozenset(pattern for pattern, count in counts.items() if count > 1)


def _best(manifest: Manifest, file: DataFile, candidates: Sequence[Candidate]) -> Candidate | None:
    ranked: list[tuple[tuple[int, int], Candidate]] = []
    named = [candidate for candidate in candidates if candidate.name_rank(file) is not None]
    # Rows are counted only where the name does not tell: it means reading the whole file.
    for candidate in named or candidates:
        right_size = file.rows is not None and bool(named or len(candidates) < 100) and candidate.rows(file) == file.rows
        told_by_size = right_size and file.content not in _common_patterns()
        if named or (not file.named and (told_by_size or file.telling or candidate.given)):
            ranked.append(((candidate.name_rank(file) or 0, 0 if right_size else 1), candidate))
    if not ranked:
        return None
    best = min(key for key, _ in ranked)
    equals = [candidate for key, candidate in ranked if key == best]
    if len({candidate.sha256 for candidate in equals}) > 1:
        listed = f"{file.path}: {', '.join(candidate.name for candidate in equals[:5])}"
        raise DataError(f"{manifest.name}: several files could be {listed}; name the one that is meant with --from")
    return equals[0]
