"""The compiled search for nearest terms: sorted lists for a first limit, lower bounds, and the distance for what they leave.

Near terms often stand side by side in sorted lists: whoever looks around a term finds a good one at once. Two lists are in
order of the letters, from the front and from the back. The others are in order of min-hashes (Broder 1997): of all runs of
four characters of a term, the one that comes first in an order drawn at random. Two terms have the same first run as often as
they share runs. Nothing exact rests on these lists.

Lower bounds of the distance cost a fraction of it. One edit takes at most one character away and adds at most one. So the
numbers of each character differ by at most 2 d - g in all between terms at distance d whose lengths differ by g (the bag
distance of Bartolini, Ciaccia and Patella 2002). One edit takes at most two pairs of neighbouring characters away and adds at
most two, so numbers of pairs differ by at most 4 d - g (the q-gram distance of Ukkonen 1992). Both stay true where several
characters count as one, where counts stop at a highest number, and where several pairs share a bit.

Distances are computed by Myers' bit-parallel algorithm (1999) in Hyyrö's form (2003): a word holds the vertical differences of
one column of the table of distances, and a few operations lead to the next column. The distance is counted along the diagonal
that ends in the last cell. Values never fall along a diagonal, so a term is given up as soon as that one is above the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Counts
from medsenteval.support.compiling import compiled_loop
from medsenteval.support.cores import available_cores

_HASHED_LISTS: Final = 10
_RUN: Final = 4
#: Characters that are counted; the last one stands for all rarer ones too.
_COUNTED: Final = 24
#: Counts stop here, so that the sum of all differences fits into a byte.
_HIGHEST: Final = 255 // _COUNTED
#: Words of 64 bits that mark the pairs of a term.
_WORDS: Final = 8
#: Neighbours on each side in a sorted list that give the first limit.
_REACH: Final = 8
#: Diagonals that ``_measure_together`` follows: it serves for limits below.
_BAND: Final = 32
#: Terms that it measures side by side.
_TOGETHER: Final = 32


def sort_in_many_ways(
    texts: Sequence[str], codes: NDArray[np.unsignedinteger], starts: Counts
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the terms in each order, and at which place of each order a term stands: for each term one row of places."""
    backwards = [text[::-1] for text in texts]
    orders = [np.array(sorted(range(len(texts)), key=keys.__getitem__)) for keys in (texts, backwards)]
    seeds = np.random.default_rng(0).integers(1, 1 << 63, size=_HASHED_LISTS, dtype=np.uint64)
    with ThreadPoolExecutor(available_cores()) as pool:
        orders += pool.map(lambda seed: np.argsort(_hash_runs(codes, starts, seed), kind="stable"), seeds)
    ranks = np.empty((len(texts), len(orders)), dtype=np.int32)
    for which, order in enumerate(orders):
        ranks[order, which] = np.arange(len(texts))
    return np.array(orders, dtype=np.int32), ranks


@compiled_loop
def _hash_runs(codes, starts, seed):  # type: ignore[no-untyped-def]
    """Return for each term the lowest hash of its runs."""
    keys = np.empty(len(starts) - 1, dtype=np.uint64)
    for term in range(len(keys)):
        end, lowest = starts[term + 1], ~np.uint64(0)
        for place in range(starts[term], max(end - _RUN, starts[term]) + 1):
            run = np.uint64(0)
            for i in range(place, min(place + _RUN, end)):
                run = (run << np.uint64(16)) ^ (np.uint64(codes[i]) + np.uint64(1))
            # A multiplication and the high bits mix well enough for an order that looks drawn.
            mixed = (run ^ seed) * np.uint64(0x9E3779B97F4A7C15)
            lowest = min(lowest, (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93))
        keys[term] = lowest
    return keys


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
def mark_pairs(codes, starts):  # type: ignore[no-untyped-def]
    """Return a row of words for each term in which the k-th occurrence of a pair of characters sets a bit, found by hashing."""
    marks = np.zeros((len(starts) - 1, _WORDS), dtype=np.uint64)
    for term in range(len(starts) - 1):
        for place in range(starts[term], starts[term + 1] - 1):
            before = 0
            for other in range(starts[term], place):
                before += codes[other] == codes[place] and codes[other + 1] == codes[place + 1]
            pair = (np.uint64(codes[place]) << np.uint64(32)) + np.uint64(codes[place + 1])
            hashed = (pair * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(before + 1) * np.uint64(0xD6E8FEB86659FD93))
            bit = (hashed ^ (hashed >> np.uint64(32))) % np.uint64(64 * _WORDS)
            marks[term, bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
    return marks


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
    for i in range(n_terms):
        # Written in any case and kept if near enough: a branch here would mostly be predicted wrongly.
        near[n_near] = begin + i
        n_near += np.int64(differing[i] <= most)
    return n_near


@compiled_loop
def _ones(word):  # type: ignore[no-untyped-def]
    """Return the number of bits that are set: LLVM makes one instruction of this."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return (((word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled_loop
def keep_by_pairs(marks, query, near, n_near, most):  # type: ignore[no-untyped-def]
    """Keep of the first terms in ``near`` those whose marks differ in at most ``most`` bits; return how many are left."""
    kept = 0
    for i in range(n_near):
        differing = np.uint64(0)
        for word in range(marks.shape[1]):
            differing += _ones(marks[near[i], word] ^ marks[query, word])
        near[kept] = near[i]
        kept += np.int64(np.int64(differing) <= most)
    return kept


@compiled_loop
def _set_masks(masks, windows, codes, begin, end):  # type: ignore[no-untyped-def]
    """Note at which places of the query each character stands: in words of 64 places, and in windows of ``_BAND`` places.

    Bit b of window w tells of place w - (_BAND - 1) + b.
    """
    for place in range(end - begin):
        character = codes[begin + place]
        masks[place >> 6, character] |= np.uint64(1) << np.uint64(place & 63)
        for back in range(_BAND):
            windows[place + back, character] |= np.uint32(1) << np.uint32(_BAND - 1 - back)


@compiled_loop
def _measure(masks, length, codes, begin, end, limit, horizontal):  # type: ignore[no-untyped-def]
    """Return the distance of the query to a term, or a number above ``limit`` if it is above.

    Goes through the columns once for each 64 rows; ``horizontal`` hands the differences along the last row on to the next 64.
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
def _measure_together(  # type: ignore[no-untyped-def]
    windows, length, codes, starts, terms, first, n, width, begins, work, distances
):
    """Put the distances of the query to the terms from place ``first`` on, ``_TOGETHER`` of n terms, into ``distances``; a
    higher number may stand for a distance of ``_BAND`` or more. All are of ``width`` characters.

    A path of d edits through the table stays on d + 1 diagonals around the one that ends in the last cell. So one short word is
    enough for terms of any length; it moves down by one row with every column. Above the first row the table goes on as if no
    character matched: cells there do not lower the ones that count. The compiler handles several terms at a time in the second
    of the inner loops; in one loop with the look-ups it would not.
    """
    distance, plus, minus, matches = work[0], work[1], work[2], work[3]
    one = np.uint32(1)
    longer = length - width
    top = (longer - (_BAND - 1)) >> 1
    last = np.uint32(longer - top)
    for i in range(_TOGETHER):
        begins[i] = starts[terms[min(first + i, n - 1)]]
        distance[i], plus[i], minus[i] = max(longer, 0), np.uint32(0xFFFFFFFF) << np.uint32(-top), 0
    for place in range(width):
        window = windows[top + _BAND - 1 + place]
        for i in range(_TOGETHER):
            matches[i] = window[codes[begins[i] + place]]
        for i in range(_TOGETHER):
            diagonal = np.uint32((((matches[i] & plus[i]) + plus[i]) ^ plus[i]) | matches[i] | minus[i])
            horizontal_plus = np.uint32(minus[i] | ~(diagonal | plus[i]))
            below = diagonal >> one
            plus[i] = np.uint32((diagonal & plus[i]) | ~(below | horizontal_plus))
            minus[i] = np.uint32(horizontal_plus & below)
            distance[i] += ((diagonal >> last) & one) ^ one
    for i in range(first, min(first + _TOGETHER, n)):
        distances[i] = distance[i - first]


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
    queries, wanted, excluded_starts, excluded, codes, n_characters, starts, length_starts, counts, marks, orders, ranks
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
    windows = np.zeros((longest + _BAND, n_characters), dtype=np.uint32)
    horizontal, tally = np.empty(longest, dtype=np.int8), np.empty(longest + 1, dtype=np.int64)
    begins, work = np.empty(_TOGETHER, dtype=np.int64), np.empty((4, _TOGETHER), dtype=np.uint32)
    # The number of the query, from one on, by which a term was excluded or measured last.
    seen = np.zeros(len(starts) - 1, dtype=np.int32)
    hits, n_hits = np.empty((4096, 3), dtype=np.int32), 0
    for number in range(len(queries)):
        query, stamp, limit, first_hit = queries[number], number + 1, longest, n_hits
        length = starts[query + 1] - starts[query]
        _set_masks(masks, windows, codes, starts[query], starts[query + 1])
        tally[:] = 0
        for i in range(excluded_starts[number], excluded_starts[number + 1]):
            seen[excluded[i]] = stamp
        # First what is near in sorted lists, so that the limit is low from the start.
        for which in range(len(orders)):
            n, rank = 0, ranks[query, which]
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
            n = keep_by_pairs(marks, query, near, n, 4 * limit - gap)
            if limit < _BAND:
                for i in range(0, n, _TOGETHER):
                    _measure_together(windows, length, codes, starts, near, i, n, other, begins, work, distances)
            else:
                for i in range(n):
                    distances[i] = _measure(masks, length, codes, starts[near[i]], starts[near[i] + 1], limit, horizontal)
            hits, n_hits, limit = _keep_hits(hits, n_hits, stamp, near, distances, n, limit, wanted[number], seen, tally)
        kept = first_hit
        for i in range(first_hit, n_hits):
            hits[kept, 0], hits[kept, 1], hits[kept, 2] = hits[i, 0], hits[i, 1], hits[i, 2]
            kept += np.int64(hits[i, 1] <= limit)
        n_hits = kept
        masks[: (length + 63) >> 6] = 0
        windows[: length + _BAND] = 0
    return hits[:n_hits]
