"""SentEval's dictionary of correlations, with the keys that SimCSE's fork of SentEval adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from medsenteval.statistics import Correlation, correlation
from medsenteval.support.arrays import Floats

CORRELATIONS: Final[tuple[Correlation, ...]] = ("pearson", "spearman")


def correlate_parts(parts: Mapping[str, tuple[Floats, Floats]]) -> dict[str, Any]:
    """Return SentEval's dictionary of correlations for parts of (predicted, gold) scores.

    Its entry ``all`` has the ``mean`` over parts, the mean weighted by their pairs (``wmean``), and under SimCSE's key ``all``
    the correlation over the pairs of all parts at once.
    """
    found: dict[str, Any] = {
        name: {**{kind: correlation(kind, *pair) for kind in CORRELATIONS}, "nsamples": len(pair[1])}
        for name, pair in parts.items()
    }
    sizes = [entry["nsamples"] for entry in found.values()]
    predicted, gold = (np.concatenate([pair[side] for pair in parts.values()]) for side in range(2))
    summary = {}
    for kind in CORRELATIONS:
        values = [entry[kind][0] for entry in found.values()]
        mean, weighted = float(np.mean(values)), float(np.average(values, weights=sizes))
        summary[kind] = {"mean": mean, "wmean": weighted, "all": correlation(kind, predicted, gold)[0]}
    return {**found, "all": summary}
