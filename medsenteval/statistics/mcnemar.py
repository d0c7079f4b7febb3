"""Do two encoders that answered the same items differ in accuracy? McNemar's test."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from medsenteval.errors import SettingsError
from medsenteval.statistics.outcomes import Significance
from medsenteval.support.arrays import Bools, Counts, Floats

Variant = Literal["auto", "exact", "corrected"]

#: Below this many discordant items the chi-square approximation is not trusted.
SMALLEST_CORRECTED: Final = 25


def mcnemar_p_values(first_only: Counts, second_only: Counts, variant: Variant = "auto") -> Floats:
    """Return McNemar's two-sided p for arrays of counts: items that only the first, and only the second, got right.

    ``exact`` is the binomial test, ``corrected`` the chi-square test with continuity correction; ``auto`` takes the exact one
    below 25 discordant items. Without a discordant item p is 1.
    """
    from scipy.special import bdtr, chdtrc

    if variant not in ("auto", "exact", "corrected"):
        raise SettingsError(f"McNemar's variant is {variant!r}; it can be auto, exact or corrected")
    b, c = np.broadcast_arrays(np.asarray(first_only, np.float64), np.asarray(second_only, np.float64))
    if (b < 0).any() or (c < 0).any():
        raise SettingsError("a negative count of discordant items")
    total = b + c
    exact = total < SMALLEST_CORRECTED if variant == "auto" else np.full(total.shape, variant == "exact")
    p: Floats = np.array(chdtrc(1, _corrected_statistic(b, c)))
    p[exact] = np.minimum(2 * bdtr(np.minimum(b, c)[exact], total[exact].astype(np.int64), 0.5), 1.0)
    return np.where(total == 0, 1.0, p)


def mcnemar(first: Bools, second: Bools, variant: Variant = "auto") -> Significance:
    """Test whether two encoders that were right (True) or wrong on the same items differ in accuracy."""
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise SettingsError(f"a paired test needs the same items twice; got shapes {first.shape} and {second.shape}")
    b, c = int(np.sum(first & ~second)), int(np.sum(~first & second))
    p = float(mcnemar_p_values(np.array(b), np.array(c), variant))
    exact = variant == "exact" or (variant == "auto" and b + c < SMALLEST_CORRECTED)
    statistic = float(min(b, c)) if exact else float(_corrected_statistic(np.array(b), np.array(c)))
    return Significance(f"McNemar, {'exact' if exact else 'corrected'}", statistic, p, len(first))


def mcnemar_matrix(correct: Bools, variant: Variant = "auto") -> Floats:
    """Return McNemar's p values for every pair of encoders from an (encoders, items) matrix of right and wrong."""
    right = np.asarray(correct, dtype=np.float64)
    if right.ndim != 2:
        raise SettingsError(f"right and wrong of shape {right.shape} where (encoders, items) are expected")
    only = np.rint(right @ (1.0 - right).T).astype(np.int64)
    return mcnemar_p_values(only, only.T, variant)


def _corrected_statistic(b: Counts | Floats, c: Counts | Floats) -> Floats:
    total = np.asarray(b + c, dtype=np.float64)
    # |b - c| - 1 would be negative for b = c, and its square not 0.
    gap = np.maximum(np.abs(b - c) - 1.0, 0.0)
    statistic: Floats = np.divide(gap**2, total, out=np.zeros_like(total), where=total > 0)
    return statistic
