"""An encoder's work on the workers of an executor, as the engine asks for it.

Each worker loads the encoder once, from its specification, and checks that it is the same encoder. A task is scored as one
unit, or in the outer folds of its nested cross-validation.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Encoder, Scores, Task
from medsenteval.embedding.embed import Encoded, encode_batches
from medsenteval.errors import EncoderError, ExecutorError, UnknownNameError
from medsenteval.probes import fits_fold_by_fold
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import folds_go_to
from medsenteval.running.executors.executor import Executor, as_rows
from medsenteval.running.executors.worker import opened, remembered
from medsenteval.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteWork:
    """The workers of an executor; ``spec`` is what they load the encoder from, empty for one that is sent as an object."""

    executor: Executor
    spec: str = ""

    @property
    def peak_memory_mb(self) -> float:
        return self.executor.peak_memory_mb

    def encoding(self, encoder: Encoder, task: str, role: str) -> AbstractContextManager[EncoderOnWorkers]:
        return closing(EncoderOnWorkers.of(encoder, self.spec, self.executor, task, role))

    def score(
        self,
        task: Task,
        dataset: Dataset,
        embeddings: Embeddings,
        settings: Settings,
        title: str,
        after_fit: Callable[[], object],
    ) -> Scores:
        """Score a task; what cannot be sent (the user's own similarity, a task that cannot be pickled) is scored here."""
        if task.uses_probe and task.protocol == "nested" and fits_fold_by_fold(settings):

            def spread(unit: Callable[..., T], features: Features, calls: Sequence[tuple[Any, ...]]) -> list[T]:
                matrix = self.executor.share(features.matrix)
                rest = (features.left, features.right, features.combination)
                results: dict[int, T] = {}
                work = [(f"{title}: outer fold {i}", (unit, matrix, rest, call)) for i, call in enumerate(calls)]
                try:
                    for number, result in self.executor.run_all(fold_unit, work):
                        results[number] = result
                        after_fit()
                finally:
                    self.executor.release(matrix)
                return [results[number] for number in range(len(calls))]

            with folds_go_to(spread):
                return task.evaluate(task, dataset, embeddings, settings)
        try:
            payload = pickle.dumps((_reference(task), dataset, embeddings.row_of, embeddings.second, settings), protocol=5)
        except Exception:  # pickling runs code of the objects, which may raise anything
            return task.evaluate(task, dataset, embeddings, settings)
        shared = self.executor.share(as_rows(payload)), self.executor.share(embeddings.matrix)
        try:
            return self.executor.run(f"{title}: scoring", score_unit, *shared)
        finally:
            for each in shared:
                self.executor.release(each)


@dataclass(frozen=True)
class EncoderOnWorkers:
    """An encoder as workers get it: its specification, or the pickled object where it has none.

    ``identity`` is that of the coordinator's own encoder; a worker with other weights under the same name refuses to work.
    """

    executor: Executor
    name: str
    identity: str
    spec: str
    pickled: Any = None
    use: tuple[str, str] = ("", "")

    @classmethod
    def of(cls, encoder: Encoder, spec: str, executor: Executor, task: str = "", role: str = "") -> EncoderOnWorkers:
        """Prepare an encoder for the workers of an executor; one that can be neither named nor pickled is refused."""
        if spec:
            return cls(executor, encoder.name, encoder.identity, spec, use=(task, role))
        try:
            payload = _dumps(encoder)
        except Exception as error:  # pickling runs code of the object, which may raise anything
            raise ExecutorError(
                f"the encoder {encoder.name!r} cannot be sent to workers: {error}; give it as a specification "
                "(python:MODULE:OBJECT), install cloudpickle for functions of a script, or run in process"
            ) from error
        key = hashlib.blake2b(payload, digest_size=16).hexdigest()
        return cls(executor, encoder.name, encoder.identity, key, executor.share(as_rows(payload)), (task, role))

    def close(self) -> None:
        if self.pickled is not None:
            self.executor.release(self.pickled)

    def encode(
        self, units: Sequence[Sequence[str]], batch_size: int, task_name: str, width: int | None
    ) -> Iterator[tuple[int, Encoded]]:
        """Yield the units with their rows as workers finish them."""

        def call(number: int) -> tuple[str, tuple[Any, ...]]:
            what = f"{task_name}: encoding with {self.name}"
            reference = (self.spec, self.identity, self.pickled is not None, self.use)
            return what, (reference, self.pickled, units[number], number, batch_size, task_name, width)

        return self.executor.run_all(encode_unit, map(call, range(len(units))))


def encode_unit(
    reference: tuple[str, str, bool, tuple[str, str]],
    pickled: Any,
    texts: Sequence[str],
    number: int,
    batch_size: int,
    task_name: str,
    width: int | None,
) -> Encoded:
    """Encode one unit of texts in a worker."""
    spec, identity, is_pickled, use = reference

    def load() -> Encoder:
        encoder: Encoder = pickle.loads(opened(pickled).tobytes()) if is_pickled else registry.load_encoder(spec)
        if encoder.identity != identity:
            raise EncoderError(
                f"{spec}: a worker loaded {encoder.identity!r}, the coordinator {identity!r}; both need the same weights and "
                "the same versions of the packages"
            )
        return encoder

    encoder = remembered(spec, load)
    encoder = encoder.for_use(*use) if hasattr(encoder, "for_use") else encoder
    # What is made of vectors after encoding is made by the coordinator, which has all of them.
    encoder = encoder.source if hasattr(encoder, "derive") else encoder
    return Encoded.joined(list(encode_batches(encoder, texts, batch_size, f"{task_name}, unit {number}", width)))


def _dumps(encoder: Encoder) -> bytes:
    """Pickle an encoder; with cloudpickle, which Dask brings, also functions that a script or notebook defines."""
    pickler = import_module("cloudpickle" if find_spec("cloudpickle") is not None else "pickle")
    payload: bytes = pickler.dumps(encoder)
    return payload


def score_unit(payload: Any, matrix: Any) -> Scores:
    """Score one task in a worker."""
    task, dataset, row_of, second, settings = pickle.loads(opened(payload).tobytes())
    found: Task = registry.task(task) if isinstance(task, str) else task
    scored: Mapping[str, int] = row_of
    return found.evaluate(found, dataset, Embeddings(opened(matrix), scored, second=second), settings)


def fold_unit(
    unit: Callable[..., T],
    matrix: Any,
    rest: tuple[NDArray[np.intp], NDArray[np.intp] | None, str],
    call: tuple[Any, ...],
) -> T:
    """Fit and predict one outer fold in a worker."""
    return unit(Features(opened(matrix), *rest), *call)


def _reference(task: Task) -> str | Task:
    """Return the name of a task that workers know by it, else the task itself."""
    try:
        return task.name if registry.task(registry.canonical_task_name(task.name)) is task else task
    except UnknownNameError:
        return task
