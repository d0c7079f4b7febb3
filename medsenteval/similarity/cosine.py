"""How similar two vectors are, for whole matrices at once and in float64."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import available_cores

__all__ = ["paired_cosine"]

#: Pairs whose vectors fit into a core's own cache together.
_BLOCK_PAIRS: Final = 128
#: Digits of a cosine that float64 sums over some thousand coordinates get right.
_DIGITS: Final = 12


def paired_cosine(
    matrix: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]
) -> tuple[NDArray[np.float64], int]:
    """Return the cosine of ``matrix[left[i]]`` and ``matrix[right[i]]`` for every i, and how many had a zero vector.

    The cosine with a zero vector is undefined; it is set to 0, as SentEval does, and counted. Sums are float64: in float32
    pairs that are equally similar would get slightly different cosines, and a rank correlation sees that.
    """
    cosines = np.zeros(len(left))
    span = -(-len(left) // (4 * available_cores())) or 1

    def fill(first: int) -> int:
        last, degenerate = min(first + span, len(left)), 0
        # Gathered into the same buffers again and again: fresh ones would cost more than the arithmetic.
        shape = (min(_BLOCK_PAIRS, span), matrix.shape[1])
        gathered, widened = np.empty(shape, dtype=np.float32), np.empty((2, *shape), dtype=np.float64)
        for start in range(first, last, _BLOCK_PAIRS):
            block = slice(start, min(start + _BLOCK_PAIRS, last))
            for side, rows in enumerate((left[block], right[block])):
                wide = widened[side, : len(rows)]
                if (np.diff(rows) == 1).all():
                    wide[:] = matrix[rows[0] : rows[-1] + 1]  # rows that follow one another need no gathering
                else:
                    np.take(matrix, rows, axis=0, out=gathered[: len(rows)], mode="clip")
                    wide[:] = gathered[: len(rows)]
            u, v = widened[:, : block.stop - start]
            # Roots are multiplied, not squares, so that short vectors do not underflow to zero length.
            lengths = np.sqrt(_row_products(u, u)) * np.sqrt(_row_products(v, v))
            defined = lengths > 0
            np.divide(_row_products(u, v), lengths, out=cosines[block], where=defined)
            degenerate += int((~defined).sum())
        return degenerate

    # NumPy lets go of the interpreter in these loops, and spans do not touch each other's results.
    with ThreadPoolExecutor(available_cores()) as pool:
        degenerate = sum(pool.map(fill, range(0, len(left), span)))
    # The last digits are rounding of the roots: two pairs of equal vectors must both have the cosine 1.
    return np.clip(np.round(cosines, _DIGITS), -1.0, 1.0), degenerate


def _row_products(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scalar product of each row of ``u`` with the same row of ``v``, by the matrix library's own routine."""
    products: NDArray[np.float64] = np.matmul(u[:, None, :], v[:, :, None])[:, 0, 0]
    return products
