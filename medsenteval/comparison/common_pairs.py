"""Several encoders scored again on the pairs that all of them know, so that their scores can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Metric, Result
from medsenteval.errors import DataError
from medsenteval.statistics import Correlation, bootstrap, correlation, correlations

__all__ = ["CommonPairs", "aligned_pairs", "common_pairs"]


@dataclass(frozen=True, eq=False)
class CommonPairs:
    """Scores of several encoders on the same pairs: ``metrics[i]`` are those of ``encoders[i]``."""

    task: str
    encoders: tuple[str, ...]
    ids: tuple[str, ...]
    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]
    n_pairs: int
    metrics: tuple[tuple[Metric, ...], ...]


def aligned_pairs(
    results: Sequence[Result],
) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Return the ids of the pairs that every result scored and whose words it knows, their gold scores, and predictions."""
    if not results:
        raise DataError("no results to compare")
    tasks = sorted({result.task for result in results})
    if len(tasks) > 1:
        raise DataError(f"results of different tasks have no pairs in common: {', '.join(tasks)}")
    columns = []
    for result in results:
        if not {"id", "gold", "predicted"} <= result.items.keys():
            raise DataError(f"{result.task} of {result.encoder}: the result keeps no similarity for each pair")
        unknown = set(result.details.get("unknown_pairs", ()))
        rows = zip(result.items["id"], result.items["gold"], result.items["predicted"], strict=True)
        columns.append({item: (gold, predicted) for item, gold, predicted in rows if item not in unknown})
    ids = tuple(item for item in columns[0] if all(item in column for column in columns))
    gold = np.array([[column[item][0] for item in ids] for column in columns], dtype=np.float64)
    if len(ids) and np.ptp(gold, axis=0).any():
        item = ids[int(np.argmax(np.ptp(gold, axis=0)))]
        raise DataError(f"{results[0].task}: {item} has different gold scores in different results: other data or options")
    predicted = np.array([[column[item][1] for item in ids] for column in columns], dtype=np.float64)
    return ids, gold[0], predicted


def common_pairs(
    results: Sequence[Result],
    kinds: Iterable[Correlation] = ("pearson", "spearman", "kendall"),
    *,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 1111,
) -> CommonPairs:
    """Score the stored predictions of several encoders on the pairs that all of them know (oov=common-subset)."""
    ids, gold, predicted = aligned_pairs(results)
    if len(ids) < 3:
        raise DataError(f"{results[0].task}: {len(ids)} pair(s) known to all {len(results)} encoders; at least 3 are needed")
    found = {
        kind: bootstrap(correlations(kind, predicted, gold), resamples=resamples, rng=np.random.default_rng(seed))
        for kind in kinds
    }
    metrics = []
    for row in range(len(results)):
        own = []
        for kind, resampled in found.items():
            interval = resampled.interval(row, confidence=confidence, method="fisher")
            value, _ = correlation(kind, predicted[row], gold)
            own.append(Metric(kind, value, interval.low, interval.high, 0.0, "fraction", len(ids)))
        metrics.append(tuple(own))
    return CommonPairs(
        task=results[0].task,
        encoders=tuple(result.encoder for result in results),
        ids=ids,
        gold=gold,
        predicted=predicted,
        n_pairs=max(int(result.details.get("pairs", len(result.items["id"]))) for result in results),
        metrics=tuple(metrics),
    )
