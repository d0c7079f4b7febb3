"""The rank of every right answer among all candidates, without sorting and without storing a score.

An answer's rank is one more than the number of candidates that score higher, equal ones counted by their order in the
candidate list. Blocks of candidates are multiplied with all exemplars and queries in float32; whatever is closer than float32
can tell is decided by the exact score. The ranks are therefore those of a full float64 sort.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from medsenteval.support.arrays import Counts, Rows
from medsenteval.support.cores import available_cores
from medsenteval.words.analogies.candidate_scores import Score
from medsenteval.words.analogies.counting import Constants, count_block

__all__ = ["rank_answers"]

#: Products of a block with all exemplars and queries, and the candidates of a block at the least and at the most.
_PRODUCTS: Final = 1 << 22
_FEWEST: Final = 64
_MOST: Final = 4096


def rank_answers(score: Score, exemplars: Rows, queries: Rows, answers: Rows) -> Counts:
    """Return the rank of candidate ``answers[i]`` under exemplar ``exemplars[i]`` and query ``queries[i]``, 1 for the best.

    Ties go to the earlier candidate.
    """
    if not len(answers):
        return np.zeros(0, dtype=np.int64)
    # Answers with the same exemplars and queries stand together, whose products are then in the cache.
    order = np.lexsort((exemplars, queries))
    exemplars, queries, answers = exemplars[order], queries[order], answers[order]
    exact = score.exact(exemplars, queries, answers)
    constants = Constants(*(values.astype(np.float32) for values in score.constants(exemplars, queries, exact)))
    n_candidates = len(score.candidates)
    width = int(np.clip(_PRODUCTS // (exemplars.max() + queries.max() + 2), _FEWEST, _MOST))

    def count(start: int) -> Counts:
        block = slice(start, min(start + width, n_candidates))
        found = count_block(score.form, score.factors(block), exemplars, queries, constants, compiled=score.candidates.compiled)
        rows, places = found.unclear_answers, found.unclear_places + start
        rivals = score.exact(exemplars[rows], queries[rows], places)
        ahead = (rivals > exact[rows]) | ((rivals == exact[rows]) & (places < answers[rows]))
        return found.better + np.bincount(rows[ahead], minlength=len(answers))

    from threadpoolctl import threadpool_limits

    better = np.zeros(len(answers), dtype=np.int64)
    # Threads work on different candidates; the matrix products of each must not start threads of their own.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(available_cores()) as pool:
        for counts in pool.map(count, range(0, n_candidates, width)):
            better += counts
    ranks = np.empty(len(answers), dtype=np.int64)
    ranks[order] = better + 1
    return ranks
