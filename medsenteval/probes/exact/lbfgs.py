"""Preconditioned L-BFGS for many ridge-penalised problems at once (Liu and Nocedal 1989; docs/solver.md, "L-BFGS").

A problem is one fold under one penalty. All problems take their next trial step together, because the gradients of all of them
come out of one pass over the rows; but each decides for itself whether to accept the step and when it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from medsenteval.probes.exact.preconditioner import Preconditioner, dots, per_problem
from medsenteval.probes.exact.stopping_rule import relative_logit_sizes
from medsenteval.support.arrays import Bools, Floats, Reals, Rows

#: Curvature pairs kept for each problem; more did not save passes on real or synthetic features.
_MEMORY: Final = 5
#: A trial is accepted if the slope along it has not turned upward by more than this share of the initial slope.
_UPTURN: Final = 0.5

#: Mean-loss gradients at points of the problems with these numbers, and the mean of p (1 - p) per output that belongs to them.
LossGradient = Callable[[Reals, Rows], tuple[Reals, Reals]]


def minimise(
    loss_gradient: LossGradient,
    start: Reals,
    present: Bools,
    ridges: Floats,
    preconditioner: Preconditioner,
    tolerance: float,
    max_passes: int,
) -> tuple[Reals, Floats]:
    """Minimise ``loss + ridge / 2 * |weights|^2`` for every problem.

    ``start`` has shape (problems, outputs, coordinates), intercept last; ``present`` says which outputs a problem has training
    rows of. Returned are the points and the relative errors of their logits.
    """
    points, errors = np.zeros_like(start), np.full(len(start), np.inf)
    state = _Problems(start, present, ridges, preconditioner, tolerance)
    for passes in range(1, max_passes + 1):
        error = state.advance(*loss_gradient(state.trial, state.problems))
        solved = (error <= tolerance) | (passes == max_passes)
        points[state.problems[solved]], errors[state.problems[solved]] = state.point[solved], error[solved]
        if solved.all():
            break
        if solved.any():
            state.keep(~solved)
        state.propose()
    return points, errors


class _Problems:
    """The problems that are not solved yet. The first axis of arrays is problems; in histories it is the second."""

    def __init__(self, start: Reals, present: Bools, ridges: Floats, preconditioner: Preconditioner, tolerance: float) -> None:
        count, _, width = start.shape
        self.preconditioner, self.tolerance = preconditioner, tolerance
        self.penalised = np.ones(width, dtype=start.dtype)
        self.penalised[-1] = 0
        self.problems: Rows = np.arange(count)
        self.ridge = ridges
        self.trial = self.point = start
        self.step = self.gradient = np.zeros_like(start)
        #: How far the next step may go.
        self.reach = np.full(count, np.inf)
        self.started = False
        #: Weights of the mean over the outputs that a problem has rows of; the others keep weights of zero.
        self.share: Reals = (present / np.maximum(present.sum(axis=1, keepdims=True), 1)).astype(start.dtype)
        self.weight = np.zeros(start.shape[:2], dtype=start.dtype)
        #: Which of the preconditioner's shifts a problem uses.
        self.shift = np.zeros(count)
        self.steps = np.zeros((_MEMORY, *start.shape), dtype=start.dtype)
        self.changes = np.zeros_like(self.steps)
        self.step_change = np.zeros((_MEMORY, count))
        self.newest = 0

    def advance(self, loss_gradient: Reals, weight: Reals) -> Floats:
        """Take in the gradients at the trial points, and return how large the next steps are beside the points."""
        gradient = loss_gradient + per_problem(self.ridge, self.trial) * self.penalised * self.trial
        self.reach[:] = np.inf
        if self.started:
            step, change = self.trial - self.point, gradient - self.gradient
            slope_before, slope_after = dots(self.gradient, step), dots(gradient, step)
            product, rounding = dots(step, change), np.finfo(step.dtype).eps * np.sqrt(dots(step, step) * dots(change, change))
            self.newest = (self.newest + 1) % _MEMORY
            self.steps[self.newest], self.changes[self.newest] = step, change
            # A pair without curvature counts as none.
            self.step_change[self.newest] = np.where(product > rounding, product, 0.0)
            stay = np.flatnonzero(~(slope_after <= _UPTURN * np.abs(slope_before)))
            if len(stay):
                self.reach[stay] = 0.5 * np.sqrt(dots(step[stay], step[stay]))
                # They are few, so that they are put back among those that go on.
                gradient[stay], weight[stay], self.trial[stay] = self.gradient[stay], self.weight[stay], self.point[stay]
        self.started = True
        self.point, self.gradient, self.weight = self.trial, gradient, weight
        self.shift = self.preconditioner.shifts(weight, self.ridge, self.shift)
        own, self.step = self._next_steps()
        return relative_logit_sizes(self.preconditioner, self.point, self.tolerance, own, self.step)

    def keep(self, kept: Bools) -> None:
        """Go on with these problems only."""
        for name in ("problems", "ridge", "point", "gradient", "step", "reach", "share", "weight", "shift"):
            setattr(self, name, getattr(self, name)[kept])
        for name in ("steps", "changes", "step_change"):
            setattr(self, name, getattr(self, name)[:, kept])

    def propose(self) -> None:
        """Choose the next trial points."""
        length = np.sqrt(dots(self.step, self.step))
        part = np.divide(self.reach, length, out=np.ones_like(length), where=self.reach < length)
        self.trial = self.point - per_problem(part, self.step) * self.step

    def _next_steps(self) -> tuple[Reals, Reals]:
        """Return the inverse Hessian times the gradient: the preconditioner's, and L-BFGS' (the two-loop recursion)."""
        rest, scratch = self.gradient.copy(), np.empty_like(self.gradient)
        known = self.step_change > 0
        order = [(self.newest - age) % _MEMORY for age in range(_MEMORY)]
        newest, order = order[0], [slot for slot in order if known[slot].any()]
        curvature = np.divide(1.0, self.step_change, out=np.zeros_like(self.step_change), where=known)
        parts = {}
        for slot in order:
            parts[slot] = curvature[slot] * dots(self.steps[slot], rest)
            rest -= np.multiply(per_problem(parts[slot], rest), self.changes[slot], out=scratch)
        vectors = np.stack([self.gradient, rest, self.changes[newest]])
        own, result, change = self._centred(self.preconditioner.inverse(vectors, self.weight, self.ridge, self.shift))
        # As seen along the latest step, one may have to move less than the preconditioner expects.
        product, expected = self.step_change[newest], dots(self.changes[newest], change)
        shorter = np.divide(product, expected, out=np.ones_like(expected), where=(product > 0) & (expected > 0))
        result *= per_problem(np.minimum(shorter, 1.0), result)
        for slot in reversed(order):
            correction = parts[slot] - curvature[slot] * dots(self.changes[slot], result)
            result += np.multiply(per_problem(correction, result), self.steps[slot], out=scratch)
        return own, result

    def _centred(self, vectors: Reals) -> Reals:
        """Make vectors sum to zero over the outputs, in place, as softmax gradients do but for rounding."""
        if vectors.shape[-2] > 1:
            # Outputs that a problem has no rows of have gradients of zero, hence no part in the sum.
            vectors -= self.share[:, :, None] * vectors.sum(axis=-2, keepdims=True)
        return vectors
