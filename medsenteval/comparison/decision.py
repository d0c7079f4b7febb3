"""What a comparison decides: better, worse, equivalent or undecided for each pair of encoders, and what would decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

import numpy as np

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.published.numbers import published_numbers
from medsenteval.comparison.significance import Column, Comparison
from medsenteval.contracts import Result, Task
from medsenteval.errors import SettingsError
from medsenteval.running.job_identity import comparability
from medsenteval.running.score_table import as_points
from medsenteval.statistics import bootstrap, power
from medsenteval.statistics.intervals import ROUNDING, left_out_difference_interval
from medsenteval.statistics.outcomes import Interval
from medsenteval.statistics.verdicts import MIRRORED, RankInterval, Verdict, check_rope, rank_intervals, verdict
from medsenteval.statistics.weighted_scores import Correlations


@dataclass(frozen=True)
class Decision:
    """One pair of encoders on one metric; numbers are in the metric's unit, points for percentages.

    ``smallest`` is the difference that these items would show in four of five experiments, None where none could be shown;
    ``items`` are how many would show the difference that was seen, of an undecided pair; ``corrected`` is the p value.
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

    def seen_from(self, encoder: str) -> Decision:
        """Return the decision with this one of the two encoders as the first."""
        if encoder == self.first:
            return self
        found = self.interval
        mirrored = replace(found, estimate=-found.estimate, low=-found.high, high=-found.low)
        return replace(self, first=self.second, second=self.first, interval=mirrored, verdict=MIRRORED[self.verdict])

    @property
    def text(self) -> str:
        """The difference with its interval, as a page shows it."""
        digits = 1 if self.unit == "percent" else 3
        found = self.interval
        return f"{found.estimate:+.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]".replace("-", "−")


def decide(comparison: Comparison, rope: float, *, power: bool = True) -> list[Decision]:
    """Judge every tested pair; ``rope`` is the largest difference that does not matter, in points (correlations: hundredths).

    Tests are corrected as the comparison's are; equivalence is judged at its level for each pair by itself. Without
    ``power`` decisions say neither what the items could show nor how many would decide.
    """
    check_rope(rope)
    if comparison.level >= 0.5:
        reason = "equivalence is judged by intervals of confidence 1 - 2 * level, which must be above 0"
        raise SettingsError(f"the comparison's level is {comparison.level:g}; {reason}: compare at one below 0.5, as 0.05 is")
    pairs = [(column, pair) for column in comparison.columns for pair in combinations(column.tested, 2)]
    return [_decide(column, pair, rope, comparison.level, power) for column, pair in pairs]


def _decide(column: Column, pair: Sequence[str], rope: float, level: float, power: bool) -> Decision:
    first, second = sorted(pair, key=lambda name: -column.scores[name].value)
    wide, narrow = (column.difference(first, second, 1 - share) for share in (level, 2 * level))
    assert wide is not None
    assert narrow is not None
    said = verdict(wide.corrected, _careful(column, first, second, narrow.interval), rope * column.scale / 100, level)
    smallest, items = _power(column, first, second, level) if power else (None, None)
    about = (column.label, column.metric, column.unit, first, second)
    return Decision(*about, wide.interval, said, smallest, items if said == "undecided" else None, wide.corrected)


def _careful(column: Column, first: str, second: str, narrow: Interval) -> Interval:
    """Return an interval that holds with few items, too: Student's in place of the bootstrap's, for accuracy the wider ends."""
    pair = [column.tested.index(first), column.tested.index(second)]
    scores, correlated = (column.observed[pair], column.left_out[:, pair]), isinstance(column.weighted, Correlations)
    ends = left_out_difference_interval(*scores, confidence=narrow.confidence, correlated=correlated)
    low, high = (column.scale * end for end in ends)
    if column.test == "McNemar":
        low, high = min(low, narrow.low), max(high, narrow.high)
    return replace(narrow, low=low, high=high)


def _power(column: Column, first: str, second: str, level: float) -> tuple[float | None, int | None]:
    """Return the smallest difference that would be found, and the items that would show the one that was seen."""
    score = column.weighted
    assert score is not None
    i, j = column.tested.index(first), column.tested.index(second)
    if column.test == "McNemar":
        right = np.asarray(score.values)[[i, j]] > 0.5  # type: ignore[attr-defined]
        only = float(np.mean(right[0] & ~right[1])), float(np.mean(~right[0] & right[1]))
        items = power.items_for_accuracy(*only, level) if only[0] != only[1] else None
        smallest = power.smallest_accuracy_difference(score.n, sum(only), level)
        return None if smallest is None else smallest * column.scale, items
    error = power.difference_error(column.left_out, i, j)
    if error < ROUNDING:
        return None, None
    items = power.items_for_difference(float(column.observed[i] - column.observed[j]), error, score.n, level)
    return power.smallest_difference(error, level) * column.scale, items


def items_to_decide(column: Column, first: str, second: str, level: float) -> int | None:
    """Return how many items would show an undecided pair's difference four times in five; None for decided or equal pairs."""
    i, j = column.tested.index(first), column.tested.index(second)
    return None if column.corrected[i, j] < level else _power(column, first, second, level)[1]


def smallest_shown(column: Column, level: float) -> float | None:
    """Return the difference between its two best encoders that a task's items would show in four of five experiments."""
    names = [name for name, _ in column.best_first() if name in column.tested]
    for other in names[1:]:
        # One that gives the same answers as the best, but for rounding, is passed over.
        if power.difference_error(column.left_out, *map(column.tested.index, (names[0], other))) >= ROUNDING:
            return _power(column, names[0], other, level)[0]
    return None


def ranks_with_intervals(comparison: Comparison, *, resamples: int = 2_000, seed: int = 1111) -> Mapping[str, RankInterval]:
    """Return each encoder's mean rank over the tasks on which all were tested, with its interval over other items."""
    complete = [column for column in comparison.headline_columns() if set(column.tested) == set(comparison.encoders)]
    if not complete or len(comparison.encoders) < 2:
        return {}
    observed, resampled = [], []
    for number, column in enumerate(complete):
        assert column.weighted is not None
        drawn = bootstrap(column.weighted, resamples=resamples, rng=np.random.default_rng([seed, number]))
        order = [column.tested.index(name) for name in comparison.encoders]
        observed.append(column.resolved_where_tested()[order])
        resampled.append(drawn.values[:, order])
    return dict(zip(comparison.encoders, rank_intervals(observed, resampled), strict=True))


def published_items(task: Task) -> int:
    """Return how many items a task scores by its published counts; 0 where these are not known."""
    counts = task.published_counts
    return counts.get("test", 0) if task.protocol in ("split", "kfold", "relatedness") else sum(counts.values())


def smallest_published(task: Task, n: int) -> str:
    """Return the smallest difference that n items would show between encoders with the published median score, or "-"."""
    metric = task.metrics[0]
    printed = [each for each in published_numbers() if (each.task, each.metric) == (task.name, metric) and not each.suspect]
    if not printed or not n:
        return "-"
    scale = 100 if printed[0].unit == "percent" else 1
    found = power.smallest_expected(metric, median(each.value for each in printed) / scale, n)
    return as_points(None if found is None else found * scale, printed[0].unit)


def shown_differences(results: Sequence[Result], level: float = 0.05) -> dict[tuple[str, str], str]:
    """Return for each protocol of a task and metric what its items would show, by how the two best encoders disagree."""
    real = [result for result in results if not result.synthetic]
    if len({result.encoder for result in real}) < 2:
        return {}
    # Few resamples: nothing is tested here.
    tested = [column for column in compare_results(real, resamples=100, level=level).columns if column.tested]
    return {(each.key, each.metric): as_points(smallest_shown(each, level), each.unit) for each in tested}


def planned_differences(tasks: Mapping[str, tuple[Task, int]], earlier: Sequence[Result]) -> dict[str, str]:
    """Return what each task with so many items would show: by earlier results of two encoders, else by published scores."""
    by_key = {comparability(result): result for result in earlier}
    differences = shown_differences(earlier).items()
    known = {by_key[key].task: shown for (key, metric), shown in differences if metric == by_key[key].headline[0]}
    return {name: known.get(name) or smallest_published(task, n) for name, (task, n) in tasks.items()}
