"""Probe input built from embedding rows on demand, so that pair features never exist for a whole data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Rows, Singles

#: How two sentence vectors become one row: MedSentEval and SNLI use all four parts, SentEval's MRPC and SICK two of them.
#: The order of parts moves a score only where a fit stops before its optimum, as scikit-learn's and SentEval's do.
COMBINATIONS: Final = ("u,v,|u-v|,u*v", "u,v,u*v,|u-v|", "|u-v|,u*v")


def combined(combination: str, u: Singles, v: Singles) -> Singles:
    """Return the parts of pair features that a combination names, one after the other."""
    parts = {"u": u, "v": v, "|u-v|": np.abs(u - v), "u*v": u * v}
    return np.concatenate([parts[name] for name in combination.split(",")], axis=1)


@dataclass(frozen=True, eq=False)
class Features:
    """Rows of float32 probe input over an embedding matrix that may be memory-mapped.

    Row i is ``matrix[left[i]]``, or the combination of ``matrix[left[i]]`` and ``matrix[right[i]]``.
    """

    matrix: Singles
    left: Rows
    right: Rows | None = None
    combination: str = "u,v,|u-v|,u*v"

    def __post_init__(self) -> None:
        if self.combination not in COMBINATIONS:
            raise SettingsError(f"unknown pair combination {self.combination!r}; known: {', '.join(COMBINATIONS)}")
        if self.right is not None and len(self.right) != len(self.left):
            raise SettingsError(f"pair features need both sides: {len(self.left)} first and {len(self.right)} second texts")

    @classmethod
    def from_array(cls, rows: NDArray[np.floating]) -> Features:
        """Wrap a ready matrix of probe input."""
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
        return cls(matrix, np.arange(len(matrix), dtype=np.intp))

    @property
    def n_rows(self) -> int:
        return len(self.left)

    @property
    def n_parts(self) -> int:
        """How many parts, each as wide as an embedding, follow one another in a row."""
        return 1 if self.right is None else len(self.combination.split(","))

    @property
    def n_columns(self) -> int:
        return int(self.matrix.shape[1]) * self.n_parts

    def take(self, rows: Rows | slice) -> Singles:
        """Build the feature rows with these numbers, in this order."""
        first = self.matrix[self.left[rows]]
        if self.right is None:
            return first
        return combined(self.combination, first, self.matrix[self.right[rows]])
