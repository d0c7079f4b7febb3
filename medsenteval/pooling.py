"""Ragged token vectors into one vector a sentence: mean (MOWE), maximum, and smooth inverse frequency (SIF)."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.compiling import loops_worth_loading, read_only
from medsenteval.contracts import TokenVectors
from medsenteval.cores import available_cores
from medsenteval.errors import SettingsError

__all__ = [
    "POOLINGS",
    "common_directions",
    "pool",
    "pool_rows",
    "sif_weights",
    "without_directions",
    "zipf_probabilities",
]

POOLINGS: Final = ("mean", "max")

#: Sums of more rows than this are made from partial sums, so that float32 keeps its digits in long texts.
_ROWS_A_SUM: Final = 256
_TOKENS_A_BLOCK: Final = 1 << 15


def pool(tokens: TokenVectors, how: str) -> NDArray[np.float32]:
    """Return the mean (MOWE) or the maximum over each text's known tokens; a text without any gets the zero vector."""
    _check(how)
    values = tokens.values if tokens.known.all() else tokens.values[tokens.known]
    known_before = np.concatenate([[0], np.cumsum(tokens.known)])
    offsets = known_before[tokens.offsets]
    counts = np.diff(offsets)
    pooled = np.zeros((len(tokens), values.shape[1]), dtype=np.float32)
    filled = counts > 0
    if filled.any():
        # reduceat needs strictly growing starts, so texts without known tokens are passed over.
        starts = offsets[:-1][filled]
        if how == "mean":
            sums = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
            pooled[filled] = sums / counts[filled, None]
        else:
            pooled[filled] = np.maximum.reduceat(values, starts, axis=0)
    return pooled


def pool_rows(
    matrix: NDArray[np.float32],
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    how: str,
    weights: NDArray[np.float32] | None = None,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Pool rows of a table, text i owning ``rows[offsets[i]:offsets[i + 1]]``; row -1 is an unknown token and does not count.

    Only the rows named are read, and no token's vector is copied for the mean, which is how a memory-mapped table larger
    than memory is pooled. ``weights`` (one a token, for the mean) multiply the vectors; the divisor stays the number of tokens.
    """
    _check(how)
    if out is None:
        out = np.empty((len(offsets) - 1, matrix.shape[1]), dtype=np.float32)
    matrix = np.asarray(matrix)  # indexing a memmap costs more than indexing the array over it
    pool_texts = _compiled_pooling(matrix, rows, offsets, how, weights, out)
    if pool_texts is None:
        known = rows >= 0
        if not known.all():
            known_before = np.zeros(len(rows) + 1, dtype=np.int64)
            np.cumsum(known, out=known_before[1:])
            rows, offsets = rows[known], known_before[offsets]
            weights = None if weights is None else weights[known]
        pool_texts = _plain_pooling(matrix, rows, offsets, how, weights, out)

    # Blocks whose sums stay in the processor's cache until they are divided.
    edges = _block_edges(offsets, _TOKENS_A_BLOCK)
    if len(edges) <= 2 or available_cores() < 2:
        for begin, end in pairwise(edges):
            pool_texts(begin, end)
    else:
        list(worker_threads().map(pool_texts, edges[:-1], edges[1:]))
    return out


def _compiled_pooling(
    matrix: NDArray[np.float32],
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    how: str,
    weights: NDArray[np.float32] | None,
    out: NDArray[np.float32],
) -> Callable[[int, int], None] | None:
    """Return what writes the means of texts with numba's loop; None if that does not fit or is not worth loading."""
    if how != "mean" or matrix.dtype != np.float32 or not (matrix.flags.c_contiguous and matrix.flags.aligned):
        return None
    loops = loops_worth_loading("medsenteval.pooling_kernels", len(rows))
    if loops is None:
        return None
    factors = np.zeros(0, dtype=np.float32) if weights is None else weights
    kinds = (np.float32, np.int32, np.int64, np.float32)
    asked = [
        read_only(np.ascontiguousarray(part, dtype=kind))
        for part, kind in zip((matrix, rows, offsets, factors), kinds, strict=True)
    ]

    def pool_texts(begin: int, end: int) -> None:
        loops.mean_rows(*asked, begin, end, _ROWS_A_SUM, out)

    return pool_texts


def _plain_pooling(
    matrix: NDArray[np.float32],
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    how: str,
    weights: NDArray[np.float32] | None,
    out: NDArray[np.float32],
) -> Callable[[int, int], None]:
    """Return what writes the means or maxima of texts whose tokens are all known, with torch or scipy."""
    torch = sys.modules.get("torch") if weights is None else None  # importing it only for this would cost more than it saves

    def pool_texts(begin: int, end: int) -> None:
        tokens = slice(int(offsets[begin]), int(offsets[end]))
        starts = offsets[begin : end + 1] - offsets[begin]
        counts = np.diff(starts)
        if how == "max":
            filled = np.flatnonzero(counts)  # reduceat cannot pass over a text without known tokens
            out[begin:end] = 0.0
            if len(filled):
                out[begin + filled] = np.maximum.reduceat(matrix[rows[tokens]], starts[filled], axis=0)
        else:
            sums = _sums(matrix, rows[tokens], starts, None if weights is None else weights[tokens], torch)
            np.divide(sums, np.maximum(1, counts).astype(np.float32)[:, None], out=out[begin:end])

    return pool_texts


def _block_edges(offsets: NDArray[np.int64], n_tokens: int) -> list[int]:
    """Cut texts into blocks of about this many tokens each, no text apart."""
    cuts = np.searchsorted(offsets, np.arange(n_tokens, int(offsets[-1]), n_tokens))
    return np.unique(np.concatenate([[0], cuts, [len(offsets) - 1]])).tolist()  # type: ignore[no-any-return]


def _check(how: str) -> None:
    if how not in POOLINGS:
        raise SettingsError(f"pooling is {how!r}; it can be {' or '.join(POOLINGS)}")


def _sums(
    matrix: NDArray[np.float32],
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    torch: Any,
) -> NDArray[np.float32]:
    """Add up rows in their order; the torch and the scipy way give the same bits, torch fetches rows ahead and is faster."""
    add_up = partial(_scipy_sums, matrix, rows, weights) if torch is None else partial(_torch_sums, torch, matrix, rows)
    counts = np.diff(offsets)
    if not len(counts) or counts.max() <= _ROWS_A_SUM:
        return add_up(offsets)
    # A long text becomes several rows of partial sums. Which rows these are depends on the text alone, so that a text's
    # vector is the same to the last bit whatever stands beside it.
    parts = np.maximum(1, -(-counts // _ROWS_A_SUM))
    first_part = np.cumsum(parts) - parts
    within = np.arange(parts.sum()) - np.repeat(first_part, parts)
    part_starts = np.repeat(offsets[:-1], parts) + within * _ROWS_A_SUM
    part_sums = add_up(np.append(part_starts, offsets[-1]))
    return np.add.reduceat(part_sums, first_part, axis=0, dtype=np.float64).astype(np.float32)


def _scipy_sums(
    matrix: NDArray[np.float32], rows: NDArray[np.int32], weights: NDArray[np.float32] | None, offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    from scipy.sparse import csr_array

    factors = np.ones(len(rows), dtype=np.float32) if weights is None else weights
    chosen = csr_array((factors, rows, offsets.astype(np.int32)), shape=(len(offsets) - 1, len(matrix)))
    return np.asarray(chosen @ matrix)


def _torch_sums(
    torch: Any, matrix: NDArray[np.float32], rows: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    with warnings.catch_warnings():
        # torch has no read-only tensors and says so for a read-only map; nothing is written here.
        warnings.filterwarnings("ignore", message=".*not writable.*")
        table, numbers = torch.from_numpy(matrix), torch.from_numpy(np.ascontiguousarray(rows))
        starts = torch.from_numpy(offsets[:-1].astype(np.int32))
    with torch.no_grad():
        summed: NDArray[np.float32] = torch.nn.functional.embedding_bag(numbers, table, starts, mode="sum").numpy()
    return summed


def worker_threads() -> ThreadPoolExecutor:
    """Return threads, one a core, for work in which NumPy, scipy or torch let go of the interpreter."""
    # A forked process has not its parent's threads; and only libraries that are loaded already can be held to one thread.
    return _threads_of(os.getpid(), "torch" in sys.modules)


@cache
def _threads_of(process: int, with_torch: bool) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="medsenteval", initializer=_one_thread_each)


def _one_thread_each() -> None:
    """Keep OpenMP from starting further threads below this one; its setting belongs to the calling thread alone."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="openmp")


def zipf_probabilities(rows: NDArray[np.int32], n_words: int) -> NDArray[np.float64]:
    """Return the probability of words whose frequency falls with their rank in a table, as Zipf's law has it."""
    harmonic = (1.0 / np.arange(1, n_words + 1)).sum()
    probabilities: NDArray[np.float64] = 1.0 / ((rows.astype(np.float64) + 1.0) * harmonic)
    return probabilities


def sif_weights(probabilities: NDArray[np.float64], a: float) -> NDArray[np.float32]:
    """Return the weights a / (a + p) of smooth inverse frequency (Arora, Liang and Ma, 2017)."""
    return (a / (a + probabilities)).astype(np.float32)


def common_directions(second_moments: NDArray[np.float64], count: int) -> NDArray[np.float32]:
    """Return the first right singular vectors of sentence vectors whose (not centred) X'X this is, one a row."""
    _, directions = np.linalg.eigh(second_moments)
    return np.ascontiguousarray(directions[:, ::-1][:, :count].T, dtype=np.float32)


def without_directions(vectors: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors less their projections on orthonormal directions, each row by itself."""
    projected = np.zeros_like(vectors)
    for direction in directions:
        # einsum and not @: BLAS may round a row otherwise in another batch.
        projected += np.einsum("nd,d->n", vectors, direction)[:, None] * direction
    return vectors - projected
