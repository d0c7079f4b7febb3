"""Compiled loops of the nearest-term search: signatures that bound the distance from below, and the distance itself.

One edit changes one character for another, so it can take at most one character away from a term and add at most one. Hence
the number of characters (counted with repetition) that one term has and the other lacks, in either direction, is never more
than their distance; the same holds for pairs of neighbouring characters with two per edit. A signature holds these counts as
bits: "has an e", "has two", "has three" ... A term's bits that another term lacks are then two instructions away.

Compiled with numba: the search looks at billions of pairs, a few nanoseconds each, and decides anew after every hit, which
neither NumPy's whole-array operations nor rapidfuzz's whole-matrix distances can do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["search_terms"]

#: Terms that are measured to lower the limit.
_FEW = 64
#: Distances computed side by side: the processor's wide registers hold so many words of 64 bits.
_LANES = 16
#: Where the lanes of each quantity begin in the working array of ``_distances``.
_PLUS, _MINUS, _CARRY_PLUS, _CARRY_MINUS, _MATCHES, _SCORE, _RESULT, _END = (_LANES * i for i in range(8))
#: More than any distance.
_NO_LIMIT = 1 << 30


@intrinsic
def _count_ones(typing_context: Any, word: Any) -> Any:
    """Return the number of ones of a 64-bit word by the processor's own instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(nogil=True, cache=True)
def _fill_masks(masks, codes, start, length):  # type: ignore[no-untyped-def]
    """Note for each character of a term, in words of 64 bits, at which places it stands."""
    for place in range(length):
        masks[codes[start + place], place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@njit(nogil=True, cache=True)
def _clear_masks(masks, codes, start, length):  # type: ignore[no-untyped-def]
    for place in range(length):
        masks[codes[start + place], place >> 6] = np.uint64(0)


@njit(nogil=True, cache=True)
def _distances(masks, length, codes, starts, lengths, batch, n, limit, state, results):  # type: ignore[no-untyped-def]
    """Put the distances of the query to the first n terms of a batch into ``results``; any number above ``limit`` may stand
    for a distance above it.

    Myers' bit-parallel algorithm (1999) in Hyyrö's form (2003), in blocks of 64 characters that hand a carry to the next, for
    several terms side by side. All that the inner loop touches lies in one array at fixed places: only so does the compiler
    see that nothing overlaps, and makes wide code of it.
    """
    one, zero = np.uint64(1), np.uint64(0)
    n_blocks = (length + 63) >> 6
    lanes = np.empty(8 * _LANES, dtype=np.uint64)
    places = np.empty(_LANES, dtype=np.int64)
    longest = 0
    for lane in range(_LANES):
        # Lanes without a term of their own repeat the first one.
        term = batch[lane] if lane < n else batch[0]
        places[lane] = starts[term]
        longest = max(longest, lengths[term])
        lanes[_PLUS + lane], lanes[_MINUS + lane] = ~zero, zero
        lanes[_SCORE + lane], lanes[_RESULT + lane], lanes[_END + lane] = length, length, lengths[term]
    if n_blocks > 1:
        state[:n_blocks, :_LANES] = ~zero
        state[:n_blocks, _LANES:] = zero
    for place in range(longest):
        for lane in range(_LANES):
            lanes[_CARRY_PLUS + lane], lanes[_CARRY_MINUS + lane] = one, zero
        for block in range(n_blocks):
            top = np.uint64((length - 1) & 63) if block == n_blocks - 1 else np.uint64(63)
            if n_blocks > 1:
                for i in range(2 * _LANES):
                    lanes[i] = state[block, i]
            for lane in range(_LANES):
                # Beyond its end a shorter term reads what follows it in the list; its result is fixed by then.
                lanes[_MATCHES + lane] = masks[codes[places[lane] + place], block]
            for lane in range(_LANES):
                plus, minus, carry_minus = lanes[_PLUS + lane], lanes[_MINUS + lane], lanes[_CARRY_MINUS + lane]
                # The carry enters the diagonal, but not the cells that the addition starts from.
                matches = lanes[_MATCHES + lane] | carry_minus
                diagonal = (((matches & plus) + plus) ^ plus) | matches | minus
                horizontal_plus = minus | ~(diagonal | plus)
                horizontal_minus = diagonal & plus
                shifted_plus = (horizontal_plus << one) | lanes[_CARRY_PLUS + lane]
                shifted_minus = (horizontal_minus << one) | carry_minus
                lanes[_PLUS + lane] = shifted_minus | ~(diagonal | shifted_plus)
                lanes[_MINUS + lane] = shifted_plus & diagonal
                lanes[_CARRY_PLUS + lane] = (horizontal_plus >> top) & one
                lanes[_CARRY_MINUS + lane] = (horizontal_minus >> top) & one
            if n_blocks > 1:
                for i in range(2 * _LANES):
                    state[block, i] = lanes[i]
        now = np.uint64(place)
        for lane in range(_LANES):
            lanes[_SCORE + lane] += lanes[_CARRY_PLUS + lane] - lanes[_CARRY_MINUS + lane]
            going_on = now < lanes[_END + lane]
            lanes[_RESULT + lane] = lanes[_SCORE + lane] if going_on else lanes[_RESULT + lane]
        if place & 3 == 3:
            hopeful = False
            for lane in range(_LANES):
                # Each character that is left can lower the score by one at most.
                left = max(np.int64(lanes[_END + lane]) - 1 - place, 0)
                hopeful |= np.int64(lanes[_RESULT + lane]) - left <= limit
            if not hopeful:
                break
    for lane in range(_LANES):
        # A lane that was given up early stands above the limit already: what is left could not have saved it.
        results[lane] = np.int64(lanes[_RESULT + lane])


@njit(nogil=True, cache=True)
def _is_excluded(excluded, first, last, term):  # type: ignore[no-untyped-def]
    found = False
    for place in range(first, last):
        found |= excluded[place] == term
    return found


@njit(nogil=True, cache=True)
def _kth_smallest(values, n, k):  # type: ignore[no-untyped-def]
    return _NO_LIMIT if n < k else np.sort(values[:n])[k - 1]


@njit(nogil=True, cache=True)
def _first_limit(query, wanted, excluded, first, last, orders, ranks, reach, masks, codes, starts, lengths, state):  # type: ignore[no-untyped-def]
    """Return a distance within which the query has enough terms for certain: neighbours in sorted lists are mostly near."""
    n_terms = len(lengths)
    near = np.empty(2 * reach * len(orders) + _LANES, dtype=np.int64)
    found = np.empty(2 * reach * len(orders) + _LANES, dtype=np.int64)
    n = 0
    for which in range(len(orders)):
        rank = ranks[which, query]
        for place in range(max(rank - reach, 0), min(rank + reach + 1, n_terms)):
            term = orders[which, place]
            known = term == query or _is_excluded(excluded, first, last, term)
            for i in range(n):
                known = known or near[i] == term
            if not known:
                near[n] = term
                n += 1
    for begin in range(0, n, _LANES):
        size = min(_LANES, n - begin)
        _distances(
            masks, lengths[query], codes, starts, lengths, near[begin:], size, _NO_LIMIT, state, found[begin : begin + _LANES]
        )
    return _kth_smallest(found, n, wanted)


@njit(nogil=True, cache=True)
def _bound_by_characters(query, begin, end, first_words, second_words, bounds):  # type: ignore[no-untyped-def]
    """Put the lower bound of each term from ``begin`` to ``end`` into ``bounds``; a plain loop, which becomes wide code."""
    own_first, own_second = first_words[query], second_words[query]
    for term in range(begin, end):
        first, second = first_words[term], second_words[term]
        lost = _count_ones(own_first & ~first) + _count_ones(own_second & ~second)
        gained = _count_ones(first & ~own_first) + _count_ones(second & ~own_second)
        bounds[term - begin] = max(lost, gained)


@njit(nogil=True, cache=True)
def _lowest_bounds(bounds, n, few, chosen):  # type: ignore[no-untyped-def]
    """Put the places of at most ``few`` of the lowest bounds into ``chosen`` and return how many."""
    heads = np.zeros(129, dtype=np.int64)
    for i in range(n):
        heads[bounds[i]] += 1
    below, total = 0, heads[0]
    while below < 128 and total < few:
        below += 1
        total += heads[below]
    n_chosen = 0
    for i in range(n):
        if bounds[i] <= below and n_chosen < few:
            chosen[n_chosen] = i
            n_chosen += 1
    return n_chosen


@njit(nogil=True, cache=True)
def _bound_by_pairs(query, begin, n, limit, pair_words, bounds, near, near_bounds):  # type: ignore[no-untyped-def]
    """Collect the terms that both signatures allow to be within ``limit``, with their lower bounds; return how many."""
    n_near = 0
    for i in range(n):
        if bounds[i] > limit or begin + i == query:
            continue
        lost, gained = np.uint64(0), np.uint64(0)
        for word in range(pair_words.shape[1]):
            mine, theirs = pair_words[query, word], pair_words[begin + i, word]
            lost += _count_ones(mine & ~theirs)
            gained += _count_ones(theirs & ~mine)
        bound = max(np.int64(bounds[i]), (np.int64(max(lost, gained)) + 1) >> 1)
        if bound <= limit:
            near[n_near], near_bounds[n_near] = begin + i, bound
            n_near += 1
    return n_near


@njit(nogil=True, cache=True)
def _in_order_of_bounds(near, bounds, n, limit, sorted_near, sorted_bounds):  # type: ignore[no-untyped-def]
    """Sort by lower bound, keeping the order of terms: the likeliest first, so that the limit falls early."""
    heads = np.zeros(limit + 2, dtype=np.int64)
    for i in range(n):
        heads[bounds[i] + 1] += 1
    for bound in range(limit + 1):
        heads[bound + 1] += heads[bound]
    for i in range(n):
        place = heads[bounds[i]]
        sorted_near[place], sorted_bounds[place] = near[i], bounds[i]
        heads[bounds[i]] = place + 1


@njit(nogil=True, cache=True)
def _doubled(values):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(values), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


@njit(nogil=True, cache=True)
def search_terms(  # type: ignore[no-untyped-def]
    queries, wanted, excluded_starts, excluded,
    codes, starts, lengths, length_starts, n_characters,
    first_words, second_words, pair_words,
    orders, ranks, reach,
):  # fmt: skip
    """Return (offsets, terms, distances): for each query all terms up to the distance at which ``wanted`` are reached.

    Terms are numbered by length; those of length l are ``length_starts[l]`` to ``length_starts[l + 1]``. ``first_words`` and
    ``second_words`` are signatures of characters, ``pair_words`` of pairs of them. Ties at the last distance are all there.
    """
    n_terms = len(lengths)
    longest = len(length_starts) - 2
    n_words = (longest + 63) >> 6
    masks = np.zeros((n_characters, n_words), dtype=np.uint64)
    state = np.zeros((n_words, 2 * _LANES), dtype=np.uint64)
    near, sorted_near = np.empty(n_terms, dtype=np.int32), np.empty(n_terms, dtype=np.int32)
    near_bounds, sorted_bounds = np.empty(n_terms, dtype=np.int16), np.empty(n_terms, dtype=np.int16)
    bounds = np.empty(n_terms, dtype=np.uint8)
    chosen, measured = np.empty(_FEW, dtype=np.int64), np.empty(_FEW + _LANES, dtype=np.int64)
    batch, results = np.zeros(_LANES, dtype=np.int64), np.zeros(_LANES, dtype=np.int64)
    counts = np.zeros(longest + 2, dtype=np.int64)
    terms, distances = np.empty(4096, dtype=np.int32), np.empty(4096, dtype=np.int16)
    offsets = np.zeros(len(queries) + 1, dtype=np.int64)
    n_found = 0
    for number in range(len(queries)):
        query = queries[number]
        length = lengths[query]
        first, last = excluded_starts[number], excluded_starts[number + 1]
        _fill_masks(masks, codes, starts[query], length)
        limit = _first_limit(
            query, wanted[number], excluded, first, last, orders, ranks, reach, masks, codes, starts, lengths, state
        )
        limit = min(limit, longest)
        begin, end = length_starts[max(length - limit, 0)], length_starts[min(length + limit, longest) + 1]
        _bound_by_characters(query, begin, end, first_words, second_words, bounds)
        # The most promising few are measured first, only to lower the limit before the dearer bound.
        size = 0
        for i in range(_lowest_bounds(bounds, end - begin, _FEW, chosen)):
            term = begin + chosen[i]
            chosen[size] = term
            size += term != query and not _is_excluded(excluded, first, last, term)
        for i in range(0, size, _LANES):
            lanes = min(_LANES, size - i)
            _distances(masks, length, codes, starts, lengths, chosen[i:], lanes, limit, state, measured[i : i + _LANES])
        limit = min(limit, _kth_smallest(measured, size, wanted[number]))
        n_near = _bound_by_pairs(query, begin, end - begin, limit, pair_words, bounds, near, near_bounds)
        _in_order_of_bounds(near, near_bounds, n_near, limit, sorted_near, sorted_bounds)
        counts[:] = 0
        begun, place = n_found, 0
        while place < n_near and sorted_bounds[place] <= limit:
            size = 0
            while place < n_near and size < _LANES and sorted_bounds[place] <= limit:
                batch[size] = sorted_near[place]
                # An excluded term costs nothing more.
                size += not _is_excluded(excluded, first, last, sorted_near[place])
                place += 1
            if size == 0:
                break
            _distances(masks, length, codes, starts, lengths, batch, size, limit, state, results)
            for lane in range(size):
                if results[lane] > limit:
                    continue
                if n_found == len(terms):
                    terms, distances = _doubled(terms), _doubled(distances)
                terms[n_found], distances[n_found] = batch[lane], results[lane]
                n_found += 1
                counts[results[lane]] += 1
            reached = np.int64(0)
            for distance in range(limit):
                reached += counts[distance]
                if reached >= wanted[number]:
                    limit = distance
                    break
        kept = begun
        for i in range(begun, n_found):
            if distances[i] <= limit:
                terms[kept], distances[kept] = terms[i], distances[i]
                kept += 1
        n_found = kept
        offsets[number + 1] = n_found
        _clear_masks(masks, codes, starts[query], length)
    return offsets, terms[:n_found].copy(), distances[:n_found].copy()
