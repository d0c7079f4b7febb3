"""How similar two vectors are, for whole matrices at once and in float64."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.cores import available_cores

__all__ = ["paired_cosine"]

#: Coordinates of one side of a block of pairs. Smaller blocks would stay in a core's own cache, but the threads would then
#: spend more time on handing the interpreter to each other than that saves.
_BLOCK_VALUES: Final = 400_000
#: Digits of a cosine that float64 sums over some thousand coordinates get right.
_DIGITS: Final = 12


def paired_cosine(
    matrix: NDArray[np.float32], left: NDArray[np.intp], right: NDArray[np.intp]
) -> tuple[NDArray[np.float64], int]:
    """Return the cosine of ``matrix[left[i]]`` and ``matrix[right[i]]`` for every i, and how many had a zero vector.

    The cosine with a zero vector is undefined; it is set to 0, as SentEval does, and counted. Sums are float64: in float32
    pairs that are equally similar would get slightly different cosines, and a rank correlation sees that.
    """
    n_pairs, width = len(left), matrix.shape[1]
    #: For each pair |u|^2, |v|^2 and u . v.
    products = np.empty((3, n_pairs, 1, 1))
    span = -(-n_pairs // (4 * available_cores())) or 1
    size = min(max(_BLOCK_VALUES // max(width, 1), 1), span)
    # Rows that follow one another need no gathering.
    in_order = [bool((np.diff(rows) == 1).all()) for rows in (left, right)]

    def fill(first: int) -> None:
        last = min(first + span, n_pairs)
        # The same buffers again and again: fresh ones would cost more than the arithmetic.
        gathered, widened = np.empty((size, width), dtype=np.float32), np.empty((2, size, width), dtype=np.float64)
        for start in range(first, last, size):
            block = slice(start, min(start + size, last))
            both = widened[:, : block.stop - start]
            for wide, rows, follow in zip(both, (left[block], right[block]), in_order, strict=True):
                if follow:
                    wide[:] = matrix[rows[0] : rows[-1] + 1]
                else:
                    np.take(matrix, rows, axis=0, out=gathered[: len(rows)], mode="clip")
                    wide[:] = gathered[: len(rows)]
            # Products of one row with one column, by the matrix library's own routine.
            np.matmul(both[:, :, None, :], both[:, :, :, None], out=products[:2, block])
            np.matmul(both[0, :, None, :], both[1, :, :, None], out=products[2, block])

    # NumPy lets go of the interpreter in these loops, and spans do not touch each other's results.
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(fill, range(0, n_pairs, span)))
    first_square, second_square, product = products[:, :, 0, 0]
    # Roots are multiplied, not squares, so that short vectors do not underflow to zero length.
    lengths = np.sqrt(first_square) * np.sqrt(second_square)
    cosines = np.divide(product, lengths, out=np.zeros(n_pairs), where=lengths > 0)
    # The last digits are rounding of the roots: two pairs of equal vectors must both have the cosine 1.
    return np.clip(np.round(cosines, _DIGITS), -1.0, 1.0), int((~(lengths > 0)).sum())
