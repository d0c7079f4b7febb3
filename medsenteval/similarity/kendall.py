"""Kendall's tau-b across coordinates for many pairs of vectors, by counting bits.

Tau compares the order of every two coordinates in both vectors. Bits for every two coordinates say which is larger, and counts
of bits replace the sort that each pair would need: 200 coordinates are two times 311 words of 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats, Rows

Words = NDArray[np.uint64]

#: Pairs whose bits fit into a core's own cache together, and vectors whose comparisons do.
_PAIRS_AT_ONCE: Final = 64
_VECTORS_AT_ONCE: Final = 64


def doubled_ranks(values: Floats) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return twice the mid-rank of each value within its row, whole also for equal values, and which rows have those."""
    from scipy.stats import rankdata

    n = values.shape[1]
    order = np.argsort(values, axis=1)
    ranks = np.empty(values.shape, dtype=np.int32)
    np.put_along_axis(ranks, order, 2 * np.arange(1, n + 1, dtype=np.int32)[None], axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    tied = (ascending[:, 1:] == ascending[:, :-1]).any(axis=1)
    if tied.any():
        ranks[tied] = np.rint(2 * rankdata(values[tied], axis=1)).astype(np.int32)
    return ranks, tied


def plane_bytes(dimension: int) -> int:
    """Return the bytes that the bits of one vector take."""
    return 16 * _n_words(dimension)


def _n_pairs(dimension: int) -> int:
    return dimension * (dimension - 1) // 2


def _n_words(dimension: int) -> int:
    return max(1, -(-_n_pairs(dimension) // 64))


@dataclass(frozen=True, eq=False)
class SignPlanes:
    """For each vector two bits for every two coordinates: is the later one greater, is it lesser? Equal ones have neither.

    ``untied`` counts the pairs of unequal coordinates of each vector.
    """

    greater: Words
    lesser: Words
    untied: NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats) -> SignPlanes:
        n, dimension = values.shape
        greater, lesser = np.empty((2, n, _n_words(dimension)), dtype=np.uint64)
        used: Words = np.packbits(np.arange(64 * _n_words(dimension)) < _n_pairs(dimension)).view(np.uint64)
        # Ranks fit into 16 bits, which are compared four times as many at once as float64.
        kind: type[np.int16 | np.int32] = np.int16 if 2 * dimension < np.iinfo(np.int16).max else np.int32
        for start in range(0, n, _VECTORS_AT_ONCE):
            block = slice(start, start + _VECTORS_AT_ONCE)
            found, tied = doubled_ranks(values[block])
            ranks: NDArray[np.signedinteger] = found.astype(kind)
            greater[block] = _packed(ranks)
            lesser[block] = _packed(-ranks) if tied.any() else ~greater[block] & used
        return cls(greater, lesser, _popcounts(greater) + _popcounts(lesser))

    def taus(self, left: Rows, right: Rows) -> Floats:
        """Return tau-b of vectors ``left[i]`` and ``right[i]``; a constant vector has none and gives 0."""
        balance = np.empty(len(left), dtype=np.int64)
        for start in range(0, len(left), _PAIRS_AT_ONCE):
            block = slice(start, start + _PAIRS_AT_ONCE)
            up, down = (np.take(plane, left[block], axis=0) for plane in (self.greater, self.lesser))
            up2, down2 = (np.take(plane, right[block], axis=0) for plane in (self.greater, self.lesser))
            # Concordant minus discordant pairs of coordinates; those that are equal in one vector are neither.
            balance[block] = _popcounts((up & up2) | (down & down2)) - _popcounts((up & down2) | (down & up2))
        below = np.sqrt(self.untied[left].astype(np.float64) * self.untied[right])
        taus: Floats = np.divide(balance, below, out=np.zeros(len(left)), where=below > 0)
        return taus


def _packed(ranks: NDArray[np.signedinteger]) -> Words:
    """Compare every two coordinates once: each with those 1, 2, ... places on, around the end, up to half of the way."""
    n, dimension = ranks.shape
    full, half = (dimension - 1) // 2, dimension // 2
    bits = np.zeros((n, 64 * _n_words(dimension)), dtype=np.bool_)
    around = np.concatenate([ranks, ranks], axis=1)
    if full:
        shifted = sliding_window_view(around, dimension, axis=1)[:, 1 : full + 1]
        # Splitting the last axis makes a view, so this writes into ``bits``.
        np.greater(shifted, ranks[:, None, :], out=bits[:, : full * dimension].reshape(n, full, dimension))
    if half > full:
        # In an even number of coordinates those half-way round meet twice; the first half of them is enough.
        bits[:, full * dimension : full * dimension + half] = around[:, half:dimension] > ranks[:, :half]
    return np.packbits(bits, axis=1).view(np.uint64)


#: Bits set in every number of 16 bits, for NumPy 1, which cannot count bits.
_BITS: Final = np.unpackbits(np.arange(1 << 16, dtype=np.uint16).view(np.uint8)).reshape(-1, 16).sum(axis=1).astype(np.uint8)


def _popcounts(words: Words) -> NDArray[np.int64]:
    """Count the bits of each row."""
    if hasattr(np, "bitwise_count"):
        counted: NDArray[np.uint8] = np.bitwise_count(words)
    else:
        counted = _BITS[np.ascontiguousarray(words).view(np.uint16)]
    total: NDArray[np.int64] = counted.sum(axis=1, dtype=np.int64)
    return total
