"""Do two columns of scores go together over encoders? Few encoders, so p values are exact and single points are watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medsenteval.errors import SettingsError
from medsenteval.statistics.intervals import correlation
from medsenteval.statistics.weighted_scores import Correlation
from medsenteval.support.arrays import Floats

#: Up to so many points all orders are tried (10! = 3,628,800).
_LARGEST_COMPLETE: Final = 10
_BLOCK_ROWS: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class Association:
    """A correlation over few points; ``low`` and ``high`` are Fisher's interval, NaN below five points.

    ``p_value`` is the usual two-sided one (Student's t for Pearson), ``permutation_p`` the share of orders of one column that
    correlate at least as strongly, over all orders if ``complete``. ``leave_one_out`` has the correlation without each point,
    NaN where two points are left or a column is constant then.
    """

    kind: Correlation
    coefficient: float
    p_value: float
    permutation_p: float
    complete: bool
    low: float
    high: float
    n: int
    leave_one_out: Floats

    @property
    def most_influential(self) -> int:
        """The point without which the correlation changes most; NaN, which is no correlation at all, is the largest change."""
        return int(np.argmax(np.abs(self.leave_one_out - self.coefficient)))


def associate(x: ArrayLike, y: ArrayLike, kind: Correlation = "pearson", *, resamples: int = 100_000) -> Association:
    """Correlate two columns over the same few points, with exact p, interval and the influence of every point."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or len(first) < 3:
        raise SettingsError(f"columns of shapes {first.shape} and {second.shape}; three or more points in common are needed")
    if not np.isfinite(first + second).all():
        raise SettingsError("a score is not finite; leave points out that one column lacks")
    if kind not in ("pearson", "spearman"):
        raise SettingsError(f"the correlation is {kind!r}; it can be pearson or spearman")
    n = len(first)
    coefficient, p_value = correlation(kind, first, second)
    low, high = _fisher_limits(coefficient, n, kind)
    complete = n <= _LARGEST_COMPLETE
    permutation_p = _permutation_p(first, second, kind, complete, resamples)
    without = np.full(n, np.nan)
    for point in range(n):
        some, others = np.delete(first, point), np.delete(second, point)
        if n > 3 and np.ptp(some) > 0 and np.ptp(others) > 0:
            without[point] = correlation(kind, some, others)[0]
    return Association(kind, coefficient, p_value, permutation_p, complete, low, high, n, without)


def _fisher_limits(r: float, n: int, kind: Correlation) -> tuple[float, float]:
    """Return the 95 % limits of a correlation through Fisher's z, for Spearman's with Bonett and Wright's variance (2000)."""
    from scipy.special import ndtri

    if n < 5:
        return np.nan, np.nan
    variance = (1 + r * r / 2 if kind == "spearman" else 1) / (n - 3)
    with np.errstate(divide="ignore"):
        low, high = np.tanh(np.arctanh(r) + ndtri([0.025, 0.975]) * variance**0.5).tolist()
    return low, high


def _permutation_p(x: Floats, y: Floats, kind: Correlation, complete: bool, resamples: int) -> float:
    """Return how often a reordered column correlates as strongly: only the sum of products changes with the order."""
    from scipy.stats import rankdata

    if kind == "spearman":
        x, y = rankdata(x), rankdata(y)
    x, y = x - x.mean(), y - y.mean()
    observed = abs(float(x @ y)) * (1 - 1e-9) - 1e-15
    rng, orders = np.random.default_rng(0), _all_orders(len(y)) if complete else None
    n_orders, reached = resamples if orders is None else len(orders), 0
    for start in range(0, n_orders, _BLOCK_ROWS):
        if orders is not None:
            reordered = y[orders[start : start + _BLOCK_ROWS]]
        else:
            reordered = rng.permuted(np.tile(y, (min(_BLOCK_ROWS, n_orders - start), 1)), axis=1)
        reached += int(np.sum(np.abs(reordered @ x) >= observed))
    return reached / n_orders if complete else (reached + 1) / (n_orders + 1)


def _all_orders(n: int) -> NDArray[np.int8]:
    """Return every order of so many numbers, a row each: those of one fewer with the next put into every place."""
    orders = np.zeros((1, 0), dtype=np.int8)
    for number in range(n):
        orders = np.concatenate([np.insert(orders, place, number, axis=1) for place in range(number + 1)])
    return orders
