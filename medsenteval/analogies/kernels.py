"""The counting loops as plain Python for numba to compile; see ``counting`` for what they count.

Counts are kept in float32 within a block (exact up to 16 million), because adding floats under a mask is what processors do
eight or sixteen at a time. The four loops differ only in z and in what they do with it; sharing them through a function
argument would keep numba from vectorising them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["count_products", "count_sums", "find_products", "find_sums"]

_ONE, _ZERO = np.float32(1), np.float32(0)


def count_sums(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any, better: Any, n_unclear: Any
) -> int:
    """Count, for each answer, candidates with first + weight * second - offset beyond the margin; return how many are unclear."""
    width, total = first.shape[1], 0
    for k in range(len(e)):
        x, y, w, t, m = first[e[k]], second[q[k]], weight[k], offset[k], margin[k]
        above, below = _ZERO, _ZERO
        for v in range(width):
            z = x[v] + w * y[v] - t
            above += _ONE if z > m else _ZERO
            below += _ONE if z < -m else _ZERO
        better[k] = int(above)
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
        x, y, w, t, m = first[e[k]], second[q[k]], weight[k], offset[k], margin[k]
        for v in range(width):
            z = x[v] + w * y[v] - t
            if not (z > m) and not (z < -m):
                answers[at], places[at] = k, v
                at += 1


def count_products(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any, better: Any, n_unclear: Any
) -> int:
    """Count, for each answer, candidates with first * second - offset * scale beyond the margin; return how many are unclear."""
    width, total = first.shape[1], 0
    for k in range(len(e)):
        x, y, s, t, m = first[e[k]], second[q[k]], scale[e[k]], offset[k], margin[k]
        above, below = _ZERO, _ZERO
        for v in range(width):
            z = x[v] * y[v] - t * s[v]
            above += _ONE if z > m else _ZERO
            below += _ONE if z < -m else _ZERO
        better[k] = int(above)
        n_unclear[k] = width - int(above) - int(below)
        total += n_unclear[k]
    return total


def find_products(
    first: Any, second: Any, scale: Any, e: Any, q: Any, weight: Any, offset: Any, margin: Any,
    n_unclear: Any, answers: Any, places: Any,
) -> None:  # fmt: skip
    """Write down which candidates ``count_products`` found unclear."""
    width, at = first.shape[1], 0
    for k in range(len(e)):
        if n_unclear[k] == 0:
            continue
        x, y, s, t, m = first[e[k]], second[q[k]], scale[e[k]], offset[k], margin[k]
        for v in range(width):
            z = x[v] * y[v] - t * s[v]
            if not (z > m) and not (z < -m):
                answers[at], places[at] = k, v
                at += 1
