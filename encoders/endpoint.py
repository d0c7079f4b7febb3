"""Any OpenAI-compatible embeddings server over HTTP: vLLM, Text Embeddings Inference, Ollama, llama.cpp, OpenAI itself.

Texts go out in batches, a bounded number at a time; what a server may do again is asked again a bounded number of times,
after the pause that it names or an exponential one. The key is read from the environment for each request and is kept nowhere.
"""

from __future__ import annotations

import base64
import binascii
import email.utils
import json
import logging
import os
import queue
import random
import re
import ssl
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.server_connection import ServerConnection
from medsenteval.encoders.token_budget import TokenBudget
from medsenteval.errors import EncoderError, MissingExtraError, caused_by

if TYPE_CHECKING:
    import httpx

__all__ = ["EndpointEncoder", "Limits", "load"]

_RETRIED_STATUSES: Final = frozenset({429, 500, 502, 503, 504})
_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: Bytes of an answer for each of its vectors and for the rest; a vector of 4,096 numbers takes some 90,000.
_LARGEST_PART: Final = 1 << 21
#: A tokeniser makes at most one token of each byte; this many for the marks that it puts around a text.
_MARKS: Final = 16
_DEFAULT_KEY_ENV: Final = "OPENAI_API_KEY"
#: Stands for a text without a word: many servers refuse an empty input, and SentEval's examples use it too.
_EMPTY_TEXT: Final = "."
_THREADS: Final = "medsenteval-endpoint"
#: Options that are numbers, with the least that each can be.
_WHOLE: Final = {"batch_size": 1, "concurrency": 1, "retries": 0, "dimensions": 1, "max_tokens": 1}
_DECIMAL: Final = {"timeout": 0.001, "backoff": 0.0, "max_wait": 0.0}


@dataclass(frozen=True)
class Limits:
    """What bounds the requests: in size, in number at a time, in time and in repetitions; none can change a vector."""

    batch_size: int = 32
    concurrency: int = 4
    timeout: float = 60.0
    retries: int = 5
    backoff: float = 0.5
    max_wait: float = 60.0


class _FailedRequestError(Exception):
    """One attempt that failed in a way that may pass.

    ``pause`` is how long the server asks to wait; ``charged`` whether it may have counted the tokens of the request.
    """

    def __init__(self, reason: str, pause: float | None = None, *, charged: bool = False) -> None:
        super().__init__(reason)
        self.pause, self.charged = pause, charged


class EndpointEncoder:
    """Vectors from a server's ``/v1/embeddings``.

    A server does not tell the hash of its weights: ``identity`` holds its address, the model's name and ``revision``, which the
    user changes when the weights behind that name have changed. ``token_budget`` counts the tokens that the server says it
    used, and may bound them.
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
        max_tokens: int | None = None,
    ) -> None:
        self._address, self._is_local = _embeddings_address(url)
        if not model:
            raise EncoderError("endpoint needs the model's name after the address: endpoint:http://localhost:8000/v1#MODEL")
        if key_env and not os.environ.get(key_env):
            raise EncoderError(f"endpoint: the environment variable {key_env!r}, named by key_env, is not set")
        _httpx()
        self.name = self._model = model
        self.token_budget = TokenBudget(max_tokens)
        self._asked: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions:
            self._asked["dimensions"] = dimensions
        self._prompt = prompt
        self._key_env = key_env
        self._limits = limits or Limits()
        self._width: int | None = dimensions
        self._where = f"endpoint {self._address}, model {model!r}"
        self.identity = f"endpoint-{self._address}#{model}-dimensions={dimensions}-prompt={prompt!r}-revision={revision!r}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address!r}, {self._model!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the server's vectors in the order of the texts; an empty text is sent as a full stop."""
        inputs = [_valid(self._prompt + (text if text.strip() else _EMPTY_TEXT)) for text in texts]
        if not inputs:
            return np.empty((0, self._width or 0), dtype=np.float32)
        size = self._limits.batch_size
        batches = [inputs[start : start + size] for start in range(0, len(inputs), size)]
        over = threading.Event()
        n_threads = min(self._limits.concurrency, len(batches))
        executor = ThreadPoolExecutor(n_threads, thread_name_prefix=_THREADS)
        free: queue.SimpleQueue[ServerConnection] = queue.SimpleQueue()
        with ExitStack() as stack:
            connections = [stack.enter_context(closing(self._connection())) for _ in range(n_threads)]
            for connection in connections:
                free.put(connection)
            futures = [executor.submit(self._embed, free, batch, over) for batch in batches]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            except BaseException:
                # Ctrl-C: nobody waits for answers that are under way, nor for a server that cannot be reached.
                over.set()
                for connection in connections:
                    connection.cut()
                executor.shutdown(wait=False, cancel_futures=True)
                raise
            # After success nothing is left to stop; after a failure nobody shall go on asking.
            over.set()
            executor.shutdown()
        errors = [error for future in futures if (error := future.exception())]
        if errors:
            raise next((error for error in errors if not isinstance(error, CancelledError)), errors[0])
        parts = [future.result() for future in futures]
        for part in parts:
            self._width = self._width or part.shape[1]
            if part.shape[1] != self._width:
                expected = "asked for by dimensions" if "dimensions" in self._asked else "in an earlier batch"
                raise EncoderError(f"{self._where}: vectors of width {part.shape[1]}, but {self._width} {expected}")
        return np.concatenate(parts)

    def _connection(self) -> ServerConnection:
        # A proxy could not reach this machine's own server.
        direct = {"http://": None, "https://": None} if self._is_local else None
        seconds = self._limits.timeout
        client = _httpx().Client(verify=_trusted_certificates(), timeout=seconds, mounts=direct, follow_redirects=False)
        return ServerConnection(client, seconds)

    def _embed(
        self, free: queue.SimpleQueue[ServerConnection], batch: Sequence[str], over: threading.Event
    ) -> NDArray[np.float32]:
        """Return one batch's vectors, asking again after failures that may pass."""
        connection = free.get()
        pause = 0.0
        at_most = sum(len(text.encode()) + _MARKS for text in batch)
        try:
            for attempt in range(self._limits.retries + 1):
                if over.wait(pause):
                    raise CancelledError  # another batch has failed for good
                try:
                    with self.token_budget.held(at_most):
                        return self._vectors(self._request(connection, batch), len(batch))
                except _FailedRequestError as failure:
                    reason = str(failure)
                    self.token_budget.lose(at_most if failure.charged else 0)
                    # Half of the pause is drawn, so that workers which failed together do not come back together.
                    drawn = min(self._limits.max_wait, self._limits.backoff * 2**attempt) * random.uniform(0.5, 1.0)
                    pause = drawn if failure.pause is None else failure.pause
                    if pause > self._limits.max_wait:
                        reason += f", and asks to wait {pause:.0f} s, more than max_wait={self._limits.max_wait:g}"
                        break
            raise EncoderError(f"{self._where}: {reason}; given up after {attempt + 1} request(s)")
        except BaseException:
            over.set()  # here already, or this thread would start the next batch before the caller hears of it
            raise
        finally:
            free.put(connection)

    def _request(self, connection: ServerConnection, batch: Sequence[str]) -> bytes:
        """Send one request and return the answer's body, or raise what kind of failure it was."""
        httpx, key = _httpx(), self._key()
        # A compressed answer could grow without bounds when it is read.
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        at_most = _LARGEST_PART * (len(batch) + 1)
        body = json.dumps({**self._asked, "input": list(batch)}).encode()
        try:
            with connection.post(self._address, body, headers) as answer:
                if not answer.is_success:
                    raise self._refusal(answer, key)
                found = bytearray()
                for piece in answer.iter_raw():
                    found += piece
                    if len(found) > at_most:
                        raise EncoderError(f"{self._where}: the answer to {len(batch)} text(s) has over {at_most:,} bytes")
                return bytes(found)
        except httpx.TimeoutException:
            raise _FailedRequestError(f"no answer within timeout={self._limits.timeout:g} s", charged=True) from None
        except httpx.TransportError as error:
            if caused_by(error, ssl.SSLCertVerificationError):
                raise EncoderError(f"{self._where}: the server's certificate is not trusted: {error}") from None
            # What a broken answer held is not shown: it may repeat the key.
            never_began = isinstance(error, httpx.ConnectError)
            told = f"{type(error).__name__}: {error}" if never_began else type(error).__name__
            raise _FailedRequestError(f"the connection failed ({told})", charged=not never_began) from None

    def _refusal(self, answer: httpx.Response, key: str) -> Exception:
        """Turn a status other than success into a failure that may pass or an error that will not."""
        # A server may repeat the key that it refuses, in any encoding: after a key was sent none of its words are kept.
        said = "(its words are not shown, as a key was sent)"
        if not key:
            said = next(answer.iter_raw(2000), b"").decode("utf-8", "replace")
        named = _httpx().codes.get_reason_phrase(answer.status_code)
        reason = " ".join(f"the server answered {answer.status_code} {named} {said}".split())[:300]
        if answer.status_code in _RETRIED_STATUSES:
            return _FailedRequestError(reason, _asked_pause(answer.headers.get("Retry-After", "")))
        if answer.status_code in (401, 403):
            variable = self._key_env or _DEFAULT_KEY_ENV
            reason += f" (with the key of {variable})" if key else " (no key was sent; name its variable with key_env)"
        elif 300 <= answer.status_code < 400:
            reason += " (redirects are not followed; give the final address)"
        elif answer.status_code == 404:
            reason += " (not every server has /v1; an address that ends in /embeddings is taken as it is)"
        return EncoderError(f"{self._where}: {reason}")

    def _key(self) -> str:
        # An unnamed key is not sent in the clear to another machine, which need not be the one that it was made for.
        if not self._key_env and self._address.startswith("http:") and not self._is_local:
            return ""
        variable = self._key_env or _DEFAULT_KEY_ENV
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            # Caught here because the HTTP library's own error would show the key.
            raise EncoderError(f"endpoint: the key in the variable {variable!r} holds characters that no header can")
        return key

    def _vectors(self, body: bytes, n_texts: int) -> NDArray[np.float32]:
        """Return an answer's vectors in the order of the texts, after its tokens were counted."""
        try:
            answer = json.loads(body)
            usage = answer.get("usage") if isinstance(answer, dict) else None
            items = answer["data"]
            rows = [(item.get("index"), item["embedding"]) for item in items]
        except (ValueError, RecursionError):
            # The body is not shown here or below: it may repeat the key.
            raise self._wrong(f"the answer ({len(body)} bytes) is not JSON; is this an embeddings server?") from None
        except (KeyError, TypeError, AttributeError):
            raise self._wrong("the answer has no list 'data' of objects with 'embedding'") from None
        told = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        self.token_budget.count(told, self._where)
        if len(rows) != n_texts:
            raise self._wrong(f"{len(rows)} vectors for {n_texts} texts")
        places = [place for place, _ in rows]
        if any(place is not None for place in places):
            if any(type(place) is not int for place in places) or sorted(places) != list(range(n_texts)):
                raise self._wrong(f"the items' 'index' values are not 0 to {n_texts - 1} once each")
            rows.sort(key=lambda row: int(row[0]))
        vectors = [self._vector(embedding, number) for number, (_, embedding) in enumerate(rows)]
        widths = sorted({len(vector) for vector in vectors})
        if len(widths) > 1 or widths[0] == 0:
            raise self._wrong(f"vectors of width {' and '.join(map(str, widths))} in one answer")
        matrix = np.stack(vectors)
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if len(bad):
            raise self._wrong(f"NaN or infinity in {len(bad)} of {n_texts} vectors, first in that of text {bad[0]}")
        return matrix

    def _vector(self, embedding: Any, number: int) -> NDArray[np.float32]:
        """Read a list of numbers, or base64 of little-endian float32, which some servers send whatever was asked for."""
        if isinstance(embedding, str):
            try:
                return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
            except (binascii.Error, ValueError):
                raise self._wrong(f"the vector of text {number} is neither numbers nor base64 of float32") from None
        # bool is an int to Python, but true is no coordinate.
        if not isinstance(embedding, list) or not all(type(value) in (float, int) for value in embedding):
            raise self._wrong(f"the vector of text {number} is not a list of numbers")
        try:
            with np.errstate(over="ignore"):  # too large for float32 becomes infinity, which is refused later
                return np.array(embedding, dtype=np.float64).astype(np.float32)
        except OverflowError:
            raise self._wrong(f"the vector of text {number} holds a number beyond any float") from None

    def _wrong(self, what: str) -> EncoderError:
        return EncoderError(f"{self._where}: {what}")


@cache
def _trusted_certificates() -> ssl.SSLContext:
    """Return the system's list of authorities, read once: that takes longer than a request."""
    return ssl.create_default_context()


@cache
def _httpx() -> Any:
    """Return the HTTP library, kept from logging what servers say to us: it may repeat the key."""
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("endpoint:", "httpx", "endpoint") from error
    for name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
        logging.getLogger(name).addFilter(lambda record: not str(record.threadName).startswith(_THREADS))
    return httpx


def _valid(text: str) -> str:
    """Replace half a surrogate pair, which no server's JSON reader takes, by the replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _embeddings_address(url: str) -> tuple[str, bool]:
    """Return the address to post to, and whether it is on this machine.

    What ends in /embeddings is taken as given, else that below it, and /v1/embeddings below a host.
    """
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
    path = path if path.endswith("/embeddings") else f"{path}/embeddings"
    return parts._replace(path=path, fragment="").geturl(), host in _LOOPBACK_HOSTS


def _asked_pause(retry_after: str) -> float | None:
    """Return how many seconds a refusal asks to wait, or None where it does not say."""
    if re.fullmatch(r"\d+(\.\d+)?", retry_after.strip()):
        return float(retry_after)
    date = email.utils.parsedate_tz(retry_after)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None


def load(argument: str, key_env: str = "", prompt: str = "", revision: str = "", **numbers: str) -> EndpointEncoder:
    """Make the encoder of ``endpoint:URL#MODEL``.

    Options: ``batch_size`` texts a request, ``concurrency`` requests at a time, ``timeout`` seconds a request, ``retries``
    after the first request, ``backoff`` seconds before the first of them, ``max_wait`` longest pause, ``max_tokens`` that all
    requests together may use, ``key_env`` variable that holds the key, ``dimensions`` asked of the server, ``prompt`` put
    before each text, ``revision`` of the weights.
    """
    url, _, model = argument.partition("#")
    read: dict[str, Any] = {}
    for option, text in numbers.items():
        if option not in _WHOLE | _DECIMAL:
            raise EncoderError(f"the encoder kind 'endpoint' has no option {option!r}")
        if not text:
            continue  # an empty option is one that was not given
        whole, least = option in _WHOLE, (_WHOLE | _DECIMAL)[option]
        if not re.fullmatch(r"\d{1,15}" if whole else r"\d{1,15}(\.\d+)?", text) or float(text) < least:
            what = "whole number" if whole else "number"
            raise EncoderError(f"endpoint: {option} is {text!r}; it must be a {what} from {least:g} up")
        read[option] = int(text) if whole else float(text)
    asked = {option: read.pop(option) for option in ("dimensions", "max_tokens") if option in read}
    return EndpointEncoder(url, model, prompt=prompt, revision=revision, key_env=key_env, limits=Limits(**read), **asked)
