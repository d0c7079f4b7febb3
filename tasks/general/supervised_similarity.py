"""Supervised similarity: a regression on the features of a pair, for SICK-R and STSBenchmark."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.errors import DataError, SettingsError
from medsenteval.probes.features import Features
from medsenteval.probes.relatedness import fit_ridge, fit_softmax
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import Correlation, correlation, correlation_interval
from medsenteval.tasks.probe_rows import senteval_order
from medsenteval.tasks.similarity import correlate_parts, predict_similarity

__all__ = ["REGRESSIONS", "evaluate_relatedness"]

#: SentEval's softmax over five grades (needs torch; drawn from the seed), or ridge regression (deterministic).
REGRESSIONS: Final = {"regression": ("senteval", "ridge")}

_KINDS: tuple[Correlation, ...] = ("pearson", "spearman")


def evaluate_relatedness(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Train on train, stop or choose the penalty on dev, correlate the predictions for test with the gold scores."""
    if settings.part_of_training:
        raise SettingsError(f"{task.name}: train_fraction and shots are not offered for its regression")
    splits = {name: split.take(senteval_order(split)) for name, split in dataset.splits.items()}
    left, right, gold = [], [], []
    for name in ("train", "dev", "test"):
        split = splits[name]
        if split.texts2 is None or split.scores is None:
            raise DataError(f"{task.name}: a relatedness task needs pairs of texts with scores")
        left.append(embeddings.rows(split.texts))
        right.append(embeddings.rows2(split.texts2))
        gold.append(split.scores)
    features = Features(embeddings.matrix, np.concatenate(left), np.concatenate(right), task.pair_features)
    ends = np.cumsum([0, *map(len, gold)])
    train, dev, test = (np.arange(ends[i], ends[i + 1], dtype=np.intp) for i in range(3))
    if dataset.options.get("regression") == "ridge":
        fit = fit_ridge(features, train, gold[0], dev, gold[1], test)
    else:
        with_torch = settings.probe != "exact"
        fit = fit_softmax(features, train, gold[0], dev, gold[1], test, settings.seed, with_torch)
    metrics = []
    legacy: dict[str, Any] = {"devpearson": fit.dev_pearson}
    for kind in _KINDS:
        value, _ = correlation(kind, fit.predicted, gold[2])
        rng = np.random.default_rng(settings.seed)
        low, high = correlation_interval(
            kind, fit.predicted, gold[2], resamples=settings.resamples, confidence=CONFIDENCE, rng=rng
        )
        metrics.append(Metric(kind, value, low, high, 0.0, "fraction", len(test)))
        legacy[kind] = value
    # SimCSE's fork of SentEval scores these tasks by their cosines; its scripts read them under the splits' names.
    cosines = correlate_parts(
        {name: predict_similarity(task, split, embeddings, settings)[:2] for name, split in splits.items()}
    )
    mse = float(np.mean((fit.predicted - gold[2]) ** 2))
    predicted = fit.predicted.tolist()
    return Scores(
        metrics=tuple(metrics),
        n_train=len(train),
        n_test=len(test),
        items={"id": splits["test"].ids, "gold": gold[2].tolist(), "predicted": predicted},
        senteval={**legacy, "mse": mse, "yhat": predicted, "ndev": len(dev), "ntest": len(test), **cosines},
        details={"mse": mse, "dev_pearson": fit.dev_pearson, **fit.details},
    )
