"""Exact ranks of right names among all names of a dictionary, from blocks of products.

Scores are first computed in single precision, whose error has a bound; what lies within the bound of the right name's score is
computed again in double precision. So ranks are those of double precision at the cost of single precision.
"""

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


class _Pairs:
    """Scores of single (query, name) pairs in double precision."""

    def __init__(self, queries: NDArray[np.float32], names: NDArray[np.float32], score: Score) -> None:
        self.queries, self.names = queries, names
        self.query_lengths, self.name_lengths = _lengths(queries), _lengths(names)
        self.unit = score == "cosine"

    def __call__(self, at: NDArray[np.intp], name: NDArray[np.intp]) -> Floats:
        found = np.empty(len(at))
        for start in range(0, len(at), _PAIRS_AT_ONCE):
            rows = slice(start, start + _PAIRS_AT_ONCE)
            found[rows] = np.einsum("ij,ij->i", self.queries[at[rows]], self.names[name[rows]], dtype=np.float64)
        if self.unit:
            found /= np.maximum(self.query_lengths[at] * self.name_lengths[name], np.finfo(np.float64).tiny)
        return found

    def largest(self) -> Floats:
        """The largest score that each query can have."""
        if self.unit:
            return np.ones(len(self.queries))
        return self.query_lengths * float(self.name_lengths.max())


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
    exact, n = _Pairs(queries, names, score), len(names)
    sizes = np.array([len(each) for each in right], dtype=np.intp)
    owner = np.repeat(np.arange(len(queries)), sizes)
    rows = np.concatenate([*right, np.empty(0, dtype=np.intp)]).astype(np.intp)
    best = np.full(len(queries), -np.inf)
    np.maximum.at(best, owner, exact(owner, rows))
    scale = exact.largest()
    tie = _TIE * scale
    # The bound of a product of n terms in any order of summation is n u, and the unit vectors are rounded themselves.
    error = 2.0 * (names.shape[1] + 8) * np.finfo(np.float32).eps * scale
    left, right_side = (_unit(queries), _unit(names)) if exact.unit else (queries, names)
    # Rounded away from the score, so that single precision can be compared with single precision.
    above = np.nextafter((best + error).astype(np.float32), np.float32(np.inf))[:, None]
    below = np.nextafter((best - error).astype(np.float32), np.float32(-np.inf))[:, None]
    # Every name of a query without a vector has the same score, 0: all are counted, and none is nearest.
    unknown = exact.query_lengths == 0
    above[unknown] = below[unknown] = np.inf
    before = np.where(unknown, n - (left_out >= 0), 0)
    nearest = np.zeros(len(queries), dtype=np.intp)
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        at = np.arange(start, min(start + _QUERIES_AT_ONCE, len(queries)))
        top = np.full(len(at), -np.inf, dtype=np.float32)
        for first in range(0, n, _NAMES_AT_ONCE):
            block = left[at] @ right_side[first : first + _NAMES_AT_ONCE].T
            own = left_out[at] - first
            hidden = np.flatnonzero((left_out[at] >= 0) & (own >= 0) & (own < block.shape[1]))
            block[hidden, own[hidden]] = -np.inf
            highest = block.argmax(axis=1)
            reached = block[np.arange(len(at)), highest]
            nearest[at] = np.where(reached > top, first + highest, nearest[at])
            top = np.maximum(top, reached)
            higher, close = block > above[at], block >= below[at]
            n_higher, n_close = (np.array([np.count_nonzero(row) for row in rows]) for rows in (higher, close))
            before[at] += n_higher
            doubtful = np.flatnonzero(n_close > n_higher)
            query, name = np.nonzero(close[doubtful] & ~higher[doubtful])
            query = at[doubtful[query]]
            again = exact(query, first + name) >= (best - tie)[query]
            np.add.at(before, query[again], 1)
    # The right names at or above the best one's score were counted as well.
    equal = exact(owner, rows) >= (best - tie)[owner]
    before -= np.bincount(owner[equal], minlength=len(queries))
    return RankedNames(np.where(sizes == 0, 0, before + 1), np.where(unknown, -1, nearest))


def _lengths(vectors: NDArray[np.float32]) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return np.sqrt(squares)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.maximum(_lengths(vectors), np.finfo(np.float32).tiny).astype(np.float32)
    return np.asarray(vectors / lengths[:, None], dtype=np.float32)
