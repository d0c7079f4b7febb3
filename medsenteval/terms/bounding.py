"""Which terms may be near: neighbours in sorted lists, and what lengths and signatures leave of all terms."""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.terms.lanes import (
    LANES,
    ROW,
    add_differences,
    count_differences,
    find_at_most,
    first_one,
    load,
    prefetch,
    repeat,
    store,
)  # fmt: skip
from medsenteval.terms.measuring import fetch
from medsenteval.terms.signatures import PARTS

__all__ = ["BLOCK", "TILE", "bound_in_tile", "clear", "look_around", "mark_all", "sort_by_bounds"]

#: Terms that are gone through for one query after the other: their signatures of characters, and those of pairs that are
#: looked at, stay in a core's own cache (4,096 x 88 bytes).
TILE: Final = 4096
#: Terms whose bounds are looked at together: where a loop over what is left of them ends is hard to foresee.
BLOCK: Final = 64


@compiled_loop
def _mark(marked, term):  # type: ignore[no-untyped-def]
    """Mark a term in a row of bits; return whether it was not."""
    bit = np.uint64(1) << np.uint64(term & 63)
    word = marked[term >> 6]
    marked[term >> 6] = word | bit
    return (word & bit) == 0


@compiled_loop
def mark_all(marked, terms):  # type: ignore[no-untyped-def]
    for term in terms:
        _mark(marked, term)


@compiled_loop
def clear(marked, terms):  # type: ignore[no-untyped-def]
    """Take the marks of these terms away, and of others near by: all are to go."""
    for term in terms:
        marked[term >> 6] = np.uint64(0)


@compiled_loop
def look_around(query, orders, ranks, reach, codes, starts, lengths, marked, near, n):  # type: ignore[no-untyped-def]
    """Add the neighbours of a query in sorted lists, which are mostly near, to the first n terms; return how many there are.

    Those that are marked are left out, the others are marked then.
    """
    for which in range(len(orders)):
        rank = ranks[query, which]
        for place in range(max(rank - reach, 0), min(rank + reach + 1, orders.shape[1])):
            term = orders[which, place]
            # They stand all over the list, and will be measured at once.
            fetch(term, codes, starts, lengths)
            near[n] = term
            n += _mark(marked, term)
    return n


@compiled_loop
def bound_in_tile(  # type: ignore[no-untyped-def]
    query, limit, begin, end, lengths, telling, part_starts, character_words, pair_words,
    block_differing, near, near_bounds, terms, bounds, n,
):  # fmt: skip
    """Add to the first n terms those from ``begin`` to ``end`` that may be within ``limit``, and their lower bounds; return
    how many there are then.

    Length and telling characters leave a stretch of the terms of each length, which signatures are compared for. ``near`` and
    ``near_bounds`` have room for a tile, ``block_differing`` for a block.
    """
    length = lengths[query]
    first, second, third = (
        repeat(character_words[0, query]), repeat(character_words[1, query]), repeat(character_words[2, query])
    )  # fmt: skip
    for other in range(max(length - limit, lengths[begin]), min(length + limit, lengths[end - 1]) + 1):
        # Telling characters and others may each become more or fewer, by no more edits than the limit.
        longer = other - length
        fewest = max(telling[query] + max(longer, 0) - limit, 0)
        most = min(telling[query] + min(longer, 0) + limit, PARTS - 1)
        here, there = max(part_starts[other * PARTS + fewest], begin), min(part_starts[other * PARTS + most + 1], end)
        gap = abs(longer)
        allowed = repeat(np.uint64(2 * limit - gap))
        n_near = 0
        for block in range(here, there, BLOCK):
            bits = np.uint64(0)
            for place in range(block, min(block + BLOCK, there), LANES):
                differing = (
                    add_differences(load(character_words, (0, place)), first)
                    + add_differences(load(character_words, (1, place)), second)
                    + add_differences(load(character_words, (2, place)), third)
                )
                bits |= find_at_most(differing, allowed) << np.uint64(place - block)
                store(block_differing, place - block, differing)
            if there - block < BLOCK:
                bits &= (np.uint64(1) << np.uint64(there - block)) - np.uint64(1)
            while bits != 0:
                near[n_near] = block + first_one(bits)
                near_bounds[n_near] = (np.int64(block_differing[first_one(bits)]) + gap + 1) >> 1
                # Pairs are looked at here and there: by the time they are compared, they should have come.
                prefetch(pair_words, near[n_near] * ROW)
                bits &= bits - np.uint64(1)
                n_near += 1
        # Bounds first, then what they keep: in one loop each place to write to would wait for the bound before.
        for i in range(n_near):
            pairs = np.int64(count_differences(pair_words, near[i] * ROW, query * ROW))
            near_bounds[i] = max(near_bounds[i], (pairs + gap + 3) >> 2)
        for i in range(n_near):
            # Written in any case, kept if near: a jump that is hard to foresee would cost more.
            terms[n], bounds[n] = near[i], near_bounds[i]
            n += np.int64(near_bounds[i] <= limit)
    return n


@compiled_loop
def sort_by_bounds(terms, bounds, n, limit, marked, candidates, ends):  # type: ignore[no-untyped-def]
    """Sort the first n terms that are not marked by lower bound: the likeliest first, so that the limit falls early.

    ``ends`` tells how many have a bound of at most its index, for all up to ``limit``.
    """
    ends[: limit + 3] = 0
    for i in range(n):
        term = terms[i]
        if (marked[term >> 6] >> np.uint64(term & 63)) & np.uint64(1):
            bounds[i] = limit + 1
        ends[bounds[i] + 1] += 1
    for bound in range(limit + 1):
        ends[bound + 1] += ends[bound]
    for i in range(n):
        candidates[ends[bounds[i]]] = terms[i]
        ends[bounds[i]] += 1
