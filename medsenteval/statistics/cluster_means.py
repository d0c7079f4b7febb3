"""Means of items that come in clusters, as the queries for one concept do: whole clusters are resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Floats

__all__ = ["ClusteredMeans"]


@dataclass(frozen=True, eq=False)
class ClusteredMeans:
    """The mean over all items, as a function of how often each cluster was drawn.

    ``sums`` are the clusters' sums of values (clusters, encoders), ``sizes`` their numbers of items.
    """

    sums: Floats
    sizes: Floats

    @classmethod
    def of(cls, values: NDArray[np.floating | np.bool_], clusters: Sequence[str]) -> ClusteredMeans:
        """Take (encoders, items) values and the name of each item's cluster."""
        matrix = np.atleast_2d(np.asarray(values, dtype=np.float64))
        if matrix.shape[1] != len(clusters):
            raise SettingsError(f"{matrix.shape[1]} values where there are {len(clusters)} names of clusters")
        names, member = np.unique(np.asarray(clusters), return_inverse=True)
        sums = [np.bincount(member, weights=row, minlength=len(names)).astype(np.float64) for row in matrix]
        return cls(np.stack(sums, axis=1), np.bincount(member, minlength=len(names)).astype(np.float64))

    @property
    def n(self) -> int:
        return len(self.sizes)

    @property
    def folds(self) -> tuple[NDArray[np.intp], ...]:
        return (np.arange(self.n, dtype=np.intp),)

    @property
    def rows_at_once(self) -> int:
        return max(64, (1 << 16) // self.n)

    def __call__(self, weights: Floats) -> Floats:
        items = weights @ self.sizes[:, None]
        means: Floats = np.divide(weights @ self.sums, items, out=np.zeros((len(weights), self.sums.shape[1])), where=items > 0)
        return means
