"""What scripts written for SentEval import from ``senteval.utils``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from medsenteval.settings import SentEvalParams as dotdict

__all__ = ["cosine", "dotdict"]


def cosine(u: ArrayLike, v: ArrayLike) -> float:
    """Return the cosine of two vectors in double precision; with a vector of zeros it is 0, where SentEval's is NaN."""
    first, second = np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths > 0 else 0.0
