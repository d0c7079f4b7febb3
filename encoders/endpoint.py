"""Any OpenAI-compatible embeddings server over HTTP: vLLM, Text Embeddings Inference, Ollama, OpenAI itself.

Texts go out in batches, a bounded number at a time; what a server may do again is asked again a bounded number of times,
after the pause that it names or an exponential one. The key is read from the environment for each request and is kept nowhere.
"""

from __future__ import annotations

import base64
import binascii
import email.utils
import http.client
import json
import os
import random
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from email.message import Message
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import EncoderError

__all__ = ["EndpointEncoder", "Limits", "load"]

_RETRIED_STATUSES: Final = frozenset({429, 500, 502, 503, 504})
_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_READ_AT_ONCE: Final = 1 << 16
_DEFAULT_KEY_ENV: Final = "OPENAI_API_KEY"
#: Stands for a text without a word: many servers refuse an empty input, and SentEval's examples use it too.
_EMPTY_TEXT: Final = "."
#: The durations of rate-limit headers: 12ms, 1s, 6m0s, 1h2m3.5s.
_DURATION: Final = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


@dataclass(frozen=True)
class Limits:
    """What bounds the requests: in size, in number at a time, in time and in repetitions; none can change a vector."""

    batch_size: int = 32
    concurrency: int = 4
    timeout: float = 60.0
    retries: int = 5
    backoff: float = 0.5
    max_wait: float = 60.0


class _Pace:
    """Holds back all workers of one call when the server asks one of them to wait, and wakes them when the call is over."""

    def __init__(self) -> None:
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()

    def hold(self, seconds: float) -> None:
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def give_up(self) -> None:
        self._over.set()

    def wait(self, own_pause: float) -> bool:
        """Sleep until this worker's pause and the shared one are over; False means that the call was given up."""
        own_end = time.monotonic() + own_pause
        while (left := max(own_end, self._not_before) - time.monotonic()) > 0:
            if self._over.wait(left):
                return False
        return not self._over.is_set()


class _CalledOffError(Exception):
    """Raised in the other workers when one has failed for good; never leaves ``encode``."""


class _FailedRequestError(Exception):
    """One attempt that failed in a way that may pass; ``pause`` is how long the server asks to wait."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would hand the key to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class EndpointEncoder:
    """Vectors from a server's ``/v1/embeddings``.

    A server does not tell the hash of its weights: ``identity`` holds its address, the model's name and ``revision``, which the
    user changes when the weights behind that name have changed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimensions: int | None = None,
        prompt: str = "",
        revision: str = "",
        key_env: str = "",
        limits: Limits | None = None,
    ) -> None:
        self._address = _embeddings_address(url)
        if not model:
            raise EncoderError("endpoint needs the model's name after the address: endpoint:http://localhost:8000/v1#MODEL")
        self.name = self._model = model
        self._dimensions = dimensions
        self._prompt = prompt
        self._key_env = key_env
        self._limits = limits or Limits()
        self._width: int | None = dimensions
        if key_env and not os.environ.get(key_env):
            raise EncoderError(f"endpoint: the environment variable {key_env!r}, named by key_env, is not set")
        asked = f"dimensions={dimensions}-prompt={prompt!r}-revision={revision!r}"
        self.identity = f"endpoint-{self._address.geturl()}#{model}-{asked}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.geturl()!r}, {self._model!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the server's vectors in the order of the texts; an empty text is sent as a full stop."""
        inputs = [self._prompt + (text if text.strip() else _EMPTY_TEXT) for text in texts]
        if not inputs:
            return np.empty((0, self._width or 0), dtype=np.float32)
        size = self._limits.batch_size
        batches = [inputs[start : start + size] for start in range(0, len(inputs), size)]
        pace = _Pace()
        with ThreadPoolExecutor(min(self._limits.concurrency, len(batches))) as executor:
            futures = [executor.submit(self._embed, batch, pace) for batch in batches]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:
                # After success nothing is left to stop; after a failure or Ctrl-C nobody shall go on asking.
                pace.give_up()
                for future in futures:
                    future.cancel()
        errors = [error for future in futures if not future.cancelled() and (error := future.exception())]
        if errors:
            raise next((error for error in errors if not isinstance(error, _CalledOffError)), errors[0])
        parts = [future.result() for future in futures]
        self._check_width(parts)
        return np.concatenate(parts)

    def _check_width(self, parts: Sequence[NDArray[np.float32]]) -> None:
        for part in parts:
            if self._width is None:
                self._width = part.shape[1]
            if part.shape[1] != self._width:
                expected = "asked for by dimensions" if self._dimensions else "in an earlier batch"
                raise EncoderError(f"{self._where}: vectors of width {part.shape[1]}, but {self._width} {expected}")

    def _embed(self, batch: Sequence[str], pace: _Pace) -> NDArray[np.float32]:
        """Return one batch's vectors, asking again after failures that may pass."""
        pause = 0.0
        for attempt in range(self._limits.retries + 1):
            if not pace.wait(pause):
                raise _CalledOffError
            try:
                return _vectors(self._request(batch, pace), len(batch), self._where)
            except EncoderError:
                pace.give_up()  # here already, or this thread would start the next batch before the caller hears of it
                raise
            except _FailedRequestError as failure:
                reason = str(failure)
                if failure.pause is None:
                    # Half of the pause is drawn, so that workers which failed together do not come back together.
                    pause = min(self._limits.max_wait, self._limits.backoff * 2**attempt) * random.uniform(0.5, 1.0)
                elif failure.pause > self._limits.max_wait:
                    reason += f", and asks to wait {failure.pause:.0f} s, more than max_wait={self._limits.max_wait:g}"
                    break
                else:
                    pause = failure.pause
                    pace.hold(pause)
        pace.give_up()
        raise EncoderError(f"{self._where}: {reason}; given up after {attempt + 1} request(s)")

    def _request(self, batch: Sequence[str], pace: _Pace) -> bytes:
        """Send one request and return the answer's body, or raise what kind of failure it was."""
        body: dict[str, Any] = {"model": self._model, "input": list(batch), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        key = self._key()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._address.geturl(), json.dumps(body).encode("ascii"), headers, method="POST")
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if self._address.hostname in _LOOPBACK_HOSTS:
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy could not reach this machine's own server
        deadline = time.monotonic() + self._limits.timeout
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=self._limits.timeout) as response:
                # A good answer can say that it was the last one allowed for now.
                pace.hold(min(_exhausted_for(response.headers) or 0, self._limits.max_wait))
                return _read_until(response, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, key, deadline) from None
        except (OSError, http.client.HTTPException) as error:
            # URLError is an OSError that wraps the real one.
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise EncoderError(f"{self._where}: the server's certificate is not trusted: {cause.verify_message}") from None
            if isinstance(cause, TimeoutError):
                raise _FailedRequestError(f"no answer within timeout={self._limits.timeout:g} s") from None
            raise _FailedRequestError(f"the connection failed ({type(cause).__name__}: {cause})") from None

    def _refusal(self, error: urllib.error.HTTPError, key: str, deadline: float) -> Exception:
        """Turn a status other than 200 into a failure that may pass or an error that will not."""
        try:
            said = _read_until(error, deadline, at_most=2000).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            said = ""
        # A server may repeat the key that it refuses; it is taken out before anything is cut off, which could leave a part.
        reason = " ".join(f"the server answered {error.code} {error.reason} {said}".replace(key or "\0", "***").split())[:300]
        if error.code in _RETRIED_STATUSES:
            return _FailedRequestError(reason, _asked_pause(error.headers))
        if error.code in (401, 403):
            variable = self._key_env or _DEFAULT_KEY_ENV
            reason += f" (with the key of {variable})" if key else " (no key was sent; name its variable with key_env)"
        elif 300 <= error.code < 400:
            reason += " (redirects are not followed; give the final address)"
        return EncoderError(f"{self._where}: {reason}")

    def _key(self) -> str:
        # An unnamed key is not sent in the clear to another machine, which need not be the one that it was made for.
        if not self._key_env and self._address.scheme == "http" and self._address.hostname not in _LOOPBACK_HOSTS:
            return ""
        variable = self._key_env or _DEFAULT_KEY_ENV
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            # Caught here because the HTTP library's own error would show the key.
            raise EncoderError(f"endpoint: the key in the variable {variable!r} holds characters that no header can")
        return key

    @property
    def _where(self) -> str:
        return f"endpoint {self._address.geturl()}, model {self._model!r}"


def _embeddings_address(url: str) -> SplitResult:
    """Return the address to post to: what ends in /embeddings as given, else that below it, /v1/embeddings below a host."""
    form = "expected http://HOST:PORT/v1#MODEL or https://..."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise EncoderError(f"endpoint: the address cannot be read; {form}") from None
    # The address itself is not shown where it may hold a secret.
    if parts.username is not None or parts.password is not None or parts.query:
        raise EncoderError(
            "endpoint: the address holds a user name, a password or a query, which would end up in results; "
            f"put the key into an environment variable and name it with key_env. The address: {form}"
        )
    if parts.scheme not in ("http", "https") or not host:
        raise EncoderError(f"endpoint: {url!r} is not an address; {form}")
    path = parts.path.rstrip("/") or "/v1"
    return parts._replace(path=path if path.endswith("/embeddings") else f"{path}/embeddings", fragment="")


def _read_until(response: Any, deadline: float, at_most: int | None = None) -> bytes:
    """Read a body in pieces, so that a server that drips cannot hold a worker beyond the time limit."""
    pieces: list[bytes] = []
    size = 0
    while at_most is None or size < at_most:
        piece = response.read1(_READ_AT_ONCE)
        if not piece:
            # read1 takes an early end for the end, unlike read.
            if at_most is None and response.length:
                raise http.client.IncompleteRead(b"".join(pieces), response.length)
            break
        pieces.append(piece)
        size += len(piece)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(pieces)


def _asked_pause(headers: Mapping[str, str] | Message) -> float | None:
    """Return how many seconds a refusal asks to wait, or None where it does not say."""
    text = headers.get("Retry-After", "").strip()
    pause = _seconds(text)
    if pause is None and (date := email.utils.parsedate_tz(text)):
        pause = max(0.0, email.utils.mktime_tz(date) - time.time())
    return _exhausted_for(headers) if pause is None else pause


def _exhausted_for(headers: Mapping[str, str] | Message) -> float | None:
    """Return the seconds until requests or tokens are allowed again, if either is used up."""
    pauses = [
        _seconds(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0"
    ]
    return max((pause for pause in pauses if pause is not None), default=None)


def _seconds(text: str) -> float | None:
    text = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    match = _DURATION.fullmatch(text) if text else None
    if match is None:
        return None
    return sum(float(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1, 0.001), strict=True))


def _vectors(body: bytes, n_texts: int, where: str) -> NDArray[np.float32]:
    """Return an answer's vectors in the order of the texts, or raise an EncoderError that says what is wrong with it."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        # The body is not shown here or below: it may repeat the key.
        raise EncoderError(f"{where}: the answer ({len(body)} bytes) is not JSON; is this an embeddings server?") from None
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) and "embedding" in item for item in items):
        raise EncoderError(f"{where}: the answer has no list 'data' of objects with 'embedding'")
    if len(items) != n_texts:
        raise EncoderError(f"{where}: {len(items)} vectors for {n_texts} texts")
    places = [item.get("index") for item in items]
    if any(place is not None for place in places):
        if any(type(place) is not int for place in places) or sorted(places) != list(range(n_texts)):
            raise EncoderError(f"{where}: the items' 'index' values are not 0 to {n_texts - 1} once each")
        items = sorted(items, key=lambda item: int(item["index"]))
    rows = [_vector(item["embedding"], i, where) for i, item in enumerate(items)]
    widths = sorted({len(row) for row in rows})
    if len(widths) > 1 or widths[0] == 0:
        raise EncoderError(f"{where}: vectors of width {' and '.join(map(str, widths))} in one answer")
    matrix = np.stack(rows)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise EncoderError(f"{where}: NaN or infinity in {len(bad)} of {n_texts} vectors, first in that of text {bad[0]}")
    return matrix


def _vector(embedding: Any, place: int, where: str) -> NDArray[np.float32]:
    """Read a list of numbers, or base64 of little-endian float32, which some servers send whatever was asked for."""
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
        except (binascii.Error, ValueError):
            raise EncoderError(f"{where}: the vector of text {place} is neither numbers nor base64 of float32") from None
    # bool is an int to Python, but true is no coordinate.
    if not isinstance(embedding, list) or not all(type(number) in (float, int) for number in embedding):
        raise EncoderError(f"{where}: the vector of text {place} is not a list of numbers")
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes infinity, which is refused later
            return np.array(embedding, dtype=np.float64).astype(np.float32)
    except OverflowError:
        raise EncoderError(f"{where}: the vector of text {place} holds a number beyond any float") from None


def load(
    argument: str, key_env: str = "", dimensions: str = "", prompt: str = "", revision: str = "", **limits: str
) -> EndpointEncoder:
    """Make the encoder of ``endpoint:URL#MODEL``.

    Options: ``batch_size`` texts a request, ``concurrency`` requests at a time, ``timeout`` seconds a request, ``retries``
    after the first request, ``backoff`` seconds before the first of them, ``max_wait`` longest pause, ``key_env`` variable
    that holds the key, ``dimensions`` asked of the server, ``prompt`` put before each text, ``revision`` of the weights.
    """
    url, _, model = argument.partition("#")
    asked = int(_number("dimensions", dimensions, 1, whole=True)) if dimensions else None
    return EndpointEncoder(
        url, model, dimensions=asked, prompt=prompt, revision=revision, key_env=key_env, limits=_read_limits(limits)
    )


def _read_limits(texts: Mapping[str, str]) -> Limits:
    least = {"batch_size": 1, "concurrency": 1, "timeout": 0.001}
    read: dict[str, Any] = {}
    for option, text in texts.items():
        if option not in Limits.__dataclass_fields__:
            raise EncoderError(f"the encoder kind 'endpoint' has no option {option!r}")
        whole = isinstance(getattr(Limits, option), int)
        read[option] = (int if whole else float)(_number(option, text, least.get(option, 0), whole=whole))
    return Limits(**read)


def _number(option: str, text: str, least: float, *, whole: bool = False) -> float:
    if not re.fullmatch(r"\d+" if whole else r"\d+(\.\d+)?", text) or float(text) < least:
        raise EncoderError(f"endpoint: {option} is {text!r}; it must be a {'whole ' if whole else ''}number from {least:g} up")
    return float(text)
