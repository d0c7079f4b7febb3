"""Newton's method, for the few fits of few coordinates that are too hard for anything less.

Where rows are separable and the penalty is next to nothing, hardly any row has residuals left, and those that have are others
at every step: what all rows have in common says little about the curvature there, and L-BFGS can take thousands of passes. The
Hessian itself costs as much as many passes, but knows which rows still count, and some ten steps are enough.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from medsenteval.probes.exact.gradient import GradientPass, turn_into_residuals
from medsenteval.probes.exact.preconditioner import Preconditioner
from medsenteval.probes.exact.stopping_rule import relative_logit_sizes
from medsenteval.support.arrays import Floats

#: A step is shortened until the slope along it has not turned upward by more than this share of the initial slope.
_UPTURN: Final = 0.5
#: By how much a step is shortened at most, and at least, each time.
_SHORTENED: Final = (0.05, 0.5)
#: Steps without a new best, once one was so near, after which there is none to be had, because rounding is in the way.
_NEAR: Final = 0.01
_PATIENCE: Final = 10
#: What is added to the Hessian, as a share of the gradient's length, where the step would be larger than all that there is.
_DAMPING: Final = 0.01
#: What is added to the Hessian for every coordinate, once its diagonal is ones, so that rounding leaves it positive definite,
#: and by how much more if it does not.
_ROUNDING: Final = 1e-14
_MORE_ROUNDING: Final = 100


def finish(
    gradient_pass: GradientPass,
    fold: int,
    start: Floats,
    present: NDArray[np.bool_],
    ridge: float,
    preconditioner: Preconditioner,
    tolerance: float,
    max_passes: int,
) -> tuple[Floats, float]:
    """Go on from ``start`` (outputs x coordinates), a point of one fold of stored rows in float64.

    ``present`` are the outputs that the fold has training rows of; the others stay as they are. Returned are the best point and
    the relative error of its logits, as ``lbfgs.minimise`` returns them for its own.
    """
    problem = _Problem(gradient_pass, fold, present, ridge)
    point, residuals, passes = start, problem.residuals(start), 1
    best, least, since = start, np.inf, 0
    while True:
        gradient = problem.gradient(point, residuals)
        step = problem.newton_step(residuals, gradient)
        error = float(relative_logit_sizes(preconditioner, point[None], tolerance, step[None])[0])
        best, least, since = (point, error, 0) if error < least else (best, least, since + 1)
        if error <= tolerance or passes >= max_passes or (least < _NEAR and since >= _PATIENCE):
            return best, least
        if not error <= 1:
            # Such a step comes from where hardly any curvature is left, and leads anywhere.
            step = problem.newton_step(residuals, gradient, _DAMPING * float(np.linalg.norm(gradient)))
        slope, length = -float((gradient * step).sum()), 1.0
        while True:
            trial = point - length * step
            residuals = problem.residuals(trial)
            passes += 1
            after = -float((problem.gradient(trial, residuals) * step).sum())
            if after <= _UPTURN * abs(slope) or passes >= max_passes:
                break
            # Where a straight line through both slopes crosses zero.
            length *= float(np.clip(abs(slope) / (abs(slope) + after), *_SHORTENED))
        point = trial


class _Problem:
    """The objective of one fold under one penalty, with its first two derivatives."""

    def __init__(self, gradient_pass: GradientPass, fold: int, present: NDArray[np.bool_], ridge: float) -> None:
        self.gradient_pass, self.present = gradient_pass, np.flatnonzero(present)
        share = gradient_pass.weights[fold]
        trained = np.flatnonzero(share)
        numbers = np.arange(gradient_pass.coordinates.features.n_rows)[gradient_pass.rows]
        self.rows, self.share = gradient_pass.coordinates.rows(numbers[trained]), share[trained]
        #: The pass has the outputs in another order.
        self.own_class = gradient_pass.own_class[np.argsort(gradient_pass.outputs)][:, None, trained]
        self.ridge = np.append(np.full(self.rows.shape[1] - 1, ridge), 0.0)

    def residuals(self, point: Floats) -> Floats:
        """Return the residuals p - y of the training rows times their weights: outputs x rows."""
        residuals: Floats = (point @ self.rows.T)[:, None]
        turn_into_residuals(residuals, self.share, self.own_class)
        return residuals[:, 0]

    def gradient(self, point: Floats, residuals: Floats) -> Floats:
        gradient: Floats = residuals @ self.rows + self.ridge * point
        return gradient

    def newton_step(self, residuals: Floats, gradient: Floats, damping: float = 0.0) -> Floats:
        """Return the inverse of the Hessian, with something added to its diagonal, times the gradient."""
        hessian = self._hessian(residuals[self.present])
        hessian.flat[:: len(hessian) + 1] += damping
        # With ones on the diagonal, so that coordinates of any size are worth the same.
        roots = np.sqrt(np.maximum(hessian.diagonal(), np.finfo(np.float64).tiny))
        hessian /= roots
        hessian /= roots[:, None]
        factor = _factor(hessian)
        with np.errstate(over="ignore"):
            solved = linalg.cho_solve(factor, gradient[self.present].ravel() / roots, check_finite=False) / roots
        step = np.zeros_like(gradient)
        step[self.present] = solved.reshape(len(self.present), -1)
        return step

    def _hessian(self, residuals: Floats) -> Floats:
        n_outputs, width = len(residuals), self.rows.shape[1]
        sizes = np.abs(residuals)
        # Residuals are accurate however small they are, where 1 - p would not be.
        own = sizes * (1 - sizes / self.share)
        probabilities = np.where(residuals < 0, self.share - sizes, sizes)
        hessian = np.zeros((n_outputs, width, n_outputs, width))
        for one in range(n_outputs):
            hessian[one, :, one] = (self.rows * own[one][:, None]).T @ self.rows + np.diag(self.ridge)
            for other in range(one):
                weights = -probabilities[one] * probabilities[other] / self.share
                hessian[one, :, other] = hessian[other, :, one] = (self.rows * weights[:, None]).T @ self.rows
        if n_outputs > 1:
            # A softmax does not change if all intercepts do alike, so this direction may have any curvature but none.
            hessian[:, -1, :, -1] += own.sum() / n_outputs
        return hessian.reshape(n_outputs * width, n_outputs * width)


def _factor(matrix: Floats) -> tuple[Floats, bool]:
    """Return SciPy's Cholesky factor of a matrix that is positive definite but for rounding, with ones on its diagonal."""
    added = _ROUNDING * len(matrix)
    while True:
        matrix.flat[:: len(matrix) + 1] = 1 + added
        try:
            return linalg.cho_factor(matrix, lower=True)
        except linalg.LinAlgError:
            added *= _MORE_ROUNDING
