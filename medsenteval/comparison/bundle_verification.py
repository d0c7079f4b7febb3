"""Are the scores of a bundle those of its items? Every score is computed again from the per-item predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from medsenteval.comparison.pairing import weighted_score
from medsenteval.contracts import Metric, Result
from medsenteval.errors import DataError
from medsenteval.running.result_bundle import read_bundle
from medsenteval.statistics import correlation

#: Sums in another order differ by less.
_TOLERANCE: Final = 1e-9


def recomputed_score(result: Result, metric: Metric) -> float | None:
    """Return a metric as the items give it, or None where they do not."""
    items = result.items
    if "predicted_1" in items:
        return _entity_rate(items, metric.name)
    if metric.name == "kendall" and "predicted" in items:
        predicted, gold = (np.array(items[name], dtype=np.float64) for name in ("predicted", "gold"))
        return correlation("kendall", predicted, gold)[0]
    score = weighted_score(metric.name, result, [items])
    if isinstance(score, str):
        return None
    value = float(score(np.ones((1, score.n)))[0, 0])
    return 100.0 * value if metric.unit == "percent" else value


def _entity_rate(items: Mapping[str, Sequence[Any]], name: str) -> float | None:
    """Return a tagger's f1, precision or recall in percent, the mean over its runs, from the entities of every sentence."""
    gold = [set(spans.split()) for spans in items["gold"]]
    rates = []
    for run in (items[column] for column in items if column.startswith("predicted_")):
        found = [set(spans.split()) for spans in run]
        right = sum(len(one & other) for one, other in zip(gold, found, strict=True))
        n_gold, n_found = (sum(map(len, spans)) for spans in (gold, found))
        counted = {"f1": (2 * right, n_gold + n_found), "precision": (right, n_found), "recall": (right, n_gold)}
        if name not in counted:
            return None
        rates.append(100.0 * counted[name][0] / max(1, counted[name][1]))
    return fmean(rates)


def verify_bundle(path: Path) -> tuple[list[Result], list[str]]:
    """Check every hash of a bundle and compute every score again; a difference is an error that names the score.

    Return the results, and the scores that items alone do not give.
    """
    results = read_bundle(path)
    beyond = []
    for result, metric in [(each, metric) for each in results for metric in each.metrics]:
        value = recomputed_score(result, metric)
        if value is None:
            beyond.append(f"{result.encoder}, {result.task}, {metric.name}")
        elif not abs(value - metric.value) <= _TOLERANCE * max(1.0, abs(metric.value)):  # NaN is near nothing
            raise DataError(
                f"{path}: {result.encoder}, {result.task}: {metric.name} is {metric.value!r}, but the items give {value!r}; "
                "do not trust this bundle"
            )
    return results, beyond


def conflicts(new: Sequence[Result], known: Sequence[Result]) -> list[str]:
    """Say which jobs have other scores in two sets of results."""
    scores = {(each.encoder_identity or each.encoder, each.signature): each for each in known}
    found = []
    for result in new:
        other = scores.get((result.encoder_identity or result.encoder, result.signature), result)
        if [metric.value for metric in other.metrics] != [metric.value for metric in result.metrics]:
            found.append(f"{result.encoder}, {result.task}")
    return found
