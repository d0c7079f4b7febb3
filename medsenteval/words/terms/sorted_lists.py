"""Sorted lists in which near terms often stand side by side: whoever looks around a term finds a good one at once.

Two lists are in order of the letters, from the front and from the back. The others are in order of min-hashes (Broder 1997):
of all runs of four characters of a term, the one that comes first in an order drawn at random, and ties by a second such
order, a third and a fourth. Two terms have the same first run as often as they share runs. Nothing exact rests on these lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Counts
from medsenteval.support.compiling import compiled_loop
from medsenteval.support.cores import available_cores

_HASHED_LISTS: Final = 10
_RUN: Final = 4
#: Hashes that one list is sorted by, and the bits of each that are kept.
_HASHES: Final = 4
_KEPT_BITS: Final = 16


def sort_in_many_ways(
    texts: Sequence[str], codes: NDArray[np.unsignedinteger], starts: Counts
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the terms in each order, and at which place of each order a term stands: for each term one row of places."""
    backwards = [text[::-1] for text in texts]
    orders = [np.array(sorted(range(len(texts)), key=keys.__getitem__)) for keys in (texts, backwards)]
    seeds = np.random.default_rng(0).integers(1, 1 << 63, size=(_HASHED_LISTS, _HASHES), dtype=np.uint64)
    with ThreadPoolExecutor(available_cores()) as pool:
        orders += pool.map(lambda own_seeds: np.argsort(_hash_runs(codes, starts, own_seeds), kind="stable"), seeds)
    ranks = np.empty((len(texts), len(orders)), dtype=np.int32)
    for which, order in enumerate(orders):
        ranks[order, which] = np.arange(len(texts))
    return np.array(orders, dtype=np.int32), ranks


@compiled_loop
def _hash_runs(codes, starts, seeds):  # type: ignore[no-untyped-def]
    """Return for each term the lowest hashes of its runs, one for each seed, in one word."""
    keys = np.zeros(len(starts) - 1, dtype=np.uint64)
    for term in range(len(keys)):
        end = starts[term + 1]
        for seed in seeds:
            lowest = ~np.uint64(0)
            for place in range(starts[term], max(end - _RUN, starts[term]) + 1):
                run = np.uint64(0)
                for i in range(place, min(place + _RUN, end)):
                    run = (run << np.uint64(16)) ^ (np.uint64(codes[i]) + np.uint64(1))
                # A multiplication and the high bits mix well enough for an order that looks drawn.
                mixed = (run ^ seed) * np.uint64(0x9E3779B97F4A7C15)
                lowest = min(lowest, (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93))
            kept = (lowest * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _KEPT_BITS)
            keys[term] = (keys[term] << np.uint64(_KEPT_BITS)) | kept
    return keys
