"""Per-item predictions of several encoders on the same items, and a metric as a function of how often each item counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from medsenteval.contracts import Result
from medsenteval.statistics import Accuracies, F1Scores, Means, WeightedScore, correlations
from medsenteval.statistics.weighted_scores import ClusteredMeans, CountedF1, SubsetCorrelations
from medsenteval.support.arrays import Floats


def align_items(results: Mapping[str, Result]) -> tuple[list[dict[str, list[Any]]], int] | str:
    """Return every encoder's items in one order, those that all were scored on, or the reason why that cannot be."""
    ids = [list(result.items.get("id", ())) for result in results.values()]
    if not all(ids):
        return "a result has no per-item predictions"
    orders = [list(range(len(each))) for each in ids]
    kept, *others = ids
    if any(each != kept for each in others):
        if any(len(set(each)) != len(each) for each in ids):
            return "item names repeat and come in different orders"
        common = set.intersection(*map(set, ids))
        kept = [name for name in kept if name in common]
        if len(kept) < 2:
            return "the encoders were scored on different items"
        places = (dict(zip(each, order, strict=True)) for each, order in zip(ids, orders, strict=True))
        orders = [[place[name] for name in kept] for place in places]
    columns = [
        {name: [values[i] for i in order] for name, values in result.items.items() if len(values) == len(result.items["id"])}
        for result, order in zip(results.values(), orders, strict=True)
    ]
    if any(one != other for one, other in pairwise(item["gold"] for item in columns if "gold" in item)):
        return "the gold answers differ"
    return columns, len(kept)


def weighted_score(metric: str, result: Result, items: Sequence[Mapping[str, Sequence[Any]]]) -> WeightedScore | str:
    """Return the metric as a function of item weights, or the reason why it is none."""
    kind, _, suffix = metric.partition("_")
    first = items[0]
    same_folds = "fold" in first and all(item.get("fold") == first["fold"] for item in items)
    folds = np.asarray(first["fold"], dtype=np.intp) if same_folds else None
    if all(metric in item for item in items):
        values = np.array([item[metric] for item in items], dtype=np.float64)
        if "concept" in first:  # the queries for one concept are not independent of each other
            return ClusteredMeans.of(values, first["concept"])
        return _relation_means(values, first["relation"]) if "relation" in first else Means.of(values, folds)
    if metric == "f1" and all("tp_1" in item for item in items):
        return _entity_f1(items)
    if not all("predicted" in item and "gold" in item for item in items):
        return "a result has no per-item predictions"
    if metric == "acc":
        right = [np.array(item["gold"]) == np.array(item["predicted"]) for item in items]
        return Accuracies.of(np.array(right), folds)
    if metric == "f1":
        name = result.details.get("positive_label")
        if name not in result.label_names:
            return "F1 of a task without a positive label"
        positive = result.label_names.index(name)
        predicted = np.array([np.array(item["predicted"]) == positive for item in items])
        return F1Scores.of(np.array(first["gold"]) == positive, predicted, folds)
    if kind in ("pearson", "spearman"):
        predicted = np.array([item["predicted"] for item in items], dtype=np.float64)
        gold = np.array(first["gold"], dtype=np.float64)
        if "subset" not in first or suffix == "pooled":
            return correlations(kind, predicted, gold)  # type: ignore[arg-type]
        names = np.array(first["subset"])
        rows = [np.flatnonzero(names == name).astype(np.intp) for name in dict.fromkeys(first["subset"])]
        weights = [float(len(each)) for each in rows] if suffix == "weighted" else None
        return SubsetCorrelations.of(kind, predicted, gold, rows, weights)  # type: ignore[arg-type]
    return f"no paired test for the metric {metric!r}"


def _relation_means(values: Floats, relations: Sequence[str]) -> Means:
    """Return the mean over relations, as analogies are scored; over questions where there is one relation only."""
    names, numbers = np.unique(np.asarray(relations), return_inverse=True)
    if len(names) == 1:
        return Means.of(values)
    return Means.of(np.array([np.bincount(numbers, weights=row) for row in values]) / np.bincount(numbers))


def _entity_f1(items: Sequence[Mapping[str, Sequence[Any]]]) -> WeightedScore | str:
    """Return entity-level F1 from the counts that a tagger's runs left for every sentence."""
    n_runs = {sum(name.startswith("tp_") for name in item) for item in items}
    if len(n_runs) > 1:
        return "the taggers were run a different number of times"
    runs, kinds = range(1, 1 + n_runs.pop()), ("tp", "fp", "fn")
    counts = [[[item[f"{kind}_{run}"] for kind in kinds] for run in runs] for item in items]
    return CountedF1.of(np.moveaxis(np.array(counts, dtype=np.float64), 2, 3))
