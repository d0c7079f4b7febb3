"""An encoder's work on the workers of an executor, as the engine asks for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

from medsenteval.contracts import Dataset, Embeddings, Encoder, Scores, Task
from medsenteval.running.executors.executor import Executor
from medsenteval.running.executors.remote_encoding import EncoderOnWorkers
from medsenteval.running.executors.remote_scoring import score_on_workers
from medsenteval.settings import Settings

__all__ = ["RemoteWork"]


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
        return score_on_workers(task, dataset, embeddings, settings, self.executor, title, after_fit)
