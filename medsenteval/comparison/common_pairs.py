"""Several encoders scored again on the pairs that all of them know, so that their scores can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Result
from medsenteval.errors import DataError
from medsenteval.running.job_identity import comparability
from medsenteval.settings import Settings
from medsenteval.statistics import Correlation, correlation
from medsenteval.support.grouping import grouped
from medsenteval.tasks.similarity import correlation_metric

_KINDS: Final[tuple[Correlation, ...]] = ("pearson", "spearman", "kendall")
_FEWEST: Final = 3


def common_pairs(results: Sequence[Result], *, resamples: int = 2000) -> list[Result]:
    """Return results of one word similarity task on the pairs whose words every encoder knows; signatures name the pairs."""
    if not results:
        raise DataError("no results to compare")
    tasks = sorted({result.task for result in results})
    if len(tasks) > 1:
        raise DataError(f"results of different tasks have no pairs in common: {', '.join(tasks)}")
    for result in results:
        if not {"id", "gold", "predicted"} <= result.items.keys():
            raise DataError(f"{result.task} of {result.encoder}: the result keeps no similarity for each pair")
    known = [set(result.items["id"]) - set(result.details.get("unknown_pairs", ())) for result in results]
    shared = set.intersection(*known)
    ids = [item for item in results[0].items["id"] if item in shared]
    if len(ids) < _FEWEST:
        raise DataError(f"{tasks[0]}: {len(ids)} pair(s) known to all {len(results)} encoders; at least {_FEWEST} are needed")
    places = ({item: row for row, item in enumerate(result.items["id"])} for result in results)
    rows = [[row_of[item] for item in ids] for row_of in places]
    gold = [[result.items["gold"][row] for row in own] for result, own in zip(results, rows, strict=True)]
    for other in gold:
        differing = [item for item, one, two in zip(ids, gold[0], other, strict=True) if one != two]
        if differing:
            raise DataError(f"{tasks[0]}: {differing[0]} has different gold scores in different results: other data or options")
    named = hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    n_encoders = len({(result.encoder, result.encoder_identity) for result in results})
    return [_rescored(result, own, named, n_encoders, resamples) for result, own in zip(results, rows, strict=True)]


def on_common_pairs(results: Sequence[Result], *, resamples: int = 2000) -> list[Result]:
    """Score all word similarity results again, each on the pairs known to all encoders of its task and protocol."""
    word_pairs = [number for number, result in enumerate(results) if "unknown_pairs" in result.details]
    groups = grouped(((results[number].task, comparability(results[number])), number) for number in word_pairs)
    replaced = dict(enumerate(results))
    for numbers in groups.values():
        replaced |= dict(zip(numbers, common_pairs([results[i] for i in numbers], resamples=resamples), strict=True))
    return list(replaced.values())


def _rescored(result: Result, rows: Sequence[int], named: str, n_encoders: int, resamples: int) -> Result:
    n_all = len(result.items["id"])
    items: dict[str, Any] = {
        name: [values[row] for row in rows] if len(values) == n_all else values for name, values in result.items.items()
    }
    gold, details = np.array(items["gold"], dtype=np.float64), dict(result.details)
    if "measures" in details:
        # Under measure=best that is the one that is best on these pairs.
        found = {name: {"spearman": correlation("spearman", np.array(items[name]), gold)[0]} for name in details["measures"]}
        best = max(found, key=lambda name: found[name]["spearman"])
        items["predicted"] = items[best]
        details |= {"measure": best, "measures": found}
    predicted = np.array(items["predicted"], dtype=np.float64)
    settings = Settings(resamples=resamples, seed=result.seed)
    before, encoder, after = result.signature.partition("|encoder=")
    pairs = details.get("pairs", n_all)
    return replace(
        result,
        metrics=tuple(correlation_metric(kind, predicted, gold, settings) for kind in _KINDS),
        n_test=len(rows),
        items=items,
        details={**details, "pairs_scored": len(rows)},
        signature=f"{before}|pairs={named}{encoder}{after}",
        notes=(*result.notes, f"scored on the {len(rows):,} of {pairs:,} pairs that all {n_encoders} encoders know"),
    )
