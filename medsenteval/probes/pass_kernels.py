"""The pass over raw rows as one compiled loop: each row is read from memory once, for both of its products.

Two products of a library, with residuals computed in between, read every block of rows twice, pack it twice, and come back to
the interpreter a dozen times, where threads wait for each other. Here a few rows at a time stay in the first caches from
their logits to their gradients, the next ones are called for meanwhile, and a thread works through its part of the rows
without coming back. Pair features are made there too, of two rows that are half as much to read, and never stored. Compiled
with numba.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.lanes import FLOATS, load, prefetch, repeat, store
from medsenteval.probes.wide import choose_equal, maximum, multiply_add, nearest, sum_of, two_to

__all__ = ["ROWS", "add_rows"]

#: Rows that are worked on together.
ROWS: Final = 16
#: So many rows ahead the next ones are called for: within the products it would take longer than waiting for memory does.
_AHEAD: Final = 4
#: Columns that four registers hold.
_STEP: Final = 4 * FLOATS
#: Columns of four rows that stay in the first cache while all weights pass by.
_COLUMNS: Final = 768
#: Groups of rows whose gradients are summed before they are added to the total: rounding grows with the length of a sum.
_SUMMED_GROUPS: Final = 32
#: Parts of a pair's features, if not the last two only.
_ALL_PARTS: Final = 4
#: Numbers in a line of the cache, and bytes of a number.
_CACHE_LINE: Final = 16
_BYTES: Final = 4

# The logarithm of 2 as a number of few bits, whose multiples are exact, and the rest.
_LOG2_HEAD: Final = np.float32(355 / 512)
_LOG2_REST: Final = np.float32(math.log(2) - 355 / 512)
_TO_BASE_2: Final = np.float32(1 / math.log(2))
#: Powers of e below are taken for this one, next to nothing.
_LOWEST: Final = np.float32(-87)
_T7, _T6, _T5, _T4, _T3, _T2 = (np.float32(1 / math.factorial(degree)) for degree in range(7, 1, -1))
_ZERO, _ONE = np.float32(0), np.float32(1)


@compiled_loop
def _copy_row(matrix, place, coming, rows, row):  # type: ignore[no-untyped-def]
    """Write a row of the matrix, and call for one that will be wanted soon."""
    width = matrix.shape[1]
    whole = width // FLOATS * FLOATS
    for column in range(0, whole, FLOATS):
        prefetch(matrix, (coming, column))
        store(rows, (row, column), load(matrix, (place, column)))
    for column in range(whole, width):
        rows[row, column] = matrix[place, column]


@compiled_loop
def _combine_rows(matrix, place, partner, coming, coming_partner, rows, row, n_parts):  # type: ignore[no-untyped-def]
    """Write what becomes of two rows u and v: u, v, |u - v| and u * v, or the last two parts of these.

    Two more, which will be wanted soon, are called for.
    """
    width = matrix.shape[1]
    whole = width // FLOATS * FLOATS
    zero = repeat(_ZERO)
    third = (n_parts - 2) * width
    fourth = third + width
    for column in range(0, whole, FLOATS):
        prefetch(matrix, (coming, column))
        prefetch(matrix, (coming_partner, column))
        u, v = load(matrix, (place, column)), load(matrix, (partner, column))
        if n_parts == _ALL_PARTS:
            store(rows, (row, column), u)
            store(rows, (row, width + column), v)
        difference = u - v
        store(rows, (row, third + column), maximum(difference, zero - difference))
        store(rows, (row, fourth + column), u * v)
    for column in range(whole, width):
        u, v = matrix[place, column], matrix[partner, column]
        if n_parts == _ALL_PARTS:
            rows[row, column], rows[row, width + column] = u, v
        rows[row, third + column], rows[row, fourth + column] = abs(u - v), u * v


@compiled_loop
def _multiply(rows, weights, width, logits):  # type: ignore[no-untyped-def]
    """Write the products of ``ROWS`` rows with all weights: lines x rows. Eight sums at a time keep the processor busy."""
    n_lines = len(weights)
    logits[:] = 0
    for first in range(0, width, _COLUMNS):
        last = min(first + _COLUMNS, width)
        for row in range(0, ROWS, 4):
            for line in range(0, n_lines, 2):
                # An odd last line is multiplied by itself and added once.
                other = min(line + 1, n_lines - 1)
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = repeat(_ZERO)
                for column in range(first, last, FLOATS):
                    one, two = load(weights, (line, column)), load(weights, (other, column))
                    x = load(rows, (row, column))
                    a0, b0 = multiply_add(x, one, a0), multiply_add(x, two, b0)
                    x = load(rows, (row + 1, column))
                    a1, b1 = multiply_add(x, one, a1), multiply_add(x, two, b1)
                    x = load(rows, (row + 2, column))
                    a2, b2 = multiply_add(x, one, a2), multiply_add(x, two, b2)
                    x = load(rows, (row + 3, column))
                    a3, b3 = multiply_add(x, one, a3), multiply_add(x, two, b3)
                logits[line, row] += sum_of(a0)
                logits[line, row + 1] += sum_of(a1)
                logits[line, row + 2] += sum_of(a2)
                logits[line, row + 3] += sum_of(a3)
                if other > line:
                    logits[other, row] += sum_of(b0)
                    logits[other, row + 1] += sum_of(b1)
                    logits[other, row + 2] += sum_of(b2)
                    logits[other, row + 3] += sum_of(b3)


@compiled_loop
def _add_products(rows, residuals, width, sums):  # type: ignore[no-untyped-def]
    """Add the products of residuals (lines x rows) with ``ROWS`` rows to the sums: lines x columns.

    Eight sums at a time stay in registers while all rows pass by.
    """
    n_lines = len(sums)
    for first in range(0, width, _STEP):
        second, third, fourth = first + FLOATS, first + 2 * FLOATS, first + 3 * FLOATS
        for line in range(0, n_lines, 2):
            # An odd last line is computed twice and stored once.
            other = min(line + 1, n_lines - 1)
            a0, a1 = load(sums, (line, first)), load(sums, (line, second))
            a2, a3 = load(sums, (line, third)), load(sums, (line, fourth))
            b0, b1 = load(sums, (other, first)), load(sums, (other, second))
            b2, b3 = load(sums, (other, third)), load(sums, (other, fourth))
            for row in range(ROWS):
                one, two = repeat(residuals[line, row]), repeat(residuals[other, row])
                x = load(rows, (row, first))
                a0, b0 = multiply_add(x, one, a0), multiply_add(x, two, b0)
                x = load(rows, (row, second))
                a1, b1 = multiply_add(x, one, a1), multiply_add(x, two, b1)
                x = load(rows, (row, third))
                a2, b2 = multiply_add(x, one, a2), multiply_add(x, two, b2)
                x = load(rows, (row, fourth))
                a3, b3 = multiply_add(x, one, a3), multiply_add(x, two, b3)
            store(sums, (line, first), a0)
            store(sums, (line, second), a1)
            store(sums, (line, third), a2)
            store(sums, (line, fourth), a3)
            store(sums, (other, first), b0)
            store(sums, (other, second), b1)
            store(sums, (other, third), b2)
            store(sums, (other, fourth), b3)


@compiled_loop
def _power(exponent):  # type: ignore[no-untyped-def]
    """Return e to a power that is not positive, to the last bit or two; the library's takes one number at a time.

    A multiple of log 2 is taken off, which leaves so little that Taylor's series is exact after the seventh power.
    """
    bounded = maximum(exponent, repeat(_LOWEST))
    whole = nearest(bounded * repeat(_TO_BASE_2))
    x = (bounded - whole * repeat(_LOG2_HEAD)) - whole * repeat(_LOG2_REST)
    series = multiply_add(repeat(_T7), x, repeat(_T6))
    series = multiply_add(series, x, repeat(_T5))
    series = multiply_add(series, x, repeat(_T4))
    series = multiply_add(series, x, repeat(_T3))
    series = multiply_add(series, x, repeat(_T2))
    return (multiply_add(series, x * x, x) + repeat(_ONE)) * two_to(whole)


@compiled_loop
def _to_residuals(logits, intercepts, own, share, n_classes, powers, sums, sizes, squares):  # type: ignore[no-untyped-def]
    """Replace logits (lines x rows) by weighted residuals p - y, and add up these, their sizes and their squares.

    Line ``class * walkers + walker`` belongs to a class. Where there is a class more than there are lines, its logits are
    zeros, and its residuals are only counted. As in ``kernels``, 1 - p is never formed.
    """
    walkers = len(share)
    n_products = len(intercepts) // walkers
    zero = repeat(_ZERO)
    for walker in range(walkers):
        for row in range(0, ROWS, FLOATS):
            mine = load(own, (0, row))
            highest = zero if n_classes > n_products else repeat(np.float32(-np.inf))
            for line in range(walker, len(intercepts), walkers):
                logit = load(logits, (line, row)) + repeat(intercepts[line])
                store(logits, (line, row), logit)
                highest = maximum(highest, logit)
            own_power = others = zero
            for number in range(n_classes):
                logit = load(logits, (number * walkers + walker, row)) if number < n_products else zero
                power = _power(logit - highest)
                store(powers, (number, row), power)
                label = repeat(np.float32(number))
                others = others + choose_equal(mine, label, zero, power)
                own_power = own_power + choose_equal(mine, label, power, zero)
            scale = load(share, (walker, row)) / (others + own_power)
            for number in range(n_classes):
                residual = scale * choose_equal(mine, repeat(np.float32(number)), zero - others, load(powers, (number, row)))
                line = number * walkers + walker
                store(sizes, (line, 0), load(sizes, (line, 0)) + maximum(residual, zero - residual))
                store(squares, (line, 0), multiply_add(residual, residual, load(squares, (line, 0))))
                if number < n_products:
                    store(sums, (line, 0), load(sums, (line, 0)) + residual)
                    store(logits, (line, row), residual)


@compiled_loop
def _lines_of_zeros(n_rows, n_columns):  # type: ignore[no-untyped-def]
    """Return zeros that begin where a line of the cache does: wide registers lose a third of their speed across two lines."""
    room = np.zeros(n_rows * n_columns + _CACHE_LINE, dtype=np.float32)
    skipped = -(room.ctypes.data // _BYTES) % _CACHE_LINE
    return room[skipped : skipped + n_rows * n_columns].reshape(n_rows, n_columns)


@compiled_loop
def add_rows(matrix, places, partners, own, share, weights, intercepts, n_classes):  # type: ignore[no-untyped-def]
    """Return sums over rows ``places`` of a matrix: of r * x, of r, and of |r| and r^2, where r is a weighted residual.

    With ``partners``, which may be empty, x is made of two rows of the matrix, whose parts are as many as the weights ask for.
    ``own`` has the number of each row's class; ``share`` the weight of each row for each walker (walkers x rows), or one for
    all rows (walkers x 1). ``weights`` are lines of class * walkers + walker; a class without lines has logits of zero.
    """
    n_rows, walkers = len(places), len(share)
    n_lines, width = weights.shape
    # Columns of zeros fill the last registers.
    used = -(-width // _STEP) * _STEP
    # Below each other at a power of two, numbers would contend for the same few places in the cache.
    stride = (used // _CACHE_LINE | 1) * _CACHE_LINE
    lines, rows = _lines_of_zeros(n_lines, stride), _lines_of_zeros(ROWS, stride)
    lines[:, :width] = weights
    logits, powers = _lines_of_zeros(n_lines, ROWS), _lines_of_zeros(n_classes, ROWS)
    own_now, share_now = _lines_of_zeros(1, ROWS), _lines_of_zeros(walkers, ROWS)
    some, gradient = _lines_of_zeros(n_lines, stride), _lines_of_zeros(n_lines, stride)
    # Sums of residuals, of their sizes and of their squares.
    few = _lines_of_zeros(3 * n_classes * walkers, FLOATS).reshape(3, n_classes * walkers, FLOATS)
    totals = np.zeros((3, n_classes * walkers), dtype=np.float64)
    for first in range(0, n_rows, ROWS):
        for row in range(ROWS):
            # Beyond the last row that row is repeated, but weighs nothing.
            place = min(first + row, n_rows - 1)
            coming = min(first + row + _AHEAD, n_rows - 1)
            if len(partners):
                pair, next_pair = (places[place], partners[place]), (places[coming], partners[coming])
                _combine_rows(matrix, *pair, *next_pair, rows, row, width // matrix.shape[1])
            else:
                _copy_row(matrix, places[place], places[coming], rows, row)
            own_now[0, row] = own[place]
            for walker in range(walkers):
                weight = share[walker, place if share.shape[1] > 1 else 0]
                share_now[walker, row] = weight if first + row < n_rows else _ZERO
        _multiply(rows, lines, used, logits)
        _to_residuals(logits, intercepts, own_now, share_now, n_classes, powers, few[0], few[1], few[2])
        _add_products(rows, logits, used, some)
        if (first // ROWS + 1) % _SUMMED_GROUPS == 0 or first + ROWS >= n_rows:
            gradient += some
            totals += few.sum(axis=2)
            some[:] = 0
            few[:] = 0
    return gradient[:, :width], totals[0, :n_lines], totals[1:].copy().reshape(2, n_classes, walkers)
