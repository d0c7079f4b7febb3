"""Fetching a whole data set: every download verified and remembered, then prepared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medsenteval.datasets.download import Fetched, FetchSettings, Progress, fetch
from medsenteval.datasets.manifest import Manifest
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


def fetch_data_set(
    manifest: Manifest,
    root: Path,
    settings: FetchSettings,
    progress: Callable[[str], Progress] | None,
    announce: Callable[[str], None],
    *,
    mirror: str,
    offline: bool,
    accept_changed: bool,
    **accepted: bool,
) -> Prepared:
    """Download what the manifest lists, then prepare it; a data set that is not open says how it is had instead.

    ``mirror`` is an address that has each file as MIRROR/DATASET/FILE and is asked first; ``accept_changed`` trusts a file
    that differs from what was fetched first; ``offline`` uses what was downloaded before and nothing else; ``accepted`` is
    what ``prepare`` may do.
    """
    if not manifest.downloads or manifest.access not in ("open", "registration"):
        raise DataError(f"{manifest.name} cannot be fetched by a program. {what_to_do(manifest)} (page: {manifest.page})")
    folder = root / DOWNLOADS / manifest.name
    with _alone(folder):
        locked = read_lock(root)
        for download in manifest.downloads:
            key = f"{manifest.name}/{download.name}"
            remembered = locked[key].sha256 if key in locked and not accept_changed else ""
            urls = (*([f"{mirror.rstrip('/')}/{key}"] if mirror else []), *download.urls)
            wanted = replace(download, urls=urls, sha256=download.sha256 or remembered)
            if offline:
                _check(manifest, folder / download.name, wanted.sha256)
                continue
            try:
                bar = progress and progress(download.name)
                got = fetch(wanted, folder, settings=settings, progress=bar, announce=announce)
            except DataError as error:
                changed = " If the publisher changed the file on purpose: --accept-changed."
                raise DataError(
                    f"{manifest.name}: {error}.{changed if remembered and not download.sha256 else ''} By hand: "
                    f"{manifest.obtain} (page: {manifest.page}); or get the file elsewhere and hand it over: "
                    f"medsenteval data prepare {manifest.name} --from FILE"
                ) from error
            if key not in locked or locked[key].sha256 != got.sha256:
                if not download.sha256:
                    announce(
                        f"{download.name}: no hash is published; {got.sha256[:12]}... is trusted from now on ({LOCK_NAME})"
                    )
                _remember(root, key, got)
    try:
        return prepare(manifest, [folder / download.name for download in manifest.downloads], root, **accepted)
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


def _check(manifest: Manifest, path: Path, wanted: str) -> None:
    if not path.is_file():
        raise DataError(f"{manifest.name}: {path} is not there; fetch it without --offline, or bring it from another machine")
    digest = file_digest(path)
    if wanted not in ("", digest):
        raise DataError(f"{path}: has the SHA-256 {digest[:12]}..., expected {wanted[:12]}...; fetch it without --offline")


def read_lock(root: Path) -> dict[str, Fetched]:
    """Return what the lock file of a data folder remembers, as DATASET/FILE -> download."""
    path = root / LOCK_NAME
    if not path.exists():
        return {}
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        if content["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}, not {_SCHEMA}")
        found = {str(key): Fetched(**entry) for key, entry in content["files"].items()}
        for key, entry in found.items():
            if not (isinstance(entry.size, int) and isinstance(entry.url, str) and re.fullmatch("[0-9a-f]{64}", entry.sha256)):
                raise ValueError(f"the entry of {key} is {str(entry)[:80]}")
        return found
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: not a lock file of this toolkit: {error}; repair it, or remove it to trust anew") from error


def _remember(root: Path, key: str, got: Fetched) -> None:
    """Add a download to the lock file, read anew because another fetch may have written it."""
    entries = {name: vars(entry) for name, entry in sorted({**read_lock(root), key: got}.items())}
    try:
        write_atomically(root / LOCK_NAME, json.dumps({"schema": _SCHEMA, "files": entries}, indent=1) + "\n")
    except OSError as error:
        raise DataError(f"{root / LOCK_NAME}: cannot be written: {error.strerror}") from error
