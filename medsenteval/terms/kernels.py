"""The compiled search for nearest terms: bounds from signatures, and the distance itself for what they leave.

Compiled with numba: the search looks at billions of pairs, a fraction of a nanosecond each, and decides anew after every hit,
which neither NumPy's whole-array operations nor rapidfuzz's whole-matrix distances can do.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.terms.bounding import BLOCK, TILE, bound_in_tile, clear, look_around, mark_all, sort_by_bounds
from medsenteval.terms.lanes import LANES, ROW
from medsenteval.terms.measuring import STEPS, measure_candidates, room_for_measuring

__all__ = ["LANES", "ROW", "STEPS", "Searching", "room_for_searching", "search_terms"]

#: Queries that go through the signatures together: what one brings into the cache serves the others too.
_TOGETHER: Final = 32
#: Neighbours on each side in a sorted list that give the first limit; more of them where it is not low then: a search up to a
#: high limit takes so much longer than one to the next lower limit that looking further pays.
_REACH: Final = 8
_FAR_REACH: Final = 32
_LOW: Final = 12


class Searching(NamedTuple):
    """Room that a search works in: made once for each thread, as asking for so much and giving it back takes time."""

    measuring: Any
    #: The neighbours in all lists, repeated as they may be, or all terms in order of bounds.
    candidates: Any
    ends: Any
    #: Of a block and of a tile: what differs in signatures, what may be near, and its bounds.
    differing: Any
    near: Any
    near_bounds: Any
    #: A bit for each term, to mark some of them.
    marked: Any
    #: For each query that is searched for together with others: the limit that its neighbours gave, and what the bounds left
    #: of all terms.
    limits: Any
    n_bounded: Any
    bounded: Any
    bounds: Any


@compiled_loop
def room_for_searching(n_terms, longest, n_characters, n_lists):  # type: ignore[no-untyped-def]
    """Return room for a search among so many terms that begins in so many sorted lists."""
    limits, n_bounded = np.zeros((2, _TOGETHER), dtype=np.int64)
    bounded, bounds = np.empty((2, _TOGETHER, n_terms + 1), dtype=np.int32)
    return Searching(
        room_for_measuring(n_terms, longest, n_characters),
        np.empty(n_terms + (2 * _FAR_REACH + 1) * n_lists, dtype=np.int32),
        np.zeros(longest + 3, dtype=np.int64),
        np.empty(BLOCK, dtype=np.uint64),
        np.empty(TILE, dtype=np.int64),
        np.empty(TILE, dtype=np.int32),
        np.zeros((n_terms >> 6) + 1, dtype=np.uint64),
        limits,
        n_bounded,
        bounded,
        bounds,
    )


@compiled_loop
def _doubled(values):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(values), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


@compiled_loop
def search_terms(  # type: ignore[no-untyped-def]
    room, queries, wanted, excluded_starts, excluded,
    codes, starts, lengths, length_starts, telling, part_starts,
    character_words, pair_words,
    orders, ranks,
):  # fmt: skip
    """Return (numbers, terms, distances): for each query all terms up to the distance at which ``wanted`` are reached.

    Terms are numbered by length; those of length l are ``length_starts[l]`` to ``length_starts[l + 1]``. Within a length they
    are in order of ``telling``, their number of telling characters; ``part_starts[l * PARTS + t]`` is where those with t begin.
    ``character_words`` are signatures of characters, ``pair_words`` of pairs of them. Ties at the last distance are all
    there. Queries that stand side by side should be of similar lengths. A query must be among what is excluded for it.
    """
    n_terms, longest = len(lengths), len(length_starts) - 2
    measuring, candidates, ends, marked = room.measuring, room.candidates, room.ends, room.marked
    limits, n_bounded, bounded, bounds = room.limits, room.n_bounded, room.bounded, room.bounds
    terms, distances = np.empty(4096, dtype=np.int32), np.empty(4096, dtype=np.int32)
    numbers = np.zeros(len(queries), dtype=np.int64)
    n_found = 0
    for first in range(0, len(queries), _TOGETHER):
        together = min(_TOGETHER, len(queries) - first)
        begin, end = n_terms, 0
        # First what is near in sorted lists, so that the limit is low from the start.
        for turn in range(together):
            number, query = first + turn, queries[first + turn]
            hidden = excluded[excluded_starts[number] : excluded_starts[number + 1]]
            mark_all(marked, hidden)
            limits[turn], n_around = longest, 0
            for reach in (_REACH, _FAR_REACH):
                n_around = look_around(query, orders, ranks, reach, codes, starts, lengths, marked, candidates, n_around)
                ends[:] = n_around
                _, limits[turn] = measure_candidates(
                    measuring, query, codes, starts, lengths, candidates, ends, limits[turn], wanted[number]
                )
                if limits[turn] <= _LOW:
                    break
            clear(marked, hidden)
            clear(marked, candidates[:n_around])
            begin = min(begin, length_starts[max(lengths[query] - limits[turn], 0)])
            end = max(end, length_starts[min(lengths[query] + limits[turn], longest) + 1])
        # Then all that it leaves.
        n_bounded[:] = 0
        for tile in range(begin, end, TILE):
            for turn in range(together):
                n_bounded[turn] = bound_in_tile(
                    queries[first + turn], limits[turn], tile, min(tile + TILE, end), lengths, telling, part_starts,
                    character_words, pair_words, room.differing, room.near, room.near_bounds,
                    bounded[turn], bounds[turn], n_bounded[turn],
                )  # fmt: skip
        for turn in range(together):
            number, query = first + turn, queries[first + turn]
            hidden = excluded[excluded_starts[number] : excluded_starts[number + 1]]
            mark_all(marked, hidden)
            sort_by_bounds(bounded[turn], bounds[turn], n_bounded[turn], limits[turn], marked, candidates, ends)
            clear(marked, hidden)
            # Neighbours are measured again: to sort them out would take longer.
            n, _ = measure_candidates(measuring, query, codes, starts, lengths, candidates, ends, limits[turn], wanted[number])
            while n_found + n > len(terms):
                terms, distances = _doubled(terms), _doubled(distances)
            terms[n_found : n_found + n] = measuring.hits[:n, 0]
            distances[n_found : n_found + n] = measuring.hits[:n, 1]
            numbers[number] = n
            n_found += n
    return numbers, terms[:n_found].copy(), distances[:n_found].copy()
