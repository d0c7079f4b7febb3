"""Downloads that resume, retry, turn to mirrors and are verified; nothing unverified ever has its final name.

pooch, the usual library for this, neither resumes nor knows mirrors (it has one address a file and starts again from zero),
and half of the addresses here are slow university servers. So this is the standard library's urllib with, for each file: a
``.part`` file that a later attempt continues where a known hash will tell whether the ends fit; retries with growing pauses
for errors that pass; the mirrors in order; size and SHA-256 at the end.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from medsenteval.datasets.manifest import Download
from medsenteval.datasets.recognise import file_digest
from medsenteval.errors import DataError
from medsenteval.support.files import WEB_PAGE, read_bytes

_BLOCK: Final = 1 << 16
_MOST_REDIRECTS: Final = 5
#: Answers that may be another one a moment later.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_USER_AGENT: Final = "medsenteval (data fetch)"
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")

#: Called with (bytes so far, bytes in all or None).
Progress = Callable[[int, "int | None"], None]


@dataclass(frozen=True)
class FetchSettings:
    """How patient a download is: seconds without a byte, attempts at each address, the first pause between them."""

    timeout: float = 30.0
    attempts: int = 4
    pause: float = 1.0
    longest_pause: float = 60.0
    largest: int = 8 << 30


@dataclass(frozen=True)
class Fetched:
    """What is known of a file that was fetched and verified, and from where."""

    sha256: str
    size: int
    url: str


class _Passing(Exception):
    """A failure after which another attempt at the same address makes sense, from the first byte on if ``anew``.

    ``wait`` is what the server asked for.
    """

    def __init__(self, reason: str, wait: float | None = None, anew: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.anew = wait, anew


class _Lasting(Exception):
    """A failure that the same address would only repeat."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows few redirects, to http and https only, and never from an encrypted address to one that is not."""

    max_redirections = _MOST_REDIRECTS
    max_repeats = 2

    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme not in ("http", "https"):
            raise _Lasting(f"redirects to {newurl!r}, which is not http or https")
        if old.scheme == "https" and new.scheme != "https":
            raise _Lasting(f"redirects from an encrypted address to {newurl!r}, which is not")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(
    download: Download,
    folder: Path,
    *,
    settings: FetchSettings,
    progress: Progress | None = None,
    announce: Callable[[str], None] = lambda message: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Fetched:
    """Download a file into ``folder`` from the first address that gives the right one; one that is there already is kept."""
    target = folder / download.name
    if download.sha256 and target.is_file() and file_digest(target) == download.sha256:
        return Fetched(download.sha256, target.stat().st_size, download.urls[0])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}; name another folder with --data") from error
    reasons: list[str] = []
    for url in download.urls:
        for attempt in range(1, settings.attempts + 1):
            try:
                return _attempt(url, download, target, settings, progress)
            except _Lasting as error:  # noqa: PERF203
                reasons.append(f"{url}: {error}")
                announce(reasons[-1])
                break
            except _Passing as error:
                announce(f"{url}: {error} (attempt {attempt} of {settings.attempts})")
                if attempt == settings.attempts:
                    reasons.append(f"{url}: {error}, {attempt} times")
                else:
                    wait = settings.pause * 2 ** (attempt - 1) if error.wait is None else error.wait
                    sleep(min(wait, settings.longest_pause))
    raise DataError(f"{download.name} cannot be fetched: " + "; ".join(reasons))


def _attempt(url: str, download: Download, target: Path, settings: FetchSettings, progress: Progress | None) -> Fetched:
    part = target.with_name(f".{target.name}.part")
    if not download.sha256:  # only a known hash can tell whether two ends belong together
        part.unlink(missing_ok=True)
    try:
        resumed = _receive(url, part, download.size, settings, progress)
        size, digest = part.stat().st_size, file_digest(part)
        if download.size not in (None, size) or download.sha256 not in ("", digest):
            served = f"{size:,} bytes with SHA-256 {digest[:12]}..."
            reason = f"serves another file: {served}, not the {download.sha256[:12]}... expected"
            # What was fetched in two goes may be halves of two files; one whole go tells.
            raise _Passing(reason, wait=0.0, anew=True) if resumed else _Lasting(reason)
        if WEB_PAGE.match(read_bytes(part, 1024)):
            raise _Lasting("serves a web page instead of the file; does it ask for a log-in?")
        os.replace(part, target)
    except (_Lasting, _Passing) as error:
        if isinstance(error, _Lasting) or error.anew:
            part.unlink(missing_ok=True)
        raise
    return Fetched(digest, size, url)


def _receive(url: str, part: Path, expected: int | None, settings: FetchSettings, progress: Progress | None) -> bool:
    """Bring the part file to its full length; return whether an earlier part of it was kept."""
    offset = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **({"Range": f"bytes={offset}-"} if offset else {})}
    with _request(urllib.request.Request(url, headers=headers), settings.timeout) as response:
        if response.status == 206:
            bounds = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if bounds is None or int(bounds[1]) != offset:
                raise _Passing("continues at another byte than asked for; starting anew", wait=0.0, anew=True)
            total = None if bounds[3] == "*" else int(bounds[3])
        else:
            offset = 0
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
        if total is not None and (total > settings.largest or total != (expected or total)):
            raise _Lasting(f"serves another file: {total:,} bytes" + (f", not {expected:,}" if expected else ""))
        size = offset
        try:
            with open(part, "ab" if offset else "wb") as stream:
                while block := _read(response):
                    size += len(block)
                    if size > (total or settings.largest):
                        raise _Lasting(f"sends more than the {total or settings.largest:,} bytes that can be")
                    stream.write(block)
                    if progress is not None:
                        progress(size, total)
        except OSError as error:
            raise DataError(f"{part}: cannot be written: {error.strerror}; is there room, and may you write there?") from error
    if total is not None and size != total:
        raise _Passing(f"the connection was cut at {size:,} of {total:,} bytes")
    return offset > 0


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _Passing(f"the connection was lost: {str(error) or type(error).__name__}") from error


def _request(request: urllib.request.Request, timeout: float) -> http.client.HTTPResponse:
    """Open an address; what goes wrong becomes either a passing or a lasting failure."""
    # Here and in redirects, because urllib would also open file: and ftp: addresses.
    if urlsplit(request.full_url).scheme not in ("http", "https"):
        raise _Lasting("is not an http or https address")
    try:
        response: http.client.HTTPResponse = urllib.request.build_opener(_Redirects()).open(request, timeout=timeout)
        return response
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                raise _Passing("has no more bytes than were fetched before; starting anew", wait=0.0, anew=True) from error
            wait = error.headers.get("Retry-After", "")
            reason = f"answers {error.code} {error.reason}"
            if error.code in _PASSING:
                raise _Passing(reason, float(wait) if wait.isdigit() else None) from error
            raise _Lasting(reason) from error
    except urllib.error.URLError as error:
        # No such name, or a certificate that is not trusted, stays so; a refused or lost connection may not.
        lasting = isinstance(error.reason, (socket.gaierror, ssl.SSLCertVerificationError))
        raise (_Lasting if lasting else _Passing)(f"cannot be reached: {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _Passing(f"cannot be reached: {str(error) or type(error).__name__}") from error
