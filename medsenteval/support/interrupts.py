"""Ctrl-C, which must end a run wherever it arrives and must never look like a failure."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from medsenteval.errors import caused_by

_arrived: Final = threading.Event()


@contextmanager
def noticing_interrupts() -> Iterator[None]:
    """Remember an interrupt that arrives within the block, besides what it does anyway.

    Where KeyboardInterrupt is raised inside a compiled loop or a callback of a library, it can come out as another error or not
    at all, with work left half-done. ``raise_if_interrupted`` tells.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not callable(before) or getattr(before, "notices", False):
        yield
        return

    def notice(number: int, frame: FrameType | None) -> None:
        _arrived.set()
        before(number, frame)

    notice.notices = True  # type: ignore[attr-defined]
    _arrived.clear()
    signal.signal(signal.SIGINT, notice)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _arrived.clear()


def raise_if_interrupted(error: BaseException | None = None) -> None:
    """Raise KeyboardInterrupt if one arrived, in whatever form ``error`` brings it or even though it was swallowed."""
    if _arrived.is_set() or (error is not None and caused_by(error, KeyboardInterrupt)):
        raise KeyboardInterrupt from error
