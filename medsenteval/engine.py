"""One encoder on one task, and SentEval's entry point ``SE`` with its contract unchanged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from medsenteval import registry
from medsenteval.cache import EmbeddingCache
from medsenteval.contracts import Dataset, Encoder, Task
from medsenteval.datasets import data_root, load_dataset
from medsenteval.embedding import embed_texts
from medsenteval.encoders.adapt import BatcherEncoder
from medsenteval.errors import SettingsError
from medsenteval.executors import Executor
from medsenteval.executors.worker import peak_memory_mb
from medsenteval.memory import return_freed_memory
from medsenteval.progress import Progress
from medsenteval.results import Result, make_result
from medsenteval.settings import SentEvalParams, Settings

__all__ = ["SE", "evaluate_task"]


def evaluate_task(
    task: Task,
    dataset: Dataset,
    encoder: Encoder,
    settings: Settings,
    *,
    cache: EmbeddingCache | None = None,
    progress: Progress | None = None,
    seconds_reading: float = 0.0,
    executor: Executor | None = None,
    spec: str = "",
) -> Result:
    """Encode a data set's texts and score the task; the whole way from texts to Result.

    With an ``executor`` its workers do both; ``spec`` is what they load the encoder from.
    """
    started = time.perf_counter()
    progress = progress or Progress()
    asked = dataset.for_encoder(encoder)
    common: dict[str, Any] = {"batch_size": settings.batch_size, "task_name": task.name, "cache": cache, "progress": progress}
    if executor is None:
        embeddings = embed_texts(encoder, list(asked.all_texts()), **common)
        return_freed_memory()
        encoded = time.perf_counter()
        scores = task.evaluate(task, asked, embeddings, settings)
    else:
        from medsenteval.executors.encoding import EncoderElsewhere
        from medsenteval.executors.scoring import score_elsewhere

        with closing(EncoderElsewhere.of(encoder, spec, executor)) as elsewhere:
            embeddings = embed_texts(encoder, list(asked.all_texts()), **common, elsewhere=elsewhere)
        encoded = time.perf_counter()
        title = f"{task.name}: {encoder.name}"
        scores = score_elsewhere(task, asked, embeddings, settings, executor, title, progress.fitted)
    scored = time.perf_counter()
    return_freed_memory()
    measure_coverage = getattr(encoder, "coverage", None)
    coverage: Mapping[str, float] = {} if measure_coverage is None else measure_coverage(embeddings.row_of)
    zero_rows = int(embeddings.zero_rows.sum())
    n_encoded = embeddings.n_encoded
    return make_result(
        task,
        dataset,
        scores,
        settings,
        encoder,
        dimension=int(embeddings.matrix.shape[1]),
        coverage={**coverage, "zero_vectors": zero_rows / len(embeddings.matrix)},
        timings={"read": seconds_reading, "encode": encoded - started, "fit": scored - encoded},
        performance={
            "texts": len(embeddings.matrix),
            "texts_encoded": n_encoded,
            "texts_per_second": n_encoded / (encoded - started),
            "peak_memory_mb": max(peak_memory_mb(), 0.0 if executor is None else executor.peak_memory_mb),
        },
    )


class SE:
    """SentEval's engine: ``SE(params, batcher, prepare).eval(task or list of tasks)``.

    ``params`` is a dictionary with SentEval's keys; ``task_path`` is required, every other key has SentEval's default, and
    keys that SentEval does not know reach ``prepare`` and ``batcher`` untouched. The one difference: without
    ``usepytorch`` the probe is the exact solver. Results are SentEval's dictionaries; the last one is kept in ``results``, and
    the full Result objects (intervals, baselines, per-item predictions) in ``details``.
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        batcher: Callable[[Any, list[list[str]]], Any],
        prepare: Callable[[Any, list[list[str]]], Any] | None = None,
    ) -> None:
        self.params = SentEvalParams(params)
        self.settings = Settings.from_senteval_params(self.params)
        # Scripts read these back from params, so SentEval's defaults are written into it.
        self.params.setdefault("seed", self.settings.seed)
        self.params.setdefault("batch_size", self.settings.batch_size)
        self.params.setdefault("kfold", self.settings.folds)
        self.params.setdefault("nhid", 0)
        if not self.params.get("classifier"):
            self.params["classifier"] = {"nhid": 0}
        if "task_path" not in self.params:
            raise SettingsError("params['task_path'] is missing; it names the folder that holds MedNLI/, RQE/ and the others")
        self.batcher = batcher
        self.prepare = prepare
        self.list_tasks = list(registry.task_names())
        self.results: dict[str, Any] = {}
        self.details: dict[str, Result] = {}

    def eval(self, name: str | Sequence[str]) -> dict[str, Any]:
        """Evaluate one task and return its dictionary, or several and return a dictionary of dictionaries."""
        if not isinstance(name, str):
            collected: dict[str, Any] = {}
            for each in name:
                collected[each] = self.eval(each)
                # Kept as it grows, so that a task that fails does not take the finished ones with it.
                self.results = dict(collected)
            return collected
        task = registry.task(name)
        dataset = load_dataset(task, data_root(self.params.task_path), self.settings)
        self.params.current_task = name
        # A batcher has no identity of its own; a user who names it in params takes the promise that it does not change.
        identity = str(self.params.get("encoder_identity") or "")
        encoder = BatcherEncoder(self.batcher, self.prepare, self.params, identity=identity)
        result = evaluate_task(task, dataset, encoder, self.settings, cache=EmbeddingCache())
        self.details[name] = result
        self.results = dict(result.senteval)
        return self.results
