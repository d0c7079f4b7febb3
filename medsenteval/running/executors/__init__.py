"""Where work runs: in this process, in worker processes, or on a Dask cluster; the answer is the same to the last bit.

Work is cut into units by the data and the settings alone, never by the number of workers:

- a unit of texts to encode, on one thread;
- an outer fold of nested cross-validation, for back ends that fit fold by fold, on one thread;
- otherwise the whole scoring of one task. The exact probe stays whole: it fits all folds in the same matrix products, and
  ten outer folds apart were measured at 1.7 to 5 times the work of all together.

The process that was started, the coordinator, hands out units, writes the cache and the results, and does whatever cannot
be sent. Workers return what they computed, so that the cache has one writer and a cluster needs no shared disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from medsenteval.errors import SettingsError
from medsenteval.running.executors.executor import Executor
from medsenteval.support.cores import available_cores


def check_executor(text: str) -> tuple[str, str]:
    """Return an executor's kind and argument, or raise SettingsError if there is no such kind."""
    found = re.fullmatch(r"(in-process)|(processes)(?::([1-9]\d*))?|(dask)://(.+)", text.strip())
    if found is None:
        raise SettingsError(f"the executor is {text!r}; it can be in-process, processes:N or dask://HOST:PORT")
    return found[1] or found[2] or found[4], found[3] or found[5] or ""


def worker_count(where: str | Executor) -> int:
    """Return how many workers an executor has or will have as far as its text says, 1 where only the cluster knows."""
    if not isinstance(where, str):
        return where.workers
    kind, argument = check_executor(where)
    return int(argument or available_cores()) if kind == "processes" else 1


@contextmanager
def open_executor(where: str | Executor) -> Iterator[Executor | None]:
    """Start or reach the workers that a text names and end them afterwards; None stands for this process.

    An executor that is open already is used and left open.
    """
    kind, argument = check_executor(where) if isinstance(where, str) else ("open", "")
    executor: Executor
    if kind == "processes":
        from medsenteval.running.executors.processes import ProcessExecutor

        executor = ProcessExecutor(worker_count(where))
    elif kind == "dask":
        from medsenteval.running.executors.dask_executor import DaskExecutor

        executor = DaskExecutor(argument)
    else:
        yield None if isinstance(where, str) else where
        return
    try:
        yield executor
    except BaseException:
        executor.close(at_once=True)
        raise
    else:
        executor.close()
