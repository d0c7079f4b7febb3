"""Are encoders different over a set of tasks? Wilcoxon for two, Friedman and Nemenyi for several (Demšar 2006, JMLR 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from medsenteval.errors import SettingsError
from medsenteval.statistics.outcomes import Significance
from medsenteval.support.arrays import Floats

#: Tasks of which all assignments of signs are tried where differences are tied.
_FEW_TASKS: Final = 12


@dataclass(frozen=True, eq=False)
class FriedmanOutcome:
    """Friedman's chi-square, mean ranks (1 is best), and how far these lie apart where two encoders differ at ``level``."""

    statistic: float
    p_value: float
    mean_ranks: Floats
    critical_difference: float
    level: float
    n_tasks: int
    n_encoders: int


def wilcoxon_over_tasks(first: ArrayLike, second: ArrayLike) -> Significance:
    """Test two encoders' scores on the same tasks with Wilcoxon's signed ranks; equal scores are split between both sides.

    The p value is exact up to 50 tasks, with ties among the differences up to 12, and a normal approximation otherwise.
    """
    from scipy import stats

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or not a.size:
        raise SettingsError(f"a test over tasks needs the same tasks twice; got shapes {a.shape} and {b.shape}")
    if not np.isfinite(a - b).all():
        raise SettingsError("a score is not finite; leave tasks out that one of the two lacks")
    if np.all(a == b):
        return Significance("Wilcoxon", 0.0, 1.0, a.size)
    gaps = np.abs(a - b)
    tied = not gaps.all() or len(np.unique(gaps)) < len(gaps)
    every_sign = stats.PermutationMethod(n_resamples=2**_FEW_TASKS)
    found = stats.wilcoxon(a, b, zero_method="zsplit", method=every_sign if tied and len(a) <= _FEW_TASKS else "auto")
    return Significance("Wilcoxon", float(found.statistic), float(found.pvalue), a.size)


def smallest_wilcoxon_p(n_tasks: int) -> float:
    """Return the smallest p value that so many tasks can give: all of them on one side, one of two such signs."""
    return float(2.0 ** (1 - n_tasks))


def critical_difference(n_encoders: int, n_tasks: int, level: float = 0.05) -> float:
    """Return how far mean ranks must lie apart in Nemenyi's test."""
    from scipy import stats

    if n_encoders < 2 or n_tasks < 1:
        raise SettingsError(f"{n_encoders} encoder(s) on {n_tasks} task(s): nothing to rank")
    if not 0 < level < 1:
        raise SettingsError(f"the level is {level}; it must lie between 0 and 1")
    q = float(stats.studentized_range.ppf(1 - level, n_encoders, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_encoders * (n_encoders + 1) / (6 * n_tasks))


def friedman(scores: ArrayLike, level: float = 0.05) -> FriedmanOutcome:
    """Rank encoders on each task from a (tasks, encoders) matrix in which higher is better, and test their mean ranks."""
    from scipy import stats

    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] < 2 or matrix.shape[1] < 3:
        raise SettingsError(
            f"scores of shape {matrix.shape}; Friedman's test needs at least 2 tasks and 3 encoders (Wilcoxon compares two)"
        )
    if not np.isfinite(matrix).all():
        raise SettingsError("a score is not finite; leave tasks or encoders out until every cell is filled")
    n_tasks, k = matrix.shape
    ranks = stats.rankdata(-matrix, axis=1)
    mean_ranks: Floats = ranks.mean(axis=0)
    statistic, p_value = 0.0, 1.0
    if np.any(ranks != ranks[:, :1]):
        statistic, p_value = map(float, stats.friedmanchisquare(*matrix.T))
    return FriedmanOutcome(statistic, p_value, mean_ranks, critical_difference(k, n_tasks, level), level, n_tasks, k)
