"""How similar two vectors are, for whole matrices at once and in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["paired_cosine"]

_BLOCK_ROWS = 4096


def paired_cosine(
    matrix: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]
) -> tuple[NDArray[np.float64], int]:
    """Return the cosine of ``matrix[left[i]]`` and ``matrix[right[i]]`` for every i, and how many had a zero vector.

    The cosine with a zero vector is undefined; it is set to 0, as SentEval does, and counted.
    """
    cosines = np.zeros(len(left))
    degenerate = 0
    for start in range(0, len(left), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        u = matrix[left[block]].astype(np.float64)
        v = matrix[right[block]].astype(np.float64)
        products = np.einsum("ij,ij->i", u, v)
        # Lengths are multiplied after the root, so that tiny vectors do not underflow to zero length.
        lengths = np.sqrt(np.einsum("ij,ij->i", u, u)) * np.sqrt(np.einsum("ij,ij->i", v, v))
        defined = lengths > 0
        degenerate += int((~defined).sum())
        np.divide(products, lengths, out=cosines[block], where=defined)
    return np.clip(cosines, -1.0, 1.0), degenerate
