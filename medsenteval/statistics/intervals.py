"""Intervals for scores: how far a score could move if other items of the same kind had been drawn.

Accuracy and F1 depend on the items only through counts, so resampling items is drawing counts: a bootstrap of 30,000 items
costs the same as one of 100, and is the same distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.statistics.resampling import bootstrap
from medsenteval.statistics.weighted import Correlation, correlations

__all__ = ["bootstrap_correlation", "bootstrap_counts", "correlation", "f1_from_counts"]

Counts = NDArray[np.int64]


def f1_from_counts(counts: NDArray[np.integer | np.floating]) -> NDArray[np.float64]:
    """Return F1 from (true positive, false positive, false negative, true negative) along the last axis; 0 where undefined."""
    true_positive, false_positive, false_negative = (counts[..., i].astype(np.float64) for i in range(3))
    below = 2 * true_positive + false_positive + false_negative
    return np.divide(2 * true_positive, below, out=np.zeros_like(below), where=below > 0)


def bootstrap_counts(
    counts: Counts,
    statistic: Callable[[Counts], NDArray[np.float64]],
    *,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the percentile interval of the mean over folds of a statistic of counts.

    ``counts`` has one row a fold and one column an outcome (right and wrong, or the four cells of a 2 x 2 table). Items are
    resampled within their fold, which makes the counts of a fold multinomial.
    """
    per_fold = []
    for fold in counts:
        drawn = rng.multinomial(fold.sum(), fold / fold.sum(), size=resamples)
        per_fold.append(statistic(drawn))
    return _percentiles(np.mean(per_fold, axis=0), confidence)


def correlation(kind: Correlation, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the coefficient and its two-sided p value; a constant side has no correlation and gives (0, 1)."""
    from scipy import stats

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0, 1.0
    functions: dict[str, Callable[..., Any]] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }
    result = functions[kind](x, y)
    return float(result.statistic), float(result.pvalue)


def bootstrap_correlation(
    kind: Correlation,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the percentile interval of a correlation, pairs resampled together.

    Ranks are taken anew within each resample, because resampling makes ties. A resample in which one side is constant has no
    correlation and counts as 0, like the score itself.
    """
    found = bootstrap(correlations(kind, x, y), resamples=resamples, rng=rng).interval(confidence=confidence)
    return found.low, found.high


def _percentiles(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
