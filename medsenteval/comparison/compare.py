"""Which encoder is better, by how much, and is it real?

Results of one task are set side by side only if their signatures differ in nothing but the encoder: another protocol, probe,
reading option or other data makes another column, and a note says what differs. Within a column every pair of encoders is
tested on the items that all were scored on: McNemar's test for accuracy, a paired bootstrap for F1 and correlations. P values
are corrected within a column (Holm), so that the chance of any false mark in a column stays below the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Final

import numpy as np

from medsenteval import registry
from medsenteval.comparison.pairing import align_items, weighted_score
from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.contracts import Metric, Result
from medsenteval.errors import SettingsError
from medsenteval.running.job_results import comparability, joined_marks, one_for_each_job
from medsenteval.statistics import (
    FriedmanOutcome,
    Interval,
    Means,
    Method,
    Significance,
    WeightedScore,
    accuracy_difference_interval,
    bootstrap,
    correct,
    friedman,
    mcnemar_matrix,
    smallest_wilcoxon_p,
    wilcoxon_over_tasks,
)
from medsenteval.statistics.resampling import left_out_scores
from medsenteval.support.arrays import Floats
from medsenteval.tasks.probe_rows import UNSEEN

#: How intervals of differences are read from the resamples -> what the test is called.
BOOTSTRAPS: Final[dict[Method, str]] = {"percentile": "paired bootstrap", "bca": "BCa bootstrap"}
#: Of more items than this, several at a time are left out: the standard error is known well enough.
GROUPS: Final = 1_000
#: Metrics of which a lower value is better.
LOWER_IS_BETTER: Final = frozenset({"mse", "category_error", "overlap"})


@dataclass(frozen=True)
class Difference:
    """One encoder's score minus another's, on the same items."""

    first: str
    second: str
    interval: Interval
    p_value: float
    corrected: float
    test: str


@dataclass(eq=False)
class Column:
    """One metric of one task under one protocol: the score of every encoder that has it, and the tests of every pair.

    ``tested`` lists the encoders whose per-item predictions could be compared, in the order of ``p_values`` (raw) and
    ``corrected``; ``weighted`` is their score as a function of item weights. ``untested`` says why there is no test, and is
    empty where there is one; ``note`` is what is to be said of it below a table. Scores on synthetic data are neither tested
    nor called best. ``marked`` has the marks of scores that are to be read with care, ``trained_on`` whether encoders declare
    to know the data from training.
    """

    task: str
    metric: str
    unit: str
    protocol: str
    key: str
    baseline: float
    headline: bool
    scores: dict[str, Metric]
    synthetic: bool = False
    n_common: int = 0
    test: str = ""
    tested: list[str] = field(default_factory=list)
    p_values: Floats = field(default_factory=lambda: np.ones((0, 0)))
    corrected: Floats = field(default_factory=lambda: np.ones((0, 0)))
    untested: str = ""
    label: str = ""
    note: str = ""
    marked: Mapping[str, str] = field(default_factory=dict)
    trained_on: Mapping[str, str] = field(default_factory=dict)
    weighted: WeightedScore | None = None
    _interval: Callable[[int, int, float], Interval] | None = None

    @cached_property
    def observed(self) -> Floats:
        """The scores that the tests compare, in the order of ``tested``: on the common items, from one seed, as fractions."""
        assert self.weighted is not None
        values: Floats = self.weighted(np.ones((1, self.weighted.n)))[0]
        return values

    def marks(self, encoder: str) -> str:
        """Return what stands behind a score that is to be read with care."""
        return self.marked.get(encoder, "")

    @property
    def higher_is_better(self) -> bool:
        return self.metric not in LOWER_IS_BETTER

    @property
    def scale(self) -> float:
        """What turns a fraction into the metric's unit."""
        return 100.0 if self.unit == "percent" else 1.0

    @cached_property
    def left_out(self) -> Floats:
        """The tested encoders' scores without each item; of many items, several at a time: that is exact enough."""
        assert self.weighted is not None
        return left_out_scores(self.weighted, GROUPS)

    def best(self) -> set[str]:
        """Return the encoders with the best score, none if only one has a score; equal scores share the place."""
        values = self.resolved()
        top = next(iter(values.values()))
        return set() if self.synthetic or len(values) < 2 else {name for name, value in values.items() if value == top}

    def resolved(self) -> dict[str, float]:
        """Return encoders and scores, the best first, with scores made equal that the items cannot tell apart.

        These are less than half of what one item moves apart: 1 / n of the scale, and (1 - r²) / n of a correlation r.
        """
        return self._resolved({encoder: (metric.value, metric.n) for encoder, metric in self.scores.items()})

    def resolved_where_tested(self) -> Floats:
        """Return the scores that the tests compare as ``resolved`` does, in the order of ``tested``."""
        shown = (self.scale * self.observed).tolist()
        values = self._resolved({name: (value, self.n_common) for name, value in zip(self.tested, shown, strict=True)})
        tied: Floats = np.array([values[name] for name in self.tested]) / self.scale
        return tied

    def _resolved(self, scores: Mapping[str, tuple[float, int]]) -> dict[str, float]:
        values: dict[str, float] = {}
        top = math.inf
        for encoder, (value, n) in sorted(scores.items(), key=lambda pair: pair[1][0], reverse=self.higher_is_better):
            whole = 100.0 if self.unit == "percent" else 1 - top * top if _is_correlation(self.metric) else 1.0
            if abs(value - top) > max(0.5 * whole / max(n, 1), 1e-6):
                top = value
            values[encoder] = top
        return values

    def best_first(self) -> list[tuple[str, Metric]]:
        """Return encoders and scores, the best first."""
        return sorted(self.scores.items(), key=lambda pair: pair[1].value, reverse=self.higher_is_better)

    def beaten_by(self, encoder: str, level: float) -> list[str]:
        """Return the encoders that this one is significantly better than."""
        if encoder not in self.tested:
            return []
        i = self.tested.index(encoder)
        sign = 1 if self.higher_is_better else -1
        return [
            other
            for j, other in enumerate(self.tested)
            if j != i and self.corrected[i, j] < level and sign * (self.observed[i] - self.observed[j]) > 0
        ]

    def difference(self, first: str, second: str, confidence: float = 0.95) -> Difference | None:
        """Return the difference of two tested encoders with its interval, or None where there is no test."""
        if self._interval is None or first not in self.tested or second not in self.tested:
            return None
        i, j = self.tested.index(first), self.tested.index(second)
        found = self._interval(i, j, confidence)
        estimate, low, high = (self.scale * end for end in (found.estimate, found.low, found.high))
        interval = Interval(estimate, low, high, confidence, found.method, found.n)
        return Difference(first, second, interval, float(self.p_values[i, j]), float(self.corrected[i, j]), self.test)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Encoders by columns, what could not be compared, and published numbers to stand beside them."""

    encoders: tuple[str, ...]
    sizes: Mapping[str, int]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    level: float
    correction: str
    synthetic: bool
    published: tuple[PublishedNumber, ...] = ()

    def notes_on(self, columns: Iterable[Column]) -> list[str]:
        """Return what is to be said of the comparison, and of these of its columns."""
        return [*self.notes, *(column.note for column in columns if column.note)]

    def letters(self) -> dict[str, str]:
        """Return a letter for each encoder, by which cells name whom they beat."""
        return {encoder: _letter(i) for i, encoder in enumerate(self.encoders)}

    def headline_columns(self) -> list[Column]:
        """Return the first headline metric of each task and protocol: what is ranked and counted."""
        seen: dict[str, Column] = {}
        for column in self.columns:
            if column.headline:
                seen.setdefault(column.key, column)
        return list(seen.values())

    def wins_ties_losses(self) -> dict[str, tuple[int, int, int]]:
        """Count, over headline columns and opponents, significant wins, ties (no significant difference) and losses."""
        counted = {encoder: [0, 0, 0] for encoder in self.encoders}
        for column in self.headline_columns():
            beaten = {encoder: set(column.beaten_by(encoder, self.level)) for encoder in column.tested}
            for encoder in column.tested:
                for other in column.tested:
                    if other != encoder:
                        place = 0 if other in beaten[encoder] else 2 if encoder in beaten[other] else 1
                        counted[encoder][place] += 1
        return {encoder: (w, t, x) for encoder, (w, t, x) in counted.items()}


def _is_correlation(metric: str) -> bool:
    return metric.partition("_")[0] in ("pearson", "spearman", "kendall")


def _letter(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def compare_results(
    results: Sequence[Result],
    *,
    resamples: int = 10_000,
    level: float = 0.05,
    correction: str = "holm",
    seed: int = 1111,
    published: Iterable[PublishedNumber] = (),
    all_metrics: bool = False,
    intervals: Method = "percentile",
) -> Comparison:
    """Set results side by side, test every pair of encoders in every column, and note what is not comparable.

    Headline metrics are tested, with ``all_metrics`` the others too. ``intervals`` says how those of resampled differences are
    made and with them what is significant: "percentile" (tests centre the differences) or "bca".
    """
    if not results:
        raise SettingsError("there is no result to compare")
    if intervals not in BOOTSTRAPS:
        raise SettingsError(f"intervals is {intervals!r}; it can be {' or '.join(BOOTSTRAPS)}")
    results, notes = one_for_each_job(results)
    columns: list[Column] = []
    by_task: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        by_task.setdefault(result.task, {}).setdefault(comparability(result), []).append(result)
    # In the order of the catalogue, which is that of the papers' tables, whatever order the files were found in.
    place = {name: number for number, name in enumerate(registry.task_names())}
    for task, groups in sorted(by_task.items(), key=lambda item: place.get(item[0], len(place))):
        notes.extend(_differences_between_groups(task, groups))
        for number, (key, group) in enumerate(groups.items(), start=1):
            label = task if len(groups) == 1 else f"{task} [{number}]"
            columns.extend(_columns(task, label, key, group, resamples, correction, seed, notes, all_metrics, intervals))
    encoders = tuple(dict.fromkeys(result.encoder for result in results))
    resampled = [len(column.tested) for column in columns if column.test in BOOTSTRAPS.values()]
    # One resample in R + 1, for BCa two, is the smallest p value that there can be, and what corrections by the number of
    # tests multiply.
    tests = (
        max((n * (n - 1) // 2 for n in resampled), default=0) if correction in ("holm", "bonferroni") else len(resampled[:1])
    )
    sides = 2 if intervals == "bca" else 1
    if sides * tests / (resamples + 1) >= level:
        enough = math.floor(sides * tests / level + 1e-9)
        notes.append(f"{resamples:,} resamples cannot make any of {tests:,} test(s) significant ({correction}): use {enough:,}")
    if any(column.synthetic for column in columns):
        notes.append("scores on synthetic sample data are not tested, not ranked, and none is called best")
    return Comparison(
        encoders=encoders,
        sizes={result.encoder: result.dimension for result in results},
        columns=tuple(columns),
        notes=tuple(dict.fromkeys(notes)),
        level=level,
        correction=correction,
        synthetic=any(result.synthetic for result in results),
        published=tuple(published),
    )


def _differences_between_groups(task: str, groups: Mapping[str, list[Result]]) -> list[str]:
    """Say what keeps a task's results apart."""
    if len(groups) == 1:
        return []
    parts = [set(key.split("|")) for key in groups]
    common = set.intersection(*parts)
    described = []
    for number, (key, group) in enumerate(groups.items(), start=1):
        own = [part for part in key.split("|") if part not in common]
        who = ", ".join(dict.fromkeys(result.encoder for result in group))
        described.append(f"[{number}] {who}: {' '.join(own)}")
    return [f"{task}: not one protocol, so not compared across: {'; '.join(described)}"]


def _columns(
    task: str,
    label: str,
    key: str,
    group: Sequence[Result],
    resamples: int,
    correction: str,
    seed: int,
    notes: list[str],
    all_metrics: bool,
    intervals: Method,
) -> list[Column]:
    by_encoder: dict[str, list[Result]] = {}
    for result in group:
        by_encoder.setdefault(result.encoder, []).append(result)
    versions = {tuple(sorted((k, v) for k, v in result.versions.items() if k != "python")) for result in group}
    if len(versions) > 1:
        notes.append(f"{label}: made with different versions of this toolkit or its libraries")
    notes.extend(f"{label}: {note}" for result in group for note in result.notes if UNSEEN in note)
    notes.extend(f"{label}: {result.on_a_part}" for result in group if result.on_a_part)
    first = group[0]
    shared_seeds = set.intersection(*({result.seed for result in found} for found in by_encoder.values()))
    tested: dict[str, Result] = {}
    if shared_seeds:
        chosen = min(shared_seeds)
        tested = {name: next(r for r in found if r.seed == chosen) for name, found in by_encoder.items()}
        if any(len(found) > 1 for found in by_encoder.values()):
            notes.append(f"{label}: scores are means over seeds, tests are of seed {chosen}")
    else:
        notes.append(f"{label}: the encoders share no seed, so nothing is tested")
    columns = []
    for metric in first.metrics:
        scores = {name: _mean_metric(found, metric.name) for name, found in by_encoder.items()}
        column = Column(
            task=task,
            metric=metric.name,
            unit=metric.unit,
            protocol=first.protocol if first.probe == "none" else f"{first.protocol}, {first.probe}",
            key=key,
            baseline=metric.baseline,
            headline=metric.name in first.headline,
            scores={name: found for name, found in scores.items() if found is not None},
            label=label,
            synthetic=any(result.synthetic for result in group),
            marked={name: joined_marks(found) for name, found in by_encoder.items()},
            trained_on={name: found[0].trained_on for name, found in by_encoder.items()},
        )
        if column.synthetic:
            column.untested = "synthetic sample data"
        elif len(by_encoder) < 2:
            column.untested = "one encoder"
        elif not (column.headline or all_metrics):
            column.untested = "no headline metric"
        else:
            _test(column, tested, resamples, correction, seed, intervals)
            if column.untested and column.headline:
                column.note = f"{label}, {metric.name}: not tested: {column.untested}"
            elif not column.untested and column.n_common < max(len(r.items["id"]) for r in tested.values()):
                column.note = (
                    f"{label}, {metric.name}: tested on the {column.n_common:,} items that all encoders were scored on"
                )
        columns.append(column)
    return columns


def _mean_metric(results: Sequence[Result], name: str) -> Metric | None:
    found = [metric for result in results for metric in result.metrics if metric.name == name]
    if not found:
        return None
    means = {each: fmean(getattr(metric, each) for metric in found) for each in ("value", "low", "high", "baseline")}
    return Metric(name, means["value"], means["low"], means["high"], means["baseline"], found[0].unit, found[0].n)


def _test(column: Column, results: Mapping[str, Result], resamples: int, correction: str, seed: int, intervals: Method) -> None:
    """Fill in the p values of every pair of encoders, or say why there are none."""
    if len(results) < 2:
        column.untested = "no seed that two encoders share"
        return
    aligned = align_items(results)
    if isinstance(aligned, str):
        column.untested = aligned
        return
    items, n = aligned
    score = weighted_score(column.metric, next(iter(results.values())), items)
    if isinstance(score, str):
        column.untested = score
        return
    column.weighted = score
    # Few-shot results have the share of draws in which an item was right instead of right or wrong: no McNemar then.
    if column.metric == "acc" and isinstance(score, Means) and bool(np.isin(score.values, (0, 1)).all()):
        right = score
        column.p_values, column.test = mcnemar_matrix(score.values > 0.5), "McNemar"
        column._interval = lambda i, j, confidence: _accuracy_difference(right, i, j, confidence)
    else:
        drawn = bootstrap(score, resamples=resamples, rng=np.random.default_rng(seed))
        column.p_values, column.test = drawn.p_values(intervals), BOOTSTRAPS[intervals]
        column._interval = lambda i, j, confidence: drawn.difference(i, j, confidence=confidence, method=intervals)
    column.tested, column.n_common = list(results), n
    upper = np.triu_indices(len(results), 1)
    column.corrected = np.ones_like(column.p_values)
    column.corrected[upper] = correct(column.p_values[upper], correction)
    column.corrected = np.minimum(column.corrected, column.corrected.T)


def _accuracy_difference(right: Means, i: int, j: int, confidence: float) -> Interval:
    """Return the difference of two accuracies on the same items, with its interval."""
    first, second = right.values[i] > 0.5, right.values[j] > 0.5
    counts = np.array([[np.sum(first[f] & ~second[f]), np.sum(~first[f] & second[f])] for f in right.folds])
    sizes = np.array([len(fold) for fold in right.folds])
    estimate = float(np.mean((counts[:, 0] - counts[:, 1]) / sizes))
    low, high = accuracy_difference_interval(counts[:, 0], counts[:, 1], sizes, confidence=confidence)
    return Interval(estimate, low, high, confidence, "Bonett-Price", right.n)


def ranking(comparison: Comparison) -> FriedmanOutcome | Significance | str:
    """Rank encoders over the tasks that all of them have: Friedman and Nemenyi for three or more, Wilcoxon for two.

    Scores that the items cannot tell apart share a rank; synthetic data ranks nobody.
    """
    shared = [column for column in comparison.headline_columns() if set(column.scores) == set(comparison.encoders)]
    complete = [column for column in shared if not column.synthetic]
    if shared and not complete:
        return "synthetic sample data ranks nobody"
    if len(comparison.encoders) < 2 or len(complete) < 2:
        return f"ranks need two encoders and two tasks that all of them have, and {len(complete)} task(s) are such"
    # Accuracies become fractions like correlations: Wilcoxon's test ranks the differences of tasks among each other.
    sign = [
        (1 if column.higher_is_better else -1) * (0.01 if column.unit == "percent" else 1.0) for column in complete
    ]  # fmt: skip
    values = [column.resolved() for column in complete]
    matrix = np.array([[s * value[name] for name in comparison.encoders] for s, value in zip(sign, values, strict=True)])
    if len(comparison.encoders) == 2:
        return wilcoxon_over_tasks(matrix[:, 0], matrix[:, 1])
    return friedman(matrix, comparison.level)


def without_hope(outcome: FriedmanOutcome | Significance | str, level: float) -> str:
    """Say so where no difference of ranks could be significant, with so few tasks and encoders; nothing elsewhere."""
    if isinstance(outcome, FriedmanOutcome) and outcome.critical_difference > outcome.n_encoders - 1:
        return (
            f"With {outcome.n_tasks} tasks and {outcome.n_encoders} encoders no difference of mean ranks could be significant: "
            f"{outcome.critical_difference:.2f} would be needed, and they lie at most {outcome.n_encoders - 1} apart."
        )
    if isinstance(outcome, Significance) and smallest_wilcoxon_p(outcome.n) >= level:
        return f"With {outcome.n} tasks no difference could be significant: p is {smallest_wilcoxon_p(outcome.n):.4g} or more."
    return ""
