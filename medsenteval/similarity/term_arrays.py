"""Terms as bags of rows of a word matrix, and what can be averaged over their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Floats, Rows


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of several words: term i consists of the rows ``rows[offsets[i]:offsets[i + 1]]`` of a word matrix."""

    rows: Rows
    offsets: Rows

    def __post_init__(self) -> None:
        if self.offsets.ndim != 1 or len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.rows):
            raise SettingsError(f"offsets of terms must start at 0 and end at the number of rows, {len(self.rows)}")
        if (self.lengths < 0).any() or (self.rows < 0).any():
            raise SettingsError("offsets of terms must not fall, and rows must not be negative")

    @classmethod
    def of(cls, terms: Sequence[Sequence[int]]) -> Terms:
        """Lay lists of rows one after the other."""
        offsets = np.zeros(len(terms) + 1, dtype=np.intp)
        np.cumsum([len(term) for term in terms], out=offsets[1:])
        return cls(np.fromiter((row for term in terms for row in term), dtype=np.intp, count=int(offsets[-1])), offsets)

    @classmethod
    def single(cls, n: int) -> Terms:
        """Return n terms of one row each: vectors that already stand for whole terms."""
        return cls(np.arange(n, dtype=np.intp), np.arange(n + 1, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Rows:
        return np.diff(self.offsets)

    def take(self, terms: Rows) -> Terms:
        """Return these terms, in this order."""
        lengths = self.lengths[terms]
        offsets = np.zeros(len(terms) + 1, dtype=np.intp)
        np.cumsum(lengths, out=offsets[1:])
        # Each term's first row, repeated, plus the place within the term.
        places = np.repeat(self.offsets[terms] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Terms(self.rows[places], offsets)

    def by_length(self) -> list[tuple[Rows, NDArray[np.intp]]]:
        """Group terms of equally many words: (which terms, their rows as a matrix); terms without words are in no group."""
        return [
            (members, self.rows[self.offsets[members][:, None] + np.arange(length)])
            for length in np.unique(self.lengths)
            if length > 0
            for members in [np.flatnonzero(self.lengths == length)]
        ]

    def means(self, matrix: NDArray[np.floating]) -> Floats:
        """Return the mean of each term's rows in float64; a term without words has the zero vector."""
        return self._pooled(matrix, np.add) / np.maximum(self.lengths, 1)[:, None]

    def positive_maxima(self, matrix: NDArray[np.floating]) -> Floats:
        """Return the largest value of each coordinate over a term's rows, 0 where all are negative."""
        return np.maximum(self._pooled(matrix, np.maximum), 0.0)

    def _pooled(self, matrix: NDArray[np.floating], join: np.ufunc) -> Floats:
        pooled = np.zeros((len(self), matrix.shape[1]))
        for members, rows in self.by_length():
            # Word by word over all terms of a length: longer loops than within single terms.
            joined = matrix[rows[:, 0]].astype(np.float64)
            for column in rows.T[1:]:
                join(joined, matrix[column], out=joined)
            pooled[members] = joined
        return pooled
