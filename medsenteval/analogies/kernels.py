"""The innermost loops as plain Python for numba to compile; ``counting`` and ``paired`` say what they are for.

Counts are kept in float32 within a block (exact up to 16 million), because adding floats under a mask is what processors do
eight or sixteen at a time. The loops for sums and for products differ only in z and in its bound; sharing them
through a function argument would keep numba from vectorising them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["count_products", "count_sums", "dots", "find_products", "find_sums", "steps"]

_ONE, _ZERO = np.float32(1), np.float32(0)
#: Candidates that are looked at or passed over together. Passing over pays only where at least half of the stretches go:
#: one long loop is faster than many short ones.
_STRETCH = 128
#: Answers of one query from which on it pays to find out first which candidates none of them needs to look at.
_WORTH_BOUNDING = 4


def count_sums(
    first: Any, second: Any, scale: Any, most: Any, least: Any, scale_most: Any, scale_least: Any,
    e: Any, q: Any, weight: Any, offset: Any, margin: Any, runs: Any, live: Any, better: Any, n_unclear: Any,
) -> int:  # fmt: skip
    """Count, for each answer, candidates with first + weight * second - offset beyond the margin; return the number unclear."""
    width, total = first.shape[1], 0
    n_stretches = (width + _STRETCH - 1) // _STRETCH
    for r in range(len(runs) - 1):
        lo, hi = runs[r], runs[r + 1]
        y = second[q[lo]]
        n_live = n_stretches
        if hi - lo >= _WORTH_BOUNDING:
            w_least, w_most = np.min(weight[lo:hi]), np.max(weight[lo:hi])
            t_least, m_most = np.min(offset[lo:hi]), np.max(margin[lo:hi])
            n_live = 0
            for s in range(n_stretches):
                begin, end, hopeless = s * _STRETCH, min((s + 1) * _STRETCH, width), _ZERO
                for v in range(begin, end):
                    bound = most[v] + max(w_least * y[v], w_most * y[v]) - t_least
                    hopeless += _ONE if bound < -2 * m_most else _ZERO
                if int(hopeless) < end - begin:
                    live[n_live] = s
                    n_live += 1
        for k in range(lo, hi):
            x, w, t, m = first[e[k]], weight[k], offset[k], margin[k]
            above, clear = _ZERO, width
            if 2 * n_live > n_stretches:
                below = _ZERO
                for v in range(width):
                    z = x[v] + w * y[v] - t
                    above += _ONE if z > m else _ZERO
                    below += _ONE if z < -m else _ZERO
                clear = int(above) + int(below)
            else:
                unclear = 0
                for i in range(n_live):
                    begin, end = live[i] * _STRETCH, min((live[i] + 1) * _STRETCH, width)
                    here, below = _ZERO, _ZERO
                    for v in range(begin, end):
                        z = x[v] + w * y[v] - t
                        here += _ONE if z > m else _ZERO
                        below += _ONE if z < -m else _ZERO
                    above += here
                    unclear += end - begin - int(here) - int(below)
                clear = width - unclear
            better[k] = int(above)
            n_unclear[k] = width - clear
            total += n_unclear[k]
    return total


def count_products(
    first: Any, second: Any, scale: Any, most: Any, least: Any, scale_most: Any, scale_least: Any,
    e: Any, q: Any, weight: Any, offset: Any, margin: Any, runs: Any, live: Any, better: Any, n_unclear: Any,
) -> int:  # fmt: skip
    """Count, for each answer, candidates with first * second - offset * scale beyond the margin; return the number unclear."""
    width, total = first.shape[1], 0
    n_stretches = (width + _STRETCH - 1) // _STRETCH
    for r in range(len(runs) - 1):
        lo, hi = runs[r], runs[r + 1]
        y = second[q[lo]]
        n_live = n_stretches
        if hi - lo >= _WORTH_BOUNDING:
            t_least, m_most = np.min(offset[lo:hi]), np.max(margin[lo:hi])
            smallest = scale_least if t_least >= 0 else scale_most
            n_live = 0
            for s in range(n_stretches):
                begin, end, hopeless = s * _STRETCH, min((s + 1) * _STRETCH, width), _ZERO
                for v in range(begin, end):
                    bound = max(least[v] * y[v], most[v] * y[v]) - t_least * smallest[v]
                    hopeless += _ONE if bound < -2 * m_most else _ZERO
                if int(hopeless) < end - begin:
                    live[n_live] = s
                    n_live += 1
        for k in range(lo, hi):
            x, f, t, m = first[e[k]], scale[e[k]], offset[k], margin[k]
            above, clear = _ZERO, width
            if 2 * n_live > n_stretches:
                below = _ZERO
                for v in range(width):
                    z = x[v] * y[v] - t * f[v]
                    above += _ONE if z > m else _ZERO
                    below += _ONE if z < -m else _ZERO
                clear = int(above) + int(below)
            else:
                unclear = 0
                for i in range(n_live):
                    begin, end = live[i] * _STRETCH, min((live[i] + 1) * _STRETCH, width)
                    here, below = _ZERO, _ZERO
                    for v in range(begin, end):
                        z = x[v] * y[v] - t * f[v]
                        here += _ONE if z > m else _ZERO
                        below += _ONE if z < -m else _ZERO
                    above += here
                    unclear += end - begin - int(here) - int(below)
                clear = width - unclear
            better[k] = int(above)
            n_unclear[k] = width - clear
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
        x, y, w, t, m = first[e[k]], second[q[k]], weight[k], offset[k], margin[k]
        for begin in range(0, width, _STRETCH):
            end, clear = min(begin + _STRETCH, width), _ZERO
            for v in range(begin, end):
                z = x[v] + w * y[v] - t
                clear += _ONE if z > m or z < -m else _ZERO
            if int(clear) < end - begin:
                for v in range(begin, end):
                    z = x[v] + w * y[v] - t
                    if not (z > m) and not (z < -m):
                        answers[at], places[at] = k, v
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
        x, y, f, t, m = first[e[k]], second[q[k]], scale[e[k]], offset[k], margin[k]
        for begin in range(0, width, _STRETCH):
            end, clear = min(begin + _STRETCH, width), _ZERO
            for v in range(begin, end):
                z = x[v] * y[v] - t * f[v]
                clear += _ONE if z > m or z < -m else _ZERO
            if int(clear) < end - begin:
                for v in range(begin, end):
                    z = x[v] * y[v] - t * f[v]
                    if not (z > m) and not (z < -m):
                        answers[at], places[at] = k, v
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
