"""Fetching a whole data set: every download verified and remembered, then prepared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medsenteval.datasets.download import Downloaded, FetchSettings, Progress, fetch
from medsenteval.datasets.manifest import Download, Manifest
from medsenteval.datasets.prepare import Prepared, prepare
from medsenteval.datasets.recognise import file_digest
from medsenteval.datasets.status import what_to_do
from medsenteval.errors import DataError
from medsenteval.support.atomic_files import write_atomically

#: Below the data folder; what is in it can be deleted when the data sets are prepared.
DOWNLOADS: Final = ".downloads"
#: The lock file of a data folder: what was downloaded first, so that a later change is noticed (trust on first use).
LOCK_NAME: Final = "data.lock.json"
_SCHEMA: Final = 1


@dataclass(frozen=True)
class FetchOptions:
    """How a fetch goes about it.

    ``mirror`` is an address that has each file as MIRROR/DATASET/FILE and is asked first; ``accept_changed`` trusts a file
    that differs from what was fetched first; ``offline`` uses what was downloaded before and nothing else.
    """

    mirror: str = ""
    offline: bool = False
    accept_changed: bool = False
    replace_old: bool = False
    accept_rejected: bool = False
    allow_incomplete: bool = False
    settings: FetchSettings = field(default_factory=FetchSettings)


def fetch_data_set(
    manifest: Manifest,
    root: Path,
    options: FetchOptions,
    progress: Callable[[str], Progress] | None = None,
    announce: Callable[[str], None] = lambda message: None,
) -> Prepared:
    """Download what the manifest lists, then prepare it; a data set that is not open says how it is had instead."""
    if not manifest.downloads or manifest.access not in ("open", "registration"):
        raise DataError(f"{manifest.name} cannot be fetched by a program. {what_to_do(manifest)} (page: {manifest.page})")
    folder = root / DOWNLOADS / manifest.name
    with _alone(folder):
        lock = DataLock(root)
        found = [_one(manifest, download, folder, lock, options, progress, announce) for download in manifest.downloads]
    paths = [each.path for each in found]
    try:
        return prepare(
            manifest,
            paths,
            root,
            replace_old=options.replace_old,
            accept_rejected=options.accept_rejected,
            allow_incomplete=options.allow_incomplete,
        )
    except DataError as error:
        raise DataError(f"{error} (what was downloaded is in {folder})") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second fetch of the same data set from writing into the same part files."""
    from filelock import FileLock

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            yield
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}; name another folder with --data") from error


def _one(
    manifest: Manifest,
    download: Download,
    folder: Path,
    lock: DataLock,
    options: FetchOptions,
    progress: Callable[[str], Progress] | None,
    announce: Callable[[str], None],
) -> Downloaded:
    known = lock.find(manifest.name, download.name)
    expected = "" if known is None or options.accept_changed else known.sha256
    if options.offline:
        return _offline(manifest, download, folder, expected)
    mirrors = (f"{options.mirror.rstrip('/')}/{manifest.name}/{download.name}",) if options.mirror else ()
    try:
        got = fetch(
            download,
            folder,
            expected=expected,
            mirrors=mirrors,
            settings=options.settings,
            progress=None if progress is None else progress(download.name),
            announce=announce,
        )
    except DataError as error:
        changed = " If the publisher changed the file on purpose: --accept-changed." if expected and not download.sha256 else ""
        raise DataError(
            f"{manifest.name}: {error}.{changed} By hand: {manifest.obtain} (page: {manifest.page}); or get the file "
            f"elsewhere and hand it over: medsenteval data prepare {manifest.name} --from FILE"
        ) from error
    if known is None or known.sha256 != got.sha256:
        if not download.sha256:
            announce(f"{download.name}: no hash is published; {got.sha256[:12]}... is trusted from now on ({lock.path.name})")
        lock.record(manifest.name, download.name, LockedFile(got.sha256, got.size, got.url or download.urls[0]))
    return got


def _offline(manifest: Manifest, download: Download, folder: Path, expected: str) -> Downloaded:
    path = folder / download.name
    if not path.is_file():
        raise DataError(f"{manifest.name}: {path} is not there; fetch it without --offline, or bring it from another machine")
    digest = file_digest(path)
    wanted = download.sha256 or expected
    if wanted and digest != wanted:
        raise DataError(f"{path}: has the SHA-256 {digest[:12]}..., expected {wanted[:12]}...; fetch it without --offline")
    return Downloaded(path, digest, path.stat().st_size, "")


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
        self._files = _read_lock(self.path)

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


def _read_lock(path: Path) -> dict[str, LockedFile]:
    if not path.exists():
        return {}
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        if content["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}, not {_SCHEMA}")
        return {str(key): _lock_entry(entry) for key, entry in content["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: not a lock file of this toolkit: {error}; repair it, or remove it to trust anew") from error


def _lock_entry(entry: Any) -> LockedFile:
    found = LockedFile(**entry)
    well_formed = isinstance(found.size, int) and isinstance(found.url, str) and isinstance(found.sha256, str)
    if not well_formed or not re.fullmatch("[0-9a-f]{64}", found.sha256):
        raise ValueError(f"an entry is {str(entry)[:80]}")
    return found
