"""Concept normalisation: queries, a dictionary of names to find their concepts by, and the ranks of the first right names.

Scores are acc@1, acc@5 and MRR with intervals over concepts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import mean_share_interval
from medsenteval.support.arrays import Floats
from medsenteval.support.grouping import grouped
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, hash_texts

METRICS: Final = {"acc@1": "percent", "acc@5": "percent", "mrr": "fraction"}
#: So many scores are held at once (128 MiB), or more where that would be fewer queries than this.
_SCORES_AT_ONCE: Final = 1 << 24
_FEWEST_QUERIES: Final = 128
#: So many names are turned into double precision at once: all of a large terminology would not fit into memory.
_NAMES_AT_ONCE: Final = 4096
#: Scores that differ by less, as a share of the largest possible score, are equal: only rounding tells them apart.
_TIE: Final = 1e-9


@dataclass(frozen=True)
class Query:
    """What is looked up: the ``parts`` of a composite mention, which all have to be found, and the ``concepts`` they may mean.

    ``left_out`` is the row of the dictionary that this query may not find, or -1. Scores are broken down by ``traits``.
    """

    parts: tuple[str, ...]
    concepts: tuple[str, ...]
    left_out: int = -1
    traits: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ConceptDataset(Dataset):
    """Queries by their ids, the names of the dictionary, and the concepts that each name stands for."""

    queries: Mapping[str, Query] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    concepts: tuple[tuple[str, ...], ...] = ()

    def chosen(self) -> Iterator[tuple[str, Query]]:
        """Yield the queries that a limit has left, with their ids."""
        for split in self.splits.values():
            for item in split.ids:
                yield item, self.queries[item]

    def all_texts(self) -> Iterator[str]:
        for _, query in self.chosen():
            yield from query.parts
        yield from self.names

    @cached_property
    def fingerprint(self) -> str:
        queries = (f"{item}\t{'|'.join(query.concepts)}\t{query.left_out}" for item, query in self.chosen())
        parts = ("\t".join(query.parts) for _, query in self.chosen())
        return hash_texts([*queries, *parts, dictionary_hash(self.names, self.concepts)])


def dictionary_hash(names: Sequence[str], concepts: Sequence[tuple[str, ...]]) -> str:
    """Return a hash of all names with their concepts, in order: scores against another dictionary do not compare."""
    return hash_texts(f"{name}\t{'|'.join(ids)}" for name, ids in zip(names, concepts, strict=True))


def concept_dataset(
    builder: DatasetBuilder, queries: Mapping[str, Query], dictionary: Mapping[str, Sequence[str]]
) -> ConceptDataset:
    """Return a data set whose dictionary maps each name to the concepts that it stands for."""
    if not queries or not dictionary:
        raise builder.unreadable(f"{len(queries):,} queries and {len(dictionary):,} names in {builder.folder}")
    names, concepts = tuple(dictionary), tuple(map(tuple, dictionary.values()))
    split = Split(
        ids=tuple(queries),
        texts=tuple(" | ".join(query.parts) for query in queries.values()),
        groups=tuple(query.concepts[0] for query in queries.values()),
    )
    known = {concept for ids in concepts for concept in ids}
    lost = sum(not known.intersection(query.concepts) for query in queries.values())
    said = [f"{lost:,} of {len(queries):,} queries mean a concept that the dictionary does not have"] if lost else []
    builder.notes = [f"{len(names):,} names of {len(known):,} concepts in the dictionary", *said, *builder.notes]
    builder.options["dictionary-hash"] = dictionary_hash(names, concepts)[:12]
    return ConceptDataset(**builder.facts(), splits={"all": split}, queries=queries, names=names, concepts=concepts)


def rank_names(
    queries: NDArray[np.float32],
    names: NDArray[np.float32],
    right: Sequence[NDArray[np.intp]],
    left_out: Sequence[int] | NDArray[np.intp],
    score: str = "cosine",
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Rank all names for every query by cosine or dot product, the highest first.

    Returns the rank of each query's first right name, 0 if the dictionary has none, and the row of its top-ranked name.

    ``right[i]`` are the rows of names that answer query i, ``left_out[i]`` is a row that it may not find, or -1. A name that
    scores as high as the right one counts as before it: an encoder that tells nothing apart must not score.
    """
    lengths = _lengths(queries), _lengths(names)
    scales = lengths if score == "cosine" else [np.ones_like(each) for each in lengths]
    query_scales, name_scales = (np.divide(1.0, each, out=np.zeros_like(each), where=each > 0) for each in scales)
    # The highest score that each query can reach.
    largest = lengths[0] * query_scales * (lengths[1] * name_scales).max()
    ranks, nearest = np.zeros(len(queries), dtype=np.int64), np.full(len(queries), -1, dtype=np.intp)
    step = max(_FEWEST_QUERIES, _SCORES_AT_ONCE // len(names))
    held = np.empty((min(step, len(queries)), len(names)))
    for start in range(0, len(queries), step):
        left = queries[start : start + step] * query_scales[start : start + step, None]
        all_scores = held[: len(left)]
        for first in range(0, len(names), _NAMES_AT_ONCE):
            part = slice(first, first + _NAMES_AT_ONCE)
            all_scores[:, part] = left @ (names[part] * name_scales[part, None]).T
        for query, scores in enumerate(all_scores, start):
            if left_out[query] >= 0:
                scores[left_out[query]] = -np.inf
            if lengths[0][query] > 0:  # every name of a query without a vector has the same score, 0: none is nearest
                nearest[query] = scores.argmax()
            if len(right[query]):
                found = scores[right[query]]
                least = found.max() - _TIE * largest[query]
                ranks[query] = 1 + np.count_nonzero(scores >= least) - np.count_nonzero(found >= least)
    return ranks, nearest


def _lengths(vectors: NDArray[np.float32]) -> Floats:
    squares: Floats = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
    return np.sqrt(squares)


def measures_of_ranks(ranks: NDArray[np.int64]) -> Floats:
    """Return acc@1, acc@5 and the reciprocal rank of every query, a row each; rank 0 means never found."""
    found = ranks > 0
    reciprocal = np.divide(1.0, ranks, out=np.zeros(len(ranks)), where=found)
    return np.stack([(found & (ranks <= 1)).astype(float), (found & (ranks <= 5)).astype(float), reciprocal])


def evaluate_concepts(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Rank the names of the dictionary for every query; a composite mention is found where its last part is."""
    assert isinstance(dataset, ConceptDataset)
    chosen = dict(dataset.chosen())
    queries = list(chosen.values())
    rows_of = grouped((concept, row) for row, ids in enumerate(dataset.concepts) for concept in ids)
    right, left_out = [], []
    for query in queries:
        rows = {row for concept in query.concepts for row in rows_of.get(concept, ())} - {query.left_out}
        right += [np.array(sorted(rows), dtype=np.intp)] * len(query.parts)
        left_out += [query.left_out] * len(query.parts)
    parts = embeddings.matrix[embeddings.rows([part for query in queries for part in query.parts])]
    names = embeddings.matrix[embeddings.rows(dataset.names)]
    found, nearest = rank_names(parts, names, right, left_out, dataset.options["score"])
    ends = np.cumsum([len(query.parts) for query in queries])[:-1]
    ranks = np.array([part.max() if part.all() else 0 for part in np.split(found, ends)])
    answers = [
        "+".join("-" if row < 0 else "|".join(dataset.concepts[row]) for row in part) for part in np.split(nearest, ends)
    ]
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


def _with_intervals(measured: Floats, concepts: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """Return value, low and high of each metric; concepts count as independent, because queries for one concept are alike."""
    return {
        name: (float(values.mean()), *mean_share_interval(values, confidence=CONFIDENCE, clusters=concepts))
        for name, values in zip(METRICS, measured, strict=True)
    }


def _strata(traits: Mapping[str, Sequence[Any]], measured: Floats, concepts: Sequence[str]) -> dict[str, Any]:
    """Return the scores of every part of every trait: of each text, and of thirds of numbers."""
    found: dict[str, Any] = {}
    for trait, values in traits.items():
        labels = list(map(str, values)) if isinstance(values[0], str) else _thirds(values)
        found[trait] = {}
        for label in dict.fromkeys(label for _, label in sorted(zip(values, labels, strict=True))):
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
