"""Kendall's tau-b across coordinates for many pairs of vectors, by counting bits.

Tau compares the order of every two coordinates in both vectors. Bits for every two coordinates say which is larger, and counts
of bits replace the sort that each pair would need: 200 coordinates are two times 311 words of 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Counts, Floats, Rows

Words = NDArray[np.uint64]

#: Pairs whose bits fit into a core's own cache together, and vectors whose coordinates are compared together.
_PAIRS_AT_ONCE: Final = 64
_VECTORS_AT_ONCE: Final = 128


def plane_bytes(dimension: int) -> int:
    """Return the bytes that the bits of one vector take."""
    return 16 * max(1, -(-dimension * (dimension - 1) // 128))


@dataclass(frozen=True, eq=False)
class SignPlanes:
    """For each vector two bits for every two coordinates: is the later one greater, is it lesser? Equal ones have neither.

    ``untied`` counts the pairs of unequal coordinates of each vector.
    """

    greater: Words
    lesser: Words
    untied: Counts

    @classmethod
    def of(cls, values: Floats) -> SignPlanes:
        n, dimension = values.shape
        greater, lesser = np.empty((2, n, plane_bytes(dimension) // 16), dtype=np.uint64)
        for start in range(0, n, _VECTORS_AT_ONCE):
            block = slice(start, start + _VECTORS_AT_ONCE)
            greater[block], lesser[block] = _signs(values[block], np.greater), _signs(values[block], np.less)
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


def _signs(values: Floats, compare: np.ufunc) -> Words:
    """Return the bits of comparing every coordinate with the one before it, with that two places before, and so on."""
    n, dimension = values.shape
    bits = np.zeros((n, 4 * plane_bytes(dimension)), dtype=np.bool_)
    begin = 0
    for step in range(1, dimension):
        end = begin + dimension - step
        compare(values[:, step:], values[:, :-step], out=bits[:, begin:end])
        begin = end
    return np.packbits(bits, axis=1).view(np.uint64)


def _popcounts(words: Words) -> Counts:
    """Count the bits of each row; NumPy 1 has no quick way."""
    counted = np.bitwise_count(words) if hasattr(np, "bitwise_count") else np.unpackbits(words.view(np.uint8), axis=1)
    total: Counts = counted.sum(axis=1, dtype=np.int64)
    return total
