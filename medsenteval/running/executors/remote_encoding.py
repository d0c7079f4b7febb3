"""Encoding on workers: each loads the encoder once, from its specification, and checks that it is the same encoder."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from medsenteval import registry
from medsenteval.contracts import Encoder
from medsenteval.embedding.embed import Encoded, encode_batches
from medsenteval.errors import EncoderError, ExecutorError
from medsenteval.running.executors.executor import Executor, as_rows
from medsenteval.running.executors.worker import opened, remembered

__all__ = ["EncoderOnWorkers"]


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
