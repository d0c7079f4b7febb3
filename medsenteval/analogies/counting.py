"""How many candidates of a block beat an answer, for many answers at once: the innermost loop of ranking.

NumPy makes several passes over the candidates, so it first leaves out those that a bound over all exemplars shows to be far
below an answer. numba, where it is installed (``pip install medsenteval[analogy]``), looks at every one in a single pass and
is several times faster. Both count the same. Small work stays with NumPy, because compiling takes longer than that.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medsenteval.analogies.kernels import PART
from medsenteval.analogies.paired import compiled_kernel
from medsenteval.analogies.scores import Constants, Factors

__all__ = ["Asked", "BlockCounts", "Counter", "count_compiled", "count_with_numpy", "counter_for", "worth_compiling"]

Rows = NDArray[np.intp]


class BlockCounts(NamedTuple):
    """For each answer how many candidates are surely better, and the (answer, place in the block) pairs that are unclear."""

    better: NDArray[np.int64]
    unclear_answers: Rows
    unclear_places: Rows


class Asked(NamedTuple):
    """The answers of a group: rows of their exemplars and queries among the factors, and where a new (query, answer) begins.

    Answers of one query stand together, those of one candidate with all its exemplars within them.
    """

    exemplars: Rows
    queries: Rows
    runs: Rows


Counter = Callable[[str, Factors, Asked, Constants], BlockCounts]

#: Comparisons below which compiling the kernels costs more than they save.
_WORTH_COMPILING: Final = 2_000_000_000


def worth_compiling(n_comparisons: int) -> bool:
    """Say whether numba is there and so many comparisons repay the seconds that compiling takes."""
    return n_comparisons >= _WORTH_COMPILING and find_spec("numba") is not None


def counter_for(compiled: bool) -> Counter:
    """Return one of the two ways to count."""
    return count_compiled if compiled else count_with_numpy


def count_with_numpy(form: str, factors: Factors, asked: Asked, constants: Constants) -> BlockCounts:
    """Count one query's answer after the other, each for all its exemplars at once, on the candidates that can matter."""
    better = np.zeros(len(asked.exemplars), dtype=np.int64)
    answers, places = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    bounds = _bounds(form, factors)
    with np.errstate(invalid="ignore", over="ignore"):
        for begin, end in zip(asked.runs[:-1].tolist(), asked.runs[1:].tolist(), strict=True):
            e, chosen = asked.exemplars[begin:end], constants.take(slice(begin, end))
            y = factors.second[asked.queries[begin]]
            live = np.flatnonzero(~(_bound(form, bounds, y, chosen) < -2 * chosen.margin.max()))
            if not len(live):
                continue
            x, y, offset, margin = factors.first[e][:, live], y[live], chosen.offset[:, None], chosen.margin[:, None]
            z = x + chosen.weight[:, None] * y - offset if form == "sum" else x * y - offset * factors.scale[e][:, live]
            sure = z > margin
            better[begin:end] = np.count_nonzero(sure, axis=1)
            sure |= z < -margin
            found = np.nonzero(~sure)
            answers.append(found[0] + begin)
            places.append(live[found[1]])
    return BlockCounts(better, np.concatenate(answers), np.concatenate(places))


def count_compiled(form: str, factors: Factors, asked: Asked, constants: Constants) -> BlockCounts:
    """Count with kernels that numba compiles at their first use; they run outside the interpreter's lock."""
    compared: tuple[object, ...] = (asked.exemplars, asked.queries, constants.weight, constants.offset, constants.margin)
    tables: tuple[object, ...] = (factors.first, factors.second, factors.scale)
    kernel = compiled_kernel(f"count_{form}s")
    if factors.step:
        n_parts = -(-factors.first.shape[1] // PART)
        levels = [np.empty((n_parts, len(table), PART), dtype=np.int16) for table in (factors.first, factors.second)]
        most = [np.empty((n_parts, len(table)), dtype=np.int32) for table in (factors.first, factors.second)]
        if form == "sum":
            for table, reach, rounded, highest in zip(tables[:2], factors.reach, levels, most, strict=True):
                compiled_kernel("to_levels")(table, factors.step, reach, rounded, highest)
        else:
            half = np.full((1, factors.second.shape[1]), 0.5, dtype=np.float32)
            for table, below, rounded, highest in zip(tables[:2], (factors.scale, half), levels, most, strict=True):
                compiled_kernel("to_log_levels")(table, below, factors.step, rounded, highest)
        tables = (form == "product", *tables, factors.step, *levels, *most)
        coarse = constants.coarse_offset, constants.coarse_margin
        compared = (asked.exemplars, asked.queries, *coarse, constants.offset, constants.margin)
        kernel = compiled_kernel("count_levels")
    room = len(asked.exemplars)
    while True:
        better = np.zeros(len(asked.exemplars), dtype=np.int64)
        answers, places = np.empty(room, dtype=np.intp), np.empty(room, dtype=np.intp)
        n_unclear = kernel(*tables, *compared, better, answers, places)
        if n_unclear <= room:
            return BlockCounts(better, answers[:n_unclear], places[:n_unclear])
        room = n_unclear


class _Bounds(NamedTuple):
    """For each candidate the extremes over all exemplars; NaN where one is NaN, which keeps the candidate in."""

    most: NDArray[np.float32]
    least: NDArray[np.float32]
    scale_most: NDArray[np.float32]
    scale_least: NDArray[np.float32]


def _bounds(form: str, factors: Factors) -> _Bounds:
    most = factors.first.max(axis=0)
    if form == "sum":
        return _Bounds(most, most, most, most)
    return _Bounds(most, factors.first.min(axis=0), factors.scale.max(axis=0), factors.scale.min(axis=0))


def _bound(form: str, bounds: _Bounds, y: NDArray[np.float32], constants: Constants) -> NDArray[np.float32]:
    """Return what z cannot exceed for any of these answers, whichever exemplar they have."""
    lowest = constants.offset.min()
    if form == "sum":
        sums: NDArray[np.float32] = bounds.most + np.maximum(constants.weight.min() * y, constants.weight.max() * y) - lowest
        return sums
    smallest = bounds.scale_least if lowest >= 0 else bounds.scale_most
    products: NDArray[np.float32] = np.maximum(bounds.least * y, bounds.most * y) - lowest * smallest
    return products
