"""How many candidates of a block beat an answer, for many answers at once: the innermost loop of ranking.

NumPy needs several passes over memory for what is one addition and two comparisons a candidate. numba, where it is
installed (``pip install medsenteval[analogy]``), does it in one pass and several times faster; both count the same. Small
work stays with NumPy, because compiling takes longer than that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medsenteval.analogies.scores import Constants, Factors

__all__ = ["BlockCounts", "Counter", "choose_counter", "count_compiled", "count_with_numpy"]

Rows = NDArray[np.intp]


class BlockCounts(NamedTuple):
    """For each answer how many candidates are surely better, and the (answer, place in the block) pairs that are unclear."""

    better: NDArray[np.int64]
    unclear_answers: Rows
    unclear_places: Rows


#: (form, factors, exemplar row of each answer, query row of each answer, constants) -> counts.
Counter = Callable[[str, Factors, Rows, Rows, Constants], BlockCounts]

#: Comparisons below which compiling the kernels costs more than they save.
_WORTH_COMPILING: Final = 2_000_000_000
_ANSWERS_A_PASS: Final = 64


def choose_counter(n_comparisons: int) -> Counter:
    """Return the way to count that suits so many comparisons."""
    worth_it = n_comparisons >= _WORTH_COMPILING and find_spec("numba") is not None
    return count_compiled if worth_it else count_with_numpy


def count_with_numpy(form: str, factors: Factors, exemplars: Rows, queries: Rows, constants: Constants) -> BlockCounts:
    """Count in several passes over a few answers at a time."""
    better = np.empty(len(exemplars), dtype=np.int64)
    answers, places = [], []
    with np.errstate(invalid="ignore", over="ignore"):
        for begin in range(0, len(exemplars), _ANSWERS_A_PASS):
            part = slice(begin, begin + _ANSWERS_A_PASS)
            e, q, chosen = exemplars[part], queries[part], constants.take(part)
            if form == "sum":
                z = factors.second[q]
                z *= chosen.weight[:, None]
                z += factors.first[e]
                z -= chosen.offset[:, None]
            else:
                z = factors.first[e]
                z *= factors.second[q]
                z -= chosen.offset[:, None] * factors.scale[e]
            sure = z > chosen.margin[:, None]
            better[part] = np.count_nonzero(sure, axis=1)
            sure |= z < -chosen.margin[:, None]
            found = np.nonzero(~sure)
            answers.append(found[0] + begin)
            places.append(found[1])
    return BlockCounts(better, np.concatenate(answers), np.concatenate(places))


def count_compiled(form: str, factors: Factors, exemplars: Rows, queries: Rows, constants: Constants) -> BlockCounts:
    """Count in one pass with kernels that numba compiles at their first use; they run outside the interpreter's lock."""
    better = np.empty(len(exemplars), dtype=np.int64)
    n_unclear = np.empty(len(exemplars), dtype=np.int64)
    arguments = (
        factors.first, factors.second, factors.scale, exemplars, queries, constants.weight, constants.offset, constants.margin
    )  # fmt: skip
    total = _kernel(form, "count")(*arguments, better, n_unclear)
    answers, places = np.empty(total, dtype=np.intp), np.empty(total, dtype=np.intp)
    _kernel(form, "find")(*arguments, n_unclear, answers, places)
    return BlockCounts(better, answers, places)


@cache
def _kernel(form: str, what: str) -> Any:
    import numba

    from medsenteval.analogies import kernels

    # Sums of counts may be reordered, which is what lets them run in vector registers; NaN keeps its meaning.
    compile_ = numba.njit(nogil=True, fastmath={"reassoc"})
    return compile_(getattr(kernels, f"{what}_{form}s"))
