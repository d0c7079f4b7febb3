"""Any OpenAI-compatible embeddings server over HTTP: vLLM, Text Embeddings Inference, Ollama, llama.cpp, OpenAI itself.

Texts go out in batches, a bounded number at a time; what a server may do again is asked again a bounded number of times,
after the pause that it names or an exponential one. The key is read from the environment for each request and is kept nowhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import ssl
import threading
import time
from calendar import timegm
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.contextual.checkpoint import without_surrogates
from medsenteval.encoders.endpoint_budget import TokenBudget
from medsenteval.encoders.model_files import number, whole_number
from medsenteval.errors import EncoderError, caused_by, import_extra

if TYPE_CHECKING:
    import httpx

_RETRIED_STATUSES: Final = frozenset({429, 500, 502, 503, 504})
#: Seconds before a request is sent again; they double each time.
_FIRST_PAUSE: Final = 0.5
#: Bytes of an answer for each of its vectors and for the rest; a vector of 4,096 numbers takes some 90,000.
_LARGEST_PART: Final = 1 << 21
#: A tokeniser makes at most one token of each byte; this many for the marks that it puts around a text.
_MARKS: Final = 16
#: Seconds after which a request that has to wait for the budget looks again.
_LOOK_AGAIN: Final = 0.02
_THREAD: Final = "medsenteval-endpoint"
_trusted_certificates: Final = cache(ssl.create_default_context)  # reading the system's list takes longer than a request


class _PassingError(Exception):
    """A failure that may pass: its reason, and the seconds that the server asks to wait, 0 where it does not say."""


class EndpointEncoder:
    """Vectors from a server's ``/v1/embeddings``, for ``endpoint:URL#MODEL``.

    ``batch_size`` texts are in a request, ``concurrency`` requests under way at a time; a request, or the pause before the
    next, takes ``timeout`` seconds at most. A server does not tell the hash of its weights: users change ``revision``, which is
    part of ``identity``, when the weights behind the model's name have changed.
    """

    def __init__(
        self,
        argument: str,
        batch_size: str = "32",
        concurrency: str = "4",
        timeout: str = "60",
        retries: str = "5",
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
        self._timeout = number("endpoint", "timeout", timeout, least=0.001)
        self._retries = whole_number("endpoint", "retries", retries)
        #: Counts the tokens that the server says it used.
        self.token_budget = TokenBudget(whole_number("endpoint", "max_tokens", max_tokens, least=1) if max_tokens else None)
        self._dimensions = whole_number("endpoint", "dimensions", dimensions, least=1) if dimensions else None
        # An unnamed key is not sent in the clear to another machine, which need not be the one that it was made for.
        is_safe = self._is_local or self._address.startswith("https:")
        self._prompt, self._key_variable = prompt, key_env or ("OPENAI_API_KEY" if is_safe else "")
        self._where = f"endpoint {self._address}, model {self.name!r}"
        asked = f"dimensions={self._dimensions}-prompt={prompt!r}-revision={revision!r}"
        self.identity = f"endpoint-{self._address}#{self.name}-{asked}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the server's vectors in the order of the texts; an empty text, which many refuse, is sent as a full stop."""
        from anyio.from_thread import start_blocking_portal

        inputs = without_surrogates([self._prompt + (text if text.strip() else ".") for text in texts])
        if not inputs:
            return np.empty((0, self._dimensions or 0), dtype=np.float32)
        batches = [inputs[start : start + self._batch_size] for start in range(0, len(inputs), self._batch_size)]
        # In a thread of its own, as a notebook has a loop that runs already; Ctrl-C cancels what is under way there.
        with start_blocking_portal() as loop:
            rows = [row for part in loop.call(self._embed_all, batches) for row in part]
        try:
            if any(set(map(type, row)) - {float, int} for row in rows):  # true is no coordinate
                raise ValueError
            with np.errstate(over="ignore"):  # too large for float32 becomes infinity, which is refused later
                vectors = np.array(rows, dtype=np.float64).astype(np.float32)
        except (TypeError, ValueError, OverflowError):
            raise self._wrong("the vectors are not lists of numbers, all of one length") from None
        if self._dimensions not in (None, vectors.shape[1]):
            raise self._wrong(f"vectors of {vectors.shape[1]} numbers, but dimensions={self._dimensions} were asked for")
        return vectors

    async def _embed_all(self, batches: list[list[str]]) -> list[list[Any]]:
        """Embed batches, a bounded number at a time; the first failure for good ends them all."""
        threading.current_thread().name = _THREAD
        httpx, turn = _httpx(), asyncio.Semaphore(self._concurrency)
        # The library's own limits would let requests wait for a connection while their time runs.
        options = {"verify": _trusted_certificates(), "timeout": None, "limits": httpx.Limits()}
        # A proxy could not reach this machine's own server.
        async with httpx.AsyncClient(**options, trust_env=not self._is_local, follow_redirects=False) as client:
            tasks = [asyncio.create_task(self._embed(client, turn, batch)) for batch in batches]
            try:
                return await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()

    async def _embed(self, client: httpx.AsyncClient, turn: asyncio.Semaphore, batch: list[str]) -> list[Any]:
        """Return one batch's vectors, asking again after failures that may pass."""
        async with turn:
            for attempt in range(self._retries + 1):
                try:
                    return await self._request(client, batch)
                except _PassingError as error:
                    reason, pause = error.args
                # Half of the pause is drawn, so that workers which failed together do not come back together.
                pause = pause or min(self._timeout, _FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1.0)
                if pause > self._timeout:
                    reason += f", and asks to wait {pause:.0f} s, more than timeout={self._timeout:g}"
                    break
                if attempt < self._retries:
                    await asyncio.sleep(pause)
        raise self._wrong(f"{reason}; given up after {attempt + 1} request(s)")

    async def _request(self, client: httpx.AsyncClient, batch: list[str]) -> list[Any]:
        """Send one request as soon as the budget allows it and return the vectors, or raise what kind of failure it was."""
        from anyio import fail_after

        httpx, key = _httpx(), os.environ.get(self._key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            # Caught here because the HTTP library's own error would show the key.
            raise EncoderError(f"endpoint: the key in the variable {self._key_variable!r} holds characters that no header can")
        asked: dict[str, Any] = {"model": self.name, "encoding_format": "float", "input": batch}
        asked |= {"dimensions": self._dimensions} if self._dimensions else {}
        # A compressed answer could grow without bounds when it is read.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        most_bytes, body = _LARGEST_PART * (len(batch) + 1), bytearray()
        most_tokens, charged = sum(len(text.encode()) + _MARKS for text in batch), True
        while not self.token_budget.set_aside(most_tokens):
            await asyncio.sleep(_LOOK_AGAIN)
        try:
            # As a whole: the library's own limits are for each piece of an answer, which a server can drip for hours.
            # Python 3.11's wait_for forgets that it was cancelled if an answer comes at the same moment.
            with fail_after(self._timeout):
                async with client.stream("POST", self._address, json=asked, headers=headers) as answer:
                    charged = answer.is_success
                    if not answer.is_success:
                        # A server may repeat the key that it refuses, in any encoding: after one was sent no words are kept.
                        said = b"(its words are not shown, as a key was sent)"
                        raise self._refusal(answer, key, said if key else await anext(answer.aiter_raw(2000), b""))
                    async for piece in answer.aiter_raw():
                        body += piece
                        if len(body) > most_bytes:
                            raise self._wrong(f"the answer to {len(batch)} text(s) has over {most_bytes:,} bytes")
            charged = False  # by the server's own count
            return self._vectors(bytes(body), len(batch))
        except TimeoutError:
            raise _PassingError(f"no answer within timeout={self._timeout:g} s", 0.0) from None
        except httpx.TransportError as error:
            charged = not isinstance(error, httpx.ConnectError)
            if caused_by(error, ssl.SSLCertVerificationError):
                remedy = "mend the certificate, or name the file of the authority that signed it in SSL_CERT_FILE"
                raise self._wrong(f"the server's certificate is not trusted ({error}); {remedy}") from None
            # What a broken answer held is not shown: it may repeat the key.
            raise _PassingError(
                f"the connection failed ({type(error).__name__}{'' if charged else f': {error}'})", 0.0
            ) from None
        finally:
            self.token_budget.give_back(most_tokens, lost=charged)

    def _refusal(self, answer: httpx.Response, key: str, said: bytes) -> Exception:
        """Turn a status other than success into a failure that may pass or an error that will not."""
        status, phrase = answer.status_code, _httpx().codes.get_reason_phrase(answer.status_code)
        reason = " ".join(f"the server answered {status} {phrase} {said.decode('utf-8', 'replace')}".split())[:300]
        if status in _RETRIED_STATUSES:
            return _PassingError(reason, _asked_pause(answer.headers.get("Retry-After", "").strip()))
        refused = f" (with the key of {self._key_variable})" if key else " (no key was sent; name its variable with key_env)"
        absent = " (not every server has /v1; an address that ends in /embeddings is taken as it is)"
        moved = " (redirects are not followed; give the final address)" if 300 <= status < 400 else ""
        return self._wrong(reason + {401: refused, 403: refused, 404: absent}.get(status, moved))

    def _vectors(self, body: bytes, n_texts: int) -> list[Any]:
        """Return an answer's vectors in the order of the texts, after its tokens were counted."""
        # No message shows the body: it may repeat the key.
        try:
            answer = json.loads(body)
            usage, items = answer.get("usage"), list(enumerate(answer["data"]))
            found = {place if item.get("index") is None else item["index"]: item["embedding"] for place, item in items}
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            what = "is not JSON with a list 'data' of objects with 'embedding'; is this an embeddings server?"
            raise self._wrong(f"the answer ({len(body)} bytes) {what}") from None
        told = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else None
        self.token_budget.count(told, self._where)
        if len(items) != n_texts or found.keys() != set(range(n_texts)):
            raise self._wrong(f"{len(items)} vectors for {n_texts} texts, whose 'index' must be 0 to {n_texts - 1} once each")
        return [found[place] for place in range(n_texts)]

    def _wrong(self, what: str) -> EncoderError:
        return EncoderError(f"{self._where}: {what}")


@cache
def _httpx() -> Any:
    """Return the HTTP library, kept from logging what servers say to us: it may repeat the key."""
    httpx = import_extra("httpx", "endpoint:", "endpoint")
    for name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
        logging.getLogger(name).addFilter(lambda record: record.threadName != _THREAD)
    return httpx


def _asked_pause(retry_after: str) -> float:
    """Return the seconds that a server asks to wait, by a number or a date; 0 for a date that is past or cannot be read."""
    if retry_after.replace(".", "", 1).isdecimal():
        return float(retry_after)
    try:
        return max(0.0, timegm(parsedate_to_datetime(retry_after).utctimetuple()) - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _embeddings_address(url: str) -> tuple[str, bool]:
    """Return the address to post to, /embeddings below what is given, and whether it is on this machine."""
    try:
        parts = urlsplit(url)
        is_plain = "@" not in parts.netloc and not parts.query and parts.port != 0  # a port that is no number is an error
    except ValueError:
        is_plain = False
    if not is_plain or parts.scheme not in ("http", "https") or not parts.hostname:
        # The address itself is not shown where it may hold a secret.
        shown = "the address" if {"@", "?"} & set(url) else repr(url)
        raise EncoderError(
            f"endpoint: {shown} is not http://HOST:PORT/v1#MODEL or https://... without a user name, a password or a query, "
            "which would end up in results; put the key into an environment variable and name it with key_env"
        )
    path = (parts.path.rstrip("/") or "/v1").removesuffix("/embeddings") + "/embeddings"
    return parts._replace(path=path, fragment="").geturl(), parts.hostname in ("localhost", "127.0.0.1", "::1")
