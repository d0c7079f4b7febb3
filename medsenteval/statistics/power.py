"""How small a difference a data set could show, and how many items would decide an open comparison.

Both encoders answer the same items, so what counts is how often they disagree. Accuracy: the number of items that only one
of the two gets right is binomial, and the power of McNemar's test is summed over it exactly. Every other metric: the
difference of two scores is asymptotically normal with the standard error that the items' jackknife influences give
(Efron and Tibshirani 1993, chapter 11), and the paired bootstrap rejects as a z test does.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from medsenteval.errors import SettingsError
from medsenteval.statistics.mcnemar import SMALLEST_CORRECTED, mcnemar_p_values
from medsenteval.support.arrays import Counts, Floats

#: A difference that is there should be found four times out of five.
POWER: Final = 0.8
#: Correlations between two encoders' right answers and between their similarities, assumed where no results say them.
_CORRELATED_ANSWERS: Final = 0.5
_CORRELATED_SIMILARITIES: Final = 0.7
_MOST_ITEMS: Final = 10_000_000


def mcnemar_power(n: int, first_only: float, second_only: float, level: float = 0.05) -> float:
    """Return the probability that McNemar's test rejects, for shares of items that only one encoder gets right."""
    # Of scipy.special: scipy.stats takes a second to import.
    from scipy.special import bdtr

    discordant = first_only + second_only
    if not 0 <= discordant <= 1 or min(first_only, second_only) < 0:
        raise SettingsError(f"shares of discordant items are {first_only} and {second_only}; they must add up to 0 to 1")
    if discordant == 0:
        return 0.0
    spread = 6 * math.sqrt(n * discordant * (1 - discordant)) + 6
    first, last = max(int(n * discordant - spread), 1), min(int(n * discordant + spread), n)
    counts = np.arange(first, last + 1, dtype=np.int64)
    share = first_only / discordant
    # The test rejects for few and for many; for each number of discordant items that is a lower and an upper tail.
    limits = _rejection_limits(counts, level)
    tails = bdtr(limits, counts, share) + bdtr(limits, counts, 1 - share)
    probabilities = np.diff(bdtr(np.arange(first - 1, last + 1), n, discordant))
    return float(np.sum(probabilities * np.where(limits < 0, 0.0, tails)))


def _rejection_limits(counts: Counts, level: float) -> Counts:
    """Return for each number of discordant items the largest smaller part at which McNemar's test rejects, or -1."""
    from scipy.special import chdtri

    # The corrected statistic (n - 2 m - 1)^2 / n of a smaller part m, solved for m at the quantile of the level.
    limits = np.ceil((counts - 1 - np.sqrt(chdtri(1, level) * counts)) / 2).astype(np.int64) - 1
    # With so few discordant items that the test is exact, all parts are tried.
    few = counts < SMALLEST_CORRECTED
    all_of, parts = counts[few][:, None], np.arange(SMALLEST_CORRECTED // 2 + 1)
    rejected = (mcnemar_p_values(parts, np.maximum(all_of - parts, 0)) < level) & (2 * parts <= all_of)
    limits[few] = rejected.sum(axis=1) - 1
    return np.maximum(limits, -1)


def smallest_accuracy_difference(n: int, disagreement: float, level: float = 0.05) -> float | None:
    """Return the smallest difference of accuracies that would be found where exactly one is right on a share of items."""
    if mcnemar_power(n, disagreement, 0.0, level) < POWER:
        return None
    low, high = 0.0, disagreement
    for _ in range(24):
        middle = (low + high) / 2
        found = mcnemar_power(n, (disagreement + middle) / 2, (disagreement - middle) / 2, level) >= POWER
        low, high = (low, middle) if found else (middle, high)
    return high


def items_for_accuracy(first_only: float, second_only: float, level: float = 0.05) -> int | None:
    """Return how many items would show the difference of these shares; None if more than ten million would be needed."""
    return _fewest(lambda n: mcnemar_power(n, first_only, second_only, level) >= POWER)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_ITEMS:
            return None
    return bisect_left(range(high), True, lo=high // 2 + 1, key=enough)


def difference_error(left_out: Floats, first: int, second: int) -> float:
    """Return the standard error of the difference of two encoders' scores, from their scores without each item."""
    values = left_out[:, first] - left_out[:, second]
    return float(np.sqrt((len(values) - 1) * np.var(values)))


def smallest_difference(error: float, level: float = 0.05) -> float:
    """Return the smallest difference that a two-sided test at this level would find with this standard error."""
    from scipy.special import ndtri

    return float(ndtri(1 - level / 2) + ndtri(POWER)) * error


def items_for_difference(difference: float, error: float, n: int, level: float = 0.05) -> int | None:
    """Return how many items would show a difference whose standard error on ``n`` items is ``error``."""
    if difference == 0:
        return None
    larger = smallest_difference(error, level) / difference
    items = n * larger * larger
    return max(math.ceil(items), 2) if items <= _MOST_ITEMS else None


def typical_accuracy_disagreement(accuracy: float) -> float:
    """Return the share of items that only one of two encoders of this accuracy gets right, if they agree as is typical."""
    return 2 * accuracy * (1 - accuracy) * (1 - _CORRELATED_ANSWERS)


def typical_correlation_error(r: float, n: int) -> float:
    """Return the standard error of the difference of two equal correlations with one gold standard (Steiger 1980)."""
    k = _CORRELATED_SIMILARITIES
    own = (1 - r * r) ** 2
    shared = k * (1 - 2 * r * r) - 0.5 * r * r * (1 - 2 * r * r - k * k)
    return math.sqrt(max(2 * (own - shared), 0.0) / n)


@cache
def smallest_expected(metric: str, score: float, n: int) -> float | None:
    """Return the smallest difference that n items would show between two encoders that both score about ``score``, or None.

    Known for accuracies and correlations, as fractions, with the typical agreement between encoders.
    """
    kind = metric.partition("_")[0]
    possible = n <= _MOST_ITEMS  # a stranger's result may say anything
    if kind == "acc" and 0 < score < 1 and possible:
        return smallest_accuracy_difference(n, typical_accuracy_disagreement(score))
    correlates = kind in ("pearson", "spearman") and n > 3 and possible
    return smallest_difference(typical_correlation_error(score, n)) if correlates else None
