"""How many cores this process may use, arithmetic that does not depend on how many there are, and the memory it took."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ContextDecorator, ExitStack
from itertools import pairwise
from typing import Final, TypeVar

T = TypeVar("T")

#: Parts into which rows are cut, however many cores there are.
_PARTS: Final = 4

_limit: int | None = None


def available_cores() -> int:
    """Return the cores that the process may run on, which a cluster's scheduler may have cut below the machine's."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if _limit is None else min(cores, _limit)


def limit_cores(cores: int) -> None:
    """Leave the other cores to the workers beside this one."""
    global _limit
    _limit = max(cores, 1)


class _SingleThreads(ContextDecorator, AbstractContextManager[None]):
    """Counts who wants products on one thread, so that the first to leave does not free the libraries for the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._torch_held = False
        self._undo = ExitStack()

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._inside == 0:
                self._undo.enter_context(threadpool_limits(1))
            # Importing torch takes longer than many fits, so it may come in only after the first has entered.
            torch = sys.modules.get("torch")
            if torch is not None:
                if not self._torch_held:
                    self._undo.callback(torch.set_num_threads, torch.get_num_threads())
                    self._torch_held = True
                # Torch counts its threads for each of ours.
                torch.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._undo.close()
                self._torch_held = False


_single_threads = _SingleThreads()


def one_thread_per_product() -> _SingleThreads:
    """Keep matrix libraries from sharing single products out to threads, within a block or a decorated function.

    With another number of threads a product can have other last bits, and with them a score. Work is spread over cores by
    what is independent instead (batches of texts, folds), which changes nothing and wastes less time on waiting.
    """
    return _single_threads


def in_parts(n_rows: int, compute: Callable[[slice], T]) -> list[T]:
    """Compute something for fixed parts of the rows, on as many threads as may run, and return the results in order."""
    bounds = [n_rows * part // _PARTS for part in range(_PARTS + 1)]
    spans = [slice(first, last) for first, last in pairwise(bounds) if last > first]
    with one_thread_per_product(), ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(compute, spans))


def peak_memory_mb() -> float:
    """Return the largest memory this process has held so far, 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
