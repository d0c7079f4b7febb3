"""Ragged token vectors into one vector a sentence."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.errors import SettingsError

__all__ = ["POOLINGS", "pool"]

POOLINGS: Final = ("mean", "max")


def pool(tokens: TokenVectors, how: str) -> NDArray[np.float32]:
    """Return the mean (MOWE) or the maximum over each text's known tokens; a text without any gets the zero vector."""
    if how not in POOLINGS:
        raise SettingsError(f"pooling is {how!r}; it can be {' or '.join(POOLINGS)}")
    values = tokens.values if tokens.known.all() else tokens.values[tokens.known]
    known_before = np.concatenate([[0], np.cumsum(tokens.known)])
    offsets = known_before[tokens.offsets]
    counts = np.diff(offsets)
    pooled = np.zeros((len(tokens), values.shape[1]), dtype=np.float32)
    filled = counts > 0
    if filled.any():
        # reduceat needs strictly growing starts, so texts without known tokens are passed over.
        starts = offsets[:-1][filled]
        if how == "mean":
            sums = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
            pooled[filled] = sums / counts[filled, None]
        else:
            pooled[filled] = np.maximum.reduceat(values, starts, axis=0)
    return pooled
