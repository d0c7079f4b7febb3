"""The HTTP encoder against a real server on loopback, which also misbehaves in every way that servers do."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import http.server
import json
import os
import random
import re
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.cli.main import main
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.embedding.embed import encode_batches
from medsenteval.encoders import endpoint
from medsenteval.encoders.derived import DerivedEncoder, DualEncoder
from medsenteval.encoders.endpoint import EndpointEncoder
from medsenteval.encoders.endpoint_budget import TokenBudget
from medsenteval.engine import evaluate_task
from medsenteval.errors import BudgetError, EncoderError, MissingExtraError
from medsenteval.registry import load_encoder, task
from medsenteval.running.suite import Suite
from medsenteval.settings import Settings

WIDTH = 6
KEY = "sk-this-is-a-secret-0123456789"

Answer = Callable[["Handler", dict[str, Any]], None]


def expected(text: str, width: int = WIDTH) -> NDArray[np.float32]:
    """The vector that the server gives a text: a hash of it, the same whatever its neighbours."""
    digest = hashlib.sha256(text.encode()).digest()
    return np.frombuffer(digest[: 4 * width], dtype="<u4").astype(np.float32) / np.float32(2**32)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), body))
            number = len(self.server.requests) - 1
            self.server.busy += 1
            self.server.most_busy = max(self.server.most_busy, self.server.busy)
        try:
            answer = self.server.script[number] if number < len(self.server.script) else self.server.answer
            answer(self, body)
        finally:
            with self.server.lock:
                self.server.busy -= 1

    def send(self, payload: Any, status: int = 200, **headers: str) -> None:
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.script: list[Answer] = []  # what the first requests get
        self.answer: Answer = good  # what all others get
        self.lock = threading.Lock()
        self.busy = self.most_busy = 0

    def handle_error(self, *_: Any) -> None:
        pass  # a client that gave up is part of the tests

    def load(self, options: str = "") -> EndpointEncoder:
        port = self.server_address[1]
        encoder = load_encoder(f"endpoint:http://127.0.0.1:{port}/v1#tiny{options}")
        assert isinstance(encoder, EndpointEncoder)
        return encoder

    @property
    def batches(self) -> list[list[str]]:
        return [body["input"] for _, _, body in self.requests]


def data(body: dict[str, Any]) -> dict[str, Any]:
    width = body.get("dimensions", WIDTH)
    items = [{"object": "embedding", "index": i, "embedding": expected(t, width).tolist()} for i, t in enumerate(body["input"])]
    return {"object": "list", "data": items, "model": body["model"]}


def counting(handler: Handler, body: dict[str, Any]) -> None:
    """A good answer of a server that takes each word for a token."""
    n_words = sum(len(text.split()) for text in body["input"])
    handler.send({**data(body), "usage": {"prompt_tokens": n_words, "total_tokens": n_words}})


def good(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(data(body))


def status(code: int, message: str = "", **headers: str) -> Answer:
    return lambda handler, _: handler.send({"error": {"message": message}}, code, **headers)


def changed(change: Callable[[dict[str, Any]], Any]) -> Answer:
    """A good answer after ``change``, which edits it or returns another one."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        payload = data(body)
        result = change(payload)
        handler.send(payload if result is None else result)

    return answer


def after_requests(n: int, then: Answer, more: float = 0.0) -> Answer:
    """Answers once ``n`` requests have come in and ``more`` seconds have passed, so that they are under way together."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        end = time.monotonic() + 2
        while len(handler.server.requests) < n and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(more)
        then(handler, body)

    return answer


def dropped(handler: Handler, _: dict[str, Any]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def cut_off(handler: Handler, body: dict[str, Any]) -> None:
    """Promises more bytes than it sends."""
    raw = json.dumps(data(body)).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw[: len(raw) // 2])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(endpoint, "_FIRST_PAUSE", 0.01)
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join(5)
    assert not thread.is_alive()


def test_rows_follow_the_texts_in_batches_of_bounded_size_and_number(server: Server) -> None:
    def slowly(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(0.03)
        good(handler, body)

    server.answer = slowly
    texts = [f"patient {i} denies β-blockers ≥ 5 µg" for i in range(23)] + ["word " * 5000, "x"]
    encoder = server.load(",batch_size=4,concurrency=3")
    rows = encoder.encode(texts)
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.stack([expected(text) for text in texts]), abs=1e-7)
    assert sorted(map(len, server.batches)) == [1, 4, 4, 4, 4, 4, 4]
    assert server.most_busy == 3
    path, _, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert body.keys() == {"model", "input", "encoding_format"}
    assert (body["model"], body["encoding_format"]) == ("tiny", "float")


def test_as_many_requests_are_under_way_as_were_asked_for(server: Server) -> None:
    # One more than the HTTP library's own limit: it would wait for a connection until its time is over.
    together = threading.Barrier(101, timeout=30)

    def all_at_once(handler: Handler, body: dict[str, Any]) -> None:
        together.wait()
        good(handler, body)

    server.answer = all_at_once
    rows = server.load(",batch_size=1,concurrency=200,timeout=60,retries=0").encode(["a"] * 101)
    assert rows == pytest.approx(np.tile(expected("a"), (101, 1)), abs=1e-7)
    assert server.most_busy == 101


def test_vectors_do_not_depend_on_neighbours_or_batch_size(server: Server) -> None:
    texts = ["a", "b c", "", "long " * 100, "déjà vu"]
    whole = server.load().encode(texts)
    for i, text in enumerate(texts):
        assert np.array_equal(server.load(",batch_size=1").encode([text])[0], whole[i])
    assert np.array_equal(server.load(",batch_size=2").encode(texts[::-1])[::-1], whole)


def test_a_text_without_words_is_sent_as_a_full_stop_and_the_prompt_before_each(server: Server) -> None:
    rows = server.load().encode(["", "  \n", "word"])
    assert server.batches == [[".", ".", "word"]]
    assert np.array_equal(rows[0], rows[1])
    server.load(",prompt=query: ").encode(["", "word"])
    assert server.batches[-1] == ["query: .", "query: word"]
    assert server.load().encode([]).shape == (0, 0)


def test_dimensions_are_asked_for_and_checked(server: Server) -> None:
    assert server.load(",dimensions=3").encode(["a"]).shape == (1, 3)
    assert server.requests[-1][2]["dimensions"] == 3
    server.answer = changed(lambda payload: payload["data"][0].update(embedding=[1.0] * 5))
    with pytest.raises(EncoderError, match="vectors of 5 numbers, but dimensions=3 were asked for"):
        server.load(",dimensions=3").encode(["a"])


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_failures_that_may_pass_are_asked_again(server: Server, code: int) -> None:
    server.script = [status(code), status(code)]
    assert np.array_equal(server.load().encode(["a"])[0], expected("a"))
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", [dropped, cut_off])
def test_a_broken_connection_is_tried_again(server: Server, fault: Answer) -> None:
    server.script = [fault]
    assert np.array_equal(server.load().encode(["a"])[0], expected("a"))
    assert len(server.requests) == 2


def test_a_slow_answer_is_given_up_and_tried_again(server: Server) -> None:
    over = threading.Event()
    waited: list[bool] = []

    def keep_waiting(handler: Handler, _: dict[str, Any]) -> None:
        waited.append(over.wait(60))

    server.script = [keep_waiting]
    assert np.array_equal(server.load(",timeout=0.2").encode(["a"])[0], expected("a"))
    assert waited == []  # the first request is still under way
    over.set()


@pytest.mark.parametrize(
    "head",
    [
        "200 OK\r\nContent-Length: 1000\r\n\r\n",
        "200 OK\r\nConnection: close\r\n\r\n",
        "200 OK\r\nX-Slow: ",
        "400 Bad Request\r\nContent-Length: 1000\r\n\r\n",
        "503 Service Unavailable\r\nContent-Length: 1000\r\n\r\n",
    ],
)
def test_a_dripping_answer_cannot_outlast_the_timeout(server: Server, head: str) -> None:
    over = threading.Event()
    read_to_the_end: list[bool] = []

    def drip(handler: Handler, body: dict[str, Any]) -> None:
        handler.wfile.write(f"HTTP/1.1 {head}".encode())
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            if over.wait(0.05):
                return
        read_to_the_end.append(True)

    server.answer = drip
    with pytest.raises(EncoderError, match=r"no answer within timeout=0.2 s; given up after 2 request\(s\)"):
        server.load(",timeout=0.2,retries=1").encode(["a"])
    assert read_to_the_end == []
    over.set()


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts itself as POSIX does")
def test_an_interrupt_does_not_wait_for_the_server(server: Server) -> None:
    over = threading.Event()
    answered: list[bool] = []

    def interrupt(handler: Handler, _: dict[str, Any]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        answered.append(over.wait(5))

    server.answer = interrupt
    with pytest.raises(KeyboardInterrupt):
        server.load(",timeout=60").encode(["a"])
    assert answered == []  # the server is silent still
    over.set()


def test_requests_are_bounded_in_number(server: Server) -> None:
    server.answer = status(503, "overloaded")
    with pytest.raises(EncoderError, match=r"503 Service Unavailable .*overloaded.*given up after 4 request\(s\)"):
        server.load(",retries=3").encode(["a"])
    assert len(server.requests) == 4
    with pytest.raises(EncoderError, match=r"given up after 1 request\(s\)"):
        server.load(",retries=0").encode(["a"])
    assert len(server.requests) == 5


def test_after_the_last_request_nothing_is_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def recorded(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(endpoint, "asyncio", SimpleNamespace(**(vars(asyncio) | {"sleep": recorded})))
    server.answer = status(503, Retry_After="7")
    with pytest.raises(EncoderError, match=r"given up after 3 request\(s\)"):
        server.load(",retries=2").encode(["a"])
    assert pauses == [7.0, 7.0]


def test_a_server_that_is_not_there_is_named(server: Server) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        encoder = load_encoder(f"endpoint:http://127.0.0.1:{port}#m,retries=1")
        failed = (
            rf"http://127.0.0.1:{port}/v1/embeddings, model 'm': the connection failed \(ConnectError: .+\); given up after 2 "
        )
        with pytest.raises(EncoderError, match=failed):
            encoder.encode(["a"])
    assert isinstance(encoder, EndpointEncoder)
    assert encoder.token_budget.lost == 0  # nobody can have charged for it


@pytest.mark.parametrize("code", [300, 301, 307, 400, 401, 403, 404, 413, 422])
def test_failures_that_will_not_pass_are_not_asked_again(server: Server, code: int) -> None:
    server.answer = status(code, "no such thing", Location="http://127.0.0.1:9/other")
    with pytest.raises(EncoderError, match=f"answered {code} .*no such thing") as caught:
        server.load().encode(["a"])
    assert len(server.requests) == 1
    remedies = {300: "redirects", 301: "redirects", 307: "redirects", 401: "key", 403: "key", 404: "/v1"}
    for remedy in ("redirects are not followed", "no key was sent", "not every server has /v1"):
        assert (remedy in str(caught.value)) == (remedies.get(code, "none") in remedy)


@pytest.mark.parametrize(
    ("named", "pause"),
    [("17.5", 17.5), (" 2 ", 2.0), ("60", 60.0), ("", 0.01), ("0", 0.01), ("-1", 0.01), ("1.2.3", 0.01), (".", 0.01)],
)
def test_the_pause_that_the_server_names_is_kept(
    server: Server, monkeypatch: pytest.MonkeyPatch, named: str, pause: float
) -> None:
    pauses: list[float] = []

    async def recorded(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(endpoint, "asyncio", SimpleNamespace(**(vars(asyncio) | {"sleep": recorded})))
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    server.script = [status(429, Retry_After=named)]
    server.load().encode(["a"])
    assert pauses == [pause]


@pytest.mark.parametrize(
    ("named", "pause"),
    [
        ("Tue, 14 Nov 2023 22:13:40 GMT", 20.0),
        ("Tuesday, 14-Nov-23 22:13:40 GMT", 20.0),
        ("Tue Nov 14 22:13:40 2023", 20.0),  # of asctime, which names no zone and means UTC
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("Tue, 99 Nov 2023 22:13:40 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 +2300", 0.0),
        ("soon", 0.0),
    ],
)
def test_the_pause_may_be_named_by_the_date_of_its_end(monkeypatch: pytest.MonkeyPatch, named: str, pause: float) -> None:
    monkeypatch.setattr(endpoint, "time", SimpleNamespace(time=lambda: 1_700_000_000.0))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert endpoint._asked_pause(named) == pause
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_pause_beyond_what_the_user_allows_is_an_error_at_once(server: Server) -> None:
    hour = r"asks to wait (3600|3599) s, more than timeout=60; given up after 1 request"
    for n_requests, named in enumerate(("3600", formatdate(time.time() + 3600, usegmt=True)), start=1):
        server.answer = status(429, "quota", Retry_After=named)
        with pytest.raises(EncoderError, match=hour):
            server.load().encode(["a"])
        assert len(server.requests) == n_requests


def test_after_one_failure_for_good_the_other_workers_stop(server: Server) -> None:
    # Workers that went on would wait for longer than any test may take.
    server.script = [after_requests(3, status(503, Retry_After="7200"))] * 2 + [status(400, "bad batch")]
    with pytest.raises(EncoderError, match="bad batch"):
        server.load(",batch_size=1,concurrency=3,timeout=9000").encode([str(i) for i in range(50)])
    assert len(server.requests) == 3


@pytest.mark.parametrize("ticks", range(4))
def test_a_worker_that_is_stopped_while_its_answer_comes_in_stops(server: Server, ticks: int) -> None:
    encoder = server.load(",timeout=9000")

    async def stopped() -> bool:
        came = asyncio.get_running_loop().create_future()

        @asynccontextmanager
        async def stream(*_: object, **__: object) -> AsyncIterator[Any]:
            await came
            yield httpx.Response(503, headers={"Retry-After": "7200"}, stream=httpx.ByteStream(b"busy"))

        client: Any = SimpleNamespace(stream=stream)
        worker = asyncio.create_task(encoder._embed(client, asyncio.Semaphore(1), ["a"]))
        await asyncio.sleep(0.01)
        came.set_result(None)
        for _ in range(ticks):
            await asyncio.sleep(0)
        worker.cancel()
        await asyncio.wait([worker], timeout=5)
        return worker.cancelled()

    assert asyncio.run(stopped())


def test_items_in_another_order_are_put_back(server: Server) -> None:
    server.answer = changed(lambda payload: payload["data"].reverse())
    texts = ["a", "b", "c"]
    assert np.array_equal(server.load().encode(texts), np.stack([expected(text) for text in texts]))


def test_items_without_index_are_taken_in_order(server: Server) -> None:
    server.answer = changed(lambda payload: [item.pop("index") for item in payload["data"]] and None)
    assert np.array_equal(server.load().encode(["a", "b"]), np.stack([expected("a"), expected("b")]))


@dataclass(frozen=True)
class Fault:
    change: Callable[[dict[str, Any]], Any]
    message: str
    name: str = field(default="")


def embedding(value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda payload: payload["data"][1].update(embedding=value)


def hidden(payload: dict[str, Any]) -> None:
    """Two items of the same place, one of which does not say so."""
    payload["data"][0]["index"] = 1
    del payload["data"][1]["index"]


NO_NUMBERS = "the vectors are not lists of numbers, all of one length"
FAULTS = [
    Fault(lambda payload: payload["data"].pop() and None, "1 vectors for 2 texts", "short"),
    Fault(lambda payload: payload["data"].append(payload["data"][0]), "3 vectors for 2 texts", "long"),
    Fault(lambda _: b"<html>welcome</html>", r"the answer \(20 bytes\) is not JSON", "html"),
    Fault(lambda _: b"", r"the answer \(0 bytes\) is not JSON", "nothing"),
    Fault(lambda _: b"[" * 100_000, "is not JSON", "deep"),
    Fault(lambda _: {"embeddings": []}, "with a list 'data'", "other-keys"),
    Fault(lambda _: [1, 2], "with a list 'data'", "list"),
    Fault(lambda _: {"data": [1, 2]}, "with a list 'data'", "numbers"),
    Fault(
        lambda payload: payload["data"][1].update(index=0), "2 vectors for 2 texts, whose 'index' must be 0 to 1 once", "twice"
    ),
    Fault(lambda payload: payload["data"][1].update(index=7), "once each", "index-beyond"),
    Fault(lambda payload: payload["data"][1].update(index="1"), "once each", "index-text"),
    Fault(lambda payload: payload["data"][0].update(index=[]), "with a list 'data'", "index-list"),
    Fault(hidden, "2 vectors for 2 texts, whose", "index-hidden"),
    Fault(embedding([float("nan")] * WIDTH), "NaN or infinity in 1 of 2 rows", "nan"),
    Fault(embedding([1e300] * WIDTH), "NaN or infinity", "beyond-float32"),
    Fault(embedding([10**400] * WIDTH), NO_NUMBERS, "beyond-float64"),
    Fault(embedding([1.0] * (WIDTH - 1)), NO_NUMBERS, "narrow"),
    Fault(embedding([]), NO_NUMBERS, "empty"),
    Fault(
        lambda payload: [item.update(embedding=[]) for item in payload["data"]] and None,
        r"with shape \(2, 0\) for 2",
        "no-width",
    ),
    Fault(embedding([None] * WIDTH), NO_NUMBERS, "null"),
    Fault(embedding([True] * WIDTH), NO_NUMBERS, "true"),
    Fault(embedding(["1"] * WIDTH), NO_NUMBERS, "digits"),
    Fault(embedding({"0": 1.0}), NO_NUMBERS, "object"),
    Fault(embedding(1.0), NO_NUMBERS, "number"),
    Fault(embedding([[1.0] * WIDTH]), NO_NUMBERS, "nested"),
    Fault(embedding("AAAAAA=="), NO_NUMBERS, "text"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_wrong_answers_are_refused_and_not_asked_again(server: Server, fault: Fault) -> None:
    server.answer = changed(fault.change)
    with pytest.raises(EncoderError, match=fault.message):
        list(encode_batches(server.load(), ["a", "b"], 2, "RQE"))
    assert len(server.requests) == 1


def test_the_width_may_not_change_between_requests_or_batches(server: Server) -> None:
    narrow = changed(lambda payload: payload["data"][0].update(embedding=[1.0, 2.0]))
    server.script = [good, narrow]
    with pytest.raises(EncoderError, match=NO_NUMBERS):
        server.load(",batch_size=1").encode(["a", "b"])
    server.script += [good, narrow]
    with pytest.raises(EncoderError, match="RQE, batch 1: the encoder returned width 2, but 6 in an earlier batch"):
        list(encode_batches(server.load(), ["c", "d"], 1, "RQE"))


def test_the_key_is_sent_and_shown_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("TINY_KEY", f"{KEY}\n")
    encoder = server.load(",key_env=TINY_KEY")
    encoder.encode(["a"])
    assert server.requests[-1][1]["Authorization"] == f"Bearer {KEY}"
    shown = [repr(encoder), str(encoder), encoder.identity, encoder.name, repr(vars(encoder))]
    # Servers do repeat the key that they refuse, also where an error message is cut.
    server.answer = status(401, f"{'x' * 270} wrong key {KEY}")
    with pytest.raises(EncoderError, match="with the key of TINY_KEY") as refused:
        encoder.encode(["a"])
    echoes = [KEY, KEY[::-1], KEY.encode().hex(), base64.b64encode(KEY.encode()).decode(), quote(KEY).replace("-", "%2D")]
    server.answer = status(500, f"wrong key {' '.join(echoes)}")
    with pytest.raises(EncoderError, match=r"answered 500 Internal Server Error .its words are not shown") as failed:
        encoder.encode(["a"])
    for line in (f"HTTP/1.1 418 {KEY}\r\nContent-Length: 0\r\n\r\n", f"{KEY} is wrong\r\n\r\n"):

        def say(handler: Handler, _: dict[str, Any], line: str = line) -> None:
            handler.wfile.write(line.encode())

        server.answer = say
        with pytest.raises(EncoderError, match=r"418|the connection failed") as odd:
            encoder.encode(["a"])
        shown.append(str(odd.getrepr(chain=True, showlocals=False)))
    server.answer = changed(lambda _: f"<html>{KEY}".encode())
    with pytest.raises(EncoderError, match="not JSON") as garbled:
        encoder.encode(["a"])
    for caught in (refused, failed, garbled):
        shown += [str(caught.value), repr(caught.value.__cause__), str(caught.getrepr(chain=True, showlocals=False))]
    shown += [*capfd.readouterr(), caplog.text]
    assert all(part not in text for text in shown for part in (*echoes, KEY[:12]))


def test_an_answer_that_never_ends_is_not_read_on(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_LARGEST_PART", 1 << 14)
    sent: list[int] = []

    def flood(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.end_headers()
        while len(sent) < 10_000:
            handler.wfile.write(b"[" * 4096)
            sent.append(4096)

    server.answer = flood
    with pytest.raises(EncoderError, match=r"the answer to 1 text\(s\) has over 32,768 bytes"):
        server.load().encode(["a"])
    assert len(server.requests) == 1
    assert len(sent) < 10_000


def test_an_answer_may_have_so_many_bytes_for_each_text_and_the_rest(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_LARGEST_PART", 1000)
    server.answer = lambda handler, body: handler.send(json.dumps(data(body)).encode().ljust(3000))
    assert len(server.load().encode(["a", "b"])) == 2
    server.answer = lambda handler, body: handler.send(json.dumps(data(body)).encode().ljust(3001))
    with pytest.raises(EncoderError, match=r"the answer to 2 text\(s\) has over 3,000 bytes"):
        server.load().encode(["a", "b"])


def test_of_a_refusal_so_many_letters_are_shown(server: Server) -> None:
    server.answer = status(400, f"{'x' * 1900} {'y' * 300}")
    with pytest.raises(EncoderError) as caught:
        server.load().encode(["a"])
    told = str(caught.value).partition(": ")[2]
    assert told.startswith("the server answered 400 Bad Request {")
    assert len(told) == 300
    assert told.endswith("xxx")


@pytest.mark.parametrize(
    ("address", "asks_a_proxy"),
    [("http://localhost", False), ("http://127.0.0.1:9", False), ("http://[::1]", False), ("https://other.example", True)],
)
def test_how_requests_are_sent(monkeypatch: pytest.MonkeyPatch, address: str, asks_a_proxy: bool) -> None:
    made: list[dict[str, Any]] = []

    def client(**options: Any) -> Any:
        made.append(options)
        raise EncoderError("made")

    monkeypatch.setattr(httpx, "AsyncClient", client)
    with pytest.raises(EncoderError, match="made"):
        EndpointEncoder(f"{address}#m").encode(["a"])
    (options,) = made
    assert options.pop("verify").verify_mode is ssl.CERT_REQUIRED
    assert options == {
        "timeout": None, "limits": httpx.Limits(max_connections=None, max_keepalive_connections=None),
        "trust_env": asks_a_proxy, "follow_redirects": False,
    }  # fmt: skip


@pytest.mark.parametrize("usage", [
    {"total_tokens": 7}, {"prompt_tokens": 7}, {"prompt_tokens": 5, "total_tokens": 7}, {"total_tokens": 7, "cost": None},
])  # fmt: skip
def test_tokens_are_counted_as_the_server_says(server: Server, usage: dict[str, Any]) -> None:
    server.answer = changed(lambda payload: payload.update(usage=usage))
    encoder = server.load(",batch_size=1")
    assert encoder.token_budget.used is None
    encoder.encode(["a", "b", "c"])
    assert encoder.token_budget.used == 21


@pytest.mark.parametrize("usage", [None, {}, 7, {"total_tokens": "7"}, {"total_tokens": -7}, {"total_tokens": True}])
def test_a_server_that_does_not_count_tokens_cannot_be_held_to_a_budget(server: Server, usage: Any) -> None:
    server.answer = changed(lambda payload: payload.update(usage=usage))
    encoder = server.load()
    encoder.encode(["a"])
    assert encoder.token_budget.used is None
    with pytest.raises(EncoderError, match="does not say how many tokens it used, so max_tokens cannot be kept"):
        server.load(",max_tokens=1000").encode(["a"])


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_request_is_sent_that_could_exceed_the_budget(server: Server, concurrency: int) -> None:
    """Ten letters are at most 26 tokens with marks, and are one for this server."""
    server.answer = counting
    encoder = server.load(f",batch_size=1,concurrency={concurrency},max_tokens=40")
    with pytest.raises(BudgetError, match=r"^15 of max_tokens=40 tokens are used, and the next request could take up to 26"):
        encoder.encode([f"text-{i:05}" for i in range(100)])
    assert encoder.token_budget.used == len(server.requests) == 15
    with pytest.raises(BudgetError):
        encoder.encode(["one more text"])
    assert len(server.requests) == 15


def test_an_answer_that_never_came_is_taken_off_the_budget(server: Server) -> None:
    server.script = [cut_off, dropped, status(503)]
    server.answer = counting
    encoder = server.load(",max_tokens=1000")
    encoder.encode(["ten bytes!"])
    assert (encoder.token_budget.used, encoder.token_budget.lost) == (2, 52)


def test_a_request_that_is_stopped_under_way_is_taken_off_the_budget(server: Server) -> None:
    over = threading.Event()

    def silent(handler: Handler, _: dict[str, Any]) -> None:
        over.wait(10)

    server.script = [silent, status(400, "no such model")]
    encoder = server.load(",batch_size=1,concurrency=2,timeout=60")
    with pytest.raises(EncoderError, match="no such model"):
        encoder.encode(["a", "b"])
    over.set()
    assert encoder.token_budget.lost == len("a") + 16  # the other one was refused, which costs nothing


def test_tokens_are_part_of_the_result_and_a_budget_ends_the_run(server: Server, tmp_path: Path) -> None:
    server.answer = counting
    spec = f"endpoint:http://127.0.0.1:{server.server_address[1]}/v1#tiny,concurrency=2"
    quick = ["--folds", "2", "--batch-size", "8", "--output", str(tmp_path / "results")]

    def run(*options: str) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
            return CliRunner().invoke(main, ["run", "-e", spec, *quick, *options])

    outcome = run("-t", "BIOSSES", "--max-tokens", "100000")
    assert outcome.exit_code == 0, outcome.output
    [stored] = (tmp_path / "results").rglob("*.json")
    tokens = json.loads(stored.read_text())["performance"]["tokens"]
    assert tokens == sum(len(text.split()) for batch in server.batches for text in batch)
    assert f", {tokens:,} tokens" in outcome.stderr
    outcome = run("-t", "BIOSSES,RQE", "--max-tokens", str(tokens))
    assert outcome.exit_code == 2
    assert re.search(r"Error: [\d,]+ of max_tokens=[\d,]+ tokens are used.* 1 of 2 jobs are done and stored in", outcome.stderr)
    assert len(list((tmp_path / "results").rglob("*.json"))) == 1  # neither a result nor a failure of the other


def test_requests_are_sent_from_here_even_if_there_are_workers(server: Server) -> None:
    """Workers would each count on their own, and a budget for each is no budget."""

    class Idle:
        peak_memory_mb = 0.0

        def encoding(self, *asked: Any, **more: Any) -> Any:
            raise AssertionError("it was sent to a worker")

        def score(self, task: Any, dataset: Any, embeddings: Any, settings: Any, *asked: Any, **more: Any) -> Any:
            return task.evaluate(task, dataset, embeddings, settings)

    server.answer = counting
    settings = Settings(resamples=100)
    dataset = load_dataset(task("BIOSSES"), sample_root(), settings)
    result = evaluate_task(task("BIOSSES"), dataset, server.load(), settings, workers=Idle())
    assert result.performance["tokens"] == sum(len(text.split()) for batch in server.batches for text in batch) > 0


def test_a_budget_without_an_endpoint_is_refused(tmp_path: Path) -> None:
    arguments = ["run", "-e", "lexical", "-t", "BIOSSES", "--max-tokens", "9", "-o", str(tmp_path)]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 2
    assert "no encoder of this run is an endpoint:" in outcome.stderr


@pytest.mark.parametrize(
    ("told", "used"), [(0, 0), (2**53 - 1, 2**53 - 1), (2**53, None), (-1, None), (True, None), (1.0, None)]
)
def test_a_count_of_tokens_is_a_whole_number_from_nought_that_is_exact_everywhere(told: Any, used: int | None) -> None:
    budget = TokenBudget()
    budget.count(told, "here")
    assert budget.used == used
    budget.count(3, "here")
    assert budget.used == (used or 0) + 3


def test_budgets_of_several_encoders_hold_together_and_through_wrappers(server: Server) -> None:
    server.answer = counting
    first, second = server.load(",max_tokens=1000"), server.load()
    wrapped = DerivedEncoder(second, normalize=True)
    together = TokenBudget(31)
    Suite([first, wrapped], [], budget=together)._loaded  # noqa: B018
    first.encode(["word " * 3])
    wrapped.encode(["two words"])
    assert (first.token_budget.used, second.token_budget.used, together.used) == (3, 2, 5)
    for encoder in (first, wrapped):
        with pytest.raises(BudgetError, match=r"^5 of max_tokens=31 tokens are used"):
            encoder.encode(["eleven more"])
    assert len(server.requests) == 2
    parts = DualEncoder(first, second)
    assert parts.token_budget.most is None
    assert first.token_budget.within is second.token_budget.within is parts.token_budget


def test_a_compressed_answer_is_not_unpacked(server: Server) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    server.answer = lambda handler, _: handler.send(bomb, Content_Encoding="gzip")
    with pytest.raises(EncoderError, match=rf"the answer \({len(bomb)} bytes\) is not JSON"):
        server.load().encode(["a"])
    assert server.requests[0][1]["Accept-Encoding"] == "identity"


def test_half_a_surrogate_pair_is_replaced(server: Server) -> None:
    server.load().encode(["a\ud800b", "\U0001f600 é"])
    assert server.batches == [["a\ufffdb", "\U0001f600 é"]]


def test_a_proxy_is_not_asked_for_this_machine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert np.array_equal(server.load().encode(["a"])[0], expected("a"))


def test_a_server_whose_certificate_nobody_vouches_for_is_not_sent_a_request(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    security = pytest.importorskip("distributed").Security.temporary()
    certificate = tmp_path / "own.pem"
    certificate.write_text(security.tls_scheduler_cert + security.tls_scheduler_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    encoder = load_encoder(f"endpoint:https://127.0.0.1:{server.server_address[1]}/v1#tiny,retries=1")
    # Asking again would not make it trusted.
    said = r"the server's certificate is not trusted \(.*certificate verify failed.*\); mend the certificate, .* SSL_CERT_FILE$"
    with pytest.raises(EncoderError, match=said):
        encoder.encode(["a"])
    assert not server.requests


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    endpoint._httpx.cache_clear()
    with pytest.raises(MissingExtraError, match=r"endpoint: needs the package 'httpx'.*medsenteval\[endpoint\]"):
        load_encoder("endpoint:http://h#m")


def test_without_a_key_none_is_sent_and_a_refusal_says_so(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answer = status(401)
    with pytest.raises(EncoderError, match="no key was sent"):
        server.load().encode(["a"])
    assert "Authorization" not in server.requests[-1][1]
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(EncoderError, match="with the key of OPENAI_API_KEY"):
        server.load().encode(["a"])
    assert server.requests[-1][1]["Authorization"] == f"Bearer {KEY}"


def test_the_default_key_does_not_go_in_the_clear_to_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert EndpointEncoder("http://other.example/v1#m")._key_variable == ""
    assert EndpointEncoder("https://other.example/v1#m")._key_variable == "OPENAI_API_KEY"
    assert EndpointEncoder("http://localhost/v1#m")._key_variable == "OPENAI_API_KEY"
    assert EndpointEncoder("http://other.example/v1#m", key_env="OPENAI_API_KEY")._key_variable == "OPENAI_API_KEY"


def test_a_key_that_is_absent_or_no_header_is_refused_without_showing_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(EncoderError, match="'NO_SUCH_KEY', named by key_env, is not set"):
        server.load(",key_env=NO_SUCH_KEY")
    monkeypatch.setenv("ODD_KEY", f"{KEY}\r\nX-Injected: 1")
    with pytest.raises(EncoderError, match="holds characters that no header can") as caught:
        server.load(",key_env=ODD_KEY").encode(["a"])
    assert KEY not in str(caught.getrepr(chain=True))
    assert not server.requests


@pytest.mark.parametrize(
    ("address", "posted"),
    [("http://h", "http://h/v1/embeddings"), ("http://h:80/", "http://h:80/v1/embeddings"),
     ("https://h/v1", "https://h/v1/embeddings"), ("https://h/api/v3/", "https://h/api/v3/embeddings"),
     ("http://h/v1/embeddings", "http://h/v1/embeddings"), ("http://[::1]:9/v1", "http://[::1]:9/v1/embeddings")],
)  # fmt: skip
def test_addresses(address: str, posted: str) -> None:
    encoder = load_encoder(f"endpoint:{address}#org/model:v1.5")
    assert encoder.name == "org/model:v1.5"
    assert encoder.identity.startswith(f"endpoint-{posted}#org/model:v1.5-")


@pytest.mark.parametrize(
    ("spec", "message"),
    [("", "takes URL#MODEL of an OpenAI"), ("#m", "'' is not http:"), ("localhost:8000#m", "'localhost:8000' is not"),
     ("ftp://h/v1#m", "'ftp://h/v1' is not http:"), ("file:///etc/passwd#m", "is not http:"), ("http:///v1#m", "is not http:"),
     ("http://h/v1", "needs the model's name"), ("http://h/v1#", "needs the"), ("http://h:notaport/v1#m", "is not"),
     ("http://[::1/v1#m", "is not http:"), (f"http://h/v1?key={KEY}#m", "or a query, which"),
     (f"http://me:{KEY}@h/v1#m", "the address is not http:.* a password"), (f"http://me@h/v1?{KEY}#m", "the address is not"),
     ("http://h#m,batch_size=0", "batch_size is '0'"), ("http://h#m,concurrency=two", "concurrency is 'two'"),
     ("http://h#m,timeout=0", "timeout is '0'; it must be a number from 0.001"), ("http://h#m,retries=-1", "retries is '-1'"),
     ("http://h#m,dimensions=1.5", "dimensions is '1.5'"), ("http://h#m,timeout=nan", "timeout is 'nan'"),
     ("http://h#m,timeout=inf", "timeout is 'inf'"), ("http://h#m,timeout=soon", "timeout is 'soon'"),
     ("http://h#m,speed=9", "no option 'speed'")],
)  # fmt: skip
def test_wrong_specifications_are_refused_without_showing_secrets(spec: str, message: str) -> None:
    with pytest.raises(EncoderError, match=message) as caught:
        load_encoder(f"endpoint:{spec}")
    assert KEY not in str(caught.value)


OPTIONS = st.fixed_dictionaries({
    "url": st.sampled_from(["http://h/v1", "http://h", "http://g/v1"]),
    "model": st.sampled_from(["m", "n"]),
    "prompt": st.sampled_from(["", "query: ", "-", "'"]),
    "dimensions": st.sampled_from(["", "8"]),
    "revision": st.sampled_from(["", "2", "-prompt=''"]),
})  # fmt: skip
HARMLESS = st.fixed_dictionaries({}, optional={
    "batch_size": st.just("7"), "concurrency": st.just("2"), "timeout": st.just("3"), "retries": st.just("1"),
    "max_tokens": st.just("9"), "key_env": st.just("PATH"),
})  # fmt: skip


@given(OPTIONS, OPTIONS, HARMLESS, HARMLESS)
def test_identity_changes_with_what_changes_a_vector_and_only_then(
    one: dict[str, str], other: dict[str, str], limits: dict[str, str], other_limits: dict[str, str]
) -> None:
    def identity(options: dict[str, str], extra: dict[str, str]) -> str:
        rest = {key: value for key, value in options.items() if key not in ("url", "model")}
        return EndpointEncoder(f"{options['url']}#{options['model']}", **rest, **extra).identity

    # http://h is short for http://h/v1.
    one, other = ({**options, "url": options["url"].replace("http://h/v1", "http://h")} for options in (one, other))
    assert (identity(one, limits) == identity(other, other_limits)) == (one == other)


def test_by_default_requests_are_bounded_as_the_documentation_says() -> None:
    assert endpoint._FIRST_PAUSE == 0.5
    url = "http://127.0.0.1:9/v1"
    encoder = EndpointEncoder(f"{url}#m")
    assert (encoder._batch_size, encoder._concurrency, encoder._timeout, encoder._retries) == (32, 4, 60.0, 5)
    assert encoder.token_budget.most is None
    for option, least in (
        ("batch_size", "1"), ("concurrency", "1"), ("retries", "0"), ("dimensions", "1"), ("max_tokens", "1"),
        ("timeout", "0.001"),
    ):  # fmt: skip
        assert load_encoder(f"endpoint:{url}#m,{option}={least}").name == "m"
        with pytest.raises(EncoderError, match=f"{option} is"):
            load_encoder(f"endpoint:{url}#m,{option}=-1")
    for option in ("batch_size", "concurrency", "dimensions", "max_tokens", "timeout"):
        with pytest.raises(EncoderError, match=f"{option} is '0'"):
            load_encoder(f"endpoint:{url}#m,{option}=0")


def test_a_budget_counts_what_is_set_aside_used_and_lost() -> None:
    together, own = TokenBudget(10), TokenBudget(8)
    own.within = together
    assert own.set_aside(6) is True
    assert own.set_aside(3) is False  # the answer under way may leave room
    own.give_back(6, lost=False)
    own.count(2, "s")
    assert own.set_aside(6) is True
    own.give_back(6, lost=True)
    assert (own.used, own.lost, together.used, together.lost) == (2, 6, 2, 6)
    with pytest.raises(BudgetError, match="8 of max_tokens=8 tokens are used, and the next request could take up to 1 more"):
        own.set_aside(1)
    other = TokenBudget()
    other.within = together
    assert other.set_aside(2) is True
    third = TokenBudget()
    third.within = together
    assert third.set_aside(1) is False  # of the common budget
    other.give_back(2, lost=False)
    assert third.set_aside(2) is True
    for told in (True, -1, 1 << 53, "3", None, 2.0):
        with pytest.raises(EncoderError, match="s: the server does not say how many tokens it used"):
            TokenBudget(5).count(told, "s")
        unbounded = TokenBudget()
        unbounded.count(told, "s")
        assert unbounded.used is None
    unbounded.count((1 << 53) - 1, "s")
    unbounded.count(0, "s")
    assert unbounded.used == (1 << 53) - 1


def test_pauses_double_up_to_the_longest(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script = [status(503)] * 4
    monkeypatch.setattr(endpoint, "_FIRST_PAUSE", 0.5)
    drawn, pauses, sleep = [], [], asyncio.sleep

    def uniform(low: float, high: float) -> float:
        drawn.append((low, high))
        return 1.0

    async def asleep(seconds: float, *rest: Any) -> Any:
        if seconds:
            pauses.append(seconds)
        return await sleep(0, *rest)

    monkeypatch.setattr(random, "uniform", uniform)
    monkeypatch.setattr(asyncio, "sleep", asleep)
    assert len(server.load(",timeout=3").encode(["a"])) == 1
    assert drawn == [(0.5, 1.0)] * 4
    assert pauses == [0.5, 1.0, 2.0, 3.0]
