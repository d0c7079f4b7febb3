"""Corrections for many tests: p values adjusted so that they can be compared with one level, in the order given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Floats


def _checked(p_values: ArrayLike) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise SettingsError(f"p values of shape {p.shape}; a correction takes one list")
    if not ((p >= 0) & (p <= 1)).all():
        raise SettingsError("a p value lies outside 0 to 1")
    return p


def bonferroni(p_values: ArrayLike) -> Floats:
    """Multiply by the number of tests: the chance of any false alarm stays below the level."""
    p = _checked(p_values)
    return np.minimum(p * p.size, 1.0)


def holm(p_values: ArrayLike) -> Floats:
    """Step down from the smallest p value: the same promise as Bonferroni's, never with larger p values."""
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (p.size - np.arange(p.size)))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Bound the share of false alarms among the significant tests instead of the chance of any."""
    from scipy import stats

    p = _checked(p_values)
    adjusted: Floats = np.asarray(stats.false_discovery_control(p, method="bh")) if p.size else p
    return adjusted


def correct(p_values: ArrayLike, method: str) -> Floats:
    """Adjust p values by the correction of this name, as a command line gives it."""
    known = {"none": _checked, "bonferroni": bonferroni, "holm": holm, "benjamini-hochberg": benjamini_hochberg}
    chosen = known.get("benjamini-hochberg" if method == "bh" else method)
    if chosen is None:
        raise SettingsError(f"the correction is {method!r}; it can be {', '.join(known)}")
    return chosen(p_values)


def correct_pairs(p_values: Floats, method: str) -> Floats:
    """Adjust a symmetric matrix of p values by the number of its pairs; 1 on the diagonal."""
    pairs = np.triu_indices(len(p_values), 1)
    corrected = np.ones_like(p_values)
    corrected[pairs] = correct(p_values[pairs], method)
    return np.minimum(corrected, corrected.T)
