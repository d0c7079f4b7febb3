"""Which terms may be near: neighbours in sorted lists, and what lengths and signatures leave of all terms."""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.terms.lanes import (
    LANES,
    ROW,
    count_differences,
    count_ones,
    find_at_most,
    first_one,
    load,
    prefetch,
    repeat,
)  # fmt: skip
from medsenteval.terms.measuring import fetch
from medsenteval.terms.signatures import PARTS

__all__ = ["TILE", "bound_in_tile", "look_around", "mark", "sort_by_bounds"]

#: Terms that are gone through for one query after the other: their signatures of characters, and those of pairs that are
#: looked at, stay in a core's own cache (4,096 x 80 bytes).
TILE: Final = 4096
#: Up to so many differing bits the first word of a signature mostly rules out sixteen terms at once, so the second is not
#: read; above, whether it does is hard to foresee, and asking costs more than it saves.
_FIRST_WORD_TELLS: Final = 12


@compiled_loop
def mark(done, term):  # type: ignore[no-untyped-def]
    """Note in a row of bits that a term is done; return whether it was not."""
    bit = np.uint64(1) << np.uint64(term & 63)
    word = done[term >> 6]
    done[term >> 6] = word | bit
    return (word & bit) == 0


@compiled_loop
def look_around(query, orders, ranks, reach, codes, starts, lengths, done, near):  # type: ignore[no-untyped-def]
    """Collect the neighbours of a query in sorted lists, which are mostly near, each once; return how many."""
    n = 0
    for which in range(len(orders)):
        rank = ranks[query, which]
        for place in range(max(rank - reach, 0), min(rank + reach + 1, orders.shape[1])):
            term = orders[which, place]
            # They stand all over the list, and will be measured at once.
            fetch(term, codes, starts, lengths)
            near[n] = term
            n += mark(done, term)
    return n


@compiled_loop
def bound_in_tile(  # type: ignore[no-untyped-def]
    query, length, limit, begin, end, telling, part_starts, first_words, second_words, pair_words,
    near, near_bounds, terms, bounds, n,
):  # fmt: skip
    """Add to the first n terms those from ``begin`` to ``end`` that may be within ``limit``, and their lower bounds; return
    how many there are then.

    Length and telling characters leave a stretch of the terms of each length, which signatures are compared for. ``near`` and
    ``near_bounds`` have room for a tile.
    """
    own_first, own_second = first_words[query], second_words[query]
    first, second = repeat(own_first), repeat(own_second)
    for other in range(max(length - limit, 0), min(length + limit, len(part_starts) // PARTS - 1) + 1):
        # Telling characters and others may each become more or fewer, by no more edits than the limit.
        longer = other - length
        fewest = max(telling[query] + max(longer, 0) - limit, 0)
        most = min(telling[query] + min(longer, 0) + limit, PARTS - 1)
        here, there = max(part_starts[other * PARTS + fewest], begin), min(part_starts[other * PARTS + most + 1], end)
        gap = abs(longer)
        differing_most = 2 * limit - gap
        allowed = repeat(np.uint64(differing_most))
        n_near = 0
        for block in range(here, there, 64):
            bits = np.uint64(0)
            for place in range(block, min(block + 64, there), LANES):
                differing = count_ones(load(first_words, place) ^ first)
                if differing_most <= _FIRST_WORD_TELLS and find_at_most(differing, allowed) == 0:
                    continue
                found = find_at_most(differing + count_ones(load(second_words, place) ^ second), allowed)
                bits |= found << np.uint64(place - block)
            if there - block < 64:
                bits &= (np.uint64(1) << np.uint64(there - block)) - np.uint64(1)
            # For four times sixteen terms at once: where the loop ends is hard to foresee.
            while bits != 0:
                near[n_near] = block + first_one(bits)
                # Pairs are looked at here and there: by the time they are compared, they should have come.
                prefetch(pair_words, near[n_near] * ROW)
                bits &= bits - np.uint64(1)
                n_near += 1
        # Bounds first, then what they keep: in one loop each place to write to would wait for the bound before.
        for i in range(n_near):
            term = near[i]
            ones = np.int64(count_ones(first_words[term] ^ own_first) + count_ones(second_words[term] ^ own_second))
            pairs = np.int64(count_differences(pair_words, term * ROW, query * ROW))
            near_bounds[i] = max((ones + gap + 1) >> 1, (pairs + gap + 3) >> 2)
        for i in range(n_near):
            # Written in any case, kept if near: a jump that is hard to foresee would cost more.
            terms[n], bounds[n] = near[i], near_bounds[i]
            n += np.int64(near_bounds[i] <= limit)
    return n


@compiled_loop
def sort_by_bounds(terms, bounds, n, limit, done, candidates, ends):  # type: ignore[no-untyped-def]
    """Sort the first n terms that are not done by lower bound: the likeliest first, so that the limit falls early.

    ``ends`` tells how many have a bound of at most its index, for all up to ``limit``.
    """
    ends[: limit + 3] = 0
    for i in range(n):
        term = terms[i]
        if (done[term >> 6] >> np.uint64(term & 63)) & np.uint64(1):
            bounds[i] = limit + 1
        ends[bounds[i] + 1] += 1
    for bound in range(limit + 1):
        ends[bound + 1] += ends[bound]
    for i in range(n):
        candidates[ends[bounds[i]]] = terms[i]
        ends[bounds[i]] += 1
