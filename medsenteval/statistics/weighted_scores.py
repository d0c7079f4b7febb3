"""Scores as functions of item weights: how often each item was drawn.

A bootstrap resample is a vector of counts, and a jackknife leaves one item out, so a score that takes weights serves both, for
any number of encoders on the same items at once. Sums become matrix products. Ranks need no sorting: the order of the items is
sorted once, and an item's rank in a resample is the weight before it in that order, so a cumulative sum replaces each sort.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Floats, Rows, Singles

Correlation = Literal["pearson", "spearman", "kendall"]

#: As many weights of items stay in a core's own cache.
_CACHED_WEIGHTS: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class WeightedScore(ABC):
    """One score for each of several encoders as a function of the weights of the same n items, resampled within ``folds``."""

    folds: tuple[Rows, ...]
    #: Fewer resamples are not worth the start of a call.
    fewest_rows: ClassVar[int] = 64

    @property
    def n(self) -> int:
        return sum(map(len, self.folds))

    @property
    def rows_at_once(self) -> int:
        """How many resamples one call handles best."""
        return max(self.fewest_rows, _CACHED_WEIGHTS // self.n)

    @abstractmethod
    def __call__(self, weights: Floats) -> Floats:
        """Turn (resamples, n) weights, which are whole numbers, into (resamples, encoders) scores."""


def _folds(n: int, numbers: Rows | None = None) -> tuple[Rows, ...]:
    """Return the items of each fold, given the number of each item's; without these all are in one."""
    if numbers is None:
        return (np.arange(n, dtype=np.intp),)
    if len(numbers) != n:
        raise SettingsError(f"{len(numbers)} fold numbers for {n} items")
    return tuple(np.flatnonzero(numbers == number) for number in np.unique(numbers))


def _columns(values: NDArray[np.floating | np.integer | np.bool_], n: int | None = None) -> Floats:
    """Return (encoders, items) as a float64 matrix; a single row of items is one encoder."""
    matrix = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if matrix.ndim != 2 or (n is not None and matrix.shape[1] != n) or matrix.shape[1] == 0:
        expected = "at least one" if n is None else str(n)
        raise SettingsError(f"scores of shape {np.shape(values)} where (encoders, {expected} items) are expected")
    if not np.isfinite(matrix).all():
        raise SettingsError("a score of an item is not finite; leave such items out for all encoders")
    return matrix


@dataclass(frozen=True, eq=False)
class _Ratios(WeightedScore):
    """A ratio of two sums over the items, the mean over folds and over each encoder's runs; 0 where it is undefined.

    Shapes: ``values`` (encoders and their runs, items), ``sizes`` the same, or (1, items) where they are the same for all.
    """

    values: Floats
    sizes: Floats
    runs: int = 1

    @cached_property
    def _by_fold(self) -> list[tuple[Rows, Floats, Floats]]:
        turned = np.ascontiguousarray
        return [(fold, turned(self.values[:, fold].T), turned(self.sizes[:, fold].T)) for fold in self.folds]

    def __call__(self, weights: Floats) -> Floats:
        totals = np.zeros((len(weights), len(self.values)))
        for fold, values, sizes in self._by_fold:
            drawn = weights if len(self.folds) == 1 else weights[:, fold]
            below = drawn @ sizes
            totals += np.divide(drawn @ values, below, out=np.zeros_like(totals), where=below > 0)
        return np.asarray((totals / len(self.folds)).reshape(len(weights), -1, self.runs).mean(axis=2))


class Means(_Ratios):
    """The mean over items of any per-item value, the mean of fold means where there are folds."""

    @classmethod
    def of(cls, values: NDArray[np.floating | np.bool_], folds: Rows | None = None) -> Means:
        matrix = _columns(values)
        n = matrix.shape[1]
        return cls(_folds(n, folds), matrix, np.ones((1, n)))


#: Accuracy is the mean of right (1) and wrong (0).
Accuracies = Means


class ClusteredMeans(_Ratios):
    """The mean over items that come in clusters, as the queries for one concept do: whole clusters are resampled."""

    @classmethod
    def of(cls, values: NDArray[np.floating | np.bool_], clusters: Sequence[str]) -> ClusteredMeans:
        """Take (encoders, items) values and the name of each item's cluster."""
        matrix = np.atleast_2d(np.asarray(values, dtype=np.float64))
        if matrix.shape[1] != len(clusters):
            raise SettingsError(f"{matrix.shape[1]} values where there are {len(clusters)} names of clusters")
        names, member = np.unique(np.asarray(clusters), return_inverse=True)
        sums = np.array([np.bincount(member, weights=row, minlength=len(names)) for row in matrix])
        return cls(_folds(len(names)), sums, np.bincount(member, minlength=len(names)).astype(np.float64)[None])


class F1Scores(_Ratios):
    """F1 of the positive class, the mean over folds where there are folds; 0 where it is undefined."""

    @classmethod
    def of(cls, gold: NDArray[np.bool_], predicted: NDArray[np.bool_], folds: Rows | None = None) -> F1Scores:
        truth = np.asarray(gold, dtype=np.float64)
        positive = _columns(predicted, len(truth))
        # F1 = 2 TP / (predicted positives + gold positives).
        return cls(_folds(len(truth), folds), 2 * positive * truth, positive + truth)


class CountedF1(_Ratios):
    """F1 of the items' summed counts, the mean over runs: entity-level F1, whose items are sentences with many entities."""

    @classmethod
    def of(cls, counts: NDArray[np.integer | np.floating]) -> CountedF1:
        """Take (true positive, false positive, false negative) in the shape (encoders, runs, items, 3)."""
        array = np.asarray(counts, dtype=np.float64)
        if array.ndim != 4 or array.shape[3] != 3 or 0 in array.shape:
            raise SettingsError(f"counts of shape {array.shape} where (encoders, runs, items, 3) are expected")
        _, runs, n, _ = array.shape
        right, *wrong = np.moveaxis(array, 3, 0).reshape(3, -1, n)
        return cls(_folds(n), 2 * right, 2 * right + sum(wrong), runs)


@dataclass(frozen=True, eq=False)
class Correlations(WeightedScore):
    """Correlations of several encoders' predictions on the same items with their gold scores, all items in one fold."""

    predicted: Floats
    gold: Floats


class Pearsons(Correlations):
    @cached_property
    def _moments(self) -> Floats:
        """Columns whose weighted sums give every covariance: x, x squared and x y for each encoder, y, y squared."""
        x, y = _standardised(self.predicted), _standardised(self.gold[None])[0]
        return np.ascontiguousarray(np.concatenate([x, x * x, x * y, [y], [y * y]]).T)

    def __call__(self, weights: Floats) -> Floats:
        # Without any item, as a subset of one item is with that left out, all sums are 0, and so is the score.
        sums = weights @ self._moments / np.maximum(weights.sum(axis=1, keepdims=True), 1)
        k = len(self.predicted)
        x, xx, xy, y, yy = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k], sums[:, [-2]], sums[:, [-1]]
        return _ratio(xy - x * y, (xx - x * x) * (yy - y * y), 1e-12)


class _Runs:
    """Items sorted by a value, in runs of equal ones: their order, the first place of each run, and each item's run."""

    def __init__(self, values: Floats) -> None:
        _, self.run_of_item, counts = np.unique(values, return_inverse=True, return_counts=True)
        self.order, self.first = np.argsort(values, kind="stable"), np.cumsum(counts) - counts

    def sizes(self, weights: Floats) -> Floats:
        """Return how much weight each run has in each resample; an item that is drawn twice is tied with itself."""
        sizes: Floats = np.take(weights, self.order, axis=1)
        return sizes if len(self.first) == len(self.order) else np.add.reduceat(sizes, self.first, axis=1)


class Spearmans(Correlations):
    """Spearman correlations, of mid-ranks, so corrected for ties."""

    fewest_rows = 16

    @cached_property
    def _runs(self) -> tuple[_Runs, ...]:
        return tuple(map(_Runs, (self.gold, *self.predicted)))

    def __call__(self, weights: Floats) -> Floats:
        totals = weights.sum(axis=1, keepdims=True)

        def ranked(runs: _Runs) -> tuple[Floats, Floats]:
            # Twice the mid-ranks less one, and three times the sum of squares of the centred ones.
            sizes = runs.sizes(weights)
            # For runs of t ties that is N^3 less the sum of t^3.
            spread: Floats = totals[:, 0] ** 3 - np.einsum("bi,bi,bi->b", sizes, sizes, sizes)
            ranks = np.cumsum(sizes, axis=1)
            ranks *= 2
            ranks -= sizes
            return np.take(ranks, runs.run_of_item, axis=1), spread

        gold, spread_gold = ranked(self._runs[0])
        gold -= totals
        gold *= weights
        found = np.empty((len(weights), len(self.predicted)))
        for column, runs in enumerate(self._runs[1:]):
            own, spread = ranked(runs)
            # Not centred: the weighted sum of the gold ranks is 0, so a constant does not show.
            found[:, column] = _ratio(3 * np.einsum("bi,bi->b", own, gold), spread * spread_gold, 0.5)
        return found


class KendallTaus(Correlations):
    """Kendall's tau-b: concordant minus discordant pairs are a quadratic form of the weights, so one matrix product a block."""

    fewest_rows = 512

    @cached_property
    def _gold_signs(self) -> Singles:
        return _signs(self.gold)

    def __call__(self, weights: Floats) -> Floats:
        narrow, untied_gold = weights.astype(np.float32), _untied_pairs(weights, self.gold)
        found = np.empty((len(weights), len(self.predicted)))
        for column, values in enumerate(self.predicted):
            # Whole numbers below 2^24, so float32 is exact here; the last sum is float64.
            agreement = np.einsum("bi,bi->b", narrow @ (_signs(values) * self._gold_signs), weights, dtype=np.float64)
            found[:, column] = _ratio(agreement, _untied_pairs(weights, values) * untied_gold, 0.5)
        return found


def correlations(kind: Correlation, predicted: NDArray[np.floating], gold: NDArray[np.floating]) -> Correlations:
    """Return the correlations of (encoders, items) predictions with gold scores as a function of item weights."""
    kinds: dict[str, type[Correlations]] = {"pearson": Pearsons, "spearman": Spearmans, "kendall": KendallTaus}
    if kind not in kinds:
        raise SettingsError(f"the correlation is {kind!r}; it can be {', '.join(kinds)}")
    truth = _columns(gold)
    if len(truth) != 1:
        raise SettingsError(f"gold scores of shape {np.shape(gold)} where one row of items is expected")
    return kinds[kind](_folds(truth.shape[1]), _columns(predicted, truth.shape[1]), truth[0])


def _standardised(rows: Floats) -> Floats:
    """Shift and scale rows, which no correlation sees, so that sums of squares lose no digits."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    scale = centred.std(axis=1, keepdims=True)
    return np.asarray(np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0))


def _ratio(covariance: Floats, variances: Floats, smallest: float) -> Floats:
    """Divide by the root of the product of variances; a constant side has no correlation and gives 0."""
    defined = variances > smallest
    ratio = np.divide(covariance, np.sqrt(variances, where=defined, out=np.ones_like(variances)), where=defined,
                      out=np.zeros_like(covariance))  # fmt: skip
    return np.clip(ratio, -1.0, 1.0)


def _signs(values: Floats) -> Singles:
    return np.sign(values[:, None] - values[None, :]).astype(np.float32)


def _untied_pairs(weights: Floats, values: Floats) -> Floats:
    """Return the square of the number of items less the squared sizes of the runs of equal values."""
    sizes = _Runs(values).sizes(weights)
    untied: Floats = weights.sum(axis=1) ** 2 - np.einsum("bi,bi->b", sizes, sizes)
    return untied


@dataclass(frozen=True, eq=False)
class SubsetCorrelations(WeightedScore):
    """The mean by ``shares`` of correlations within subsets, which are the ``folds`` that items are resampled in."""

    subsets: tuple[Correlations, ...]
    shares: Floats

    @classmethod
    def of(
        cls, kind: Correlation, predicted: Floats, gold: Floats, rows: Sequence[Rows], weights: Sequence[float] | None = None
    ) -> SubsetCorrelations:
        """Build the score from (encoders, items) predictions and the item numbers of each subset, equal without ``weights``."""
        matrix = np.atleast_2d(predicted)
        shares = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        subsets = tuple(correlations(kind, matrix[:, numbers], gold[numbers]) for numbers in rows)
        return cls(tuple(rows), subsets, shares / shares.sum())

    @property
    def rows_at_once(self) -> int:
        return min(subset.rows_at_once for subset in self.subsets)

    def __call__(self, weights: Floats) -> Floats:
        parts = zip(self.shares, self.subsets, self.folds, strict=True)
        return np.asarray(np.sum([share * subset(weights[:, rows]) for share, subset, rows in parts], axis=0))
