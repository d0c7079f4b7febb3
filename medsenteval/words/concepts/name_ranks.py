"""Exact ranks of right names among all names of a dictionary, from blocks of products in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats

Score = Literal["cosine", "dot"]

_QUERIES_AT_ONCE: Final = 256
_NAMES_AT_ONCE: Final = 8192
_PAIRS_AT_ONCE: Final = 4096
#: Scores that differ by less, as a share of the largest possible score, are equal: only rounding tells them apart.
_TIE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class RankedNames:
    """For each query the rank of the first right name, 0 if the dictionary has none, and the row of the top-ranked name."""

    ranks: NDArray[np.int64]
    nearest: NDArray[np.intp]


def rank_names(
    queries: NDArray[np.float32],
    names: NDArray[np.float32],
    right: Sequence[NDArray[np.intp]],
    left_out: NDArray[np.intp],
    score: Score = "cosine",
) -> RankedNames:
    """Rank all names for every query by cosine or dot product, the highest first.

    ``right[i]`` are the rows of names that answer query i, ``left_out[i]`` is a row that it may not find, or -1. A name that
    scores as high as the right one counts as before it: an encoder that tells nothing apart must not score.
    """
    n, query_lengths, name_lengths = len(names), _lengths(queries), _lengths(names)
    if score == "cosine":
        scales, largest = [_inverse(query_lengths), _inverse(name_lengths)], np.ones(len(queries))
    else:
        scales, largest = [np.ones(len(queries)), np.ones(n)], query_lengths * name_lengths.max()
    sizes = np.array([len(each) for each in right], dtype=np.intp)
    owner = np.repeat(np.arange(len(queries)), sizes)
    rows = np.concatenate([*right, np.empty(0, dtype=np.intp)]).astype(np.intp)
    own = np.empty(len(rows))
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        own[part] = np.einsum("ij,ij->i", queries[owner[part]], names[rows[part]], dtype=np.float64)
    own *= scales[0][owner] * scales[1][rows]
    least = np.full(len(queries), -np.inf)
    np.maximum.at(least, owner, own)
    least -= _TIE * largest
    # Every name of a query without a vector has the same score, 0: all are counted, and none is nearest.
    unknown = query_lengths == 0
    before = np.where(unknown, n - (left_out >= 0), 0)
    nearest = np.zeros(len(queries), dtype=np.intp)
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        at = np.arange(start, min(start + _QUERIES_AT_ONCE, len(queries)))
        left, top = queries[at] * scales[0][at, None], np.full(len(at), -np.inf)
        for first in range(0, n, _NAMES_AT_ONCE):
            part = slice(first, first + _NAMES_AT_ONCE)
            block = left @ (names[part] * scales[1][part, None]).T
            place = left_out[at] - first
            hidden = np.flatnonzero((left_out[at] >= 0) & (place >= 0) & (place < block.shape[1]))
            block[hidden, place[hidden]] = -np.inf
            highest = block.argmax(axis=1)
            reached = block[np.arange(len(at)), highest]
            nearest[at] = np.where(reached > top, first + highest, nearest[at])
            top = np.maximum(top, reached)
            before[at] += np.where(unknown[at], 0, np.count_nonzero(block >= least[at, None], axis=1))
    # The right names at or above the best one's score were counted as well.
    before -= np.bincount(owner[own >= least[owner]], minlength=len(queries))
    return RankedNames(np.where(sizes == 0, 0, before + 1), np.where(unknown, -1, nearest))


def _lengths(vectors: NDArray[np.float32]) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return np.sqrt(squares)


def _inverse(lengths: Floats) -> Floats:
    inverse: Floats = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return inverse
