"""A real HTTP server on loopback that serves files well, badly or not at all, as the test tells it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Server", "serving"]


@dataclass
class Page:
    """What stands at an address, and how it is served.

    ``cuts`` is how many times the connection is cut after ``cut_after`` bytes; ``errors`` are answers given before the first
    proper one; ``ranges`` says whether the server can continue a download.
    """

    content: bytes = b""
    cuts: int = 0
    cut_after: int = 0
    errors: list[int] = field(default_factory=list)
    ranges: bool = True
    redirect: str = ""
    length: bool = True
    wrong_range: bool = False
    kind: str = "application/octet-stream"


class Server:
    """The pages of a running server and the requests that it saw."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, str]] = []

    def serve(self, path: str, page: Page) -> str:
        self.pages[path] = page
        return f"{self.address}{path}"


@contextmanager
def serving() -> Iterator[Server]:
    """Run the server in a thread until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            """Keep the tests' output clean."""

        def do_GET(self) -> None:
            page = state.pages.get(self.path)
            state.requests.append((self.path, self.headers.get("Range", "")))
            if page is None:
                self._answer(404)
            elif page.redirect:
                self.send_response(302)
                self.send_header("Location", page.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif page.errors:
                self._answer(page.errors.pop(0))
            else:
                self._send(page)

        def _answer(self, code: int) -> None:
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _send(self, page: Page) -> None:
            start = 0
            wanted = self.headers.get("Range", "")
            if page.ranges and wanted:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(page.content):
                    self._answer(416)
                    return
            body = page.content[start:]
            self.send_response(206 if start else 200)
            if start:
                told = start + 1 if page.wrong_range else start
                self.send_header("Content-Range", f"bytes {told}-{len(page.content) - 1}/{len(page.content)}")
            self.send_header("Content-Type", page.kind)
            if page.length:
                self.send_header("Content-Length", str(len(body)))
            else:
                self.send_header("Connection", "close")
            self.end_headers()
            if page.cuts:
                page.cuts -= 1
                self.wfile.write(body[: page.cut_after])
                self.wfile.flush()
                self.close_connection = True
                return
            self.wfile.write(body)
            self.close_connection = not page.length

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up, as one that has seen enough does, is no error of the server."""

    server = Quiet(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = Server(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
