"""Any OpenAI-compatible embeddings server over HTTP: vLLM, Text Embeddings Inference, Ollama, llama.cpp, OpenAI itself.

Texts go out in batches, a bounded number at a time; what a server may do again is asked again a bounded number of times,
after the pause that it names or an exponential one. The key is read from the environment for each request and is kept nowhere.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import logging
import os
import random
import re
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.contextual.checkpoint import without_surrogates
from medsenteval.encoders.model_files import whole_number
from medsenteval.encoders.token_budget import TokenBudget
from medsenteval.errors import EncoderError, caused_by, import_extra

if TYPE_CHECKING:
    import httpx

_RETRIED_STATUSES: Final = frozenset({429, 500, 502, 503, 504})
#: Bytes of an answer for each of its vectors and for the rest; a vector of 4,096 numbers takes some 90,000.
_LARGEST_PART: Final = 1 << 21
#: A tokeniser makes at most one token of each byte; this many for the marks that it puts around a text.
_MARKS: Final = 16
#: Seconds after which a request that has to wait for the budget looks again.
_LOOK_AGAIN: Final = 0.02
#: Stands for a text without a word: many servers refuse an empty input, and SentEval's examples use it too.
_EMPTY_TEXT: Final = "."
_THREAD: Final = "medsenteval-endpoint"
_trusted_certificates: Final = cache(ssl.create_default_context)  # reading the system's list takes longer than a request


@dataclass
class _FailedRequestError(Exception):
    """One attempt that failed in a way that may pass; ``charged`` where the server may have counted its tokens."""

    reason: str
    asked_pause: float | None = None
    charged: bool = False


class EndpointEncoder:
    """Vectors from a server's ``/v1/embeddings``, for ``endpoint:URL#MODEL``.

    Options: ``batch_size`` texts a request, ``concurrency`` requests at a time, ``timeout`` seconds a request, ``retries``
    after the first request, ``backoff`` seconds before the first of them, ``max_wait`` longest pause, ``max_tokens`` that all
    requests together may use, ``key_env`` variable that holds the key, ``dimensions`` asked of the server, ``prompt`` put
    before each text. A server does not tell the hash of its weights: ``identity`` holds its address, the model's name and
    ``revision``, which the user changes when the weights behind that name have changed.
    """

    def __init__(
        self,
        argument: str,
        batch_size: str = "32",
        concurrency: str = "4",
        timeout: str = "60",
        retries: str = "5",
        backoff: str = "0.5",
        max_wait: str = "60",
        max_tokens: str = "",
        key_env: str = "",
        dimensions: str = "",
        prompt: str = "",
        revision: str = "",
    ) -> None:
        url, _, self.name = argument.partition("#")
        self._address, self._is_local = _embeddings_address(url)
        if not self.name:
            raise EncoderError("endpoint needs the model's name after the address: endpoint:http://localhost:8000/v1#MODEL")
        if key_env and not os.environ.get(key_env):
            raise EncoderError(f"endpoint: the environment variable {key_env!r}, named by key_env, is not set")
        _httpx()
        self._batch_size = whole_number("endpoint", "batch_size", batch_size, least=1)
        self._concurrency = whole_number("endpoint", "concurrency", concurrency, least=1)
        self._timeout = _seconds("timeout", timeout, least=0.001)
        self._retries = whole_number("endpoint", "retries", retries)
        self._backoff, self._longest_pause = _seconds("backoff", backoff), _seconds("max_wait", max_wait)
        #: Counts the tokens that the server says it used.
        self.token_budget = TokenBudget(whole_number("endpoint", "max_tokens", max_tokens, least=1) if max_tokens else None)
        self._dimensions = whole_number("endpoint", "dimensions", dimensions, least=1) if dimensions else None
        self._width = self._dimensions
        self._prompt, self._key_variable, self._key_is_named = prompt, key_env or "OPENAI_API_KEY", bool(key_env)
        self._where = f"endpoint {self._address}, model {self.name!r}"
        asked = f"dimensions={self._dimensions}-prompt={prompt!r}-revision={revision!r}"
        self.identity = f"endpoint-{self._address}#{self.name}-{asked}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the server's vectors in the order of the texts; an empty text is sent as a full stop."""
        from anyio.from_thread import start_blocking_portal

        inputs = without_surrogates([self._prompt + (text if text.strip() else _EMPTY_TEXT) for text in texts])
        if not inputs:
            return np.empty((0, self._width or 0), dtype=np.float32)
        batches = [inputs[start : start + self._batch_size] for start in range(0, len(inputs), self._batch_size)]
        # In a thread of its own, as a notebook has a loop that runs already; Ctrl-C cancels what is under way there.
        with start_blocking_portal() as loop:
            return np.concatenate(loop.call(self._embed_all, batches))

    async def _embed_all(self, batches: list[list[str]]) -> list[NDArray[np.float32]]:
        """Embed batches, a bounded number at a time; the first failure for good ends them all."""
        threading.current_thread().name = _THREAD
        httpx, turn = _httpx(), asyncio.Semaphore(self._concurrency)
        # The library's own limits would let requests wait for a connection while their time runs.
        options = {"verify": _trusted_certificates(), "timeout": None, "limits": httpx.Limits()}
        # A proxy could not reach this machine's own server.
        async with httpx.AsyncClient(**options, trust_env=not self._is_local, follow_redirects=False) as client:

            async def embed_in_turn(batch: list[str]) -> NDArray[np.float32]:
                async with turn:
                    return await self._embed(client, batch)

            tasks = [asyncio.create_task(embed_in_turn(batch)) for batch in batches]
            try:
                return await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()

    async def _embed(self, client: httpx.AsyncClient, batch: list[str]) -> NDArray[np.float32]:
        """Return one batch's vectors, asking again after failures that may pass."""
        for attempt in range(self._retries + 1):
            try:
                return await self._attempt(client, batch)
            except _FailedRequestError as error:
                reason, pause = error.reason, error.asked_pause
            if pause is None:
                # Half of the pause is drawn, so that workers which failed together do not come back together.
                pause = min(self._longest_pause, self._backoff * 2**attempt) * random.uniform(0.5, 1.0)
            if pause > self._longest_pause:
                reason += f", and asks to wait {pause:.0f} s, more than max_wait={self._longest_pause:g}"
                break
            if attempt < self._retries:
                await asyncio.sleep(pause)
        raise self._wrong(f"{reason}; given up after {attempt + 1} request(s)")

    async def _attempt(self, client: httpx.AsyncClient, batch: list[str]) -> NDArray[np.float32]:
        """Send one request as soon as the budget allows it; what is stopped under way may have been charged for."""
        from anyio import fail_after

        at_most, lost = sum(len(text.encode()) + _MARKS for text in batch), True
        while not self.token_budget.set_aside(at_most):
            await asyncio.sleep(_LOOK_AGAIN)
        try:
            # As a whole: the library's own limits are for each piece of an answer, which a server can drip for hours.
            # Python 3.11's wait_for forgets that it was cancelled if an answer comes at the same moment.
            with fail_after(self._timeout):
                body = await self._request(client, batch)
            lost = False
            return self._vectors(body, len(batch))
        except TimeoutError:
            raise _FailedRequestError(f"no answer within timeout={self._timeout:g} s") from None
        except (_FailedRequestError, EncoderError) as error:
            lost = getattr(error, "charged", False)
            raise
        finally:
            self.token_budget.give_back(at_most, lost=lost)

    async def _request(self, client: httpx.AsyncClient, batch: list[str]) -> bytes:
        """Send one request and return the answer's body, or raise what kind of failure it was."""
        httpx, key = _httpx(), self._key()
        asked: dict[str, Any] = {"model": self.name, "encoding_format": "float", "input": batch}
        asked |= {"dimensions": self._dimensions} if self._dimensions else {}
        # A compressed answer could grow without bounds when it is read.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        at_most, found = _LARGEST_PART * (len(batch) + 1), bytearray()
        try:
            async with client.stream("POST", self._address, json=asked, headers=headers) as answer:
                if not answer.is_success:
                    # A server may repeat the key that it refuses, in any encoding: after one was sent no words are kept.
                    said = b"(its words are not shown, as a key was sent)"
                    raise self._refusal(answer, key, said if key else await anext(answer.aiter_raw(2000), b""))
                async for piece in answer.aiter_raw():
                    found += piece
                    if len(found) > at_most:
                        raise self._wrong(f"the answer to {len(batch)} text(s) has over {at_most:,} bytes")
        except httpx.TransportError as error:
            if caused_by(error, ssl.SSLCertVerificationError):
                raise self._wrong(f"the server's certificate is not trusted: {error}") from None
            # What a broken answer held is not shown: it may repeat the key.
            never_began = isinstance(error, httpx.ConnectError)
            told = f"{type(error).__name__}: {error}" if never_began else type(error).__name__
            raise _FailedRequestError(f"the connection failed ({told})", charged=not never_began) from None
        return bytes(found)

    def _refusal(self, answer: httpx.Response, key: str, said: bytes) -> Exception:
        """Turn a status other than success into a failure that may pass or an error that will not."""
        status, named = answer.status_code, _httpx().codes.get_reason_phrase(answer.status_code)
        reason = " ".join(f"the server answered {status} {named} {said.decode('utf-8', 'replace')}".split())[:300]
        if status in _RETRIED_STATUSES:
            return _FailedRequestError(reason, _asked_pause(answer.headers.get("Retry-After", "")))
        refused = f" (with the key of {self._key_variable})" if key else " (no key was sent; name its variable with key_env)"
        absent = " (not every server has /v1; an address that ends in /embeddings is taken as it is)"
        moved = " (redirects are not followed; give the final address)" if 300 <= status < 400 else ""
        return self._wrong(reason + {401: refused, 403: refused, 404: absent}.get(status, moved))

    def _key(self) -> str:
        # An unnamed key is not sent in the clear to another machine, which need not be the one that it was made for.
        if not self._key_is_named and self._address.startswith("http:") and not self._is_local:
            return ""
        key = os.environ.get(self._key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            # Caught here because the HTTP library's own error would show the key.
            raise EncoderError(f"endpoint: the key in the variable {self._key_variable!r} holds characters that no header can")
        return key

    def _vectors(self, body: bytes, n_texts: int) -> NDArray[np.float32]:
        """Return an answer's vectors in the order of the texts, after its tokens were counted."""
        try:
            answer = json.loads(body)
            usage = answer.get("usage")
            rows = [(item.get("index"), item["embedding"]) for item in answer["data"]]
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
        return np.stack([self._vector(embedding, number) for number, (_, embedding) in enumerate(rows)])

    def _vector(self, embedding: Any, number: int) -> NDArray[np.float32]:
        """Read a list of numbers, or base64 of little-endian float32, which some servers send whatever was asked for."""
        try:
            if isinstance(embedding, str):
                found = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
            elif isinstance(embedding, list) and set(map(type, embedding)) <= {float, int}:  # true is no coordinate
                found = np.array(embedding, dtype=np.float64)
            else:
                raise ValueError
        except (ValueError, OverflowError):
            raise self._wrong(f"the vector of text {number} is neither a list of numbers nor base64 of float32") from None
        self._width = self._width or len(found)
        if len(found) != self._width or not len(found):
            expected = "asked for by dimensions" if self._dimensions else "numbers came first"
            raise self._wrong(f"the vector of text {number} has width {len(found)}, but {self._width} {expected}")
        with np.errstate(over="ignore"):  # too large for float32 becomes infinity, which is refused later
            return found.astype(np.float32)

    def _wrong(self, what: str) -> EncoderError:
        return EncoderError(f"{self._where}: {what}")


@cache
def _httpx() -> Any:
    """Return the HTTP library, kept from logging what servers say to us: it may repeat the key."""
    httpx = import_extra("httpx", "endpoint:", "endpoint")
    for name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
        logging.getLogger(name).addFilter(lambda record: record.threadName != _THREAD)
    return httpx


def _embeddings_address(url: str) -> tuple[str, bool]:
    """Return the address to post to, /embeddings below what is given, and whether it is on this machine."""
    form = "expected http://HOST:PORT/v1#MODEL or https://..."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise EncoderError(f"endpoint: the address cannot be read; {form}") from None
    # The address itself is not shown where it may hold a secret.
    if parts.username is not None or parts.password is not None or parts.query:
        remedy = f"put the key into an environment variable and name it with key_env. The address: {form}"
        raise EncoderError(f"endpoint: a user name, a password or a query in the address would end up in results; {remedy}")
    if parts.scheme not in ("http", "https") or not host:
        raise EncoderError(f"endpoint: {url!r} is not an address; {form}")
    path = parts.path.rstrip("/") or "/v1"
    path = path if path.endswith("/embeddings") else f"{path}/embeddings"
    return parts._replace(path=path, fragment="").geturl(), host in ("localhost", "127.0.0.1", "::1")


def _asked_pause(retry_after: str) -> float | None:
    """Return how many seconds a refusal asks to wait, or None where it does not say."""
    if re.fullmatch(r"\d+(\.\d+)?", retry_after.strip()):
        return float(retry_after)
    date = email.utils.parsedate_tz(retry_after)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None


def _seconds(option: str, text: str, least: float = 0.0) -> float:
    if not re.fullmatch(r"\d{1,15}(\.\d+)?", text) or float(text) < least:
        raise EncoderError(f"endpoint: {option} is {text!r}; it must be a number of seconds from {least:g} up")
    return float(text)
