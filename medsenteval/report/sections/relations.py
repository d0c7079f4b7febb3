"""Scores of analogy tasks by relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medsenteval.contracts import Result


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
