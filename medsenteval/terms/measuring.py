"""Levenshtein distances of one term to many, sixteen side by side, as far as a limit allows."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.terms.lanes import (
    LANES,
    choose_below,
    find_at_most,
    first_one,
    gather,
    gather_along,
    load,
    prefetch,
    repeat,
    store,
)  # fmt: skip

__all__ = ["BAND", "STEPS", "Measuring", "fetch", "measure_candidates", "room_for_measuring"]

#: Diagonals that the quicker way of measuring follows, in words of as many bits: it serves for limits below.
BAND: Final = 32
#: Columns of a term between two looks at what is done: more looks take time, fewer leave lanes waiting.
STEPS: Final = 8
#: Candidates between the one that a lane takes and the one whose characters are fetched into the cache meanwhile: in a long
#: list nearly every candidate would be waited for.
_SOON: Final = 24


class Measuring(NamedTuple):
    """Room that measuring works in: made once, used for one query after the other."""

    masks: Any
    work: Any
    windows: Any
    begins: Any
    columns: Any
    owners: Any
    state: Any
    batch: Any
    results: Any
    #: How many hits there are at each distance.
    counts: Any
    #: Terms within the limit at the time, and their distances.
    hits: Any


@compiled_loop
def room_for_measuring(n_terms, longest, n_characters):  # type: ignore[no-untyped-def]
    """Return room for terms of at most ``longest`` of so many different characters."""
    width = (longest + 63) >> 6
    lanes_of_places = np.zeros((4, LANES), dtype=np.int64)
    return Measuring(
        np.zeros(n_characters * width, dtype=np.uint64),
        np.zeros(2 * (width + 1) * LANES, dtype=np.uint64),
        np.zeros(n_characters * (longest + 2 * BAND), dtype=np.uint32),
        lanes_of_places[0],
        lanes_of_places[1],
        lanes_of_places[2],
        np.zeros(5 * LANES, dtype=np.uint32),
        lanes_of_places[3],
        np.zeros(LANES, dtype=np.uint64),
        np.zeros(longest + 2, dtype=np.int64),
        np.empty((n_terms + 1, 2), dtype=np.int32),
    )


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
def _lowered(limit, counts, wanted):  # type: ignore[no-untyped-def]
    """Return the distance within which ``wanted`` terms have been found, or ``limit`` while they are fewer."""
    reached = np.int64(0)
    for distance in range(limit):
        reached += counts[distance]
        if reached >= wanted:
            return distance
    return limit


@compiled_loop
def fetch(term, codes, starts, lengths):  # type: ignore[no-untyped-def]
    """Have what measuring will read of a term brought into the cache: its length and most of its characters."""
    prefetch(codes, np.int64(starts[term]))
    prefetch(codes, np.int64(starts[term]) + 48)
    prefetch(lengths, np.int64(term))


@compiled_loop
def _measure_near(  # type: ignore[no-untyped-def]
    room, stride, query, codes, starts, lengths, candidates, ends, place, limit, wanted, n_hits
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
    windows, begins, columns, owners, state = room.windows, room.begins, room.columns, room.owners, room.state
    counts, hits = room.counts, room.hits
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
            while place < ends[limit] and abs(length - lengths[candidates[place]]) > limit:
                place += 1
            if place < ends[limit]:
                term = candidates[place]
                fetch(candidates[min(place + _SOON, ends[limit] - 1)], codes, starts, lengths)
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
def measure_candidates(  # type: ignore[no-untyped-def]
    room, query, codes, starts, lengths, candidates, ends, limit, wanted
):
    """Measure the candidates, those first that have the lowest bounds, while the limit falls; return (number of hits, limit).

    ``ends[limit]`` is how many candidates may be within a limit. The hits stand in ``room.hits``.
    """
    begin, length = starts[query], lengths[query]
    batch, results, counts, hits = room.batch, room.results, room.counts, room.hits
    counts[:] = 0
    place = n_hits = 0
    if limit >= BAND:
        width = len(room.work) // (2 * LANES) - 1
        _fill_masks(room.masks, width, codes, begin, length)
        while limit >= BAND and place < ends[limit]:
            size = min(LANES, ends[limit] - place)
            batch[:size] = candidates[place : place + size]
            place += size
            _measure(room.masks, width, length, codes, starts, lengths, batch, size, limit, room.work, results)
            for lane in range(size):
                if results[lane] <= limit:
                    hits[n_hits, 0], hits[n_hits, 1] = batch[lane], results[lane]
                    n_hits += 1
                    counts[results[lane]] += 1
            limit = _lowered(limit, counts, wanted)
        _clear_masks(room.masks, width, codes, begin, length)
    if limit < BAND:
        stride = len(counts) - 2 + 2 * BAND
        _fill_windows(room.windows, stride, codes, begin, length)
        n_hits, limit = _measure_near(
            room, stride, query, codes, starts, lengths, candidates, ends, place, limit, wanted, n_hits
        )
        _clear_windows(room.windows, stride, codes, begin, length)
    kept = 0
    for i in range(n_hits):
        hits[kept, 0], hits[kept, 1] = hits[i, 0], hits[i, 1]
        kept += hits[i, 1] <= limit
    return kept, limit
