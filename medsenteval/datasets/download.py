"""Fetching a whole data set: downloads that resume, retry, turn to mirrors, are verified and remembered; then it is prepared.

pooch, the usual library for this, neither resumes nor knows mirrors (it has one address a file and starts again from zero),
and half of the addresses here are slow university servers. So this is the standard library's urllib with, for each file: a
``.part`` file that a later attempt continues where a known hash will tell whether the ends fit; retries with growing pauses
for errors that pass; the mirrors in order; size and SHA-256 at the end. Nothing unverified ever has its final name.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from medsenteval.datasets.manifest import Download, Manifest
from medsenteval.datasets.prepare import Prepared, prepare
from medsenteval.datasets.recognise import file_digest
from medsenteval.datasets.status import what_to_do
from medsenteval.errors import DataError
from medsenteval.support.atomic_files import write_atomically
from medsenteval.support.files import WEB_PAGE, read_bytes

T = TypeVar("T")

#: Below the data folder; what is in it can be deleted when the data sets are prepared.
DOWNLOADS: Final = ".downloads"
#: The lock file of a data folder: what was downloaded first, so that a later change is noticed (trust on first use).
LOCK_NAME: Final = "data.lock.json"
_SCHEMA: Final = 1
_BLOCK: Final = 1 << 16
_LARGEST: Final = 8 << 30
#: Seconds of the first pause between attempts.
_PAUSE: Final = 1.0
#: Answers that may be another one a moment later.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_USER_AGENT: Final = "medsenteval (data fetch)"
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class Patience(NamedTuple):
    """Attempts at each address, and the seconds that a server may send nothing."""

    attempts: int = 4
    timeout: float = 30.0


_USUAL: Final = Patience()


@dataclass(frozen=True)
class Fetched:
    """What is known of a file that was fetched and verified, and from where."""

    sha256: str
    size: int
    url: str


class _Failure(Exception):
    """Why an address did not give the file; ``again`` says that another attempt there makes sense.

    ``useless`` says that what has come so far is of no use: another attempt begins with the first byte, and may do so at once.
    """

    def __init__(self, reason: str, *, again: bool = False, useless: bool = False) -> None:
        super().__init__(reason)
        self.again, self.useless = again, useless


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only, and never from an encrypted address to one that is not."""

    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not newurl.casefold().startswith(("http://", "https://")):
            raise _Failure(f"redirects to {newurl!r}, which is not http or https")
        if req.type == "https" and not newurl.casefold().startswith("https://"):
            raise _Failure(f"redirects from an encrypted address to {newurl!r}, which is not")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch_data_set(
    manifest: Manifest,
    root: Path,
    announce: Callable[[str], None],
    *,
    patience: Patience = _USUAL,
    quiet: bool,
    mirror: str,
    offline: bool,
    accept_changed: bool,
    **accepted: bool,
) -> Prepared:
    """Download what the manifest lists, then prepare it; a data set that is not open says how it is had instead.

    ``mirror`` is an address that has each file as MIRROR/DATASET/FILE and is asked first; ``accept_changed`` trusts a file
    that differs from what was fetched first; ``offline`` uses what was downloaded before and nothing else; ``quiet`` draws no
    bars; ``accepted`` is what ``prepare`` may do.
    """
    from filelock import FileLock

    if not manifest.downloads or manifest.access not in ("open", "registration"):
        raise DataError(f"{manifest.name} cannot be fetched by a program. {what_to_do(manifest)} (page: {manifest.page})")
    folder = root / DOWNLOADS / manifest.name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):  # a second fetch would write into the same part files
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
                got = fetch(wanted, folder, announce, quiet, patience)
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
    write_atomically(root / LOCK_NAME, json.dumps({"schema": _SCHEMA, "files": entries}, indent=1) + "\n")


def fetch(
    download: Download, folder: Path, announce: Callable[[str], None], quiet: bool = True, patience: Patience = _USUAL
) -> Fetched:
    """Download a file into ``folder`` from the first address that gives the right one; one that is there already is kept."""
    target = folder / download.name
    if download.sha256 and target.is_file() and file_digest(target) == download.sha256:
        return Fetched(download.sha256, target.stat().st_size, download.urls[0])
    reasons: list[str] = []
    for url in download.urls:
        for attempt in range(1, patience.attempts + 1):
            try:
                return _attempt(url, download, target, quiet, patience.timeout)
            except _Failure as error:  # noqa: PERF203
                announce(f"{url}: {error}" + (f" (attempt {attempt} of {patience.attempts})" if error.again else ""))
                if attempt == patience.attempts or not error.again:
                    reasons.append(f"{url}: {error}" + (f", {attempt} times" if error.again else ""))
                    break
                if not error.useless:
                    time.sleep(_PAUSE * 2 ** (attempt - 1))
    raise DataError(f"{download.name} cannot be fetched: " + "; ".join(reasons))


def _attempt(url: str, download: Download, target: Path, quiet: bool, timeout: float) -> Fetched:
    part = target.with_name(f".{target.name}.part")
    if not download.sha256:  # only a known hash can tell whether two ends belong together
        part.unlink(missing_ok=True)
    try:
        resumed = _receive(url, part, download.size, quiet, timeout)
        size, digest = part.stat().st_size, file_digest(part)
        if download.size not in (None, size) or download.sha256 not in ("", digest):
            served = f"{size:,} bytes with SHA-256 {digest[:12]}..."
            reason = f"serves another file: {served}, not the {download.sha256[:12]}... expected"
            # What was fetched in two goes may be halves of two files; one whole go tells.
            raise _Failure(reason, again=resumed, useless=True)
        if WEB_PAGE.match(read_bytes(part, 1024)):
            raise _Failure("serves a web page instead of the file; does it ask for a log-in?", useless=True)
        os.replace(part, target)
    except _Failure as error:
        if error.useless:
            part.unlink(missing_ok=True)
        raise
    return Fetched(digest, size, url)


def _receive(url: str, part: Path, expected: int | None, quiet: bool, timeout: float) -> bool:
    """Bring the part file to its full length; return whether an earlier part of it was kept."""
    from tqdm import tqdm

    if not url.startswith(("http://", "https://")):  # urllib would also open file: and ftp: addresses
        raise _Failure("is not an http or https address")
    offset = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **({"Range": f"bytes={offset}-"} if offset else {})}
    request = urllib.request.Request(url, headers=headers)
    opening = partial(urllib.request.build_opener(_Redirects()).open, request, timeout=timeout)
    with _connected("cannot be reached", opening) as response:
        if response.status == 206:
            bounds = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if bounds is None or int(bounds[1]) != offset:
                raise _Failure("continues at another byte than asked for; starting anew", again=True, useless=True)
            total = None if bounds[3] == "*" else int(bounds[3])
        else:
            offset = 0
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
        if total is not None and (total > _LARGEST or total != (expected or total)):
            raise _Failure(f"serves another file: {total:,} bytes" + (f", not {expected:,}" if expected else ""))
        size = offset
        bar = tqdm(
            desc=part.name[1:-5], total=total, initial=offset, unit="B", unit_scale=True, leave=False, disable=quiet or None
        )
        try:
            with bar, open(part, "ab" if offset else "wb") as stream:
                while block := _connected("the connection was lost", partial(response.read, _BLOCK)):
                    size += len(block)
                    if size > (total or _LARGEST):
                        raise _Failure(f"sends more than the {total or _LARGEST:,} bytes that can be", useless=True)
                    stream.write(block)
                    bar.update(len(block))
        except OSError as error:
            raise DataError(f"{part}: cannot be written: {error.strerror}; is there room, and may you write there?") from error
    if total is not None and size != total:
        raise _Failure(f"the connection was cut at {size:,} of {total:,} bytes", again=True)
    return offset > 0


def _connected(trouble: str, ask: Callable[[], T]) -> T:
    """Return what a server is asked for; what goes wrong becomes either a passing or a lasting failure."""
    try:
        return ask()
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                complaint = "has no more bytes than were fetched before; starting anew"
                raise _Failure(complaint, again=True, useless=True) from error
            raise _Failure(f"answers {error.code} {error.reason}", again=error.code in _PASSING) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        # No such name, or a certificate that is not trusted, stays so; a refused or lost connection may not.
        lasting = isinstance(reason, (socket.gaierror, ssl.SSLCertVerificationError))
        raise _Failure(f"{trouble}: {str(reason) or type(reason).__name__}", again=not lasting) from error
