"""How similar two vectors are, for whole matrices at once and in float64."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Coordinates of one side of a block of pairs.
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
    #: For each pair |u|^2, |v|^2 and u . v.
    products = np.empty((3, len(left), 1, 1))
    size = max(_BLOCK_VALUES // max(matrix.shape[1], 1), 1)
    for start in range(0, len(left), size):
        block = slice(start, start + size)
        both = np.stack([matrix[left[block]], matrix[right[block]]]).astype(np.float64)
        # Products of one row with one column, by the matrix library's own routine.
        np.matmul(both[:, :, None, :], both[:, :, :, None], out=products[:2, block])
        np.matmul(both[0, :, None, :], both[1, :, :, None], out=products[2, block])
    first_square, second_square, product = products[:, :, 0, 0]
    # Roots are multiplied, not squares, so that short vectors do not underflow to zero length.
    lengths = np.sqrt(first_square) * np.sqrt(second_square)
    cosines = np.divide(product, lengths, out=np.zeros(len(left)), where=lengths > 0)
    # The last digits are rounding of the roots: two pairs of equal vectors must both have the cosine 1.
    return np.clip(np.round(cosines, _DIGITS), -1.0, 1.0), int((~(lengths > 0)).sum())
