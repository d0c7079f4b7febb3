"""Worker processes on this machine."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import WorkerDiedError
from medsenteval.running.executors.flow import Stopped, as_finished, result_of, submitted
from medsenteval.running.executors.worker import ArrayFile, Outcome, guarded, start_worker
from medsenteval.support.atomic_files import new_scratch_folder
from medsenteval.support.cores import available_cores

T = TypeVar("T")

#: How often a unit may take its worker with it before it is given up.
ATTEMPTS: Final = 3


class ProcessExecutor:
    """N spawned processes, each with its share of the cores.

    Every worker is a pool of one process: when a worker dies, Python's pools break as a whole and do not say which of
    their units did it, whereas here the unit is known, can be tried again and be blamed, and the others go on undisturbed.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.peak_memory_mb = 0.0
        self._cores = max(available_cores() // workers, 1)
        self._idle: queue.LifoQueue[ProcessPoolExecutor] = queue.LifoQueue()
        self._pools: list[ProcessPoolExecutor] = []
        self._lock = threading.RLock()
        self._closed = False
        for _ in range(workers):
            self._idle.put(self._new_worker())
        self._waiting = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._arrays = ArrayFolder()

    def run(self, what: str, unit: Callable[..., T], *arguments: Any) -> T:
        started: Future[T] = submitted(self._waiting, self._run, what, unit, arguments)
        return result_of(started)

    def run_all(self, unit: Callable[..., T], calls: Iterable[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[int, T]]:
        started = (submitted(self._waiting, self._run, what, unit, arguments) for what, arguments in calls)
        return as_finished(started, 2 * self.workers)

    def share(self, array: NDArray[Any]) -> ArrayFile:
        return self._arrays.share(array)

    def release(self, shared: ArrayFile) -> None:
        self._arrays.release(shared)

    def close(self, at_once: bool = False) -> None:
        with self._lock:
            self._closed = True
            pools, self._pools = self._pools, []
        for pool in pools:
            if at_once:
                for process in list((pool._processes or {}).values()):
                    process.kill()
            pool.shutdown(wait=not at_once, cancel_futures=True)
        self._waiting.shutdown(wait=not at_once, cancel_futures=True)
        self._arrays.remove()

    def _run(self, what: str, unit: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        for _ in range(ATTEMPTS):
            pool = self._idle.get()
            try:
                # Under the lock, so that ``close`` knows every process: one that started behind its back would go on.
                with self._lock:
                    if self._closed:
                        raise Stopped
                    submitted_unit = pool.submit(guarded, unit, *arguments)
                outcome: Outcome = submitted_unit.result()
            except RuntimeError as error:
                with self._lock:
                    if self._closed:
                        raise Stopped from None
                    if not isinstance(error, BrokenProcessPool):
                        raise
                    self._pools.remove(pool)
                    pool.shutdown(wait=False)
                    pool = self._new_worker()
                continue
            finally:
                self._idle.put(pool)
            self.peak_memory_mb = max(self.peak_memory_mb, outcome.peak_memory_mb)
            result: T = outcome.result()
            return result
        raise WorkerDiedError(
            f"{what}: the worker process died {ATTEMPTS} times; the usual reason is that memory ran out (fewer workers or a "
            'smaller --batch-size need less). A script that starts workers must do so under `if __name__ == "__main__":`'
        )

    def _new_worker(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a forked process inherits locks of threads that it does not have.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(1, mp_context=context, initializer=start_worker, initargs=(self._cores,))
        with self._lock:
            self._pools.append(pool)
        return pool


class ArrayFolder:
    """Arrays that workers of this machine map from files; those that are mapped already stay where they are."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._lock = threading.Lock()
        self._count = 0

    def folder(self) -> str:
        """Return the folder, made when it is first asked for."""
        if self._folder is None:
            self._folder = str(new_scratch_folder())
        return self._folder

    def share(self, array: NDArray[Any]) -> ArrayFile:
        mapped = mapped_file(array)
        if mapped is not None:
            return mapped
        with self._lock:
            path = os.path.join(self.folder(), str(self._count))
            self._count += 1
        np.ascontiguousarray(array).tofile(path)
        return ArrayFile(path, array.shape, array.dtype.str)

    def release(self, shared: ArrayFile) -> None:
        if self._folder is not None and shared.path.startswith(self._folder + os.sep):
            Path(shared.path).unlink(missing_ok=True)

    def remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def mapped_file(array: NDArray[Any]) -> ArrayFile | None:
    """Return the file behind an array that maps one, or None; a part of such an array does not know where it lies."""
    if not isinstance(array, np.memmap) or array.filename is None or not isinstance(array.base, mmap.mmap):
        return None
    return ArrayFile(str(array.filename), array.shape, array.dtype.str, array.offset)
