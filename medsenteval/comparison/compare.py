"""Which encoder is better, by how much, and is it real?

Results of one task stand in one column only if their signatures differ in nothing but the encoder. Within a column every pair
of encoders is tested on the items that all were scored on: McNemar's test for accuracy, a paired bootstrap for all else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Final

import numpy as np

from medsenteval import registry
from medsenteval.comparison.pairing import align_items, weighted_score
from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.comparison.significance import Column, Comparison
from medsenteval.contracts import Metric, Result
from medsenteval.errors import SettingsError
from medsenteval.running.job_identity import comparability, joined_marks, one_for_each_job, what_differs
from medsenteval.statistics import (
    FriedmanOutcome,
    Interval,
    Means,
    Method,
    Significance,
    accuracy_difference_interval,
    bootstrap,
    correct,
    correct_pairs,
    friedman,
    mcnemar_matrix,
    wilcoxon_over_tasks,
)
from medsenteval.statistics.paired_bootstrap import check_resamples
from medsenteval.statistics.tests_over_tasks import smallest_wilcoxon_p
from medsenteval.support.grouping import grouped
from medsenteval.tasks.probe_rows import UNSEEN

_Test = Callable[[Column, Mapping[str, Result]], str]
#: How intervals of differences are read from the resamples -> what the test is called.
BOOTSTRAPS: Final[dict[Method, str]] = {"percentile": "paired bootstrap", "bca": "BCa bootstrap"}


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
    if not 0 < level < 1:
        raise SettingsError(f"level is {level}; it must lie between 0 and 1, as 0.05 does")
    if intervals not in BOOTSTRAPS:
        raise SettingsError(f"intervals is {intervals!r}; it can be {' or '.join(BOOTSTRAPS)}")
    check_resamples(resamples)
    correct((), correction)  # refuses an unknown name even where nothing is tested
    results, notes = one_for_each_job(results)
    test = partial(_test, resamples=resamples, correction=correction, seed=seed, intervals=intervals)
    columns: list[Column] = []
    by_task = grouped((result.task, result) for result in results)
    # In the order of the catalogue, which is that of the papers' tables, whatever order the files were found in.
    place = {name: number for number, name in enumerate(registry.task_names())}
    for task, found in sorted(by_task.items(), key=lambda item: place.get(item[0], len(place))):
        groups = grouped((comparability(result), result) for result in found)
        if len(groups) > 1:
            firsts = [group[0] for group in groups.values()]
            apart = []
            for number, group in enumerate(groups.values(), start=1):
                who = ", ".join(dict.fromkeys(result.encoder for result in group))
                apart.append(f"[{number}] {who}: {' '.join(what_differs(group[0], firsts))}")
            notes.append(f"{task}: not one protocol, so not compared across: {'; '.join(apart)}")
        for number, (key, group) in enumerate(groups.items(), start=1):
            label = task if len(groups) == 1 else f"{task} [{number}]"
            columns.extend(_columns(label, key, group, notes, test, all_metrics))
    # One resample in R + 1, for BCa two, is the smallest p value that there can be, and what corrections by the number of
    # tests multiply.
    resampled = [math.comb(len(column.tested), 2) for column in columns if column.test in BOOTSTRAPS.values()]
    tests = max(resampled, default=0) if correction in ("holm", "bonferroni") else len(resampled[:1])
    sides = 2 if intervals == "bca" else 1
    if sides * tests / (resamples + 1) >= level:
        enough = math.floor(sides * tests / level + 1e-9)
        notes.append(f"{resamples:,} resamples cannot make any of {tests:,} test(s) significant ({correction}): use {enough:,}")
    if any(column.synthetic for column in columns):
        notes.append("scores on synthetic sample data are not tested, not ranked, and none is called best")
    return Comparison(
        encoders=tuple(dict.fromkeys(result.encoder for result in results)),
        sizes={result.encoder: result.dimension for result in results},
        columns=tuple(columns),
        notes=tuple(dict.fromkeys(notes)),
        level=level,
        correction=correction,
        synthetic=any(result.synthetic for result in results),
        published=tuple(published),
    )


def _columns(
    label: str, key: str, group: Sequence[Result], notes: list[str], test: _Test, all_metrics: bool
) -> list[Column]:  # fmt: skip
    """Return a column for each metric of results that compare; ``notes`` gets what is to be said of them."""
    by_encoder = grouped((result.encoder, result) for result in group)
    versions = {tuple(sorted((k, v) for k, v in result.versions.items() if k != "python")) for result in group}
    if len(versions) > 1:
        notes.append(f"{label}: made with different versions of this toolkit or its libraries")
    notes.extend(f"{label}: {note}" for result in group for note in result.notes if UNSEEN in note)
    notes.extend(f"{label}: {result.on_a_part}" for result in group if result.on_a_part)
    first = group[0]
    shared_seeds = set.intersection(*({result.seed for result in found} for found in by_encoder.values()))
    chosen = min(shared_seeds, default=None)
    tested = {name: result for name, found in by_encoder.items() for result in found if result.seed == chosen}
    if chosen is None:
        notes.append(f"{label}: the encoders share no seed, so nothing is tested")
    elif any(len(found) > 1 for found in by_encoder.values()):
        notes.append(f"{label}: scores are means over seeds, tests are of seed {chosen}")
    columns = []
    for metric in first.metrics:
        values = {
            name: [m for result in found for m in result.metrics if m.name == metric.name] for name, found in by_encoder.items()
        }
        scores = {name: _mean_metric(of_seeds) for name, of_seeds in values.items() if of_seeds}
        column = Column(
            task=first.task,
            metric=metric.name,
            unit=metric.unit,
            protocol=first.protocol if first.probe == "none" else f"{first.protocol}, {first.probe}",
            key=key,
            baseline=metric.baseline,
            headline=metric.name in first.headline,
            scores=scores,
            label=label,
            synthetic=any(result.synthetic for result in group),
            marks={name: joined_marks(found) for name, found in by_encoder.items()},
            trained_on={name: found[0].trained_on for name, found in by_encoder.items()},
        )
        if column.synthetic:
            column.untested = "synthetic sample data"
        elif len(by_encoder) < 2:
            column.untested = "one encoder"
        elif not (column.headline or all_metrics):
            column.untested = "no headline metric"
        else:
            column.untested = test(column, tested)
            said = f"not tested: {column.untested}" if column.untested and column.headline else ""
            if not column.untested and column.n_common < max(len(result.items["id"]) for result in tested.values()):
                said = f"tested on the {column.n_common:,} items that all encoders were scored on"
            column.note = f"{label}, {metric.name}: {said}" if said else ""
        columns.append(column)
    return columns


def _mean_metric(found: Sequence[Metric]) -> Metric:
    ends = ("value", "low", "high", "baseline")
    value, low, high, baseline = (fmean(getattr(metric, each) for metric in found) for each in ends)
    return replace(found[0], value=value, low=low, high=high, baseline=baseline)


def _test(
    column: Column, results: Mapping[str, Result], *, resamples: int, correction: str, seed: int, intervals: Method
) -> str:  # fmt: skip
    """Fill in the p values of every pair of encoders, or return why there are none."""
    if len(results) < 2:
        return "no seed that two encoders share"
    aligned = align_items(results)
    if isinstance(aligned, str):
        return aligned
    items, n = aligned
    score = weighted_score(column.metric, next(iter(results.values())), items)
    if isinstance(score, str):
        return score
    column.weighted = score
    # Few-shot results have the share of draws in which an item was right instead of right or wrong: no McNemar then.
    if column.metric == "acc" and isinstance(score, Means) and bool(np.isin(score.values, (0, 1)).all()):
        column.p_values, column.test = mcnemar_matrix(score.values > 0.5), "McNemar"
        column._interval = partial(_accuracy_difference, score)
    else:
        drawn = bootstrap(score, resamples=resamples, rng=np.random.default_rng(seed))
        column.p_values, column.test = drawn.p_values(intervals), BOOTSTRAPS[intervals]
        column._interval = lambda i, j, confidence: drawn.difference(i, j, confidence=confidence, method=intervals)
    column.tested, column.n_common = list(results), n
    column.corrected = correct_pairs(column.p_values, correction)
    return ""


def _accuracy_difference(right: Means, i: int, j: int, confidence: float) -> Interval:
    first, second = right.values[i] > 0.5, right.values[j] > 0.5
    counts = np.array([[np.sum(first[f] & ~second[f]), np.sum(~first[f] & second[f])] for f in right.folds])
    sizes = np.array([len(fold) for fold in right.folds])
    estimate = float(np.mean((counts[:, 0] - counts[:, 1]) / sizes))
    low, high = accuracy_difference_interval(counts[:, 0], counts[:, 1], sizes, confidence=confidence)
    return Interval(estimate, low, high, confidence, "Bonett-Price", right.n)


def ranking(comparison: Comparison) -> FriedmanOutcome | Significance | str:
    """Rank encoders over the tasks that all of them have: Friedman and Nemenyi for three or more, Wilcoxon for two."""
    shared = [column for column in comparison.headline_columns() if set(column.scores) == set(comparison.encoders)]
    complete = [column for column in shared if not column.synthetic]
    if shared and not complete:
        return "synthetic sample data ranks nobody"
    if len(comparison.encoders) < 2 or len(complete) < 2:
        return f"ranks need two encoders and two tasks that all of them have, and {len(complete)} task(s) are such"
    # Accuracies become fractions like correlations: Wilcoxon's test ranks the differences of tasks among each other.
    values = [column.resolved() for column in complete]
    units = [0.01 if each.unit == "percent" else 1.0 for each in complete]
    matrix = np.array([[value[name] for name in comparison.encoders] for value in values]) * np.array(units)[:, None]
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
    if isinstance(outcome, Significance) and (least := smallest_wilcoxon_p(outcome.n)) >= level:
        return f"With {outcome.n} tasks no difference could be significant: p is {least:.4g} or more."
    return ""
