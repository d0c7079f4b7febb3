"""The innermost loops as plain Python for numba to compile; ``counting`` and ``paired`` say what they are for.

Every candidate is looked at for every answer, in straight loops without a branch: they run eight or sixteen candidates at a
time, which beats cleverness about which to pass over. Counters are as narrow as what is compared (int32 beside float32, int16
beside int16), because a comparison's result can then be added as it comes. The loops for sums and products differ only in z;
sharing them through a function argument would keep numba from vectorising them, and so would a loop over part of a row that
does not start at zero, whose numbers might be negative: parts are cut out first.

The ``count_`` loops add to ``better``, write down unclear pairs (answer, place) as far as there is room, and return how many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "LEAST_SUM",
    "MOST_RATIO",
    "PART",
    "count_levels",
    "count_products",
    "count_sums",
    "dots",
    "lengths_and_units",
    "steps",
    "to_levels",
    "to_log_levels",
]

#: Candidates that are counted together, and once more where that left one open.
PART = 512
_LOWEST, _HIGHEST = -32767.0, 32767.0
#: What fills up the last part of a row: two of them are below everything that is asked for.
_NOBODY = np.int16(-16384)
#: Instead of the highest level of a part about which levels say nothing.
_WILD = 1 << 20
#: Two factors of a sum are each at most half a level off; the rest is for the rounding of float32, a hundredth of a level.
_LEVELS_OFF = 1.05
#: Ratios of a half to two have |(x - y) / (x + y)| of at most a third; a little more, because cosines of 1 may be rounded up.
MOST_RATIO = 0.335
#: x + y that ``to_log_levels`` asks for at least, so that neither is small.
LEAST_SUM = 0.5
_THIRD, _FIFTH, _SEVENTH, _NINTH = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7), np.float32(1 / 9)


def to_levels(factors: Any, step: Any, cap: Any, levels: Any, most: Any) -> None:
    """Round float32 factors to whole steps in int16, and cut the rows into parts: a part's rows stand together.

    What lies beyond the cap, in steps, is cut off there and makes its part of the row wild: levels say nothing about it.
    ``most`` becomes the highest level of each part, or _WILD.
    """
    a_step, far, width = np.float32(1 / step), np.float32(cap), factors.shape[1]
    for p in range(len(levels)):
        begin = p * PART
        for i in range(len(factors)):
            x, z = factors[i][begin : min(begin + PART, width)], levels[p, i]
            beyond = np.int32(0)
            for v in range(len(x)):
                level = x[v] * a_step
                beyond = np.int32(beyond + np.int32(not abs(level) <= far))
                z[v] = np.int16(np.rint(min(max(level, -far), far)))
            z[len(x) :] = _NOBODY
            highest = _NOBODY
            for v in range(PART):
                highest = max(highest, z[v])
            most[p, i] = _WILD if beyond else highest


def to_log_levels(above: Any, below: Any, step: Any, levels: Any, most: Any) -> None:
    """Do the same with log(above / below); wild is what is not between a half and two, or where both are small.

    ``below`` has a row for each or one for all.
    """
    a_step, width, last = np.float32(2 / step), above.shape[1], len(below) - 1
    far, least_sum = np.float32(MOST_RATIO), np.float32(LEAST_SUM)
    for p in range(len(levels)):
        begin = p * PART
        for i in range(len(above)):
            x, y = above[i][begin : min(begin + PART, width)], below[min(i, last)][begin : min(begin + PART, width)]
            z = levels[p, i]
            beyond = np.int32(0)
            for v in range(len(x)):
                total = x[v] + y[v]
                r = (x[v] - y[v]) / total
                beyond = np.int32(beyond + np.int32(not abs(r) <= far) + np.int32(not total >= least_sum))
                r = min(max(r, -far), far)
                s = r * r
                # The series of the inverse hyperbolic tangent: log(x / y) is twice that of r.
                t = _THIRD + s * (_FIFTH + s * (_SEVENTH + s * _NINTH))
                z[v] = np.int16(np.rint((r + r * s * t) * a_step))
            z[len(x) :] = _NOBODY
            highest = _NOBODY
            for v in range(PART):
                highest = max(highest, z[v])
            most[p, i] = _WILD if beyond else highest


def count_levels(
    product: Any, first: Any, second: Any, scale: Any, step: Any, first_levels: Any, second_levels: Any,
    first_most: Any, second_most: Any, e: Any, q: Any, coarse_offset: Any, coarse_margin: Any, offset: Any, margin: Any,
    better: Any, answers: Any, places: Any,
) -> int:  # fmt: skip
    """Count what ``count_sums`` or ``count_products`` count: in levels, and in float32 what these leave open."""
    width, n_unclear = first.shape[1], 0
    low, high = np.empty(len(e), dtype=np.int16), np.empty(len(e), dtype=np.int16)
    for k in range(len(e)):
        t, m = coarse_offset[k], coarse_margin[k]
        low[k] = np.int16(min(max(np.ceil((t - m) / step - _LEVELS_OFF), _LOWEST), _HIGHEST))
        high[k] = np.int16(min(max(np.floor((t + m) / step + _LEVELS_OFF), _LOWEST), _HIGHEST))
    for p in range(len(first_levels)):
        begin = p * PART
        part = slice(begin, min(begin + PART, width))
        for k in range(len(e)):
            at_least, at_most, bound = low[k], high[k], first_most[p, e[k]] + second_most[p, q[k]]
            if bound < at_least:
                continue
            coarse_x, coarse_y = first_levels[p, e[k]], second_levels[p, q[k]]
            coarse_above, coarse_below = np.int16(0), np.int16(0)
            for v in range(PART):
                level = np.int16(coarse_x[v] + coarse_y[v])
                coarse_above = np.int16(coarse_above + np.int16(level > at_most))
                coarse_below = np.int16(coarse_below + np.int16(level < at_least))
            if int(coarse_above) + int(coarse_below) == PART and bound < _WILD // 2:
                better[k] += int(coarse_above)
                continue
            t, m = offset[k], margin[k]
            x, y, f = first[e[k]][part], second[q[k]][part], scale[e[k]][part]
            above, below = np.int32(0), np.int32(0)
            for v in range(len(x)):
                z = x[v] * y[v] - t * f[v] if product else x[v] + y[v] - t
                above = np.int32(above + np.int32(z > m))
                below = np.int32(below + np.int32(z < -m))
            better[k] += int(above)
            if int(above) + int(below) < len(x):
                for v in range(len(x)):
                    z = x[v] * y[v] - t * f[v] if product else x[v] + y[v] - t
                    if not abs(z) > m:
                        if n_unclear < len(places):
                            answers[n_unclear], places[n_unclear] = k, begin + v
                        n_unclear += 1
    return n_unclear


def count_sums(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any,
    better: Any, answers: Any, places: Any,
) -> int:  # fmt: skip
    """Count, for each answer, candidates with first + weight * second - offset beyond the margin."""
    width, n_unclear = first.shape[1], 0
    for k in range(len(e)):
        w, t, m = weight[k], offset[k], margin[k]
        for begin in range(0, width, PART):
            part = slice(begin, min(begin + PART, width))
            x, y = first[e[k]][part], second[q[k]][part]
            above, below = np.int32(0), np.int32(0)
            for v in range(len(x)):
                z = x[v] + w * y[v] - t
                above = np.int32(above + np.int32(z > m))
                below = np.int32(below + np.int32(z < -m))
            better[k] += int(above)
            if int(above) + int(below) < len(x):
                for v in range(len(x)):
                    z = x[v] + w * y[v] - t
                    if not abs(z) > m:
                        if n_unclear < len(places):
                            answers[n_unclear], places[n_unclear] = k, begin + v
                        n_unclear += 1
    return n_unclear


def count_products(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any,
    better: Any, answers: Any, places: Any,
) -> int:  # fmt: skip
    """Count, for each answer, candidates with first * second - offset * scale beyond the margin."""
    width, n_unclear = first.shape[1], 0
    for k in range(len(e)):
        t, m = offset[k], margin[k]
        for begin in range(0, width, PART):
            part = slice(begin, min(begin + PART, width))
            x, y, f = first[e[k]][part], second[q[k]][part], scale[e[k]][part]
            above, below = np.int32(0), np.int32(0)
            for v in range(len(x)):
                z = x[v] * y[v] - t * f[v]
                above = np.int32(above + np.int32(z > m))
                below = np.int32(below + np.int32(z < -m))
            better[k] += int(above)
            if int(above) + int(below) < len(x):
                for v in range(len(x)):
                    z = x[v] * y[v] - t * f[v]
                    if not abs(z) > m:
                        if n_unclear < len(places):
                            answers[n_unclear], places[n_unclear] = k, begin + v
                        n_unclear += 1
    return n_unclear


def lengths_and_units(vectors: Any, lengths: Any, unit: Any) -> None:
    """Write the float64 length of each float32 row, and the row divided by it."""
    for i in range(len(vectors)):
        x, u = vectors[i], unit[i]
        square = 0.0
        for k in range(len(x)):
            wide = np.float64(x[k])  # numba's float() would leave it in single precision
            square += wide * wide
        lengths[i] = np.sqrt(square)
        inverse = 1.0 / lengths[i]
        for k in range(len(x)):
            u[k] = np.float32(np.float64(x[k]) * inverse)


def dots(vectors: Any, rows: Any, table: Any, numbers: Any, out: Any) -> None:
    """Write the float64 dot products of ``vectors[rows[i]]`` and ``table[numbers[i]]``."""
    for i in range(len(rows)):
        x, y = vectors[rows[i]], table[numbers[i]]
        total = 0.0
        for k in range(len(x)):
            total += x[k] * y[k]
        out[i] = total


def steps(
    vectors: Any, rows: Any, origins: Any, origin_numbers: Any, table: Any, numbers: Any, products: Any, squares: Any
) -> None:
    """Write, for the step from ``origins`` to ``vectors``, its dot product with ``table`` and its squared length."""
    for i in range(len(rows)):
        x, o, y = vectors[rows[i]], origins[origin_numbers[i]], table[numbers[i]]
        product, square = 0.0, 0.0
        for k in range(len(x)):
            step = x[k] - o[k]
            product += step * y[k]
            square += step * step
        products[i], squares[i] = product, square
