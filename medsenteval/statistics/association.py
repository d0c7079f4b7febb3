"""Do two columns of scores go together over encoders? Few encoders, so p values are exact and single points are watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from medsenteval.errors import SettingsError
from medsenteval.statistics.correlation_tests import fisher_interval
from medsenteval.statistics.intervals import correlation
from medsenteval.statistics.weighted_scores import Correlation
from medsenteval.support.arrays import Floats

#: Up to so many points all orders are tried (10! = 3,628,800).
_LARGEST_COMPLETE: Final = 10
_BLOCK_ROWS: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class Association:
    """A correlation over few points.

    ``p_value`` is the usual two-sided one (Student's t for Pearson), ``permutation_p`` the share of orders of one column that
    correlate at least as strongly, over all orders if ``complete``. ``leave_one_out`` has the correlation without each point.
    ``low`` and ``high`` are Fisher's interval, NaN below five points.
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
        """The point without which the correlation changes most."""
        return int(np.argmax(np.abs(self.leave_one_out - self.coefficient)))


def associate(
    x: ArrayLike,
    y: ArrayLike,
    kind: Correlation = "pearson",
    *,
    confidence: float = 0.95,
    resamples: int = 100_000,
    rng: np.random.Generator | None = None,
) -> Association:
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
    interval = fisher_interval(coefficient, n, confidence=confidence, kind=kind) if n >= 5 else None
    complete = n <= _LARGEST_COMPLETE
    permutation_p = _permutation_p(first, second, kind, complete, resamples, rng or np.random.default_rng(0))
    kept = ~np.eye(n, dtype=bool)
    without = [correlation(kind, first[rows], second[rows])[0] if n > 3 else np.nan for rows in kept]
    return Association(
        kind=kind,
        coefficient=coefficient,
        p_value=p_value,
        permutation_p=permutation_p,
        complete=complete,
        low=np.nan if interval is None else interval.low,
        high=np.nan if interval is None else interval.high,
        n=n,
        leave_one_out=np.array(without),
    )


def _permutation_p(x: Floats, y: Floats, kind: Correlation, complete: bool, resamples: int, rng: np.random.Generator) -> float:
    """Return how often a reordered column correlates as strongly: only the sum of products changes with the order."""
    from scipy.stats import rankdata

    if kind == "spearman":
        x, y = rankdata(x), rankdata(y)
    x, y = x - x.mean(), y - y.mean()
    observed = abs(float(x @ y)) * (1 - 1e-9) - 1e-15
    if complete:
        reached, tried = 0, 0
        for sums in _all_orders(x, y):
            reached += int(np.sum(np.abs(sums) >= observed))
            tried += len(sums)
        return reached / tried
    reached = 0
    for start in range(0, resamples, _BLOCK_ROWS):
        shuffled = rng.permuted(np.tile(y, (min(_BLOCK_ROWS, resamples - start), 1)), axis=1)
        reached += int(np.sum(np.abs(shuffled @ x) >= observed))
    return (reached + 1) / (resamples + 1)


def _all_orders(x: Floats, y: Floats) -> list[Floats]:
    """Return the sum of products for every order of y, grown one place at a time, a block for each value of the first place."""
    n = len(x)
    blocks = []
    for first in range(n):
        # Rows are the orders so far: which values are left, and the sum of products up to here.
        left = np.delete(np.arange(n), first)[None, :]
        sums = np.array([x[0] * y[first]])
        for place in range(1, n):
            m = left.shape[1]
            sums = (sums[:, None] + x[place] * y[left]).ravel()
            kept = np.array([[j for j in range(m) if j != i] for i in range(m)], dtype=np.intp).reshape(m, m - 1)
            left = left[:, kept].reshape(len(sums), m - 1)
        blocks.append(sums)
    return blocks
