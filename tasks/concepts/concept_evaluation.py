"""Scoring concept normalisation: the rank of the first right name, acc@1, acc@5 and MRR with intervals over concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

METRICS: Final = {"acc@1": "percent", "acc@5": "percent", "mrr": "fraction"}
_QUERIES_AT_ONCE: Final = 256
_NAMES_AT_ONCE: Final = 8192
_PAIRS_AT_ONCE: Final = 4096
#: Scores that differ by less, as a share of the largest possible score, are equal: only rounding tells them apart.
_TIE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class RankedNames:
    """For each query the rank of the first right name, 0 if the dictionary has none, and the row of the top-ranked name."""

    ranks: NDArray[np.int64]
    nearest: NDArray[np.intp]


def rank_names(
    queries: NDArray[np.float32],
    names: NDArray[np.float32],
    right: Sequence[NDArray[np.intp]],
    left_out: NDArray[np.intp],
    score: str = "cosine",
) -> RankedNames:
    """Rank all names for every query by cosine or dot product, the highest first.

    ``right[i]`` are the rows of names that answer query i, ``left_out[i]`` is a row that it may not find, or -1. A name that
    scores as high as the right one counts as before it: an encoder that tells nothing apart must not score.
    """
    n, query_lengths, name_lengths = len(names), _lengths(queries), _lengths(names)
    if score == "cosine":
        scales, largest = [_inverse(query_lengths), _inverse(name_lengths)], np.ones(len(queries))
    else:
        scales, largest = [np.ones(len(queries)), np.ones(n)], query_lengths * name_lengths.max()
    sizes = np.array([len(each) for each in right], dtype=np.intp)
    owner = np.repeat(np.arange(len(queries)), sizes)
    rows = np.concatenate([*right, np.empty(0, dtype=np.intp)]).astype(np.intp)
    own = np.empty(len(rows))
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        own[part] = np.einsum("ij,ij->i", queries[owner[part]], names[rows[part]], dtype=np.float64)
    own *= scales[0][owner] * scales[1][rows]
    least = np.full(len(queries), -np.inf)
    np.maximum.at(least, owner, own)
    least -= _TIE * largest
    # Every name of a query without a vector has the same score, 0: all are counted, and none is nearest.
    unknown = query_lengths == 0
    before = np.where(unknown, n - (left_out >= 0), 0)
    nearest = np.zeros(len(queries), dtype=np.intp)
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        at = np.arange(start, min(start + _QUERIES_AT_ONCE, len(queries)))
        left, top = queries[at] * scales[0][at, None], np.full(len(at), -np.inf)
        for first in range(0, n, _NAMES_AT_ONCE):
            part = slice(first, first + _NAMES_AT_ONCE)
            block = left @ (names[part] * scales[1][part, None]).T
            place = left_out[at] - first
            hidden = np.flatnonzero((left_out[at] >= 0) & (place >= 0) & (place < block.shape[1]))
            block[hidden, place[hidden]] = -np.inf
            highest = block.argmax(axis=1)
            reached = block[np.arange(len(at)), highest]
            nearest[at] = np.where(reached > top, first + highest, nearest[at])
            top = np.maximum(top, reached)
            before[at] += np.where(unknown[at], 0, np.count_nonzero(block >= least[at, None], axis=1))
    # The right names at or above the best one's score were counted as well.
    before -= np.bincount(owner[own >= least[owner]], minlength=len(queries))
    return RankedNames(np.where(sizes == 0, 0, before + 1), np.where(unknown, -1, nearest))


def _lengths(vectors: NDArray[np.float32]) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return np.sqrt(squares)


def _inverse(lengths: Floats) -> Floats:
    inverse: Floats = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return inverse


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
    matrix, score = embeddings.matrix, dataset.options["score"]
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
