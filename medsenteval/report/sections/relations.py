"""Scores of analogy tasks by relation, and the figures of them that the paper has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from medsenteval.contracts import Result
from medsenteval.errors import DataError
from medsenteval.report.charts.analogy_chart import analogy_bars
from medsenteval.report.charts.drawing import Drawing
from medsenteval.running.job_identity import what_tells_apart
from medsenteval.support.grouping import grouped

_LABELS: Final = {"acc": "relaxed accuracy", "map": "MAP", "mrr": "MRR"}

#: Result (its encoder, and protocol, options and seed where these differ) -> relation -> score.
Series = Mapping[str, Mapping[str, float]]


def relation_scores(results: Sequence[Result], metric: str = "") -> list[tuple[str, str, Series]]:
    """Return each task whose results say how each relation went with its first headline metric or another, and the scores."""
    found: list[tuple[str, str, Series]] = []
    told = [result for result in results if {"setting", "score"} <= result.details.keys() and result.details.get("relations")]
    for task, group in grouped((result.task, result) for result in told).items():
        shown = metric or group[0].headline[0]
        series = {}
        for result in group:
            relations = result.details["relations"].items()
            values = {name: float(means[shown]) for name, means in relations if shown in means}
            series[", ".join([result.encoder, *what_tells_apart(result, group)])] = values
        found.append((task, shown, series))
    return found


def metric_bars(result: Result) -> Drawing:
    """Draw accuracy, MAP and MRR of each relation, a panel for each (the paper's Figure 1)."""
    series = {label: _series([result], metric)[result.encoder] for metric, label in _LABELS.items()}
    return analogy_bars(_title([result]), f"{result.encoder}, {result.protocol}", series)


def compared_bars(results: Sequence[Result], metric: str) -> Drawing:
    """Draw one metric of each relation for several results of one task: settings, scores or encoders (Figures 2 and 3)."""
    return analogy_bars(_title(results), _LABELS[metric], _series(results, metric))


def _series(results: Sequence[Result], metric: str) -> Series:
    for _, _, series in relation_scores(results, metric):
        return series
    raise DataError(f"the results on {results[0].task} hold no relations; draw results of analogy tasks")


def _title(results: Sequence[Result]) -> str:
    return results[0].task + (" (SYNTHETIC SAMPLE DATA)" if any(result.synthetic for result in results) else "")
