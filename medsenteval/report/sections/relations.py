"""Scores of analogy tasks by relation, and the figures of them that the paper has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Result
from medsenteval.errors import DataError, SettingsError
from medsenteval.report.charts.analogy_chart import analogy_bars
from medsenteval.report.charts.figure_files import write_drawing

_LABELS: Final = {"acc": "relaxed accuracy", "map": "MAP", "mrr": "MRR"}


@dataclass(frozen=True)
class RelationScores:
    """The first headline metric of each relation for every encoder, named with its setting where settings differ."""

    task: str
    metric: str
    series: Mapping[str, Mapping[str, float]]

    @property
    def relations(self) -> list[str]:
        return list(dict.fromkeys(name for values in self.series.values() for name in values))


def relation_scores(results: Sequence[Result]) -> tuple[RelationScores, ...]:
    """Return one set of scores a task whose results say how each relation went."""
    by_task: dict[str, list[Result]] = {}
    for result in results:
        relations = result.details.get("relations")
        if isinstance(relations, Mapping) and relations and {"setting", "score"} <= result.details.keys():
            by_task.setdefault(result.task, []).append(result)
    found = []
    for task, group in by_task.items():
        metric = group[0].headline[0]
        conditions = {_conditions(result) for result in group}
        series = {
            result.encoder if len(conditions) == 1 else f"{result.encoder}, {_conditions(result)}": {
                name: float(means[metric]) for name, means in result.details["relations"].items() if metric in means
            }
            for result in group
        }
        found.append(RelationScores(task, metric, series))
    return tuple(found)


def _conditions(result: Result) -> str:
    return f"{result.details['setting']}, {result.details['score']}"


def draw_metrics(result: Result, path: Path) -> None:
    """Draw accuracy, MAP and MRR of each relation, a panel for each (the paper's Figure 1)."""
    series = {label: {name: means[metric] for name, means in _relations(result).items()} for metric, label in _LABELS.items()}
    write_drawing(analogy_bars(_title([result]), f"{result.encoder}, {result.protocol}", series), path)


def draw_comparison(results: Sequence[Result], metric: str, path: Path) -> None:
    """Draw one metric of each relation for several results: settings, scores or encoders (Figures 2 and 3)."""
    if metric not in _LABELS:
        raise SettingsError(f"no metric of analogies is called {metric!r}; known: {', '.join(_LABELS)}")
    if len({result.task for result in results}) != 1:
        raise SettingsError("a comparison needs results of one task")
    parts = [(result.encoder, result.protocol) for result in results]
    # Named by what differs; by both where both do, or nothing does.
    differing = [place for place in (0, 1) if len({part[place] for part in parts}) > 1] or [0, 1]
    series = {
        ", ".join(part[place] for place in differing): {name: means[metric] for name, means in _relations(result).items()}
        for part, result in zip(parts, results, strict=True)
    }
    write_drawing(analogy_bars(_title(results), _LABELS[metric], series), path)


def _relations(result: Result) -> Mapping[str, Any]:
    relations = result.details.get("relations")
    if not relations or not all(set(_LABELS) <= scores.keys() for scores in relations.values()):
        raise DataError(f"the result of {result.encoder} on {result.task} holds no relations; draw results of analogy tasks")
    found: Mapping[str, Any] = relations
    return found


def _title(results: Sequence[Result]) -> str:
    return results[0].task + (" (SYNTHETIC SAMPLE DATA)" if any(result.synthetic for result in results) else "")
