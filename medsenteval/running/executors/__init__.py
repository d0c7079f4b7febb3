"""Where work runs: in this process, in worker processes, or on a Dask cluster; the answer is the same to the last bit.

Work is cut into units by the data and the settings alone, never by the number of workers; docs/suites.md says how. The process
that was started, the coordinator, hands out units, and alone writes the cache and the results.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

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


def open_executor(where: str | Executor) -> AbstractContextManager[Executor | None]:
    """Start or reach the workers that a text names and end them afterwards; None stands for this process.

    An executor that is open already is used and left open.
    """
    kind, argument = check_executor(where) if isinstance(where, str) else ("open", "")
    if kind == "processes":
        from medsenteval.running.executors.processes import ProcessExecutor

        return ProcessExecutor(worker_count(where))
    if kind == "dask":
        from medsenteval.running.executors.dask_executor import DaskExecutor

        return DaskExecutor(argument)
    return nullcontext(None if isinstance(where, str) else where)
