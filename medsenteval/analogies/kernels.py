"""The innermost loops as plain Python for numba to compile; ``counting`` and ``paired`` say what they are for.

Every candidate is looked at for every answer, in straight loops without a branch: they run eight or sixteen candidates at a
time, which beats cleverness about which to pass over. Counters are as narrow as what is compared (int32 beside float32, int16
beside int16), because a comparison's result can then be added as it comes. The loops for sums and for products differ only in z;
sharing them through a function argument would keep numba from vectorising them, and so would a loop over part of a row that does not
start at zero, whose numbers might be negative: parts are cut out first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["count_levels", "count_products", "count_sums", "dots", "find_products", "find_sums", "steps", "to_levels"]

#: Candidates among which the few unclear ones are looked for together.
_STRETCH = 128
#: Candidates that are counted in levels together, and again in float32 where that left one open.
_LEVELLED = 512
_LOWEST, _HIGHEST = -32768.0, 32767.0
#: Two factors of a sum are each at most half a level off; the rest is for the rounding of float32, a hundredth of a level.
_LEVELS_OFF = 1.05


def to_levels(factors: Any, step: Any, levels: Any) -> None:
    """Round float32 factors to whole steps in int16."""
    a_step = np.float32(1 / step)
    for i in range(len(factors)):
        x, z = factors[i], levels[i]
        for v in range(len(x)):
            z[v] = np.int16(np.rint(x[v] * a_step))


def count_levels(
    first: Any, second: Any, step: Any, first_levels: Any, second_levels: Any,
    e: Any, q: Any, offset: Any, margin: Any, better: Any, n_unclear: Any,
) -> int:  # fmt: skip
    """Count what ``count_sums`` counts where no sum is weighted: coarsely first, then anew in float32 what that leaves open."""
    width, total = first.shape[1], 0
    for k in range(len(e)):
        t, m = offset[k], margin[k]
        low = np.int16(min(max(np.ceil((t - m) / step - _LEVELS_OFF), _LOWEST), _HIGHEST))
        high = np.int16(min(max(np.floor((t + m) / step + _LEVELS_OFF), _LOWEST), _HIGHEST))
        n_better, n_between = 0, 0
        for begin in range(0, width, _LEVELLED):
            part = slice(begin, min(begin + _LEVELLED, width))
            x, y = first_levels[e[k]][part], second_levels[q[k]][part]
            above, below = np.int16(0), np.int16(0)
            for v in range(len(x)):
                z = np.int16(x[v] + y[v])
                above = np.int16(above + np.int16(z > high))
                below = np.int16(below + np.int16(z < low))
            if int(above) + int(below) == len(x):
                n_better += int(above)
                continue
            fine_x, fine_y = first[e[k]][part], second[q[k]][part]
            fine_above, fine_below = np.int32(0), np.int32(0)
            for v in range(len(fine_x)):
                fine = fine_x[v] + fine_y[v] - t
                fine_above = np.int32(fine_above + np.int32(fine > m))
                fine_below = np.int32(fine_below + np.int32(fine < -m))
            n_better += int(fine_above)
            n_between += len(x) - int(fine_above) - int(fine_below)
        better[k] = n_better
        n_unclear[k] = n_between
        total += n_between
    return total


def count_sums(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any, better: Any, n_unclear: Any
) -> int:
    """Count, for each answer, candidates with first + weight * second - offset beyond the margin; return the number unclear."""
    width, total = first.shape[1], 0
    for k in range(len(e)):
        x, y, w, t, m = first[e[k]], second[q[k]], weight[k], offset[k], margin[k]
        above, below = np.int32(0), np.int32(0)
        for v in range(width):
            z = x[v] + w * y[v] - t
            above = np.int32(above + np.int32(z > m))
            below = np.int32(below + np.int32(z < -m))
        better[k] = above
        n_unclear[k] = width - int(above) - int(below)
        total += n_unclear[k]
    return total


def count_products(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any, better: Any, n_unclear: Any
) -> int:
    """Count, for each answer, candidates with first * second - offset * scale beyond the margin; return the number unclear."""
    width, total = first.shape[1], 0
    for k in range(len(e)):
        x, y, f, t, m = first[e[k]], second[q[k]], scale[e[k]], offset[k], margin[k]
        above, below = np.int32(0), np.int32(0)
        for v in range(width):
            z = x[v] * y[v] - t * f[v]
            above = np.int32(above + np.int32(z > m))
            below = np.int32(below + np.int32(z < -m))
        better[k] = above
        n_unclear[k] = width - int(above) - int(below)
        total += n_unclear[k]
    return total


def find_sums(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any,
    n_unclear: Any, answers: Any, places: Any,
) -> None:  # fmt: skip
    """Write down which candidates ``count_sums`` found unclear."""
    width, at = first.shape[1], 0
    for k in range(len(e)):
        if n_unclear[k] == 0:
            continue
        w, t, m = weight[k], offset[k], margin[k]
        for begin in range(0, width, _STRETCH):
            part = slice(begin, min(begin + _STRETCH, width))
            x, y = first[e[k]][part], second[q[k]][part]
            clear = np.int32(0)
            for v in range(len(x)):
                z = x[v] + w * y[v] - t
                clear = np.int32(clear + np.int32((z > m) | (z < -m)))
            if int(clear) < len(x):
                for v in range(len(x)):
                    z = x[v] + w * y[v] - t
                    if not (z > m) and not (z < -m):
                        answers[at], places[at] = k, begin + v
                        at += 1


def find_products(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any,
    n_unclear: Any, answers: Any, places: Any,
) -> None:  # fmt: skip
    """Write down which candidates ``count_products`` found unclear."""
    width, at = first.shape[1], 0
    for k in range(len(e)):
        if n_unclear[k] == 0:
            continue
        t, m = offset[k], margin[k]
        for begin in range(0, width, _STRETCH):
            part = slice(begin, min(begin + _STRETCH, width))
            x, y, f = first[e[k]][part], second[q[k]][part], scale[e[k]][part]
            clear = np.int32(0)
            for v in range(len(x)):
                z = x[v] * y[v] - t * f[v]
                clear = np.int32(clear + np.int32((z > m) | (z < -m)))
            if int(clear) < len(x):
                for v in range(len(x)):
                    z = x[v] * y[v] - t * f[v]
                    if not (z > m) and not (z < -m):
                        answers[at], places[at] = k, begin + v
                        at += 1


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
