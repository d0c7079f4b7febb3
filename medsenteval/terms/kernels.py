"""Compiled loops of the nearest-term search: bounds from signatures, and the distance itself for what they leave.

Compiled with numba: the search looks at billions of pairs, a fraction of a nanosecond each, and decides anew after every hit,
which neither NumPy's whole-array operations nor rapidfuzz's whole-matrix distances can do.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.terms.lanes import (
    LANES,
    ROW,
    choose_below,
    count_differences,
    count_ones,
    find_at_most,
    first_one,
    gather,
    gather_along,
    load,
    repeat,
    store,
)  # fmt: skip

__all__ = ["BAND", "STEPS", "search_terms"]

#: Diagonals that the quicker way of measuring follows, in words of as many bits: it serves for limits below.
BAND: Final = 32
#: Columns of a term between two looks at what is done: more looks take time, fewer leave lanes waiting.
STEPS: Final = 8


@compiled_loop
def _fill_masks(masks, width, codes, start, length):  # type: ignore[no-untyped-def]
    """Note for each character of a term, in words of 64 bits, at which places it stands."""
    for place in range(length):
        masks[codes[start + place] * width + (place >> 6)] |= np.uint64(1) << np.uint64(place & 63)


@compiled_loop
def _clear_masks(masks, width, codes, start, length):  # type: ignore[no-untyped-def]
    for place in range(length):
        masks[codes[start + place] * width + (place >> 6)] = np.uint64(0)


@compiled_loop
def _measure(masks, width, length, codes, starts, lengths, batch, n, limit, work, results):  # type: ignore[no-untyped-def]
    """Put the distances of the query to the first n terms of a batch into ``results``; any number above ``limit`` may stand
    for a distance above it. For limits that are too high for ``_measure_near``.

    Myers' bit-parallel algorithm (1999) in Hyyrö's form (2003), in blocks of 64 characters that hand a carry to the next, for
    several terms side by side. ``work`` holds where the terms begin, and the state of each block if there are several.
    """
    one, zero, ones = repeat(np.uint64(1)), repeat(np.uint64(0)), repeat(~np.uint64(0))
    n_blocks = (length + 63) >> 6
    longest = 0
    for lane in range(LANES):
        # Lanes without a term of their own repeat the first one.
        term = batch[lane] if lane < n else batch[0]
        work[lane], results[lane] = starts[term], lengths[term]
        longest = max(longest, lengths[term])
    end, highest = load(results, 0), repeat(np.uint64(limit))
    score = repeat(np.uint64(length))
    result, plus, minus = score, ones, zero
    for block in range(1, n_blocks + 1):
        store(work, 2 * block * LANES, ones)
        store(work, (2 * block + 1) * LANES, zero)
    for place in range(longest):
        carry_plus, carry_minus = one, zero
        for block in range(n_blocks):
            if n_blocks > 1:
                plus, minus = load(work, 2 * (block + 1) * LANES), load(work, (2 * block + 3) * LANES)
            top = repeat(np.uint64((length - 1) & 63 if block == n_blocks - 1 else 63))
            # Beyond its end a shorter term reads what follows it in the list; its result is fixed by then.
            matches = gather(masks, codes, work, place, width, block) | carry_minus
            diagonal = (((matches & plus) + plus) ^ plus) | matches | minus
            horizontal_plus = minus | ((diagonal | plus) ^ ones)
            horizontal_minus = diagonal & plus
            shifted_plus = (horizontal_plus << one) | carry_plus
            shifted_minus = (horizontal_minus << one) | carry_minus
            plus = shifted_minus | ((diagonal | shifted_plus) ^ ones)
            minus = shifted_plus & diagonal
            carry_plus, carry_minus = (horizontal_plus >> top) & one, (horizontal_minus >> top) & one
            if n_blocks > 1:
                store(work, 2 * (block + 1) * LANES, plus)
                store(work, (2 * block + 3) * LANES, minus)
        score = score + carry_plus - carry_minus
        now = repeat(np.uint64(place))
        result = choose_below(now, end, score, result)
        if place & 3 == 3:
            # Each character that is left can lower the score by one at most.
            left = choose_below(now, end, end - now - one, zero)
            if find_at_most(result, highest + left) == 0:
                break
    # A lane that was given up early stands above the limit already: what is left could not have saved it.
    store(results, 0, result)


@compiled_loop
def _fill_windows(windows, stride, codes, start, length):  # type: ignore[no-untyped-def]
    """Note for each character of a term at which of ``BAND`` consecutive places it stands, for all of their beginnings.

    Bit b of window s of a character tells of place s - (BAND - 1) + b.
    """
    for place in range(length):
        first = np.int64(codes[start + place]) * stride + place
        for back in range(BAND):
            windows[first + back] |= np.uint32(1) << np.uint32(BAND - 1 - back)


@compiled_loop
def _clear_windows(windows, stride, codes, start, length):  # type: ignore[no-untyped-def]
    for place in range(length):
        first = np.int64(codes[start + place]) * stride + place
        windows[first : first + BAND] = 0


@compiled_loop
def _look_around(query, orders, ranks, reach, done_for, number, near):  # type: ignore[no-untyped-def]
    """Collect the neighbours of a query in sorted lists, which are mostly near, each once; return how many."""
    n = 0
    for which in range(len(orders)):
        rank = ranks[query, which]
        for place in range(max(rank - reach, 0), min(rank + reach + 1, orders.shape[1])):
            near[n] = orders[which, place]
            n += done_for[near[n]] != number
            done_for[orders[which, place]] = number
    return n


@compiled_loop
def _bound_by_characters(query, length, limit, length_starts, first_words, second_words, near, bounds):  # type: ignore[no-untyped-def]
    """Collect the terms that length and characters allow to be within ``limit``, with their lower bounds; return how many."""
    n_near = 0
    own_first, own_second = first_words[query], second_words[query]
    first, second = repeat(own_first), repeat(own_second)
    for other in range(max(length - limit, 0), min(length + limit, len(length_starts) - 2) + 1):
        gap = abs(other - length)
        allowed = repeat(np.uint64(2 * limit - gap))
        end = length_starts[other + 1]
        for place in range(length_starts[other], end, LANES):
            differing = count_ones(load(first_words, place) ^ first) + count_ones(load(second_words, place) ^ second)
            bits = find_at_most(differing, allowed)
            if end - place < LANES:
                bits &= (np.uint64(1) << np.uint64(end - place)) - np.uint64(1)
            while bits != 0:
                term = place + first_one(bits)
                bits &= bits - np.uint64(1)
                ones = count_ones(first_words[term] ^ own_first) + count_ones(second_words[term] ^ own_second)
                near[n_near], bounds[n_near] = term, (np.int64(ones) + gap + 1) >> 1
                n_near += 1
    return n_near


@compiled_loop
def _bound_by_pairs(query, lengths, limit, pair_words, done_for, number, near, bounds, n):  # type: ignore[no-untyped-def]
    """Keep of the first n near terms those that pairs allow to be within ``limit`` and that are not done; return how many."""
    kept = 0
    length = lengths[query]
    for i in range(n):
        term = near[i]
        differing = np.int64(count_differences(pair_words, term * ROW, query * ROW))
        bound = max(np.int64(bounds[i]), (differing + abs(lengths[term] - length) + 3) >> 2)
        # Written in any case, kept if near: a jump that is hard to foresee would cost more.
        near[kept], bounds[kept] = term, bound
        kept += (bound <= limit) & (done_for[term] != number)
    return kept


@compiled_loop
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


@compiled_loop
def _lowered(limit, counts, wanted):  # type: ignore[no-untyped-def]
    """Return the distance within which ``wanted`` terms have been found, or ``limit`` while they are fewer."""
    reached = np.int64(0)
    for distance in range(limit):
        reached += counts[distance]
        if reached >= wanted:
            return distance
    return limit


@compiled_loop
def _measure_near(  # type: ignore[no-untyped-def]
    windows, stride, query, codes, starts, lengths, candidates, lowest, place, n, limit, wanted,
    begins, columns, owners, state, counts, hits, n_hits,
):  # fmt: skip
    """Measure the candidates from ``place`` on, for a limit below ``BAND``; return the number of hits and the limit then.

    A way of at most ``limit`` edits through the table of distances stays on ``limit`` + 1 diagonals, around the one that ends
    in the last cell. So Hyyrö's algorithm (2003) needs to follow one short word of vertical differences, which moves down by
    one row with every column. Along a diagonal distances never fall: the one on the last diagonal is counted up from its
    first cell, and a term is given up as soon as that is above the limit. Above the first row, and beyond the last, the
    table goes on as if no character matched; cells there do not lower the ones that count.

    A lane whose term is done takes the next candidate at once, so each lane has a column of its own in its term: ``begins``
    and ``columns`` are shifted by the steps that had been made by then.
    """
    one, ones = repeat(np.uint32(1)), repeat(np.uint32(0xFFFFFFFF))
    length = lengths[query]
    step = 0
    owners[:] = -1
    busy = free = np.uint64((1 << LANES) - 1)
    while True:
        while free != 0:
            lane = first_one(free)
            free &= free - np.uint64(1)
            if owners[lane] >= 0 and state[lane] <= limit:
                hits[n_hits, 0], hits[n_hits, 1] = owners[lane], state[lane]
                n_hits += 1
                counts[state[lane]] += 1
                limit = _lowered(limit, counts, wanted)
            while place < n and abs(length - lengths[candidates[place]]) > limit:
                place += 1
            if place < n and lowest[place] <= limit:
                term = candidates[place]
                longer = length - lengths[term]
                place += 1
                # The band lies evenly around the diagonals of the first and of the last cell.
                top = (longer - (BAND - 1)) >> 1
                begins[lane], columns[lane], owners[lane] = np.int64(starts[term]) - step, top + BAND - 1 - step, term
                state[lane], state[LANES + lane] = max(longer, 0), step + lengths[term]
                state[2 * LANES + lane], state[3 * LANES + lane] = longer - top, np.uint32(0xFFFFFFFF) << np.uint32(-top)
                state[4 * LANES + lane] = 0
            else:
                # What an idle lane reads does not matter, but it must be there: it starts anew at the front of all tables,
                # and the other lanes need no more steps than the longest term has characters.
                begins[lane], columns[lane] = -step, -step
                busy &= ~(np.uint64(1) << np.uint64(lane))
        if busy == 0:
            return n_hits, limit
        score, end, last = load(state, 0), load(state, LANES), load(state, 2 * LANES)
        plus, minus = load(state, 3 * LANES), load(state, 4 * LANES)
        highest = repeat(np.uint32(limit))
        while free == 0:
            for _ in range(STEPS):
                matches = gather_along(windows, codes, begins, step, stride, columns)
                diagonal = (((matches & plus) + plus) ^ plus) | matches | minus
                horizontal_plus = minus | ((diagonal | plus) ^ ones)
                horizontal_minus = diagonal & plus
                below = diagonal >> one
                plus = horizontal_minus | ((below | horizontal_plus) ^ ones)
                minus = horizontal_plus & below
                # A lane may read past the end of its term before it is free; its result is fixed by then.
                score = choose_below(repeat(np.uint32(step)), end, score + (((diagonal >> last) & one) ^ one), score)
                step += 1
            free = busy & ~(find_at_most(score, highest) & find_at_most(repeat(np.uint32(step + 1)), end))
        store(state, 0, score)
        store(state, 3 * LANES, plus)
        store(state, 4 * LANES, minus)


@compiled_loop
def _doubled(values):  # type: ignore[no-untyped-def]
    larger = np.empty(2 * len(values), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


@compiled_loop
def search_terms(  # type: ignore[no-untyped-def]
    queries, wanted, excluded_starts, excluded,
    codes, starts, lengths, length_starts, n_characters,
    first_words, second_words, pair_words,
    orders, ranks, reach,
):  # fmt: skip
    """Return (numbers, terms, distances): for each query all terms up to the distance at which ``wanted`` are reached.

    Terms are numbered by length; those of length l are ``length_starts[l]`` to ``length_starts[l + 1]``. ``first_words`` and
    ``second_words`` are signatures of characters, ``pair_words`` of pairs of them. Ties at the last distance are all there.
    """
    n_terms = len(lengths)
    longest = len(length_starts) - 2
    width = (longest + 63) >> 6
    masks = np.zeros(n_characters * width, dtype=np.uint64)
    work = np.zeros(2 * (width + 1) * LANES, dtype=np.uint64)
    near, bounds = np.empty(n_terms + 1, dtype=np.int32), np.empty(n_terms + 1, dtype=np.int32)
    # The neighbours in all lists, repeated as they may be, or all terms in order of bounds.
    candidates = np.empty(n_terms + (2 * reach + 1) * len(orders), dtype=np.int32)
    lowest = np.zeros(len(candidates), dtype=np.int32)
    stride = longest + 2 * BAND
    windows = np.zeros(n_characters * stride, dtype=np.uint32)
    begins, columns, owners = np.zeros((3, LANES), dtype=np.int64)
    state = np.zeros(5 * LANES, dtype=np.uint32)
    batch, results = np.zeros(LANES, dtype=np.int64), np.zeros(LANES, dtype=np.uint64)
    # Terms within the limit at the time, and their distances.
    hits = np.empty((n_terms + 1, 2), dtype=np.int32)
    counts = np.zeros(longest + 2, dtype=np.int64)
    # For which query a term was last found near, or excluded.
    done_for = np.full(n_terms, -1, dtype=np.int32)
    terms, distances = np.empty(4096, dtype=np.int32), np.empty(4096, dtype=np.int32)
    numbers = np.zeros(len(queries), dtype=np.int64)
    n_found = 0
    for number in range(len(queries)):
        query, length = queries[number], lengths[queries[number]]
        done_for[query] = number
        for place in range(excluded_starts[number], excluded_starts[number + 1]):
            done_for[excluded[place]] = number
        _fill_masks(masks, width, codes, starts[query], length)
        _fill_windows(windows, stride, codes, starts[query], length)
        counts[:] = 0
        limit, n_hits = longest, 0
        # First what is near in sorted lists, so that the limit is low from the start; then all that it leaves.
        for everywhere in (False, True):
            if everywhere:
                n = _bound_by_characters(query, length, limit, length_starts, first_words, second_words, near, bounds)
                n = _bound_by_pairs(query, lengths, limit, pair_words, done_for, number, near, bounds, n)
                _in_order_of_bounds(near, bounds, n, limit, candidates, lowest)
            else:
                n = _look_around(query, orders, ranks, reach, done_for, number, candidates)
                lowest[:n] = 0
            place = 0
            while place < n and limit >= BAND and lowest[place] <= limit:
                size = 0
                while place < n and size < LANES and lowest[place] <= limit:
                    batch[size] = candidates[place]
                    size += 1
                    place += 1
                _measure(masks, width, length, codes, starts, lengths, batch, size, limit, work, results)
                for lane in range(size):
                    if results[lane] <= limit:
                        hits[n_hits, 0], hits[n_hits, 1] = batch[lane], results[lane]
                        n_hits += 1
                        counts[results[lane]] += 1
                limit = _lowered(limit, counts, wanted[number])
            if limit < BAND:
                n_hits, limit = _measure_near(
                    windows, stride, query, codes, starts, lengths, candidates, lowest, place, n, limit, wanted[number],
                    begins, columns, owners, state, counts, hits, n_hits,
                )  # fmt: skip
        for i in range(n_hits):
            if hits[i, 1] <= limit:
                if n_found == len(terms):
                    terms, distances = _doubled(terms), _doubled(distances)
                terms[n_found], distances[n_found] = hits[i]
                n_found += 1
                numbers[number] += 1
        _clear_masks(masks, width, codes, starts[query], length)
        _clear_windows(windows, stride, codes, starts[query], length)
    return numbers, terms[:n_found].copy(), distances[:n_found].copy()
