"""Comparing correlations in closed form: Williams and Steiger for two encoders and one gold standard, Fisher for two samples.

Two encoders' correlations with the same gold scores are not independent; how far they move together depends on how the encoders
correlate with each other. See Steiger 1980, Tests for comparing elements of a correlation matrix, Psychological Bulletin 87.
"""

from __future__ import annotations

import math

from medsenteval.errors import SettingsError
from medsenteval.statistics.outcomes import Significance


def compare_independent(r1: float, n1: int, r2: float, n2: int) -> Significance:
    """Test two correlations from different items with Fisher's z."""
    _check(min(n1, n2), 4, r1, r2)
    z = (_z(r1) - _z(r2)) / math.sqrt(1 / (n1 - 3) + 1 / (n2 - 3))
    return Significance("Fisher z, independent", z, _normal_p(z), n1 + n2)


def williams_test(r_first: float, r_second: float, r_between: float, n: int) -> Significance:
    """Test two encoders' correlations with one gold standard: Williams' T2 with n - 3 degrees of freedom.

    ``r_between`` is the correlation of the two encoders with each other. Steiger 1980 recommends it for small samples.
    """
    from scipy import stats

    determinant = _checked_determinant(r_first, r_second, r_between, n)
    mean = (r_first + r_second) / 2
    below = 2 * (n - 1) / (n - 3) * max(determinant, 0.0) + mean**2 * (1 - r_between) ** 3
    difference = r_first - r_second
    if difference == 0:
        return Significance("Williams", 0.0, 1.0, n)
    t = difference * math.sqrt((n - 1) * (1 + r_between) / below) if below > 0 else math.copysign(math.inf, difference)
    return Significance("Williams", t, 2 * float(stats.t.sf(abs(t), n - 3)), n)


def steiger_test(r_first: float, r_second: float, r_between: float, n: int) -> Significance:
    """Test two encoders' correlations with one gold standard: Steiger's z with the mean of the two in the covariance."""
    _checked_determinant(r_first, r_second, r_between, n)
    if r_first == r_second:
        return Significance("Steiger", 0.0, 1.0, n)
    mean = (r_first + r_second) / 2
    covariance = r_between * (1 - 2 * mean**2) - mean**2 * (1 - 2 * mean**2 - r_between**2) / 2
    covariance /= (1 - mean**2) ** 2
    gap = _z(r_first) - _z(r_second)
    z = gap * math.sqrt((n - 3) / (2 - 2 * covariance)) if covariance < 1 else math.copysign(math.inf, gap)
    return Significance("Steiger", z, _normal_p(z), n)


def _z(r: float) -> float:
    return math.atanh(r) if abs(r) < 1 else math.copysign(math.inf, r)


def _normal_p(z: float) -> float:
    # Two perfect correlations are equal.
    return 1.0 if math.isnan(z) else math.erfc(abs(z) / math.sqrt(2))


def _check(n: int, smallest: int, *correlations: float) -> None:
    if n < smallest:
        raise SettingsError(f"{n} items; the test needs at least {smallest}")
    for r in correlations:
        if not -1 <= r <= 1:
            raise SettingsError(f"{r} is no correlation: it must lie between -1 and 1")


def _checked_determinant(r_first: float, r_second: float, r_between: float, n: int) -> float:
    _check(n, 4, r_first, r_second, r_between)
    determinant = 1 - r_first**2 - r_second**2 - r_between**2 + 2 * r_first * r_second * r_between
    if determinant < -1e-9:
        listed = ", ".join(f"{r:g}" for r in (r_first, r_second, r_between))
        raise SettingsError(f"no data can have the correlations {listed} together; were they computed on the same items?")
    return determinant
