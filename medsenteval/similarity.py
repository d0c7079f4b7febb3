"""How similar two vectors are, for whole matrices at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import available_cores

__all__ = ["paired_cosine"]

#: Pairs whose vectors fit into a core's own cache together.
_BLOCK_PAIRS: Final = 128
#: Squared lengths between these bounds were summed in float32 without overflow or loss to underflow.
_SAFE_SQUARES: Final = (1e-20, 1e30)


def paired_cosine(
    matrix: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]
) -> tuple[NDArray[np.float64], int]:
    """Return the cosine of ``matrix[left[i]]`` and ``matrix[right[i]]`` for every i, and how many had a zero vector.

    The cosine with a zero vector is undefined; it is set to 0, as SentEval does, and counted. Embeddings are float32, and
    so are the sums over their coordinates (error below 1e-6) except where lengths are extreme; the rest is float64.
    """
    cosines = np.zeros(len(left))
    span = -(-len(left) // (4 * available_cores())) or 1

    def fill(first: int) -> int:
        last, degenerate = min(first + span, len(left)), 0
        # Gathered into the same two buffers again and again: fresh ones would cost more than the arithmetic.
        buffers = np.empty((2, min(_BLOCK_PAIRS, span), matrix.shape[1]), dtype=np.float32)
        for start in range(first, last, _BLOCK_PAIRS):
            block = slice(start, min(start + _BLOCK_PAIRS, last))
            u, v = (buffer[: block.stop - start] for buffer in buffers)
            np.take(matrix, left[block], axis=0, out=u, mode="clip")
            np.take(matrix, right[block], axis=0, out=v, mode="clip")
            products, lengths, safe = _products_and_lengths(u, v)
            if not safe.all():
                extreme = (side[~safe].astype(np.float64) for side in (u, v))
                products[~safe], lengths[~safe], _ = _products_and_lengths(*extreme)
            defined = lengths > 0
            np.divide(products, lengths, out=cosines[block], where=defined)
            degenerate += int((~defined).sum())
        return degenerate

    # NumPy lets go of the interpreter in these loops, and spans do not touch each other's results.
    with ThreadPoolExecutor(available_cores()) as pool:
        degenerate = sum(pool.map(fill, range(0, len(left), span)))
    return np.clip(cosines, -1.0, 1.0), degenerate


def _products_and_lengths(
    u: NDArray[np.floating], v: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return each pair's dot product, product of lengths, and whether the squares stayed within safe bounds."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products, u_squares, v_squares = (np.einsum("ij,ij->i", a, b).astype(np.float64) for a, b in ((u, v), (u, u), (v, v)))
    low, high = _SAFE_SQUARES
    safe = (np.minimum(u_squares, v_squares) > low) & (np.maximum(u_squares, v_squares) < high)
    # Roots are multiplied, not squares, so that short vectors do not underflow to zero length.
    return products, np.sqrt(u_squares) * np.sqrt(v_squares), safe
