"""Unpacking what comes from outside: zip, tar (plain, gz, bz2, xz), gz, bz2, xz and rar, recognised by content.

Every member is checked before it is written and counted while it is written: an archive that would leave its folder, holds
links or devices, the same name twice, or more than a data set can be, is refused as a whole. Only plain files come out.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from medsenteval.errors import DataError
from medsenteval.support.files import DAMAGED, packed_kind, read_bytes

_BLOCK: Final = 1 << 20
_LONGEST_NAME: Final = 240
#: Below this size nothing is called a bomb, whatever its ratio: a file of repeated lines compresses very well.
_HARMLESS: Final = 16 << 20
#: A member's name, whether it is a folder, whether a plain file, its size in the archive, and its bytes.
_Member = tuple[str, bool, bool, int, Iterable[bytes]]


class _Refusal(Exception):
    """Why an archive is not to be unpacked."""


@dataclass
class Limits:
    """How much may come out of one archive, archives within it included; what was taken so far is counted here."""

    total_bytes: int = 8 << 30
    members: int = 200_000
    ratio: float = 300.0
    depth: int = 3
    written: int = field(default=0, init=False)
    seen: int = field(default=0, init=False)


def archive_kind(path: Path) -> str:
    """Return zip, rar, gz, bz2, xz, tar or 7z by what the file holds, "" for anything else; a Word document is no archive."""
    head = read_bytes(path, 512)
    kind = packed_kind(head)
    if kind == "zip":
        with suppress(*DAMAGED), zipfile.ZipFile(path) as archive:
            if archive.NameToInfo.keys() & {"[Content_Types].xml", "word/document.xml"}:
                return ""
    # A tape archive has its mark behind the first header's name, mode, sizes and times.
    return "tar" if not kind and head[257:262] == b"ustar" else kind


def unpack(path: Path, folder: Path, limits: Limits | None = None, depth: int = 0) -> list[Path]:
    """Unpack an archive into ``folder``, archives within it too, and return the files; a bad one raises a DataError.

    What was written before the error is left for the caller to remove, who unpacks into a scratch folder.
    """
    limits = limits or Limits()
    kind = archive_kind(path)
    if kind == "7z":
        raise DataError(f"{path}: a 7z archive, which is not unpacked here; unpack it and name the folder with --from")
    if not kind:
        raise DataError(f"{path}: not an archive that is known here (zip, tar, gz, bz2, xz, rar)")
    if depth >= limits.depth:
        raise DataError(f"{path}: an archive within {depth} archives; unpack it by hand and name the folder with --from")
    files: list[Path] = []
    try:
        for member in _READERS[kind](path):
            files += _written(member, folder, limits)
    except _Refusal as error:
        raise DataError(f"{path}: refused: {error}") from error
    except DAMAGED as error:
        if isinstance(error, DataError):
            raise
        reason = str(error) or type(error).__name__
        raise DataError(f"{path}: cannot be unpacked: {reason}; is the download complete?") from error
    found: list[Path] = []
    for file in files:
        if archive_kind(file):
            found += unpack(file, file.with_name(f"{file.name}.unpacked"), limits, depth + 1)
            file.unlink()
        else:
            found.append(file)
    return found


def _written(member: _Member, folder: Path, limits: Limits) -> list[Path]:
    """Write a plain file whose name is safe, counting its bytes as they come, whatever the archive declares; return it."""
    name, is_folder, is_file, packed, blocks = member
    limits.seen += 1
    if limits.seen > limits.members:
        raise _Refusal(f"more than {limits.members:,} members; that is no data set")
    if is_folder:
        return []
    if not is_file:
        raise _Refusal(f"its member {name!r} is a link or a device")
    target = _target(name, folder)
    size = 0
    with open(target, "wb") as stream:
        for block in blocks:
            size += len(block)
            limits.written += len(block)
            if limits.written > limits.total_bytes:
                raise _Refusal(f"unpacks to more than {limits.total_bytes:,} bytes")
            if size > _HARMLESS and size > limits.ratio * max(packed, 1):
                told = f"{target.name} unpacks to more than {limits.ratio:.0f} times its size in the archive"
                raise _Refusal(f"{told}, as only bombs do")
            stream.write(block)
    return [target]


def _target(name: str, folder: Path) -> Path:
    """Return where a member goes, or refuse a name that leads anywhere else than below the folder."""
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts or re.search(r"\\|^[A-Za-z]:|[\0-\x1f]", name):
        raise _Refusal(f"its member {name!r} would be written outside of its folder")
    if any(len(part.encode("utf-8", "surrogateescape")) > _LONGEST_NAME for part in parts):
        raise _Refusal(f"a member's name has more than {_LONGEST_NAME} bytes: {name[:60]!r}...")
    target = folder.joinpath(*(part for part in parts if part not in ("", ".")))
    if target == folder:
        raise _Refusal(f"a file among its members has no name: {name!r}")
    if target.exists():
        raise _Refusal(f"it holds {name!r} twice")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _Refusal(f"{name!r} lies below a member that is a file") from error
    return target


def _blocks(opened: Callable[[], Any]) -> Iterator[bytes]:
    with opened() as stream:
        while block := stream.read(_BLOCK):
            yield block


def _read_zip(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
            if info.flag_bits & 1 and plain and not info.is_dir():
                raise DataError(f"{path}: its member {info.filename!r} is encrypted; unpack it and name the folder with --from")
            yield info.filename, plain and info.is_dir(), plain, info.compress_size, _blocks(partial(archive.open, info))


def _read_tar(path: Path, opened: IO[bytes] | None = None) -> Iterator[_Member]:
    packed = path.stat().st_size
    with tarfile.open(path if opened is None else None, "r:" if opened is None else "r|", fileobj=opened) as archive:
        for member in archive:
            yield member.name, member.isdir(), member.isreg(), packed, _blocks(partial(archive.extractfile, member))


def _read_compressed(opener: Callable[[Path], Any], path: Path) -> Iterator[_Member]:
    """Unpack a single compressed file, which holds a file or a tape archive."""
    with opener(path) as stream:
        is_tar = stream.read(512)[257:262] == b"ustar"
    if is_tar:
        with opener(path) as stream:
            yield from _read_tar(path, stream)
    else:
        yield path.stem or path.name, False, True, path.stat().st_size, _blocks(partial(opener, path))


def _read_rar(path: Path) -> Iterator[_Member]:
    by_hand = "or unpack it by hand (unar, unrar, 7-Zip) and name the folder with --from"
    try:
        import libarchive
    except (ImportError, OSError, AttributeError, TypeError) as error:
        # Without the shared library the package is there and cannot be imported.
        raise DataError(
            f"{path}: a RAR archive; install what reads it with: pip install 'medsenteval[rar]' "
            f"(it needs the system's libarchive), {by_hand}"
        ) from error
    packed = path.stat().st_size
    kind = "rar5" if read_bytes(path, 8) == b"Rar!\x1a\x07\x01\0" else "rar"

    @contextmanager
    def readable() -> Iterator[None]:
        try:
            yield
        except libarchive.ArchiveError as error:
            raise DataError(f"{path}: cannot be unpacked: {error}; fetch it again, {by_hand}") from error

    def blocks(entry: Any) -> Iterator[bytes]:
        with readable():  # whoever writes the blocks asks for them, outside of the loop below
            yield from entry.get_blocks()

    with readable(), libarchive.file_reader(str(path), format_name=kind) as archive:
        for entry in archive:
            yield str(entry.pathname), entry.isdir, entry.isfile and not entry.linkpath, packed, blocks(entry)


_READERS: Final[dict[str, Callable[[Path], Iterator[_Member]]]] = {
    "zip": _read_zip,
    "tar": _read_tar,
    "gz": partial(_read_compressed, gzip.open),
    "bz2": partial(_read_compressed, bz2.open),
    "xz": partial(_read_compressed, lzma.open),
    "rar": _read_rar,
}
