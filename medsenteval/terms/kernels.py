"""The compiled search for nearest terms: bounds from signatures, and the distance itself for what they leave.

Compiled with numba: the search looks at billions of pairs, a fraction of a nanosecond each, and decides anew after every hit,
which neither NumPy's whole-array operations nor rapidfuzz's whole-matrix distances can do.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.terms.bounding import TILE, bound_in_tile, look_around, mark, sort_by_bounds
from medsenteval.terms.lanes import LANES, ROW
from medsenteval.terms.measuring import STEPS, measure_candidates, room_for_measuring

__all__ = ["LANES", "ROW", "STEPS", "search_terms"]

#: Queries that go through the signatures together: what one brings into the cache serves the others too.
_TOGETHER: Final = 32


@compiled_loop
def _doubled(values):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(values), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


@compiled_loop
def search_terms(  # type: ignore[no-untyped-def]
    queries, wanted, excluded_starts, excluded,
    codes, starts, lengths, length_starts, n_characters, telling, part_starts,
    first_words, second_words, pair_words,
    orders, ranks, reach,
):  # fmt: skip
    """Return (numbers, terms, distances): for each query all terms up to the distance at which ``wanted`` are reached.

    Terms are numbered by length; those of length l are ``length_starts[l]`` to ``length_starts[l + 1]``. Within a length they
    are in order of ``telling``, their number of telling characters; ``part_starts[l * PARTS + t]`` is where those with t begin.
    ``first_words`` and ``second_words`` are signatures of characters, ``pair_words`` of pairs of them. Ties at the last
    distance are all there. Queries that stand side by side should be of similar lengths.
    """
    n_terms, longest = len(lengths), len(length_starts) - 2
    room = room_for_measuring(n_terms, longest, n_characters)
    most_around = (2 * reach + 1) * len(orders)
    # The neighbours in all lists, repeated as they may be, or all terms in order of bounds.
    candidates = np.empty(n_terms + most_around, dtype=np.int32)
    ends = np.zeros(longest + 3, dtype=np.int64)
    near, near_bounds = np.empty(TILE, dtype=np.int64), np.empty(TILE, dtype=np.int32)
    # For each query that is searched for together with others: a bit for each term that was measured, or is excluded; the
    # limit and the hits that the neighbours gave; and what the bounds left of all terms.
    done = np.zeros((_TOGETHER, (n_terms >> 6) + 1), dtype=np.uint64)
    limits, n_hits, n_bounded = np.zeros((3, _TOGETHER), dtype=np.int64)
    hits = np.empty((_TOGETHER, most_around, 2), dtype=np.int32)
    bounded, bounds = np.empty((2, _TOGETHER, n_terms + 1), dtype=np.int32)
    terms, distances = np.empty(4096, dtype=np.int32), np.empty(4096, dtype=np.int32)
    numbers = np.zeros(len(queries), dtype=np.int64)
    n_found = 0
    for first in range(0, len(queries), _TOGETHER):
        together = min(_TOGETHER, len(queries) - first)
        done[:] = 0
        begin, end = n_terms, 0
        # First what is near in sorted lists, so that the limit is low from the start.
        for turn in range(together):
            number, query = first + turn, queries[first + turn]
            mark(done[turn], query)
            for place in range(excluded_starts[number], excluded_starts[number + 1]):
                mark(done[turn], excluded[place])
            ends[:] = look_around(query, orders, ranks, reach, codes, starts, lengths, done[turn], candidates)
            n_hits[turn], limits[turn] = measure_candidates(
                room, query, codes, starts, lengths, candidates, ends, longest, wanted[number], 0
            )
            hits[turn, : n_hits[turn]] = room.hits[: n_hits[turn]]
            begin = min(begin, length_starts[max(lengths[query] - limits[turn], 0)])
            end = max(end, length_starts[min(lengths[query] + limits[turn], longest) + 1])
        # Then all that it leaves.
        n_bounded[:] = 0
        for tile in range(begin, end, TILE):
            for turn in range(together):
                query = queries[first + turn]
                n_bounded[turn] = bound_in_tile(
                    query, lengths[query], limits[turn], tile, min(tile + TILE, end), telling, part_starts,
                    first_words, second_words, pair_words, near, near_bounds, bounded[turn], bounds[turn], n_bounded[turn],
                )  # fmt: skip
        for turn in range(together):
            number = first + turn
            sort_by_bounds(bounded[turn], bounds[turn], n_bounded[turn], limits[turn], done[turn], candidates, ends)
            room.hits[: n_hits[turn]] = hits[turn, : n_hits[turn]]
            numbers[number], _ = measure_candidates(
                room, queries[number], codes, starts, lengths, candidates, ends, limits[turn], wanted[number], n_hits[turn]
            )
            while n_found + numbers[number] > len(terms):
                terms, distances = _doubled(terms), _doubled(distances)
            terms[n_found : n_found + numbers[number]] = room.hits[: numbers[number], 0]
            distances[n_found : n_found + numbers[number]] = room.hits[: numbers[number], 1]
            n_found += numbers[number]
    return numbers, terms[:n_found].copy(), distances[:n_found].copy()
