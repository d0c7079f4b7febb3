"""What happens inside a worker: loading encoders once, opening shared arrays, and bringing errors home."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ExecutorError, MedSentEvalError, caused_by
from medsenteval.support.cores import limit_cores, peak_memory_mb

#: Errors that say nothing of an encoder: a library that cannot be imported, a disk or a connection, memory that ran out.
ENVIRONMENT: Final = (ImportError, OSError, MemoryError)
#: Encoders that a worker keeps; suites go encoder by encoder, so that two are enough.
_KEPT: Final = 2
_memory: dict[str, Any] = {}
#: A worker does one unit at a time, with all cores that it was given; encoders need not be safe for threads.
_turn: Final = threading.RLock()


@dataclass(frozen=True)
class ArrayFile:
    """A large array as a file that workers map; the pages are shared between the processes of a machine."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    offset: int = 0


def opened(shared: Any) -> NDArray[Any]:
    """Return the array behind what an executor's ``shared`` gave."""
    if isinstance(shared, ArrayFile):
        return np.memmap(shared.path, dtype=shared.dtype, mode="r", offset=shared.offset, shape=shared.shape)
    array: NDArray[Any] = shared
    return array


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


def guarded(unit: Callable[..., Any], *arguments: Any) -> Outcome:
    """Run a unit alone in this process and catch its error; what cannot be pickled comes home as its message."""
    with _turn:
        try:
            value = unit(*arguments)
            return Outcome(peak_memory_mb(), value)
        except Exception as error:
            # The place of the error lies in this process; its trace is the cause that Python prints at home.
            kind = OSError if caused_by(error, ENVIRONMENT) else ExecutorError
            return Outcome(peak_memory_mb(), None, _sendable(error), kind(f"in a worker:\n{traceback.format_exc()}"))


def _sendable(error: Exception) -> Exception:
    """Return the error if it survives the way home, else one of ours that says the same."""
    try:
        # An error class with arguments of its own may pickle and yet fail to be made again.
        pickle.loads(pickle.dumps(error))
    except Exception:
        ours = isinstance(error, MedSentEvalError)
        return MedSentEvalError(str(error)) if ours else ExecutorError(f"{type(error).__name__}: {error}")
    return error


def remembered(key: str, make: Callable[[], Any]) -> Any:
    """Return what ``make`` made for this key, the last few of them kept for the life of the worker."""
    found = _memory.pop(key, None)
    if found is None:
        if len(_memory) == _KEPT:
            del _memory[next(iter(_memory))]
        found = make()
    _memory[key] = found
    return found


def start_worker(cores: int) -> None:
    """Prepare a worker process: its share of the cores, no interrupts of its own, and an end when the coordinator ends."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_cores(cores)
    # For libraries that are loaded later; those that are there already are told directly.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(cores)))
    threadpool_limits(cores)
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True, name="follow-coordinator").start()
