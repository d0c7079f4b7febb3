"""How many candidates of a block beat an answer, for many answers at once: the innermost loop of ranking.

NumPy does it in several passes over the candidates; numba, where it is installed (``pip install medsenteval[analogy]``), in
one, several times faster. Both count the same. Small work stays with NumPy, because compiling takes longer than that.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import numpy as np

from medsenteval.support.arrays import Counts, Floats, Rows
from medsenteval.support.compiling import compiled_loop

#: Candidates that are compared together: their factors with a relation's terms stay in a core's own cache.
_PART: Final = 512
#: Answers that NumPy compares at once.
_ANSWERS: Final = 64
#: Comparisons below which compiling the loop costs more than it saves.
_WORTH_COMPILING: Final = 1_000_000_000


class Factors(NamedTuple):
    """What the scores of a block are made of: rows of exemplars (``first``, ``scale``) and of queries (``second``)."""

    first: Floats
    second: Floats
    scale: Floats


class Constants(NamedTuple):
    """What decides, for each answer, whether a candidate v beats it by more than rounding can explain.

    Sums: z = first[e, v] + weight * second[q, v] - offset. Products: z = first[e, v] * second[q, v] - offset * scale[e, v].
    v is surely better where z > margin and surely worse where z < -margin.
    """

    weight: Floats
    offset: Floats
    margin: Floats


class BlockCounts(NamedTuple):
    """For each answer how many candidates are surely better, and the (answer, place in the block) pairs that are unclear."""

    better: Counts
    unclear_answers: Rows
    unclear_places: Rows


def worth_compiling(n_comparisons: int) -> bool:
    """Say whether numba is there and so many comparisons repay the seconds that compiling takes."""
    return n_comparisons >= _WORTH_COMPILING and find_spec("numba") is not None


def count_block(
    form: str, factors: Factors, exemplars: Rows, queries: Rows, constants: Constants, *, compiled: bool
) -> BlockCounts:
    """Compare all candidates of a block with answers, given by the rows of their exemplars and queries among the factors."""
    better, asked = np.zeros(len(exemplars), dtype=np.int64), np.arange(len(exemplars))
    if compiled:
        # Only answers with a rival that is unclear are looked at again.
        surely_worse = np.zeros_like(better)
        _compiled_count()(form == "product", *factors, exemplars, queries, *constants, better, surely_worse)
        asked = np.flatnonzero(better + surely_worse < factors.first.shape[1])
    unclear = [np.zeros((2, 0), dtype=np.intp)]
    for begin in range(0, len(asked), _ANSWERS):
        part = asked[begin : begin + _ANSWERS]
        x, y = factors.first[exemplars[part]], factors.second[queries[part]]
        weight, offset, margin = (values[part, None] for values in constants)
        z = x * y - offset * factors.scale[exemplars[part]] if form == "product" else x + weight * y - offset
        better[part] = np.count_nonzero(z > margin, axis=1)
        answers, places = np.nonzero(~(np.abs(z) > margin))
        unclear.append(np.stack([part[answers], places]))
    return BlockCounts(better, *np.concatenate(unclear, axis=1))


@cache
def _compiled_count() -> Any:
    return compiled_loop(_count)


def _count(  # type: ignore[no-untyped-def]
    product, first, second, scale, exemplars, queries, weight, offset, margin, better, worse
):
    """Add to ``better`` and ``worse`` how many candidates surely are so.

    Straight loops without a branch over parts that begin at zero: the compiler handles several candidates at a time.
    """
    width = first.shape[1]
    z = np.empty(_PART)
    for begin in range(0, width, _PART):
        n = min(_PART, width - begin)
        for k in range(len(exemplars)):
            x, y = first[exemplars[k], begin : begin + n], second[queries[k], begin : begin + n]
            f, w, t, m = scale[exemplars[k], begin : begin + n], weight[k], offset[k], margin[k]
            if product:
                for v in range(n):
                    z[v] = x[v] * y[v] - t * f[v]
            else:
                for v in range(n):
                    z[v] = x[v] + w * y[v] - t
            above, below = 0, 0
            for v in range(n):
                above += z[v] > m
                below += z[v] < -m
            better[k] += above
            worse[k] += below
