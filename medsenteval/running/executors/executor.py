"""What every executor does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any, TypeVar

from numpy.typing import NDArray

from medsenteval.errors import WorkerDiedError

T = TypeVar("T")


class Stopped(BaseException):
    """The run ends, by an interrupt or an error elsewhere, before this work was done; no failure of the work itself."""


@dataclass(frozen=True)
class Outcome:
    """What a unit came to: its value, or its error in a form that survives the way home, with what caused it there."""

    peak_memory_mb: float
    value: Any = None
    error: Exception | None = None
    cause: Exception | None = None

    def result(self) -> Any:
        if self.error is not None:
            raise self.error from self.cause
        return self.value


class Executor(ABC):
    """Workers that take units of work; all methods may be called from several threads at once.

    ``workers`` is how many units run at the same time, ``at_once`` how many are handed to them, ``peak_memory_mb`` the largest
    memory that a worker reported.
    """

    #: How often a unit may take its worker with it before it is given up; Dask blames all units of a worker that died.
    attempts = 3

    def __init__(self, workers: int, at_once: int) -> None:
        self.workers = workers
        self.peak_memory_mb = 0.0
        self.closed = False
        self._waiting = ThreadPoolExecutor(at_once, thread_name_prefix="unit")

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(at_once=kind is not None)

    def run(self, what: str, unit: Callable[..., T], *arguments: Any) -> T:
        """Run one unit and return its result, or raise its error; see ``run_all``."""
        [(_, result)] = self.run_all(unit, [(what, arguments)])
        return result

    def run_all(self, unit: Callable[..., T], calls: Iterable[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[int, T]]:
        """Run a unit for many (what, arguments) and yield (number of the call, result) as they finish.

        ``what`` names a call in messages. Calls are taken only as fast as workers finish, so that neither texts nor vectors
        pile up. A unit whose worker dies is tried again on another; WorkerDiedError follows when that happens time and again.
        The first error is raised once, and what was not started yet never is.
        """
        numbered, ended = enumerate(calls), Event()
        pending: dict[Future[T], int] = {}

        def start(most: int) -> None:
            for number, (what, arguments) in islice(numbered, most):
                pending[self._started(what, unit, arguments, ended)] = number

        try:
            start(2 * self.workers)
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    number = pending.pop(future)
                    start(1)
                    yield number, future.result()
        finally:
            ended.set()
            for future in pending:
                future.cancel()

    def _started(self, what: str, unit: Callable[..., T], arguments: tuple[Any, ...], ended: Event) -> Future[T]:
        try:
            return self._waiting.submit(self._run, what, unit, arguments, ended)
        except RuntimeError:  # closed meanwhile
            raise Stopped from None

    def _run(self, what: str, unit: Callable[..., T], arguments: tuple[Any, ...], ended: Event) -> T:
        for attempt in range(1, self.attempts + 1):
            if self.closed or ended.is_set():
                raise Stopped
            try:
                outcome = self._outcome(unit, arguments, ended)
            except WorkerDiedError as error:
                if attempt < self.attempts:
                    continue
                raise WorkerDiedError(
                    f"{what}: {error}, {attempt} times; the usual reason is that memory ran out (fewer workers, more memory "
                    "for each, or a smaller --batch-size). A script that starts workers must do so under "
                    '`if __name__ == "__main__":`'
                ) from error
            self.peak_memory_mb = max(self.peak_memory_mb, outcome.peak_memory_mb)
            break
        return outcome.result()  # type: ignore[no-any-return]

    @abstractmethod
    def _outcome(self, unit: Callable[..., Any], arguments: tuple[Any, ...], ended: Event) -> Outcome:
        """Try a unit once; WorkerDiedError says that its worker died, Stopped that nobody waits for it any more."""

    @abstractmethod
    def shared(self, array: NDArray[Any]) -> AbstractContextManager[Any]:
        """Hold, for a block, something small that stands for a large array among the arguments of units; see ``opened``."""

    @abstractmethod
    def close(self, at_once: bool = False) -> None:
        """End the workers, ``at_once`` without waiting for what they do."""
