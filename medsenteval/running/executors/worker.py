"""An encoder's work on the workers of an executor: what the coordinator asks for, and what happens inside a worker.

Each worker loads the encoder once, from its specification, and checks that it is the same encoder. A task is scored as one
unit, or in the outer folds of its nested cross-validation.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Encoder, Scores, Task
from medsenteval.embedding.embed import Encoded, RemoteEncoding, encode_batches, for_use
from medsenteval.errors import EncoderError, ExecutorError, MedSentEvalError, caused_by
from medsenteval.probes.backend import FITTED_TOGETHER
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import folds_go_to
from medsenteval.running.executors.executor import Executor, Outcome
from medsenteval.settings import Settings
from medsenteval.support.cores import limit_cores, peak_memory_mb

T = TypeVar("T")

#: Errors that say nothing of an encoder: a library that cannot be imported, a disk or a connection, memory that ran out.
ENVIRONMENT: Final = (ImportError, OSError, MemoryError)
#: A worker does one unit at a time, with all cores that it was given; encoders need not be safe for threads.
_turn: Final = threading.RLock()


@dataclass(frozen=True)
class RemoteWork:
    """The workers of an executor; ``spec`` is what they load the encoder from, empty for an object, which encodes here."""

    executor: Executor
    spec: str = ""

    @property
    def peak_memory_mb(self) -> float:
        return self.executor.peak_memory_mb

    def encoding(self, encoder: Encoder, task: str, role: str) -> RemoteEncoding | None:
        """Return how workers encode texts of this role in this task, or None for an encoder that they cannot load."""
        if not self.spec:
            return None

        def encode(units: Sequence[Sequence[str]], batch_size: int, task_name: str) -> Iterator[tuple[int, Encoded]]:
            what, used = f"{task_name}: encoding with {encoder.name}", (self.spec, encoder.identity, task, role)
            numbered = ((f"{task_name}, unit {number}", unit) for number, unit in enumerate(units))
            return self.executor.run_all(encode_unit, ((what, (used, unit, batch_size, where)) for where, unit in numbered))

        return encode

    def score(self, task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings, title: str) -> Scores:
        """Score a task; what cannot be sent (the user's own similarity, a task that cannot be pickled) is scored here."""
        if task.uses_probe and task.protocol == "nested" and settings.probe not in FITTED_TOGETHER:

            def spread(unit: Callable[..., T], features: Features, calls: Sequence[tuple[Any, ...]]) -> list[T]:
                rest = (features.left, features.right, features.combination)
                with self.executor.shared(features.matrix) as matrix:
                    work = [(f"{title}: outer fold {i}", (unit, matrix, rest, call)) for i, call in enumerate(calls)]
                    results = dict(self.executor.run_all(fold_unit, work))
                return [results[number] for number in range(len(calls))]

            with folds_go_to(spread):
                return task.evaluate(task, dataset, embeddings, settings)
        try:
            # What read the rows is of no use beside them, and is often a function that cannot be sent.
            known = replace(task, read=_read_before)
            sent = pickle.dumps((known, dataset, embeddings.row_of, embeddings.second, settings), protocol=5)
        except Exception:  # pickling runs code of the objects, which may raise anything
            return task.evaluate(task, dataset, embeddings, settings)
        payload = np.frombuffer(sent, dtype=np.uint8)
        with self.executor.shared(payload) as rest, self.executor.shared(embeddings.matrix) as matrix:
            return self.executor.run(f"{title}: scoring", score_unit, rest, matrix)


@lru_cache(maxsize=2)  # suites go encoder by encoder, so that two are enough
def _loaded(spec: str, identity: str) -> Encoder:
    """Load an encoder in a worker, or find it loaded; one with other weights under the same name refuses to work."""
    encoder = registry.load_encoder(spec)
    if encoder.identity != identity:
        raise EncoderError(
            f"{spec}: a worker loaded {encoder.identity!r}, the coordinator {identity!r}; both need the same weights and "
            "the same versions of the packages"
        )
    return encoder


def encode_unit(used: tuple[str, str, str, str], texts: Sequence[str], batch_size: int, where: str) -> Encoded:
    """Encode one unit of texts in a worker."""
    spec, identity, task, role = used
    encoder = for_use(_loaded(spec, identity), task, role)
    # What is made of vectors after encoding is made by the coordinator, which has all of them.
    encoder = getattr(encoder, "source", encoder) if hasattr(encoder, "derive") else encoder
    return Encoded.joined(enumerate(encode_batches(encoder, texts, batch_size, where)))


def score_unit(payload: Any, matrix: Any) -> Scores:
    task, dataset, row_of, second, settings = pickle.loads(opened(payload).tobytes())
    scores: Scores = task.evaluate(task, dataset, Embeddings(opened(matrix), row_of, second=second), settings)
    return scores


def fold_unit(unit: Callable[..., T], matrix: Any, rest: tuple[Any, ...], call: tuple[Any, ...]) -> T:
    """Fit and predict one outer fold in a worker; ``rest`` are the features' fields but for the matrix."""
    return unit(Features(opened(matrix), *rest), *call)


def _read_before(*_: Any) -> NoReturn:
    raise ExecutorError("a worker scores rows that are read already")


def opened(shared: Any) -> NDArray[Any]:
    """Return the array behind what an executor's ``shared`` gave; processes share the pages of a file."""
    array: NDArray[Any] = np.load(shared, mmap_mode="r") if isinstance(shared, Path) else shared
    return array


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
