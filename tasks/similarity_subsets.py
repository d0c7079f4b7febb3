"""Similarity tasks made of subsets that are scored one by one and then averaged, as SentEval scores STS12 to STS16."""

from __future__ import annotations

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import Correlation, bootstrap, correlations
from medsenteval.statistics.subset_correlations import SubsetCorrelations
from medsenteval.tasks.similarity import concatenate_splits, correlate_parts, predict_similarity

__all__ = ["evaluate_similarity_by_subset"]

_KINDS: tuple[Correlation, ...] = ("pearson", "spearman")


def evaluate_similarity_by_subset(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Correlate similarity and gold score within each subset; the score is the mean of the subsets.

    ``pearson`` and ``spearman`` are SentEval's ``mean``; ``..._weighted`` its ``wmean``, which weights a subset by its pairs;
    ``..._pooled`` the correlation over all pairs at once, which is what sentence-transformers and mteb call STS12 to STS16.
    """
    split = concatenate_splits(list(dataset.splits.values()))
    predicted, gold, degenerate = predict_similarity(task, split, embeddings, settings)
    ends = np.cumsum([0, *map(len, dataset.splits.values())])
    rows = {name: np.arange(ends[i], ends[i + 1], dtype=np.intp) for i, name in enumerate(dataset.splits)}
    sizes = [float(len(numbers)) for numbers in rows.values()]
    scored = correlate_parts({name: (predicted[numbers], gold[numbers]) for name, numbers in rows.items()})
    means: list[Metric] = []
    others: list[Metric] = []
    for kind in _KINDS:
        summary, subsets = scored["all"][kind], list(rows.values())
        for suffix, value, score in (
            ("", summary["mean"], SubsetCorrelations.of(kind, predicted, gold, subsets)),
            ("_weighted", summary["wmean"], SubsetCorrelations.of(kind, predicted, gold, subsets, sizes)),
            ("_pooled", summary["all"], correlations(kind, predicted, gold)),
        ):
            drawn = bootstrap(score, resamples=settings.resamples, rng=np.random.default_rng(settings.seed))
            interval = drawn.interval(confidence=CONFIDENCE, method="fisher")
            metric = Metric(kind + suffix, value, interval.low, interval.high, 0.0, "fraction", len(gold))
            (others if suffix else means).append(metric)
    subset_of = [name for name, split in dataset.splits.items() for _ in range(len(split))]
    return Scores(
        metrics=(*means, *others),
        n_train=0,
        n_test=len(gold),
        items={"id": split.ids, "gold": gold.tolist(), "predicted": predicted.tolist(), "subset": subset_of},
        senteval=scored,
        details={"pairs_with_zero_vector": degenerate},
    )
