"""A connection to a server that another thread can cut off: after the seconds of one request, or when a run is interrupted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

__all__ = ["ServerConnection"]


class ServerConnection:
    """A client of the HTTP library for one request at a time.

    The library's own limit is for each piece of an answer, so that a server which drips could hold a request for hours.
    """

    def __init__(self, client: httpx.Client, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._socket: socket.socket | None = None

    @contextmanager
    def post(self, address: str, body: bytes, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Send a request; its answer, head and body, must be read within the block and within the seconds of one request."""
        from httpx import ReadTimeout, TransportError

        late = threading.Event()

        def end() -> None:
            late.set()
            self.cut()

        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        extensions = {"trace": self._follow}
        try:
            with self._client.stream("POST", address, content=body, headers=headers, extensions=extensions) as answer:
                yield answer
        except TransportError:
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():  # an answer of unknown length looks whole where it was cut
            raise ReadTimeout("")

    def cut(self) -> None:
        """End what the connection does; whoever waits for it gets an error at once."""
        if self._socket is not None:
            with suppress(OSError):  # it has ended already
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._client.close()
        if self._socket is not None:
            self._socket.close()

    def _follow(self, event: str, about: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            # A second handle on the connection, which stays valid when TLS takes over the first.
            connected = about["return_value"].get_extra_info("socket").dup()
            if self._socket is not None:
                self._socket.close()
            self._socket = connected
