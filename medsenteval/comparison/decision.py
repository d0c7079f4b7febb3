"""What a comparison decides: better, worse, equivalent or undecided for each pair of encoders, and what would decide it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from medsenteval.comparison.compare import Column, Comparison
from medsenteval.statistics import bootstrap
from medsenteval.statistics.outcomes import Interval
from medsenteval.statistics.power import (
    difference_error,
    items_for_accuracy,
    items_for_difference,
    smallest_accuracy_difference,
    smallest_difference,
)
from medsenteval.statistics.verdicts import RankInterval, Verdict, rank_intervals, verdict

__all__ = ["Decision", "decide", "items_to_decide", "ranks_with_intervals", "smallest_shown"]


@dataclass(frozen=True)
class Decision:
    """One pair of encoders on one metric; numbers are in the metric's unit, points for percentages.

    ``smallest`` is the difference that these items would show in four of five experiments, None where none could be shown;
    ``items`` are how many would show the difference that was seen, given only where the pair is undecided; ``corrected`` is
    the p value.
    """

    task: str
    metric: str
    unit: str
    first: str
    second: str
    interval: Interval
    verdict: Verdict
    smallest: float | None
    items: int | None
    corrected: float = 1.0


def decide(comparison: Comparison, rope: float, *, power: bool = True) -> list[Decision]:
    """Judge every tested pair; ``rope`` is the largest difference that does not matter, in points (correlations: hundredths).

    Tests are corrected as the comparison's are; equivalence is judged at its level for each pair by itself. Without
    ``power`` decisions say neither what the items could show nor how many would decide.
    """
    found = []
    for column in comparison.columns:
        for first, second in combinations(column.tested, 2):
            better, worse = sorted((first, second), key=lambda name: -column.scores[name].value)
            found.append(_decide(column, better, worse, rope, comparison.level, power))
    return found


def _decide(column: Column, first: str, second: str, rope: float, level: float, power: bool) -> Decision:
    wide, narrow = (column.difference(first, second, 1 - share) for share in (level, 2 * level))
    assert wide is not None
    assert narrow is not None
    scale = 100.0 if column.unit == "percent" else 1.0
    said = verdict(wide.corrected, narrow.interval, rope * scale / 100, level)
    smallest, items = _power(column, first, second, level) if power else (None, None)
    return Decision(
        column.label,
        column.metric,
        column.unit,
        first,
        second,
        wide.interval,
        said if column.higher_is_better else _mirrored(said),
        None if smallest is None else smallest * scale,
        items if said == "undecided" else None,
        wide.corrected,
    )


def _mirrored(said: Verdict) -> Verdict:
    """Turn better and worse round for metrics of which less is better."""
    return {"better": "worse", "worse": "better"}.get(said, said)  # type: ignore[return-value]


def _power(column: Column, first: str, second: str, level: float) -> tuple[float | None, int | None]:
    """Return the smallest difference that would be found, and the items that would show the one that was seen."""
    score = column.weighted
    assert score is not None
    i, j = column.tested.index(first), column.tested.index(second)
    if column.test == "McNemar":
        right = np.asarray(score.values)[[i, j]] > 0.5  # type: ignore[attr-defined]
        only = float(np.mean(right[0] & ~right[1])), float(np.mean(~right[0] & right[1]))
        items = items_for_accuracy(*only, level=level) if only[0] != only[1] else None
        return smallest_accuracy_difference(score.n, sum(only), level=level), items
    error = difference_error(score, i, j)
    gap = float((score(np.ones((1, score.n)))[0])[i] - (score(np.ones((1, score.n)))[0])[j])
    return smallest_difference(error, level=level), items_for_difference(gap, error, score.n, level=level)


def items_to_decide(column: Column, first: str, second: str, level: float) -> int | None:
    """Return how many items would show an undecided pair's difference four times in five; None for decided or equal pairs."""
    i, j = column.tested.index(first), column.tested.index(second)
    return None if column.corrected[i, j] < level else _power(column, first, second, level)[1]


def smallest_shown(column: Column, level: float) -> float | None:
    """Return the difference between its two best encoders that a task's items would show in four of five experiments."""
    if len(column.tested) < 2:
        return None
    first, second = [name for name, _ in column.best_first() if name in column.tested][:2]
    smallest, _ = _power(column, first, second, level)
    return None if smallest is None else smallest * (100.0 if column.unit == "percent" else 1.0)


def ranks_with_intervals(comparison: Comparison, *, resamples: int = 2_000, seed: int = 1111) -> Mapping[str, RankInterval]:
    """Return each encoder's mean rank over the tasks on which all were tested, with its interval over other items."""
    complete = [column for column in comparison.headline_columns() if set(column.tested) == set(comparison.encoders)]
    observed, resampled = [], []
    for number, column in enumerate(complete):
        assert column.weighted is not None
        drawn = bootstrap(column.weighted, resamples=resamples, rng=np.random.default_rng([seed, number]))
        order = [column.tested.index(name) for name in comparison.encoders]
        sign = 1.0 if column.higher_is_better else -1.0
        observed.append(sign * drawn.observed[order])
        resampled.append(sign * drawn.values[:, order])
    if not complete or len(comparison.encoders) < 2:
        return {}
    return dict(zip(comparison.encoders, rank_intervals(observed, resampled), strict=True))
