"""Vectors as other users would prepare them: unit length, centred, whitened, without their top directions, projected.

All are fitted on the texts of the task, without their labels. Mu and Viswanath 2018 (All-but-the-top, ICLR) remove one
direction for each hundred dimensions; Su et al. 2021 (arXiv:2103.15316) whiten sentence vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats

#: Whitening with fewer texts than this for each dimension makes directions of noise as long as all others.
TEXTS_PER_DIMENSION: Final = 5
#: Directions with a smaller share of the largest variance are rounding.
_LEAST: Final = 1e-10

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A matrix of vectors with its mean and principal directions, the largest first."""

    vectors: Vectors

    @cached_property
    def _directions(self) -> tuple[Floats, Floats]:
        centred = self.vectors - self.mean
        values, directions = np.linalg.eigh((centred.T @ centred) / len(centred))
        return np.maximum(values[::-1], 0.0), directions[:, ::-1]

    @cached_property
    def mean(self) -> Floats:
        mean: Floats = self.vectors.mean(axis=0, dtype=np.float64)
        return mean

    @property
    def first_share(self) -> float:
        """The share of the variance that lies in the first direction: 1 / dimension where all are equal, 1 where it is all."""
        values, _ = self._directions
        return float(values[0] / values.sum()) if values.sum() > 0 else 0.0

    def unit_length(self) -> Vectors:
        """Return vectors of length 1; those that have it but for rounding as they are."""
        norms = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        if np.abs(norms - 1).max() < 1e-6:
            return self.vectors
        return _single(self.vectors / np.where(norms > 0, norms, 1))

    def centred(self) -> Vectors:
        return _single(self.vectors - self.mean)

    def whitened(self) -> Vectors | None:
        """Return vectors whose directions all have variance 1; None with too few texts for that."""
        values, directions = self._directions
        if len(self.vectors) < TEXTS_PER_DIMENSION * len(values):
            return None
        kept = values > _LEAST * values[0]
        return _single((self.vectors - self.mean) @ (directions[:, kept] / np.sqrt(values[kept])))

    def without_top(self) -> Vectors:
        """Return centred vectors without one principal direction for each hundred dimensions, one at least."""
        top = self._directions[1][:, : max(1, round(self.vectors.shape[1] / 100))]
        centred = self.vectors - self.mean
        return _single(centred - (centred @ top) @ top.T)

    def projected(self, dimension: int) -> Vectors:
        """Return the first principal components of the centred vectors; all vectors as they are if they are no wider."""
        if dimension >= self.vectors.shape[1]:
            return self.vectors
        return _single((self.vectors - self.mean) @ self._directions[1][:, :dimension])


def _single(rows: Floats) -> Vectors:
    return np.ascontiguousarray(rows, dtype=np.float32)
