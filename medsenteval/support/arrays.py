"""Names for the arrays that functions pass to each other, by what they hold; and lists of different lengths as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
#: Scores, statistics and everything else that is computed in double precision.
Floats = NDArray[np.float64]
#: Class numbers.
Labels = NDArray[np.int64]
#: Single or double precision, as the caller has it.
Reals = NDArray[np.floating[Any]]
#: Row numbers, or offsets into rows.
Rows = NDArray[np.intp]
#: Embeddings.
Singles = NDArray[np.float32]

R = TypeVar("R", bound="Ragged")


@dataclass(frozen=True, eq=False)
class Ragged:
    """Lists of different lengths in one array: list i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Rows
    offsets: Rows

    @classmethod
    def of(cls: type[R], lists: Iterable[Sequence[int]]) -> R:
        """Lay lists one after the other."""
        kept = list(lists)
        offsets = np.cumsum([0, *map(len, kept)], dtype=np.intp)
        return cls(np.fromiter((value for each in kept for value in each), dtype=np.intp, count=int(offsets[-1])), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Rows:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @cached_property
    def lengths(self) -> Rows:
        return np.diff(self.offsets)

    @property
    def owners(self) -> Rows:
        """The number of the list that each value belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.intp), self.lengths)
