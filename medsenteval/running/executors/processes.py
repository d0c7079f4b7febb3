"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import WorkerDiedError
from medsenteval.running.executors.executor import Executor, Outcome, Stopped
from medsenteval.running.executors.worker import guarded, start_worker
from medsenteval.support.atomic_files import scratch_folder
from medsenteval.support.cores import available_cores


class ProcessExecutor(Executor):
    """N spawned processes, each with its share of the cores.

    Every worker is a pool of one process: when a worker dies, Python's pools break as a whole and do not say which of
    their units did it, whereas here the unit is known, can be tried again and be blamed, and the others go on undisturbed.
    """

    def __init__(self, workers: int) -> None:
        # As many threads wait for units as there are workers, each for those of its own.
        super().__init__(workers, at_once=workers)
        self._cores = max(available_cores() // workers, 1)
        self._pools: dict[int, ProcessPoolExecutor] = {}
        self._lock = threading.RLock()

    @contextmanager
    def shared(self, array: NDArray[Any]) -> Iterator[Path]:
        """Hold a file that workers map."""
        with scratch_folder() as folder:
            path = folder / "array.npy"
            np.save(path, array)
            yield path

    def close(self, at_once: bool = False) -> None:
        with self._lock:
            self.closed = True
            pools, self._pools = self._pools, {}
        for pool in pools.values():
            if at_once:
                for process in list((pool._processes or {}).values()):
                    process.kill()
            pool.shutdown(wait=not at_once, cancel_futures=True)
        self._waiting.shutdown(wait=not at_once)

    def _outcome(self, unit: Callable[..., Any], arguments: tuple[Any, ...], ended: threading.Event) -> Outcome:
        thread = threading.get_ident()
        try:
            # Under the lock, so that ``close`` knows every process: one that started behind its back would go on.
            with self._lock:
                if self.closed:
                    raise Stopped
                if thread not in self._pools:
                    # Spawned, not forked: a forked process inherits locks of threads that it does not have.
                    spawned = multiprocessing.get_context("spawn")
                    self._pools[thread] = ProcessPoolExecutor(1, spawned, start_worker, (self._cores,))
                submitted = self._pools[thread].submit(guarded, unit, *arguments)
            return submitted.result()
        except RuntimeError as error:
            with self._lock:
                if self.closed:
                    raise Stopped from None
                if not isinstance(error, BrokenProcessPool):
                    raise
                self._pools.pop(thread).shutdown(wait=False)
            raise WorkerDiedError("the worker process died") from error
