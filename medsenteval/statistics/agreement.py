"""How far do annotators agree? Krippendorff's alpha, and the two averages of correlations that word similarity sets report.

Ratings are (annotators, items) matrices in which NaN marks an item that an annotator did not rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from medsenteval.errors import SettingsError
from medsenteval.statistics.intervals import correlation
from medsenteval.support.arrays import Floats


def krippendorff_alpha(ratings: ArrayLike) -> float:
    """Return Krippendorff's alpha of nominal ratings: 1 for full agreement, 0 for agreement by chance.

    Items with fewer than two ratings are left out. Where every rating is the same, alpha is undefined: an error, not a 1.
    """
    matrix = _ratings(ratings)
    counts = (matrix[:, :, None] == np.unique(matrix[~np.isnan(matrix)])).sum(axis=0)
    counts = counts[counts.sum(axis=1) >= 2].astype(np.float64)
    if not len(counts):
        raise SettingsError("no item has two ratings: agreement cannot be measured")
    # Pairs of equal ratings within items, each item counting as many times as it has ratings, and between all.
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    observed = float((counts * (counts - 1) / (sizes - 1)[:, None]).sum() / sizes.sum())
    expected = float((totals * (totals - 1)).sum() / (sizes.sum() * (sizes.sum() - 1)))
    if expected == 1:
        raise SettingsError("all ratings are the same: agreement beyond chance is undefined")
    return (observed - expected) / (1 - expected)


def pairwise_agreement(ratings: ArrayLike, common: int = 3) -> float:
    """Return the mean Spearman correlation of pairs of annotators with ``common`` items or more in common (IAA-1)."""
    correlations = _pairwise(_ratings(ratings), common)
    return _mean(correlations[np.triu_indices(len(correlations), 1)])


def rater_agreement(ratings: ArrayLike, common: int = 3) -> Floats:
    """Return each annotator's mean correlation with every other who rated ``common`` of the same items; NaN without any."""
    return _means_of_known(_pairwise(_ratings(ratings), common), axis=1)


def agreement_with_others(ratings: ArrayLike, common: int = 3) -> float:
    """Return the mean over annotators of the correlation with the mean of others with ``common`` items in common (IAA-2)."""
    matrix = _ratings(ratings)
    together = (_together(matrix) >= common) & ~np.eye(len(matrix), dtype=bool)
    means = [_means_of_known(matrix[others], axis=0) for others in together]
    return _mean(np.array([_common_correlation(own, others) for own, others in zip(matrix, means, strict=True)]))


def _means_of_known(values: Floats, axis: int) -> Floats:
    """Return means over what is not NaN; NaN where nothing is."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=axis), known.sum(axis=axis)
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def _pairwise(matrix: Floats, common: int) -> Floats:
    """Return the correlation of every two annotators, NaN where they have too few items in common and on the diagonal."""
    correlations = np.full((len(matrix), len(matrix)), np.nan)
    for i, j in np.argwhere(np.triu(_together(matrix) >= max(common, 3), 1)):
        correlations[i, j] = correlations[j, i] = _common_correlation(matrix[i], matrix[j])
    return correlations


def _together(matrix: Floats) -> Floats:
    """Return how many items every two annotators both rated."""
    rated = (~np.isnan(matrix)).astype(np.float64)
    return rated @ rated.T


def _ratings(ratings: ArrayLike) -> Floats:
    matrix = np.asarray(ratings, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) < 2:
        raise SettingsError(f"ratings of shape {matrix.shape}; (annotators, items) with at least two annotators are expected")
    if np.isinf(matrix).any():
        raise SettingsError("a rating is infinite; NaN marks a missing one")
    return matrix


def _common_correlation(first: Floats, second: Floats) -> float:
    common = ~np.isnan(first) & ~np.isnan(second)
    return correlation("spearman", first[common], second[common])[0] if common.sum() >= 3 else np.nan


def _mean(found: Floats) -> float:
    """Average what could be measured; pairs of annotators who share too few items could not."""
    if np.isnan(found).all():
        raise SettingsError("no two annotators rated enough items in common: agreement cannot be measured")
    return float(np.nanmean(found))
