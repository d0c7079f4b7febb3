"""The compiled search for the terms nearest to one: a lower bound for every term, and the distance where that is low enough.

Terms lie in blocks of ``BLOCK`` terms of one length: place p is lane ``p % BLOCK`` of block ``p // BLOCK``, whose codes of
characters begin at ``begins[block]``, all first characters before all second ones. The lanes of a block are worked on side by
side, several in one instruction.

The bound is the bag distance of Bartolini, Ciaccia and Patella 2002: one edit takes at most one character away and adds at most
one, so the numbers of each character and the lengths differ by at most 2 d in all between terms at distance d. That stays true
where several characters count as one and where counts stop at a highest number.

Distances are computed by Myers' bit-parallel algorithm (1999) in Hyyrö's form (2003): a word holds the vertical differences of
one column of the table of distances, and a few operations lead to the next column. The distance is counted along the diagonal
that ends in the last cell.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.support.compiling import compiled_loop

BLOCK: Final = 32
#: The difference that marks a place which is not to be found; all others are below.
_EXCLUDED: Final = 255
#: Rows of the table of distances that are worked on together, as many as a word has bits.
_ROWS: Final = 32
#: Columns between two looks at whether all terms of a block are beyond the limit: values never fall along a diagonal.
_COLUMNS: Final = 4


@compiled_loop
def differences(counts, query):  # type: ignore[no-untyped-def]
    """Return how much each term differs from the query in characters and length: at most twice its distance."""
    differing = np.zeros(counts.shape[1], dtype=np.uint8)
    for row in counts:
        own = row[query]
        for place in range(len(row)):
            differing[place] += np.uint8(max(row[place], own) - min(row[place], own))
    return differing


@compiled_loop
def _measure_block(masks, length, codes, width, limit, carries, work, distances):  # type: ignore[no-untyped-def]
    """Write the distances of the query to the terms of a block; any number above ``limit`` may stand for one above it.

    Goes through the columns once for each 32 rows; ``carries`` hands the differences along the last row on to the next 32.
    """
    one, last = np.uint32(1), np.uint32(_ROWS - 1)
    plus, minus, matches = work[0], work[1], work[2]
    longer = length - width
    distances[:] = abs(longer)
    carries[0, : width * BLOCK] = 1
    carries[1, : width * BLOCK] = 0
    for rows in range(len(masks)):
        plus[:] = np.uint32(0xFFFFFFFF)
        minus[:] = 0
        for place in range(width):
            column = slice(place * BLOCK, (place + 1) * BLOCK)
            characters, carry_plus, carry_minus = codes[column], carries[0, column], carries[1, column]
            row = place + longer - rows * _ROWS
            counted, bit = np.uint32(0 <= row < _ROWS), np.uint32(max(row, 0) & (_ROWS - 1))
            for lane in range(BLOCK):
                matches[lane] = masks[rows, characters[lane]]
            # Apart from the look-ups, so that the compiler can take several lanes at a time.
            for lane in range(BLOCK):
                match = matches[lane] | carry_minus[lane]
                diagonal = np.uint32((((match & plus[lane]) + plus[lane]) ^ plus[lane]) | match | minus[lane])
                up, down = np.uint32(minus[lane] | ~(diagonal | plus[lane])), np.uint32(diagonal & plus[lane])
                shifted = np.uint32((up << one) | carry_plus[lane])
                plus[lane] = np.uint32(np.uint32((down << one) | carry_minus[lane]) | ~(diagonal | shifted))
                minus[lane] = shifted & diagonal
                carry_plus[lane], carry_minus[lane] = up >> last, down >> last
                distances[lane] += (((diagonal >> bit) & one) ^ one) * counted
            if counted and place % _COLUMNS == 0:
                least = distances[0]
                for lane in range(1, BLOCK):
                    least = min(least, distances[lane])
                if least > limit:
                    return


@compiled_loop
def search_term(query, wanted, hidden, n_characters, counts, widths, begins, codes):  # type: ignore[no-untyped-def]
    """Return the places up to the distance at which ``wanted`` are reached, and their distances, in no order.

    Blocks are measured in the order of their lower bounds, until these are above the distance that was reached.
    """
    own, length, longest = begins[query // BLOCK] + query % BLOCK, widths[query // BLOCK], widths[-1]
    # In which rows of the table each character stands.
    masks = np.zeros(((length + _ROWS - 1) // _ROWS, n_characters), dtype=np.uint32)
    for row in range(length):
        masks[row // _ROWS, codes[own + row * BLOCK]] |= np.uint32(1) << np.uint32(row % _ROWS)
    differing = differences(counts, query)
    for place in hidden:
        differing[place] = _EXCLUDED
    least = np.empty(len(widths), dtype=np.uint8)
    for block in range(len(widths)):
        lowest = differing[block * BLOCK]
        for place in range(block * BLOCK, (block + 1) * BLOCK):
            lowest = min(lowest, differing[place])
        least[block] = lowest
    carries, work = np.empty((2, longest * BLOCK), dtype=np.uint32), np.empty((3, BLOCK), dtype=np.uint32)
    distances, tally = np.empty(BLOCK, dtype=np.uint32), np.zeros(longest + 1, dtype=np.int64)
    found, n, within, limit = np.empty((2, len(differing)), dtype=np.int64), 0, 0, longest
    for difference in range(_EXCLUDED):
        if difference > 2 * limit:
            break
        for block in range(len(widths)):
            if least[block] == difference:
                _measure_block(masks, length, codes[begins[block] :], widths[block], limit, carries, work, distances)
                for lane in range(BLOCK):
                    if distances[lane] <= limit and differing[block * BLOCK + lane] != _EXCLUDED:
                        found[0, n], found[1, n] = block * BLOCK + lane, distances[lane]
                        n += 1
                        within += 1
                        tally[distances[lane]] += 1
                        # The limit is the lowest distance within which enough have been found.
                        while within - tally[limit] >= wanted:
                            within -= tally[limit]
                            limit -= 1
    near = found[1, :n] <= limit
    return found[0, :n][near], found[1, :n][near]
