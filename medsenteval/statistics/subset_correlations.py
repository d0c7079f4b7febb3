"""The mean of several subsets' correlations as one score, for data sets that are scored subset by subset (STS12 to STS16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medsenteval.statistics.weighted_scores import Correlation, WeightedScore, correlations
from medsenteval.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class SubsetCorrelations:
    """The mean over subsets, or their mean by ``shares``, of several encoders' correlations with the gold scores.

    Items are resampled within their subset, which is what ``folds`` says.
    """

    subsets: tuple[WeightedScore, ...]
    folds: tuple[NDArray[np.intp], ...]
    shares: Floats

    @classmethod
    def of(
        cls,
        kind: Correlation,
        predicted: Floats,
        gold: Floats,
        rows: Sequence[NDArray[np.intp]],
        weights: Sequence[float] | None = None,
    ) -> SubsetCorrelations:
        """Build the score from (encoders, items) predictions; ``rows`` has the item numbers of each subset."""
        matrix = np.atleast_2d(predicted)
        shares = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        subsets = tuple(correlations(kind, matrix[:, numbers], gold[numbers]) for numbers in rows)
        return cls(subsets, tuple(rows), shares / shares.sum())

    @property
    def n(self) -> int:
        return sum(map(len, self.folds))

    @property
    def rows_at_once(self) -> int:
        return min(subset.rows_at_once for subset in self.subsets)

    def __call__(self, weights: Floats) -> Floats:
        parts = zip(self.shares, self.subsets, self.folds, strict=True)
        total: Floats = np.sum([share * subset(weights[:, rows]) for share, subset, rows in parts], axis=0)
        return total
