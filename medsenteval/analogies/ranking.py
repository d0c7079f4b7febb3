"""The rank of every right answer among all candidates, without sorting and without storing a score.

An answer's rank is one more than the number of candidates that score higher, equal ones counted by their order in the
candidate list. Blocks of candidates that fit into a core's cache are multiplied with a group of exemplars and queries
in float32; whatever is closer than float32 can tell is decided by the exact score. The ranks are therefore those of a full
float64 sort, at little more than the cost of the factored products.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.analogies.counting import Asked, counter_for
from medsenteval.analogies.scores import Score
from medsenteval.cores import available_cores

__all__ = ["Triples", "rank_answers"]

Rows = NDArray[np.intp]

#: Candidates of a block: their products with a group's terms stay in the last cache, and threads seldom wait for each other.
_BLOCK: Final = 4096
#: Exemplars and queries of a group together; BMASS's relations have 50 of each.
_GROUP_ROWS: Final = 512


@dataclass(frozen=True, eq=False)
class Triples:
    """Answers to be ranked: row i asks for candidate ``answers[i]`` under exemplar ``exemplars[i]`` and query ``queries[i]``.

    ``groups[i]`` says which triples share exemplars and queries (a relation); it decides the cost, not the outcome.
    """

    exemplars: Rows
    queries: Rows
    answers: Rows
    groups: Rows

    def __len__(self) -> int:
        return len(self.answers)

    def take(self, rows: Rows) -> Triples:
        return Triples(self.exemplars[rows], self.queries[rows], self.answers[rows], self.groups[rows])


@dataclass(frozen=True, eq=False)
class _Group:
    """Triples that are counted together: their place in the whole, the exemplars and queries among them, and rows therein."""

    triples: Rows
    exemplars: Rows
    queries: Rows
    asked: Asked


def rank_answers(score: Score, triples: Triples) -> NDArray[np.int64]:
    """Return the rank of each triple's answer among all candidates, 1 for the best; ties go to the earlier candidate."""
    n_candidates = len(score.candidates)
    if not len(triples):
        return np.zeros(0, dtype=np.int64)
    count = counter_for(score.candidates.compiled)
    exact = score.exact(triples.exemplars, triples.queries, triples.answers)
    constants = score.constants(triples.exemplars, triples.queries, exact)
    groups = [(group, constants.take(group.triples)) for group in _grouped(triples)]
    order = np.concatenate([group.triples for group, _ in groups])
    starts = range(0, n_candidates, _BLOCK)
    n_spans = min(len(starts), 16 * available_cores())
    spans = [starts[len(starts) * i // n_spans : len(starts) * (i + 1) // n_spans] for i in range(n_spans)]

    def count_span(span: range) -> NDArray[np.int64]:
        # In the order of the groups; ``order`` leads back.
        better = np.zeros(len(triples), dtype=np.int64)
        for start in span:
            block = slice(start, min(start + _BLOCK, n_candidates))
            begin = 0
            for group, group_constants in groups:
                factors = score.factors(block, group.exemplars, group.queries)
                counts = count(score.form, factors, group.asked, group_constants)
                better[begin : begin + len(group.triples)] += counts.better
                rows, places = group.triples[counts.unclear_answers], counts.unclear_places + start
                if len(rows):
                    rivals = score.exact(triples.exemplars[rows], triples.queries[rows], places)
                    ahead = (rivals > exact[rows]) | ((rivals == exact[rows]) & (places < triples.answers[rows]))
                    np.add.at(better, begin + counts.unclear_answers[ahead], 1)
                begin += len(group.triples)
        return better

    from threadpoolctl import threadpool_limits

    # Threads work on different candidates; the matrix products of each must not start threads of their own.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(available_cores()) as pool:
        better = np.sum(list(pool.map(count_span, spans)), axis=0, dtype=np.int64)
    ranks = np.empty(len(triples), dtype=np.int64)
    ranks[order] = better + 1
    return ranks


def _grouped(triples: Triples) -> list[_Group]:
    """Cut the triples into groups of few exemplars and queries, so that each product is used as often as possible."""
    order = np.lexsort((triples.queries, triples.exemplars, triples.groups))
    key = np.zeros(len(order), dtype=np.intp)
    sorted_groups = triples.groups[order]
    for begin, end in _runs(sorted_groups):
        part = triples.take(order[begin:end])
        half = _GROUP_ROWS // 2
        exemplar_tiles = np.unique(part.exemplars, return_inverse=True)[1] // half
        query_tiles = np.unique(part.queries, return_inverse=True)[1] // half
        key[begin:end] = exemplar_tiles * (query_tiles.max() + 1) + query_tiles
    tiles = np.lexsort((key, sorted_groups))
    order, key, sorted_groups = order[tiles], key[tiles], sorted_groups[tiles]
    changes = np.flatnonzero((np.diff(key) != 0) | (np.diff(sorted_groups) != 0)) + 1
    edges = [0, *changes.tolist(), len(order)]
    made: list[_Group] = []
    begin = 0
    for i in range(1, len(edges)):
        # Small groups are joined as long as their exemplars and queries together stay few.
        if i + 1 < len(edges) and _n_rows(triples.take(order[begin : edges[i + 1]])) <= _GROUP_ROWS:
            continue
        made.append(_group(triples, order[begin : edges[i]]))
        begin = edges[i]
    return made


def _n_rows(triples: Triples) -> int:
    return len(np.unique(triples.exemplars)) + len(np.unique(triples.queries))


def _group(triples: Triples, rows: Rows) -> _Group:
    rows = rows[np.lexsort((triples.exemplars[rows], triples.answers[rows], triples.queries[rows]))]
    exemplars, exemplar_rows = np.unique(triples.exemplars[rows], return_inverse=True)
    queries, query_rows = np.unique(triples.queries[rows], return_inverse=True)
    changes = np.flatnonzero((np.diff(triples.answers[rows]) != 0) | (np.diff(query_rows) != 0)) + 1
    runs = np.concatenate([[0], changes, [len(rows)]]).astype(np.intp)
    return _Group(rows, exemplars, queries, Asked(exemplar_rows.astype(np.intp), query_rows.astype(np.intp), runs))


def _runs(values: Rows) -> list[tuple[int, int]]:
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(edges))
