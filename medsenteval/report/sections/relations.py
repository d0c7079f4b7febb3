"""Scores of analogy tasks by relation, and the figures of them that the paper has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medsenteval.contracts import Result
from medsenteval.errors import DataError
from medsenteval.report.charts.drawing import Drawing
from medsenteval.report.charts.row_charts import analogy_bars
from medsenteval.running.job_results import what_differs
from medsenteval.support.grouping import grouped

_LABELS: Final = {"acc": "relaxed accuracy", "map": "MAP", "mrr": "MRR"}


@dataclass(frozen=True)
class RelationScores:
    """One metric of each relation for every result, named by its encoder, and by protocol and options where these differ."""

    task: str
    metric: str
    series: Mapping[str, Mapping[str, float]]

    @property
    def relations(self) -> list[str]:
        return list(dict.fromkeys(name for values in self.series.values() for name in values))


def relation_scores(results: Sequence[Result], metric: str = "") -> tuple[RelationScores, ...]:
    """Return one set of scores a task whose results say how each relation went, by default of its first headline metric."""
    found = []
    named = [result for result in results if {"relations", "setting", "score"} <= result.details.keys()]
    told = [result for result in named if isinstance(result.details["relations"], Mapping) and result.details["relations"]]
    for task, group in grouped((result.task, result) for result in told).items():
        shown = metric or group[0].headline[0]
        series = {
            ", ".join([result.encoder, *what_differs(result, group)]): {
                name: float(means[shown]) for name, means in result.details["relations"].items() if shown in means
            }
            for result in group
        }
        found.append(RelationScores(task, shown, series))
    return tuple(found)


def metric_bars(result: Result) -> Drawing:
    """Draw accuracy, MAP and MRR of each relation, a panel for each (the paper's Figure 1)."""
    series = {label: _series([result], metric)[result.encoder] for metric, label in _LABELS.items()}
    return analogy_bars(_title([result]), f"{result.encoder}, {result.protocol}", series)


def compared_bars(results: Sequence[Result], metric: str) -> Drawing:
    """Draw one metric of each relation for several results of one task: settings, scores or encoders (Figures 2 and 3)."""
    return analogy_bars(_title(results), _LABELS[metric], _series(results, metric))


def _series(results: Sequence[Result], metric: str) -> Mapping[str, Mapping[str, float]]:
    for found in relation_scores(results, metric):
        return found.series
    raise DataError(f"the results on {results[0].task} hold no relations; draw results of analogy tasks")


def _title(results: Sequence[Result]) -> str:
    return results[0].task + (" (SYNTHETIC SAMPLE DATA)" if any(result.synthetic for result in results) else "")
