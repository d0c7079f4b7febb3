"""Exact ranks of answers among all candidates, without sorting or storing scores.

Blocks of candidates are multiplied with all exemplars and queries, and whatever is too close for products of a matrix library
is decided by the exact score. The ranks are therefore those of a full sort, in which ties go to the earlier candidate.

Comparing a block's candidates with the answers is the innermost loop. NumPy does it in several passes; numba, where it is
installed (``pip install medsenteval[analogy]``), in one, several times faster. Both count the same. Small work stays with
NumPy, because compiling takes longer than that.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from medsenteval.support.arrays import Counts, Floats, Rows
from medsenteval.support.compiling import compiled_loop
from medsenteval.support.cores import available_cores, one_thread_per_product
from medsenteval.words.analogies.candidate_scores import AdditiveScore, Comparison

#: Products of a block with all exemplars and queries, and the candidates of a block at the least and at the most.
_PRODUCTS: Final = 1 << 21
_FEWEST: Final = 64
_MOST: Final = 4096
#: Answers that NumPy compares at once.
_ANSWERS: Final = 64
#: Comparisons below which compiling the loop costs more than it saves.
_WORTH_COMPILING: Final = 1_000_000_000


def rank_answers(score: AdditiveScore, exemplars: Rows, queries: Rows, answers: Rows) -> Counts:
    """Return the rank of candidate ``answers[i]`` under exemplar ``exemplars[i]`` and query ``queries[i]``, 1 for the best.

    It is quicker where answers with the same exemplars and queries stand together: their products are then in the cache.
    """
    exact = score.exact(exemplars, queries, answers)
    comparison = score.comparison(exemplars, queries, exact)
    n_candidates = len(score.candidates)
    width = int(np.clip(_PRODUCTS // (exemplars.max(initial=0) + queries.max(initial=0) + 2), _FEWEST, _MOST))
    compiled = len(answers) * n_candidates >= _WORTH_COMPILING and find_spec("numba") is not None

    def count(start: int) -> Counts:
        factors = score.factors(slice(start, min(start + width, n_candidates)))
        better, rows, places = count_block(factors, exemplars, queries, comparison, compiled=compiled)
        places += start
        rivals = score.exact(exemplars[rows], queries[rows], places)
        ahead = (rivals > exact[rows]) | ((rivals == exact[rows]) & (places < answers[rows]))
        return better + np.bincount(rows[ahead], minlength=len(answers))

    ranks = np.ones(len(answers), dtype=np.int64)
    # Threads work on different candidates; the matrix products of each must not start threads of their own.
    with one_thread_per_product(), ThreadPoolExecutor(available_cores()) as pool:
        for counts in pool.map(count, range(0, n_candidates, width)):
            ranks += counts
    return ranks


def count_block(
    factors: tuple[Floats, Floats], exemplars: Rows, queries: Rows, comparison: Comparison, *, compiled: bool
) -> tuple[Counts, Rows, Rows]:
    """Compare all candidates of a block with answers, given by the rows of their exemplars and queries among the factors.

    Return for each answer how many candidates are surely better, and the (answer, place in the block) pairs that are unclear.
    """
    better, asked = np.zeros(len(exemplars), dtype=np.int64), np.arange(len(exemplars))
    if compiled:
        # Only answers with a rival that is unclear are looked at again.
        surely_worse = np.zeros_like(better)
        _compiled_count()(*factors, exemplars, queries, *comparison, better, surely_worse)
        asked = np.flatnonzero(better + surely_worse < factors[0].shape[1])
    unclear = [np.zeros((2, 0), dtype=np.intp)]
    for begin in range(0, len(asked), _ANSWERS):
        part = asked[begin : begin + _ANSWERS]
        x, y = factors[0][exemplars[part]], factors[1][queries[part]]
        weight, offset, margin = (values[part, None] for values in comparison[1:])
        z = x * y - offset if comparison.product else x + weight * y - offset
        better[part] = np.count_nonzero(z > margin, axis=1)
        answers, places = np.nonzero(~(np.abs(z) > margin))
        unclear.append(np.stack([part[answers], places]))
    rows, places = np.concatenate(unclear, axis=1)
    return better, rows, places


@cache
def _compiled_count() -> Any:
    return compiled_loop(_count)


def _count(  # type: ignore[no-untyped-def]
    first, second, exemplars, queries, product, weight, offset, margin, better, worse
):
    """Add to ``better`` and ``worse`` how many candidates surely are so."""
    for k in range(len(exemplars)):
        x, y = first[exemplars[k]], second[queries[k]]
        w, t, m = weight[k], offset[k], margin[k]
        above, below = 0, 0
        for v in range(first.shape[1]):
            z = x[v] * y[v] - t if product else x[v] + w * y[v] - t
            above += z > m
            below += z < -m
        better[k] += above
        worse[k] += below
