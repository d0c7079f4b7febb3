"""Scores while a sentence-transformers model is trained: the ``evaluator`` of a SentenceTransformerTrainer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from medsenteval.contracts import Task
from medsenteval.errors import MissingExtraError
from medsenteval.running.evaluation import evaluate
from medsenteval.settings import Settings

try:
    from sentence_transformers.base.evaluation.evaluator import BaseEvaluator
except ModuleNotFoundError:
    try:  # as versions before 5.5 have it
        from sentence_transformers.evaluation import SentenceEvaluator as BaseEvaluator
    except ImportError as error:
        raise MissingExtraError("medsenteval.interop.sentence_transformers", "sentence-transformers", "transformers") from error


class MedSentEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Evaluates a model on tasks of this toolkit; metrics are called ``NAME_TASK_METRIC``, for example medsenteval_RQE_acc.

    ``tasks``, ``data`` and ``settings`` are those of ``medsenteval.evaluate``. The primary metric is the mean of each task's
    first headline metric, percentages as fractions, so that tasks count alike. Nothing is cached, because weights change from
    call to call. With an ``output_path`` a line of metrics is added to ``NAME_results.jsonl`` there.
    """

    def __init__(
        self,
        tasks: str | Iterable[str | Task] = "sentence",
        data: str | Path | None = None,
        settings: Settings | None = None,
        name: str = "medsenteval",
    ) -> None:
        super().__init__()
        self.tasks = tasks if isinstance(tasks, str) else list(tasks)
        self.data = data
        self.settings = settings or Settings()
        self.name = name
        self.primary_metric = f"{name}_mean"

    def __call__(self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1) -> dict[str, float]:
        """Return every metric of every task, and their mean; the model is left in the mode in which it came."""
        training = model.training
        model.eval()
        try:
            results = evaluate(model, self.tasks, self.data, self.settings, cache=False)
        finally:
            model.train(training)
        metrics: dict[str, float] = {}
        headlines = []
        for result in results.values():
            metrics |= {f"{result.task}_{metric.name}": metric.value for metric in result.metrics}
            first = result.metric(result.headline[0])
            headlines.append(first.value / 100 if first.unit == "percent" else first.value)
        metrics["mean"] = sum(headlines) / len(headlines)
        named: dict[str, float] = self.prefix_name_to_metrics(metrics, self.name)
        self.store_metrics_in_model_card_data(model, named, epoch, steps)
        if output_path is not None:
            folder = Path(output_path)
            folder.mkdir(parents=True, exist_ok=True)
            with open(folder / f"{self.name}_results.jsonl", "a", encoding="utf-8") as stream:
                stream.write(json.dumps({"epoch": epoch, "steps": steps, **named}) + "\n")
        return named
