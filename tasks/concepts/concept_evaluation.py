"""Scoring concept normalisation: the rank of the first right name, acc@1, acc@5 and MRR with intervals over concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import mean_share_interval
from medsenteval.support.arrays import Floats
from medsenteval.support.grouping import grouped
from medsenteval.tasks.concepts.concept_dataset import ConceptDataset, Query
from medsenteval.words.concepts.name_ranks import RankedNames, Score, rank_names

METRICS: Final = {"acc@1": "percent", "acc@5": "percent", "mrr": "fraction"}


def measures_of_ranks(ranks: NDArray[np.int64]) -> Floats:
    """Return acc@1, acc@5 and the reciprocal rank of every query, a row each; rank 0 means never found."""
    found = ranks > 0
    reciprocal = np.divide(1.0, ranks, out=np.zeros(len(ranks)), where=found)
    return np.stack([(found & (ranks <= 1)).astype(float), (found & (ranks <= 5)).astype(float), reciprocal])


def evaluate_concepts(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Rank the names of the dictionary for every query; a composite mention is found where its last part is."""
    if not isinstance(dataset, ConceptDataset):
        raise DataError(f"{task.name}: a dictionary of names is needed to link concepts")
    chosen = dict(dataset.chosen())
    queries = list(chosen.values())
    ranked, owner = _ranked(dataset, queries, embeddings)
    ranks = np.zeros(len(queries), dtype=np.int64)
    np.maximum.at(ranks, owner, ranked.ranks)
    ranks[owner[ranked.ranks == 0]] = 0
    answers = [""] * len(queries)
    for part, query in enumerate(owner):
        row = ranked.nearest[part]
        answers[query] += ("+" if answers[query] else "") + ("-" if row < 0 else "|".join(dataset.concepts[row]))
    concepts = [query.concepts[0] for query in queries]
    measured = measures_of_ranks(ranks)
    # The best constant list of answers for all queries has the most frequent concept first.
    place = {concept: rank for rank, (concept, _) in enumerate(Counter(concepts).most_common(), start=1)}
    constant = measures_of_ranks(np.array([place[concept] for concept in concepts])).mean(axis=1)
    whole = _with_intervals(measured, concepts)
    metrics = []
    for (name, unit), baseline in zip(METRICS.items(), constant, strict=True):
        value, low, high, least = (number * (100.0 if unit == "percent" else 1.0) for number in (*whole[name], float(baseline)))
        metrics.append(Metric(name, value, low, high, least, unit, len(queries)))
    traits = {name: [query.traits[name] for query in queries] for name in queries[0].traits}
    return Scores(
        metrics=tuple(metrics),
        n_train=0,
        n_test=len(queries),
        items={
            "id": list(chosen),
            "concept": concepts,
            "answer": answers,
            "rank": ranks.tolist(),
            **{name: row.tolist() for name, row in zip(METRICS, measured, strict=True)},
            **traits,
        },
        senteval={**{metric.name: metric.value for metric in metrics}, "ntest": len(queries)},
        details={
            "interval": "bootstrap over concepts",
            "dictionary_names": len(dataset.names),
            "dictionary_hash": dataset.options["dictionary-hash"],
            "strata": _strata(traits, measured, concepts),
        },
    )


def _ranked(dataset: ConceptDataset, queries: Sequence[Query], embeddings: Embeddings) -> tuple[RankedNames, NDArray[np.intp]]:
    """Rank the names for every part of every query; return the ranks and which query each part belongs to."""
    rows_of = grouped((concept, row) for row, ids in enumerate(dataset.concepts) for concept in ids)
    right = []
    for query in queries:
        rows = {row for concept in query.concepts for row in rows_of.get(concept, ())} - {query.left_out}
        right.append(np.array(sorted(rows), dtype=np.intp))
    owner = np.repeat(np.arange(len(queries), dtype=np.intp), [len(query.parts) for query in queries])
    names, left_out = embeddings.rows(dataset.names), np.array([query.left_out for query in queries], dtype=np.intp)
    parts = embeddings.rows([part for query in queries for part in query.parts])
    score: Score = "dot" if dataset.options.get("score") == "dot" else "cosine"
    matrix = embeddings.matrix
    return rank_names(matrix[parts], matrix[names], [right[query] for query in owner], left_out[owner], score), owner


def _with_intervals(measured: Floats, concepts: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """Return value, low and high of each metric; concepts count as independent, because queries for one concept are alike."""
    return {
        name: (float(values.mean()), *mean_share_interval(values, confidence=CONFIDENCE, clusters=concepts))
        for name, values in zip(METRICS, measured, strict=True)
    }


def _strata(traits: Mapping[str, Sequence[str | int | float]], measured: Floats, concepts: Sequence[str]) -> dict[str, Any]:
    """Return the scores of every part of every trait: of each text, and of thirds of numbers."""
    found: dict[str, Any] = {}
    for trait, values in traits.items():
        labels = list(map(str, values)) if isinstance(values[0], str) else _thirds(values)
        found[trait] = {}
        for label in sorted(set(labels), key=lambda text: (float(text.split("-")[0]) if text[0].isdigit() else 0.0, text)):
            rows = [row for row, each in enumerate(labels) if each == label]
            scored = _with_intervals(measured[:, rows], [concepts[row] for row in rows])
            found[trait][label] = {"queries": len(rows), **{name: list(triple) for name, triple in scored.items()}}
    return found


def _thirds(values: Sequence[Any]) -> list[str]:
    """Name the third that each number is in by its limits; equal numbers are never parted, so thirds can differ in size.

    Numbers below zero are not known (a concept that no root leads to has no depth) and are in no third.
    """
    numbers = np.array(values, dtype=np.float64)
    known = numbers >= 0
    if not known.any():
        return ["unknown"] * len(numbers)
    cuts = np.unique(np.quantile(numbers[known], [1 / 3, 2 / 3], method="lower"))
    part = np.where(known, np.searchsorted(cuts, numbers, side="left"), -1)
    limits = {each: (numbers[part == each].min(), numbers[part == each].max()) for each in np.unique(part)}
    return ["unknown" if each < 0 else f"{limits[each][0]:g}-{limits[each][1]:g}" for each in part]
