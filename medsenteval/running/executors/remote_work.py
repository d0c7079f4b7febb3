"""An encoder's work on the workers of an executor, as the engine asks for it.

Each worker loads the encoder once, from its specification, and checks that it is the same encoder. A task is scored as one
unit, or in the outer folds of its nested cross-validation.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Encoder, Scores, Task
from medsenteval.embedding.embed import Encoded, RemoteEncoding, encode_batches, for_use
from medsenteval.errors import EncoderError, ExecutorError, UnknownNameError
from medsenteval.probes.backend import FITTED_TOGETHER
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import folds_go_to
from medsenteval.running.executors.executor import Executor
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

    @contextmanager
    def encoding(self, encoder: Encoder, task: str, role: str) -> Iterator[RemoteEncoding]:
        """Make an encoder known to the workers: by its specification, or as the pickled object where it has none."""
        with ExitStack() as held:
            key, pickled = self.spec, None
            if not self.spec:
                payload = _pickled(encoder)
                key = hashlib.blake2b(payload.data, digest_size=16).hexdigest()
                pickled = held.enter_context(self.executor.shared(payload))

            def encode(units: Sequence[Sequence[str]], batch_size: int, task_name: str) -> Iterator[tuple[int, Encoded]]:
                what, used = f"{task_name}: encoding with {encoder.name}", (key, encoder.identity, task, role)
                numbered = ((f"{task_name}, unit {number}", unit) for number, unit in enumerate(units))
                calls = ((what, (used, pickled, unit, batch_size, where)) for where, unit in numbered)
                return self.executor.run_all(encode_unit, calls)

            yield encode

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
            sent = pickle.dumps((_reference(task), dataset, embeddings.row_of, embeddings.second, settings), protocol=5)
        except Exception:  # pickling runs code of the objects, which may raise anything
            return task.evaluate(task, dataset, embeddings, settings)
        payload = np.frombuffer(sent, dtype=np.uint8)
        with self.executor.shared(payload) as rest, self.executor.shared(embeddings.matrix) as matrix:
            return self.executor.run(f"{title}: scoring", score_unit, rest, matrix)


def _pickled(encoder: Encoder) -> NDArray[np.uint8]:
    """Pickle an encoder; with cloudpickle, which Dask brings, also functions that a script or notebook defines."""
    pickler = import_module("cloudpickle" if find_spec("cloudpickle") is not None else "pickle")
    try:
        return np.frombuffer(pickler.dumps(encoder), dtype=np.uint8)
    except Exception as error:  # pickling runs code of the object, which may raise anything
        raise ExecutorError(
            f"the encoder {encoder.name!r} cannot be sent to workers: {error}; give it as a specification "
            "(python:MODULE:OBJECT), install cloudpickle for functions of a script, or run in process"
        ) from error


def encode_unit(used: tuple[str, str, str, str], pickled: Any, texts: Sequence[str], batch_size: int, where: str) -> Encoded:
    """Encode one unit of texts in a worker; one with other weights under the same name refuses to work."""
    key, identity, task, role = used

    def load() -> Encoder:
        encoder: Encoder = registry.load_encoder(key) if pickled is None else pickle.loads(opened(pickled).tobytes())
        if encoder.identity != identity:
            raise EncoderError(
                f"{key}: a worker loaded {encoder.identity!r}, the coordinator {identity!r}; both need the same weights and "
                "the same versions of the packages"
            )
        return encoder

    encoder = for_use(remembered(key, load), task, role)
    # What is made of vectors after encoding is made by the coordinator, which has all of them.
    encoder = getattr(encoder, "source", encoder) if hasattr(encoder, "derive") else encoder
    return Encoded.joined(enumerate(encode_batches(encoder, texts, batch_size, where)))


def score_unit(payload: Any, matrix: Any) -> Scores:
    """Score one task in a worker."""
    task, dataset, row_of, second, settings = pickle.loads(opened(payload).tobytes())
    found: Task = registry.task(task) if isinstance(task, str) else task
    return found.evaluate(found, dataset, Embeddings(opened(matrix), row_of, second=second), settings)


def fold_unit(unit: Callable[..., T], matrix: Any, rest: tuple[Any, ...], call: tuple[Any, ...]) -> T:
    """Fit and predict one outer fold in a worker; ``rest`` are the features' fields but for the matrix."""
    return unit(Features(opened(matrix), *rest), *call)


def _reference(task: Task) -> str | Task:
    """Return the name of a task that workers know by it, else the task itself."""
    try:
        return task.name if registry.task(registry.canonical_task_name(task.name)) is task else task
    except UnknownNameError:
        return task
