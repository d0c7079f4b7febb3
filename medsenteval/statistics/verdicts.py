"""What a comparison comes to: better, worse, equivalent or undecided, and how sure a place in a ranking is.

Equivalence is decided by two one-sided tests (Schuirmann 1987): the interval at twice the level must lie within the region of
practical equivalence. Ranks are those of every bootstrap resample, averaged over tasks, after the observed scores were drawn
together by as much as the noise drove them apart (empirical Bayes: Laird and Louis 1989, J. Educational Statistics 14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from medsenteval.errors import SettingsError
from medsenteval.statistics.intervals import ROUNDING
from medsenteval.statistics.outcomes import Interval
from medsenteval.support.arrays import Floats

Verdict = Literal["better", "worse", "equivalent", "undecided"]
VERDICTS: Final[tuple[Verdict, ...]] = ("better", "worse", "equivalent", "undecided")
#: What a verdict is from the view of the other encoder.
MIRRORED: Final = dict(zip(VERDICTS, ("worse", "better", *VERDICTS[2:]), strict=True))


def check_rope(rope: float) -> None:
    """Refuse what is no region of practical equivalence: no difference lies below NaN, and every one below infinity."""
    if not 0 <= rope < math.inf:
        raise SettingsError(f"the region of practical equivalence is {rope}; it must be finite and not negative")


def verdict(p_value: float, narrow: Interval, rope: float, level: float = 0.05) -> Verdict:
    """Judge a difference by the p value of its test and by its interval at confidence 1 - 2 * level."""
    check_rope(rope)
    if abs(narrow.confidence - (1 - 2 * level)) > 1e-9:
        raise SettingsError(f"equivalence at level {level} needs an interval of confidence {1 - 2 * level:g}")
    # One that is significant and yet surely smaller than the region does not matter.
    if -rope < narrow.low and narrow.high < rope:
        return "equivalent"
    if p_value < level and narrow.estimate != 0:
        return "better" if narrow.estimate > 0 else "worse"
    return "undecided"


@dataclass(frozen=True)
class RankInterval:
    """An encoder's mean rank over tasks (1 is best), where other items could have put it, and how often it came first."""

    rank: float
    low: float
    high: float
    best: float


def rank_intervals(observed: Sequence[Floats], resampled: Sequence[Floats], confidence: float = 0.95) -> list[RankInterval]:
    """Rank encoders over tasks from a row of scores (higher is better) and a (resamples, encoders) matrix for each task.

    Ranks are discrete: an end of the interval is the outermost rank beyond which, with half of its own weight, lies enough of
    the distribution. Items are drawn anew, tasks are taken as they are.
    """
    from scipy.stats import rankdata

    if not observed or len(observed) != len(resampled):
        raise SettingsError(f"{len(observed)} rows of scores and {len(resampled)} resampled tasks do not belong together")
    drawn_together = [_drawn_together(row, values) for row, values in zip(observed, resampled, strict=True)]
    means = np.mean([rankdata(-values, axis=1) for values in drawn_together], axis=0)
    first = means <= means.min(axis=1, keepdims=True) + 1e-12
    best = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    centre = np.mean([rankdata(-values) for values in observed], axis=0)
    ends = [_middle(column, confidence) for column in means.T]
    return [RankInterval(float(rank), *end, float(share)) for rank, end, share in zip(centre, ends, best, strict=True)]


def _drawn_together(observed: Floats, resampled: Floats) -> Floats:
    """Return resamples around observed scores whose spread is what it would be without noise, in units of the noise.

    Scores vary more than what they estimate, and resamples of them more still: ranks would be too surely in the middle.
    """
    k = len(observed)
    centred, noise = observed - observed.mean(), resampled - observed
    # What moves all encoders alike changes no rank.
    apart = noise - noise.mean(axis=1, keepdims=True)
    error, spread = float(apart.var(axis=0).sum()), float((centred**2).sum())
    share = max(1 - error / spread, 0.0) if k > 1 and spread > 0 else 0.0
    together: Floats = share**0.5 * centred + noise
    # Two encoders whose resamples differ by rounding are tied in all of them.
    for j in range(1, k):
        same = np.abs(together[:, :j] - together[:, [j]]).max(axis=0) < ROUNDING
        if same.any():
            together[:, j] = together[:, np.argmax(same)]
    return np.asarray(np.round(together, 12))


def _middle(ranks: Floats, confidence: float) -> tuple[float, float]:
    """Return the ends of the middle part of a discrete distribution, by its mid-distribution function."""
    values, counts = np.unique(np.round(ranks, 9), return_counts=True)
    shares = counts / len(ranks)
    below = np.cumsum(shares) - shares / 2
    inside = values[(below >= (1 - confidence) / 2) & (below <= (1 + confidence) / 2)]
    return float(inside[0]), float(inside[-1])
