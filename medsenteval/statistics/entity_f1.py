"""F1 from counts per item, as entity-level F1 has them: items are sentences, and each holds any number of entities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Floats

__all__ = ["CountedF1"]


@dataclass(frozen=True, eq=False)
class CountedF1:
    """F1 of the summed (true positive, false positive, false negative) of the items, the mean over runs; 0 where undefined.

    ``counts`` has the shape (encoders, runs, items, 3).
    """

    counts: Floats

    @classmethod
    def of(cls, counts: NDArray[np.integer | np.floating]) -> CountedF1:
        array = np.asarray(counts, dtype=np.float64)
        if array.ndim != 4 or array.shape[3] != 3 or 0 in array.shape:
            raise SettingsError(f"counts of shape {array.shape} where (encoders, runs, items, 3) are expected")
        return cls(array)

    @property
    def n(self) -> int:
        return int(self.counts.shape[2])

    @property
    def folds(self) -> tuple[NDArray[np.intp], ...]:
        return (np.arange(self.n, dtype=np.intp),)

    @property
    def rows_at_once(self) -> int:
        return max(64, (1 << 16) // self.n)

    @cached_property
    def _columns(self) -> Floats:
        """Twice the true positives, and what they are divided by, of every encoder and run, a column each."""
        true_positive, false_positive, false_negative = np.moveaxis(self.counts, 3, 0)
        twice = 2 * true_positive
        stacked = np.stack([twice, twice + false_positive + false_negative])
        return np.ascontiguousarray(stacked.reshape(-1, self.n).T)

    def __call__(self, weights: Floats) -> Floats:
        n_encoders, n_runs = self.counts.shape[:2]
        sums = (weights @ self._columns).reshape(len(weights), 2, n_encoders, n_runs)
        above, below = sums[:, 0], sums[:, 1]
        f1: Floats = np.divide(above, below, out=np.zeros_like(above), where=below > 0).mean(axis=2)
        return f1
