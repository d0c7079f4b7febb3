"""The compiled search for nearest terms: a lower bound of the Levenshtein distance, and the distance itself where it is low.

One edit takes at most one character away and adds at most one. So the numbers of each character differ by at most 2 d - g in
all between terms at distance d whose lengths differ by g (the bag distance of Bartolini, Ciaccia and Patella 2002). That stays
true where several characters count as one and where counts stop at a highest number.

Distances are computed by Myers' bit-parallel algorithm (1999) in Hyyrö's form (2003): a word holds the vertical differences of
one column of the table of distances, and a few operations lead to the next column. The distance is counted along the diagonal
that ends in the last cell. Values never fall along a diagonal, so a term is given up as soon as that one is above the limit.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.support.compiling import compiled_loop

#: Neighbours on each side in a sorted list that give the first limit.
_REACH: Final = 12
#: Characters that are counted; the last one stands for all rarer ones too.
_COUNTED: Final = 24
#: Counts stop here, so that the sum of all differences fits into a byte.
_HIGHEST: Final = 255 // _COUNTED
#: Terms that are skipped together when none of them is near enough.
_BLOCK: Final = 64


@compiled_loop
def count_characters(codes, starts):  # type: ignore[no-untyped-def]
    """Return how often each character comes in each term: a row for each character, which are numbered by frequency."""
    counts = np.zeros((_COUNTED, len(starts) - 1), dtype=np.uint8)
    for term in range(len(starts) - 1):
        for place in range(starts[term], starts[term + 1]):
            character = min(np.int64(codes[place]), _COUNTED - 1)
            counts[character, term] += counts[character, term] < _HIGHEST
    return counts


@compiled_loop
def keep_by_characters(counts, query, begin, end, most, differing, near):  # type: ignore[no-untyped-def]
    """Put the terms from ``begin`` to ``end`` whose numbers of characters differ by at most ``most`` from those of the query
    into ``near``; return how many these are. ``differing`` has room for a number for each term.

    The two inner loops over all terms are plain enough for the compiler to handle 32 terms at a time.
    """
    n_terms = end - begin
    differing[:n_terms] = 0
    for character in range(len(counts)):
        row, own = counts[character, begin:end], counts[character, query]
        for i in range(n_terms):
            differing[i] += row[i] - own if row[i] > own else own - row[i]
    n_near = 0
    for block in range(0, n_terms, _BLOCK):
        block_end = min(block + _BLOCK, n_terms)
        least = differing[block]
        for i in range(block, block_end):
            least = min(least, differing[i])
        if least <= most:
            for i in range(block, block_end):
                # Written in any case and kept if near enough: a branch here would mostly be predicted wrongly.
                near[n_near] = begin + i
                n_near += np.int64(differing[i] <= most)
    return n_near


@compiled_loop
def _measure(masks, length, codes, begin, end, limit, horizontal):  # type: ignore[no-untyped-def]
    """Return the distance of the query to a term, or a number above ``limit`` if it is above.

    ``masks`` says at which places of the query each character stands, in words of 64 places. Goes through the columns once for
    each 64 rows; ``horizontal`` hands the differences along the last row on to the next 64.
    """
    one = np.uint64(1)
    longer = length - (end - begin)
    distance = abs(longer)
    if distance > limit:
        return distance
    horizontal[: end - begin] = 1
    for block in range((length + 63) >> 6):
        plus, minus = ~np.uint64(0), np.uint64(0)
        for place in range(end - begin):
            carry_plus, carry_minus = np.uint64(horizontal[place] == 1), np.uint64(horizontal[place] == -1)
            matches = masks[block, codes[begin + place]] | carry_minus
            diagonal = (((matches & plus) + plus) ^ plus) | matches | minus
            horizontal_plus, horizontal_minus = minus | ~(diagonal | plus), diagonal & plus
            horizontal[place] = np.int64(horizontal_plus >> np.uint64(63)) - np.int64(horizontal_minus >> np.uint64(63))
            horizontal_plus = (horizontal_plus << one) | carry_plus
            plus = ((horizontal_minus << one) | carry_minus) | ~(diagonal | horizontal_plus)
            minus = horizontal_plus & diagonal
            row = place + longer
            if row >> 6 == block:
                distance += np.int64(((diagonal >> np.uint64(row & 63)) & one) ^ one)
                if distance > limit:
                    return distance
    return distance


@compiled_loop
def _keep_hits(hits, n_hits, stamp, terms, distances, n, limit, wanted, seen, tally):  # type: ignore[no-untyped-def]
    """Add those of n terms that are within the limit, and that the query has not met before, to the first hits.

    Return the hits, how many there are, and the new limit: the distance within which ``wanted`` terms have been found.
    """
    for i in range(n):
        if distances[i] <= limit and seen[terms[i]] != stamp:
            if n_hits == len(hits):
                smaller, hits = hits, np.empty((2 * n_hits, 3), dtype=np.int32)
                for j in range(n_hits):
                    hits[j, 0], hits[j, 1], hits[j, 2] = smaller[j, 0], smaller[j, 1], smaller[j, 2]
            hits[n_hits, 0], hits[n_hits, 1], hits[n_hits, 2] = stamp - 1, distances[i], terms[i]
            n_hits += 1
            tally[distances[i]] += 1
        seen[terms[i]] = stamp
    reached = 0
    for distance in range(limit):
        reached += tally[distance]
        if reached >= wanted:
            return hits, n_hits, distance
    return hits, n_hits, limit


@compiled_loop
def search_terms(  # type: ignore[no-untyped-def]
    queries, wanted, excluded_starts, excluded, codes, n_characters, starts, length_starts, counts, orders, ranks
):
    """Return rows (number of the query, distance, term): all terms up to the distance at which ``wanted`` are reached.

    Terms are in order of length; those of length l are ``length_starts[l]`` to ``length_starts[l + 1]``. A query must be among
    what is excluded for it. Loops stand where NumPy would have a slice: they compile in a fraction of the time.
    """
    longest, n_near = len(length_starts) - 2, 2 * _REACH + 1
    for length in range(longest + 1):
        n_near = max(n_near, length_starts[length + 1] - length_starts[length] + 1)
    differing, near = np.empty(n_near, dtype=np.uint8), np.empty(n_near, dtype=np.int32)
    distances = np.empty(n_near, dtype=np.int64)
    masks = np.zeros(((longest + 63) >> 6, n_characters), dtype=np.uint64)
    horizontal, tally = np.empty(longest, dtype=np.int8), np.empty(longest + 1, dtype=np.int64)
    # The number of the query, from one on, by which a term was excluded or measured last.
    seen = np.zeros(len(starts) - 1, dtype=np.int32)
    hits, n_hits = np.empty((4096, 3), dtype=np.int32), 0
    for number in range(len(queries)):
        query, stamp, limit, first_hit = queries[number], number + 1, longest, n_hits
        length = starts[query + 1] - starts[query]
        for place in range(length):
            masks[place >> 6, codes[starts[query] + place]] |= np.uint64(1) << np.uint64(place & 63)
        tally[:] = 0
        for i in range(excluded_starts[number], excluded_starts[number + 1]):
            seen[excluded[i]] = stamp
        # First what is near in sorted lists, so that the limit is low from the start.
        for which in range(len(orders)):
            n, rank = 0, ranks[which, query]
            for place in range(max(rank - _REACH, 0), min(rank + _REACH + 1, orders.shape[1])):
                term = orders[which, place]
                if seen[term] != stamp:
                    near[n] = term
                    distances[n] = _measure(masks, length, codes, starts[term], starts[term + 1], limit, horizontal)
                    n += 1
            hits, n_hits, limit = _keep_hits(hits, n_hits, stamp, near, distances, n, limit, wanted[number], seen, tally)
        # Then all that the limit leaves, terms of similar length first.
        for step in range(2 * longest):
            gap = (step + 1) >> 1
            other = length + gap if step & 1 else length - gap
            if gap > limit or other < 1 or other > longest:
                continue
            n = keep_by_characters(
                counts, query, length_starts[other], length_starts[other + 1], 2 * limit - gap, differing, near
            )
            for i in range(n):
                distances[i] = _measure(masks, length, codes, starts[near[i]], starts[near[i] + 1], limit, horizontal)
            hits, n_hits, limit = _keep_hits(hits, n_hits, stamp, near, distances, n, limit, wanted[number], seen, tally)
        kept = first_hit
        for i in range(first_hit, n_hits):
            hits[kept, 0], hits[kept, 1], hits[kept, 2] = hits[i, 0], hits[i, 1], hits[i, 2]
            kept += np.int64(hits[i, 1] <= limit)
        n_hits = kept
        for place in range(length):
            masks[place >> 6, codes[starts[query] + place]] = 0
    return hits[:n_hits]
