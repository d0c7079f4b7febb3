"""What every executor offers, and the choice of one by its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.cores import available_cores

T = TypeVar("T")

_FORMS = "in-process, processes:N, dask:N (a cluster on this machine) or dask://HOST:PORT"


class Executor(Protocol):
    """Workers that take units of work; all methods may be called from several threads at once."""

    #: How many units run at the same time.
    workers: int
    #: The largest memory that a worker reported, in megabytes.
    peak_memory_mb: float

    def run(self, what: str, unit: Callable[..., T], *arguments: Any) -> T:
        """Run one unit on a worker and return its result, or raise its error; ``what`` names it in messages.

        A unit whose worker dies is tried again on another; WorkerDiedError follows when that happens time and again.
        """
        ...

    def run_all(self, unit: Callable[..., T], calls: Iterable[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[int, T]]:
        """Run a unit for many (what, arguments) and yield (number of the call, result) as they finish.

        Calls are taken only as fast as workers finish, so that neither texts nor vectors pile up.
        """
        ...

    def share(self, array: NDArray[Any]) -> Any:
        """Return something small that stands for a large array among the arguments of units; ``opened`` turns it back."""
        ...

    def release(self, shared: Any) -> None:
        """Forget an array that was shared."""
        ...

    def close(self, at_once: bool = False) -> None:
        """End the workers, ``at_once`` without waiting for what they do."""
        ...


def check_executor(text: str) -> tuple[str, str]:
    """Return an executor's kind and argument, or raise SettingsError if there is no such kind."""
    found = re.fullmatch(r"(in-process|processes|dask)(?::(\d+))?|(dask)://(.+)", text.strip())
    if found is None or (found[1] == "in-process" and found[2]) or found[2] == "0":
        raise SettingsError(f"the executor is {text!r}; it can be {_FORMS}")
    return ("dask-address", found[4]) if found[3] else (found[1], found[2] or "")


def worker_count(where: str | Executor) -> int:
    """Return how many workers an executor has or will have as far as its text says, 1 where only the cluster knows."""
    if not isinstance(where, str):
        return where.workers
    kind, argument = check_executor(where)
    return int(argument) if argument.isdigit() else available_cores() if kind in ("processes", "dask") else 1


@contextmanager
def open_executor(where: str | Executor) -> Iterator[Executor | None]:
    """Start or reach the workers that a text names and end them afterwards; None stands for this process.

    An executor that is open already is used and left open.
    """
    if not isinstance(where, str):
        yield where
        return
    kind, argument = check_executor(where)
    if kind == "in-process":
        yield None
        return
    executor: Executor
    if kind == "processes":
        from medsenteval.running.executors.processes import ProcessExecutor

        executor = ProcessExecutor(worker_count(where))
    else:
        from medsenteval.running.executors.dask_executor import DaskExecutor

        executor = DaskExecutor.local(worker_count(where)) if kind == "dask" else DaskExecutor.at(argument)
    try:
        yield executor
    except BaseException:
        executor.close(at_once=True)
        raise
    else:
        executor.close()


def as_rows(array: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array that can be shared."""
    return np.frombuffer(array, dtype=np.uint8)
