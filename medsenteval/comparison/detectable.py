"""How small a difference a task could show, before it is run or after: beside its number of items, wherever that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import smallest_shown
from medsenteval.comparison.published.numbers import published_numbers
from medsenteval.contracts import Result, Task
from medsenteval.running.job_results import comparability
from medsenteval.running.score_table import as_points
from medsenteval.statistics.power import smallest_expected


def published_items(task: Task) -> int:
    """Return how many items a task scores by its published counts; 0 where these are not known."""
    counts = task.published_counts
    return counts.get("test", 0) if task.protocol in ("split", "kfold", "relatedness") else sum(counts.values())


def smallest_published(task: Task, n: int) -> str:
    """Return the smallest difference that n items would show between encoders with the published median score, or "-"."""
    metric = task.metrics[0]
    scores = [
        each.value for each in published_numbers() if (each.task, each.metric) == (task.name, metric) and not each.suspect
    ]
    if not scores or not n:
        return "-"
    percent = next(each.unit for each in published_numbers() if (each.task, each.metric) == (task.name, metric)) == "percent"
    found = smallest_expected(metric, median(scores) / (100 if percent else 1), n)
    return as_points(None if found is None else found * (100 if percent else 1), "percent" if percent else "fraction")


def shown_differences(results: Sequence[Result], level: float = 0.05) -> dict[tuple[str, str], str]:
    """Return for each protocol of a task and metric what its items would show, by how the two best encoders disagree."""
    real = [result for result in results if not result.synthetic]
    if len({result.encoder for result in real}) < 2:
        return {}
    # Few resamples: nothing is tested here.
    columns = compare_results(real, resamples=100, level=level).columns
    found = {(column.key, column.metric): (smallest_shown(column, level), column.unit) for column in columns if column.tested}
    return {place: as_points(value, unit) for place, (value, unit) in found.items()}


def planned_differences(tasks: Mapping[str, tuple[Task, int]], earlier: Sequence[Result]) -> dict[str, str]:
    """Return what each task with so many items would show: by earlier results of two encoders, else by published scores."""
    known: dict[str, str] = {}
    by_key = {comparability(result): result for result in earlier}
    for (key, metric), shown in shown_differences(earlier).items():
        if metric == by_key[key].headline[0]:
            known[by_key[key].task] = shown
    return {name: known.get(name) or smallest_published(task, n) for name, (task, n) in tasks.items()}
