"""Work handed out as fast as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(BaseException):
    """The run ends, by an interrupt or an error elsewhere, before this work was done; no failure of the work itself."""


def result_of(future: Future[T]) -> T:
    """Wait for a future; one that was cancelled, which only the end of the run does, raises Stopped."""
    try:
        return future.result()
    except CancelledError:
        raise Stopped from None


def as_finished(started: Iterable[Future[T]], at_once: int) -> Iterator[tuple[int, T]]:
    """Yield (number, result) in the order of finishing; drawing a future starts it, and ``at_once`` at most are under way.

    The first error is raised once and what was not started yet never is.
    """
    numbered = enumerate(started)
    pending = {future: number for number, future in islice(numbered, at_once)}
    try:
        while pending:
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                number = pending.pop(future)
                pending.update({another: following for following, another in islice(numbered, 1)})
                yield number, result_of(future)
    finally:
        for future in pending:
            future.cancel()


def submitted(waiting: ThreadPoolExecutor, run: Callable[..., T], *arguments: Any) -> Future[T]:
    """Let a thread that waits for workers run something; one whose executor was closed meanwhile raises Stopped."""
    try:
        return waiting.submit(run, *arguments)
    except RuntimeError:
        raise Stopped from None
