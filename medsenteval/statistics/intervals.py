"""Intervals for scores: how far a score could move if other items of the same kind had been drawn.

Shares (accuracy, F1, precision, recall, mean values between 0 and 1) have Clopper and Pearson's interval (1934), which covers
the true share at least as often as it says for any number of items. Where the trials are not independent, or a score is a mean
over folds or runs, it is taken at the number of independent trials that has the same variance (Korn and Graubard 1998).
Correlations have Fisher's z with the standard error of the bootstrap: ``Bootstrap.interval(method="fisher")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from medsenteval.statistics.paired_bootstrap import bootstrap
from medsenteval.statistics.weighted_scores import Correlation, correlations
from medsenteval.support.arrays import Counts, Floats

#: Two scores (of 1) whose difference has a smaller standard error are those of the same vectors, rounded otherwise.
ROUNDING: Final = 1e-5


def share_interval(share: float, trials: float, *, confidence: float, variance: float = 0.0) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a share; ``trials`` need not be whole, and without any it is 0 to 1.

    A ``variance`` larger than that of so many independent trials makes the interval as wide as fewer of them would.
    """
    from scipy.special import betaincinv

    if trials <= 0:
        return 0.0, 1.0
    trials = min(trials, share * (1 - share) / variance) if variance > 0 and 0 < share < 1 else trials
    right, tail = share * trials, (1 - confidence) / 2
    low = float(betaincinv(right, trials - right + 1, tail)) if share > 0 else 0.0
    high = float(betaincinv(right + 1, trials - right, 1 - tail)) if share < 1 else 1.0
    return low, high


def accuracy_interval(right: Counts, sizes: Counts, *, confidence: float) -> tuple[float, float]:
    """Return the interval of the mean accuracy over folds, from the number of right answers and of items in each."""
    return share_interval(float(np.mean(right / sizes)), _trials_of_mean(sizes), confidence=confidence)


def accuracy_difference_interval(
    first_only: Counts, second_only: Counts, sizes: Counts, *, confidence: float
) -> tuple[float, float]:
    """Return the interval of a difference of two mean accuracies over folds of the same items (Bonett and Price 2012).

    It rests on the items that only one got right, and on one more of each kind: who agrees on a few need not be equally good.
    """
    from scipy.special import ndtri

    trials = _trials_of_mean(sizes)
    one, other = ((float(np.mean(only / sizes)) * trials + 1) / (trials + 2) for only in (first_only, second_only))
    half = float(ndtri((1 + confidence) / 2)) * ((one + other - (one - other) ** 2) / (trials + 2)) ** 0.5
    return max(-1.0, one - other - half), min(1.0, one - other + half)


def left_out_difference_interval(
    observed: Floats, left_out: Floats, *, confidence: float, correlated: bool
) -> tuple[float, float]:  # fmt: skip
    """Return Student's interval of one score minus another, from both scores and from both without each item.

    The degrees of freedom are those of the variance that the items' influences give (Satterthwaite): few where a few items
    move the difference. Correlations vary less the larger they are, so that the interval of their difference is put together
    from their own intervals, which are those of Fisher's z, and from how they vary together (Zou 2007, Psychological Methods).
    """
    from scipy.special import stdtrit

    n = len(left_out)
    influences = left_out - left_out.mean(axis=0)
    errors = np.sqrt((n - 1) / n * np.sum(influences**2, axis=0))
    apart, difference = influences[:, 0] - influences[:, 1], float(observed[0] - observed[1])
    spread = float(np.mean(apart**2))
    if spread <= 1e-30:
        return difference, difference
    error = float(np.sqrt((n - 1) * spread))
    tails = float(np.mean(apart**4)) / spread**2
    quantile = float(stdtrit(min(2 * n / (tails - 1), n - 1) if tails > 1 else n - 1, (1 + confidence) / 2))
    # Limits that are not symmetric do not cancel out where one set of vectors stands beside itself, rounded otherwise.
    if not correlated or error < ROUNDING or np.abs(observed).max() > 1 - 1e-9 or errors.min() == 0:
        return difference - quantile * error, difference + quantile * error
    agreement = float(np.sum(influences[:, 0] * influences[:, 1]) / np.sqrt(np.prod(np.sum(influences**2, axis=0))))
    half = quantile * errors / (1 - observed**2)
    z = np.arctanh(observed)
    below, above = observed - np.tanh(z - half), np.tanh(z + half) - observed
    # How far the difference of two scores reaches down and up that reach so far each and vary together.
    own, others = np.array([below[0], above[0]]), np.array([above[1], below[1]])
    reach = np.sqrt(np.maximum(own**2 + others**2 - 2 * agreement * own * others, 0.0))
    return float(difference - reach[0]), float(difference + reach[1])


def f1_from_counts(counts: Counts | Floats) -> Floats:
    """Return F1 from (true positive, false positive, false negative, ...) along the last axis; 0 where undefined."""
    right, *wrong = (counts[..., i].astype(np.float64) for i in range(3))
    below = 2 * right + sum(wrong)
    return np.divide(2 * right, below, out=np.zeros_like(below), where=below > 0)


def f1_interval(counts: Counts, *, confidence: float) -> tuple[float, float]:
    """Return the interval of the mean F1 over folds; ``counts`` has a row a fold, as ``f1_from_counts`` takes them.

    Of the items that are positive in gold or prediction, TP / (TP + FP + FN) is a plain share, and F1 rises with it. Folds
    whose F1 differ by more than that share's error make the interval wider.
    """
    folds = f1_from_counts(counts)
    trials, mean = float(counts[..., :3].sum()), float(folds.mean())
    spread = float(folds.var(ddof=1)) / len(folds) if len(folds) > 1 else 0.0
    return f1_share_interval(mean, trials, confidence=confidence, variance=spread)


def f1_share_interval(f1: float, trials: float, *, confidence: float, variance: float = 0.0) -> tuple[float, float]:
    """Return the interval of F1 from the number of items that are positive in gold or prediction, or in both."""
    # F1 is 2 s / (1 + s) of the share s, whose variance follows by the delta method.
    low, high = share_interval(f1 / (2 - f1), trials, confidence=confidence, variance=variance * 4 / (2 - f1) ** 4)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def mean_share_interval(values: Floats, *, confidence: float, clusters: Sequence[str] | None = None) -> tuple[float, float]:
    """Return the interval of the mean of values between 0 and 1, of which those of one cluster are not independent."""
    from scipy.special import ndtri, stdtrit

    mean, deviations = float(np.mean(values)), np.asarray(values, dtype=np.float64) - np.mean(values)
    if clusters is not None:
        _, numbers = np.unique(np.asarray(clusters), return_inverse=True)
        deviations = np.bincount(numbers, weights=deviations)
    n = len(deviations)
    variance = float(np.sum(deviations**2)) / len(values) ** 2 * n / max(n - 1, 1)
    if n < 2 or variance < 1e-24:
        return share_interval(mean, n, confidence=confidence)
    # The variance is estimated: Student's quantile instead of the normal one.
    level = (1 + confidence) / 2
    trials = mean * (1 - mean) / variance * float(ndtri(level) / stdtrit(n - 1, level)) ** 2
    return share_interval(mean, trials, confidence=confidence)


def _trials_of_mean(sizes: Counts) -> float:
    """Return the number of trials whose share varies as the mean of the folds' shares: all, if folds are equally large."""
    return float(len(sizes) ** 2 / np.sum(1 / sizes))


class Correlated(NamedTuple):
    """A coefficient and its two-sided p value, under the names that SciPy's results have and had."""

    statistic: float
    pvalue: float

    @property
    def correlation(self) -> float:
        return self.statistic


def correlation(kind: Correlation, x: Floats, y: Floats) -> Correlated:
    """Return the coefficient and its two-sided p value; a constant side has no correlation and gives (0, 1)."""
    from scipy import stats

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlated(0.0, 1.0)
    functions: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    result = functions[kind](x, y)
    return Correlated(float(result.statistic), float(result.pvalue))


def correlation_interval(
    kind: Correlation, x: Floats, y: Floats, *, resamples: int, confidence: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the interval of a correlation, pairs resampled together; without variation on one side a resample counts as 0."""
    drawn = bootstrap(correlations(kind, x, y), resamples=resamples, rng=rng)
    found = drawn.interval(confidence=confidence, method="fisher")
    return found.low, found.high
