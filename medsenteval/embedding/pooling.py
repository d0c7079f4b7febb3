"""Ragged token vectors into one vector a sentence: mean (MOWE) and maximum."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.errors import SettingsError

POOLINGS: Final = ("mean", "max")

#: Sums of more rows than this are made from partial sums, so that float32 keeps its digits in long texts.
_ROWS_A_SUM: Final = 256


def pool(tokens: TokenVectors, how: str) -> NDArray[np.float32]:
    """Return the mean (MOWE) or the maximum over each text's known tokens; a text without any gets the zero vector."""
    if how != "mean":
        rows = np.where(tokens.known, np.arange(len(tokens.known)), -1)
        return pool_rows(tokens.values, rows.astype(np.int32), tokens.offsets.astype(np.int64), how)
    values = tokens.values if tokens.known.all() else tokens.values[tokens.known]
    offsets = np.concatenate([[0], np.cumsum(tokens.known)])[tokens.offsets]
    counts = np.diff(offsets)
    pooled = np.zeros((len(tokens), values.shape[1]), dtype=np.float32)
    filled = counts > 0
    if filled.any():
        # reduceat needs strictly growing starts, so texts without known tokens are passed over.
        pooled[filled] = np.add.reduceat(values, offsets[:-1][filled], axis=0, dtype=np.float64) / counts[filled, None]
    return pooled


def pool_rows(
    matrix: NDArray[np.float32],
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    how: str,
    weights: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Pool rows of a table, text i owning ``rows[offsets[i]:offsets[i + 1]]``; row -1 is an unknown token and does not count.

    Only the rows named are read, and no token's vector is copied for the mean, which is how a memory-mapped table larger
    than memory is pooled. ``weights`` (one a token, for the mean) multiply the vectors; the divisor stays the number of tokens.
    A text's vector is the same to the last bit whatever stands beside it.
    """
    if how not in POOLINGS:
        raise SettingsError(f"pooling is {how!r}; it can be {' or '.join(POOLINGS)}")
    matrix = np.asarray(matrix)  # indexing a memmap costs more than indexing the array over it
    known = rows >= 0
    offsets = np.concatenate([[0], np.cumsum(known)])[offsets]
    rows = rows[known]
    if how == "mean":
        sums = _sums(matrix, rows, offsets, np.ones(len(rows), dtype=np.float32) if weights is None else weights[known])
        sums /= np.maximum(1, np.diff(offsets)).astype(np.float32)[:, None]
        return sums
    pooled = np.zeros((len(offsets) - 1, matrix.shape[1]), dtype=np.float32)
    for maximum, (begin, end) in zip(pooled, pairwise(offsets.tolist()), strict=True):
        if end > begin:
            matrix[rows[begin:end]].max(axis=0, out=maximum)
    return pooled


def _sums(
    matrix: NDArray[np.float32], rows: NDArray[np.int32], offsets: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Add up the rows of each text, times their weights, in their order: the product of a sparse matrix with the table."""
    from scipy.sparse import csr_array

    # A long text becomes several rows of partial sums; which rows these are depends on the text alone.
    parts = np.maximum(1, -(-np.diff(offsets) // _ROWS_A_SUM))
    first_part = np.cumsum(parts) - parts
    within = np.arange(parts.sum()) - np.repeat(first_part, parts)
    starts = np.append(np.repeat(offsets[:-1], parts) + within * _ROWS_A_SUM, offsets[-1])
    chosen = csr_array((weights, rows, starts.astype(np.int32)), shape=(len(starts) - 1, len(matrix)))
    sums: NDArray[np.float32] = np.asarray(chosen @ matrix)
    if len(sums) == len(parts):
        return sums
    return np.add.reduceat(sums, first_part, axis=0, dtype=np.float64).astype(np.float32)
