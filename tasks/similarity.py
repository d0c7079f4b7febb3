"""Similarity tasks: the cosine of each pair of vectors against a gold score; nothing is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import chain
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.similarity import paired_cosine
from medsenteval.statistics import Correlation, bootstrap, correlation, correlation_interval, correlations
from medsenteval.statistics.weighted_scores import SubsetCorrelations
from medsenteval.support.arrays import Floats

AnySplit = TypeVar("AnySplit", bound=Split)
CORRELATIONS: Final[tuple[Correlation, ...]] = ("pearson", "spearman")


def evaluate_similarity(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Correlate the cosine of each pair's vectors, or the caller's own similarity, with the gold score; nothing is trained."""
    split = concatenate_splits(list(dataset.splits.values()))
    predicted, _, degenerate = predict_similarity(task, split, embeddings, settings)
    return score_similarity(task, split, predicted, settings, {"pairs_with_zero_vector": degenerate})


def score_similarity(
    task: Task, split: Split, predicted: Floats, settings: Settings, details: Mapping[str, Any] | None = None
) -> Scores:
    """Correlate the similarities of a split's pairs with their gold scores."""
    gold = split.scores
    assert gold is not None
    return Scores(
        metrics=tuple(correlation_metric(kind, predicted, gold, settings) for kind in CORRELATIONS),
        n_train=0,
        n_test=len(gold),
        items={"id": split.ids, "gold": gold.tolist(), "predicted": predicted.tolist()},
        senteval=correlate_parts({task.senteval_name or task.name: (predicted, gold)}),
        details=details or {},
    )


def correlation_metric(kind: Correlation, predicted: Floats, gold: Floats, settings: Settings) -> Metric:
    """Return a correlation with its interval; any constant answer correlates with nothing, so that the baseline is 0."""
    rng = np.random.default_rng(settings.seed)
    low, high = correlation_interval(kind, predicted, gold, resamples=settings.resamples, confidence=CONFIDENCE, rng=rng)
    return Metric(kind, correlation(kind, predicted, gold)[0], low, high, 0.0, "fraction", len(gold))


def evaluate_similarity_by_subset(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Correlate similarity and gold score within each subset, as SentEval scores STS12 to STS16; the score is their mean.

    ``pearson`` and ``spearman`` are SentEval's ``mean``; ``..._weighted`` its ``wmean``, which weights a subset by its pairs;
    ``..._pooled`` the correlation over all pairs at once, which is what sentence-transformers and mteb call STS12 to STS16.
    """
    split = concatenate_splits(list(dataset.splits.values()))
    predicted, gold, degenerate = predict_similarity(task, split, embeddings, settings)
    sizes = list(map(len, dataset.splits.values()))
    subsets = np.split(np.arange(len(gold)), np.cumsum(sizes)[:-1])
    scored = correlate_parts({name: (predicted[rows], gold[rows]) for name, rows in zip(dataset.splits, subsets, strict=True)})
    subset_of = np.repeat(list(dataset.splits), sizes).tolist()
    metrics: list[Metric] = []
    for kind in CORRELATIONS:
        summary = scored["all"][kind]
        for suffix, value, score in (
            ("", summary["mean"], SubsetCorrelations.of(kind, predicted, gold, subsets)),
            ("_weighted", summary["wmean"], SubsetCorrelations.of(kind, predicted, gold, subsets, list(map(float, sizes)))),
            ("_pooled", summary["all"], correlations(kind, predicted, gold)),
        ):
            drawn = bootstrap(score, resamples=settings.resamples, rng=np.random.default_rng(settings.seed))
            interval = drawn.interval(confidence=CONFIDENCE, method="fisher")
            metrics.append(Metric(kind + suffix, value, interval.low, interval.high, 0.0, "fraction", len(gold)))
    return Scores(
        metrics=tuple(sorted(metrics, key=lambda metric: metric.name not in CORRELATIONS)),
        n_train=0,
        n_test=len(gold),
        items={"id": split.ids, "gold": gold.tolist(), "predicted": predicted.tolist(), "subset": subset_of},
        senteval=scored,
        details={"pairs_with_zero_vector": degenerate},
    )


def correlate_parts(parts: Mapping[str, tuple[Floats, Floats]]) -> dict[str, Any]:
    """Return SentEval's dictionary of correlations for parts of (predicted, gold) scores, with SimCSE's keys.

    Its entry ``all`` has the ``mean`` over parts, the mean weighted by their pairs (``wmean``), and under SimCSE's key ``all``
    the correlation over the pairs of all parts at once.
    """
    found: dict[str, Any] = {
        name: {**{kind: correlation(kind, *pair) for kind in CORRELATIONS}, "nsamples": len(pair[1])}
        for name, pair in parts.items()
    }
    sizes = [entry["nsamples"] for entry in found.values()]
    predicted, gold = (np.concatenate([pair[side] for pair in parts.values()]) for side in range(2))
    summary = {}
    for kind in CORRELATIONS:
        values = [entry[kind][0] for entry in found.values()]
        mean, weighted = float(np.mean(values)), float(np.average(values, weights=sizes))
        summary[kind] = {"mean": mean, "wmean": weighted, "all": correlation(kind, predicted, gold)[0]}
    return {**found, "all": summary}


def predict_similarity(
    task: Task, split: Split, embeddings: Embeddings, settings: Settings
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return each pair's similarity, its gold score, and how many pairs have a vector of zeros."""
    if split.texts2 is None or split.scores is None:
        raise DataError(f"{task.name}: a similarity task needs pairs of texts with scores")
    left, right = embeddings.rows(split.texts), embeddings.rows2(split.texts2)
    if settings.similarity is None:
        predicted, degenerate = paired_cosine(embeddings.matrix, left, right)
    else:
        vectors = embeddings.matrix
        predicted = np.array([float(settings.similarity(vectors[i], vectors[j])) for i, j in zip(left, right, strict=True)])
        degenerate = int((~np.isfinite(predicted)).sum())
        if degenerate:
            raise DataError(f"{task.name}: the given similarity is not finite for {degenerate} of {len(predicted)} pairs")
    return predicted, split.scores, degenerate


def concatenate_splits(splits: list[AnySplit]) -> AnySplit:
    """Lay splits one after the other; a column that one of them does not have is left out."""
    if len(splits) == 1:
        return splits[0]

    def joined(name: str) -> Any:
        columns = [getattr(split, name) for split in splits]
        if any(column is None for column in columns):
            return None
        return tuple(chain.from_iterable(columns)) if isinstance(columns[0], tuple) else np.concatenate(columns)

    return type(splits[0])(**{field.name: joined(field.name) for field in fields(splits[0])})
