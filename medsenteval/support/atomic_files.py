"""Files written whole or not at all, under names that users choose, and the scratch files of processes that were killed."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

#: Scratch of another machine, whose processes cannot be asked for, is taken for abandoned after a day.
_ABANDONED_AFTER_SECONDS: Final = 86_400


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, so that no reader ever sees half of it."""
    with writing(path) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file under a temporary name, to be flushed and renamed when the block has written all of it."""
    remove_abandoned(path.parent, "writing")
    # Not through tempfile, whose files nobody else may read: these are kept, and a page or a result may be shared.
    scratch = path.parent / scratch_name("writing")
    try:
        with open(scratch, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
    except BaseException as error:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk does not say for which file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def scratch_folder(kind: str = "medsenteval", place: Path | None = None) -> Iterator[Path]:
    """Make a folder for this user and this block alone, among the machine's temporary files by default; killed runs' go."""
    place = place or Path(tempfile.gettempdir())
    remove_abandoned(place, kind)
    folder = place / scratch_name(kind)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def scratch_name(kind: str) -> str:
    """Return a new name for a scratch file or folder, which says which process of which machine it belongs to."""
    return f".{kind}-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}"


def remove_abandoned(folder: Path, kind: str) -> None:
    """Remove scratch files and folders of this kind whose process is gone: it was killed before it could do so."""
    for path in folder.glob(f".{kind}-*"):
        named = re.fullmatch(rf"\.{kind}-([0-9a-f]+)-(\d+)-[0-9a-f]+", path.name)
        with suppress(OSError):  # another run removes it too, or it is another user's
            old = time.time() - path.lstat().st_mtime > _ABANDONED_AFTER_SECONDS
            if old or (named and named[1] == _machine() and not _runs(int(named[2]))):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _machine() -> str:
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _runs(process: int) -> bool:
    """Say whether a process of this number runs on this machine; where that cannot be asked, it is taken to."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's, or a number that no process here has
        return True
    return True


#: Bytes that a name may have; endings are added to it, and file systems stop at 255.
_MOST_BYTES: Final = 120
#: Names that Windows keeps for devices, whatever ending follows.
_DEVICES: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def file_name_of(name: str) -> str:
    """Return one path component for any name: other names get other components, and none leaves its folder.

    Letters, digits, ``_``, ``-`` and ``.`` stay as they are. A name with anything else in it, a long one, and one that some
    system reserves are made safe and end in ``~`` and a hash of the name, which no plain name can end in.
    """
    safe = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", name)).strip(".")
    if safe == name and name and len(name.encode()) <= _MOST_BYTES and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    start = safe.encode()[: _MOST_BYTES - len(digest) - 1].decode("utf-8", "ignore")
    return f"{'_' if _DEVICES.fullmatch(start) else ''}{start}~{digest}"
