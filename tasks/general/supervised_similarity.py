"""Supervised similarity: a regression on the features of a pair, for SICK-R and STSBenchmark."""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.errors import SettingsError
from medsenteval.probes.relatedness import fit_ridge, fit_softmax
from medsenteval.settings import Settings
from medsenteval.tasks.probe_rows import senteval_order, stack_splits
from medsenteval.tasks.similarity import CORRELATIONS, correlate_parts, correlation_metric, predict_similarity

#: SentEval's softmax over five grades (needs torch; drawn from the seed), or ridge regression (deterministic).
REGRESSIONS: Final = {"regression": ("senteval", "ridge")}


def evaluate_relatedness(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Train on train, stop or choose the penalty on dev, correlate the predictions for test with the gold scores."""
    if settings.part_of_training:
        raise SettingsError(f"{task.name}: train_fraction and shots are not offered for its regression")
    splits = {name: split.take(senteval_order(split)) for name, split in dataset.splits.items()}
    stacked = stack_splits(splits, embeddings, task.pair_features)
    train, dev, test = (stacked.rows[name] for name in ("train", "dev", "test"))
    gold = [stacked.targets[rows] for rows in (train, dev, test)]
    if dataset.options.get("regression") == "ridge":
        fit = fit_ridge(stacked.features, train, gold[0], dev, gold[1], test)
    else:
        fit = fit_softmax(stacked.features, train, gold[0], dev, gold[1], test, settings.seed)
    metrics = tuple(correlation_metric(kind, fit.predicted, gold[2], settings) for kind in CORRELATIONS)
    legacy = {"devpearson": fit.dev_pearson, **{metric.name: metric.value for metric in metrics}}
    # SimCSE's fork of SentEval scores these tasks by their cosines; its scripts read them under the splits' names.
    cosines = correlate_parts(
        {name: predict_similarity(task, split, embeddings, settings)[:2] for name, split in splits.items()}
    )
    mse = float(np.mean((fit.predicted - gold[2]) ** 2))
    predicted = fit.predicted.tolist()
    return Scores(
        metrics=metrics,
        n_train=len(train),
        n_test=len(test),
        items={"id": splits["test"].ids, "gold": gold[2].tolist(), "predicted": predicted},
        senteval={**legacy, "mse": mse, "yhat": predicted, "ndev": len(dev), "ntest": len(test), **cosines},
        details={"mse": mse, "dev_pearson": fit.dev_pearson, **fit.details},
    )
