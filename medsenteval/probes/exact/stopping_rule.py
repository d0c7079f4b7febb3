"""When a fit is good enough: its next step would hardly change a logit, relative to what its weights say.

docs/solver.md ("Stopping rule") says what the tolerance means for predictions.
"""

from __future__ import annotations

import numpy as np

from medsenteval.probes.exact.preconditioner import Preconditioner
from medsenteval.support.arrays import Floats, Reals


def default_tolerance(n_rows: int) -> float:
    """Return the tolerance for a data set of this size."""
    return 1e-4 if n_rows < 10_000 else 3e-4


def relative_logit_sizes(preconditioner: Preconditioner, points: Reals, tolerance: float, *steps: Reals) -> Floats:
    """Return how large the logits of each problem's steps are, at most, relative to those that its weights give."""
    weights = points.copy()
    weights[..., -1] = 0
    # Where features say next to nothing, an error within the intercept's own rounding is as good as none.
    smallest = 4 * np.finfo(points.dtype).eps / tolerance
    largest = np.max([preconditioner.logit_sizes(step) for step in steps], axis=0)
    relative: Floats = largest / np.maximum(preconditioner.logit_sizes(weights), smallest)
    return relative
