"""Work handed out as fast as it is finished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import TypeVar

__all__ = ["as_finished"]

T = TypeVar("T")


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
                yield number, future.result()
    finally:
        for future in pending:
            future.cancel()
