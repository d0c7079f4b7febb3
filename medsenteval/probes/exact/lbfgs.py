"""Preconditioned L-BFGS for many ridge-penalised problems at once (Liu and Nocedal 1989; docs/solver.md, "L-BFGS").

A problem is one fold under one penalty. All problems take their next trial step together, because the gradients of all of them
come out of one pass over the rows; but each decides for itself whether to accept the step and when it is done. A fold goes from
one penalty to the next with what it has learnt: the penalty's share of every curvature pair is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from medsenteval.probes.exact.preconditioner import Preconditioner, dots, per_problem, relative_logit_sizes
from medsenteval.support.arrays import Bools, Floats, Reals, Rows

#: Curvature pairs kept for each problem; more did not save passes on real or synthetic features.
_MEMORY: Final = 5
#: A trial is accepted if the slope along it has not turned upward by more than this share of the initial slope.
_UPTURN: Final = 0.5

#: Mean-loss gradients at points of some folds, and the mean of p (1 - p) per output that belongs to them.
LossGradient = Callable[[Reals, Rows], tuple[Reals, Reals]]

_PER_PROBLEM: Final = (
    "folds", "stage", "passes", "ridge", "point", "gradient", "solved", "reach", "share", "weight", "shift", "scale",
)  # fmt: skip
_PER_PAIR_AND_PROBLEM: Final = ("steps", "changes", "solved_changes", "step_change")


@dataclass(frozen=True, eq=False)
class Solutions:
    """Where every fold ended under every penalty, the relative logit error left there, and the passes that it took."""

    points: Reals
    errors: Floats
    passes: Rows


def minimise(
    loss_gradient: LossGradient,
    start: Reals,
    present: Bools,
    ridges: Floats,
    preconditioner: Preconditioner,
    tolerance: float,
    max_passes: int,
) -> Solutions:
    """Minimise ``loss + ridge / 2 * |weights|^2`` for every fold under its penalties, one after the other.

    ``start`` has shape (folds, outputs, coordinates), intercept last; ``present`` says which outputs a fold has training rows
    of; ``ridges`` (folds x penalties) has the strongest first.
    """
    state = _Problems(start, present, ridges, preconditioner, tolerance, max_passes)
    while len(state.folds):
        state.advance(*loss_gradient(state.trial, state.folds))
    return state.solutions


class _Problems:
    """The problems that are not solved yet. The first axis of arrays is problems; in histories it is the second."""

    def __init__(
        self, start: Reals, present: Bools, ridges: Floats, preconditioner: Preconditioner, tolerance: float, max_passes: int
    ) -> None:
        count, n_outputs, width = start.shape
        self.preconditioner, self.tolerance, self.max_passes = preconditioner, tolerance, max_passes
        self.all_ridges = ridges
        points = np.zeros((*ridges.shape, n_outputs, width), dtype=start.dtype)
        self.solutions = Solutions(points, np.full(ridges.shape, np.inf), np.zeros(ridges.shape, dtype=np.intp))
        self.penalised = np.ones(width, dtype=start.dtype)
        self.penalised[-1] = 0
        self.folds: Rows = np.arange(count)
        self.stage: Rows = np.zeros(count, dtype=np.intp)
        self.passes: Rows = np.zeros(count, dtype=np.intp)
        self.ridge = ridges[:, 0].copy()
        self.trial = self.point = start
        self.gradient = np.zeros_like(start)
        #: What the preconditioner's ``solve`` makes of the gradient, and below of its changes.
        self.solved = self.gradient
        #: How far the next step may go.
        self.reach = np.full(count, np.inf)
        self.started = False
        #: Weights of the mean over the outputs that a problem has rows of; the others keep weights of zero.
        self.share: Reals = (present / np.maximum(present.sum(axis=1, keepdims=True), 1)).astype(start.dtype)
        self.weight = np.zeros(start.shape[:2], dtype=start.dtype)
        #: Which of the preconditioner's shifts a problem uses, and what that leaves to multiply by.
        self.shift = np.zeros(count)
        self.scale = np.zeros_like(start)
        self.steps = np.zeros((_MEMORY, *start.shape), dtype=start.dtype)
        self.changes = np.zeros_like(self.steps)
        self.solved_changes = np.zeros_like(self.steps)
        self.step_change = np.zeros((_MEMORY, count))
        self.newest = 0

    def advance(self, loss_gradient: Reals, weight: Reals) -> None:
        """Take in the gradients at the trial points, store what is solved, and choose the next trial points."""
        self.passes += 1
        gradient = loss_gradient + per_problem(self.ridge, self.trial) * self.penalised * self.trial
        self._accept(self._centred(gradient) if self.preconditioner.dense else gradient, weight)
        error = self._logit_error()
        solved = (error <= self.tolerance) | (self.passes >= self.max_passes)
        if solved.any():
            place = self.folds[solved], self.stage[solved]
            self.solutions.points[place], self.solutions.errors[place] = self.point[solved], error[solved]
            self.solutions.passes[place] = self.passes[solved]
            kept = np.flatnonzero(~solved | (self.stage + 1 < self.all_ridges.shape[1]))
            self._keep(kept)
            moved = np.flatnonzero(solved[kept])
            if len(moved):
                self._change_ridge(moved)
        if len(self.folds):
            self._propose()

    def _accept(self, gradient: Reals, weight: Reals) -> None:
        if not self.started:
            self.shift = self.preconditioner.shifts(weight, self.ridge)
        solved = self.preconditioner.solve(gradient, self.shift)
        self.reach[:] = np.inf
        if self.started:
            step = self.trial - self.point
            slope_before, slope_after = dots(self.gradient, step), dots(gradient, step)
            self._learn(step, gradient - self.gradient, solved)
            stay = np.flatnonzero(~(slope_after <= _UPTURN * np.abs(slope_before)))
            if len(stay):
                self.reach[stay] = 0.5 * np.sqrt(dots(step[stay], step[stay]))
                # They are few, so that they are put back among those that go on.
                solved[stay], gradient[stay], weight[stay] = self.solved[stay], self.gradient[stay], self.weight[stay]
                self.trial[stay] = self.point[stay]
        self.started = True
        self.point, self.gradient, self.solved, self.weight = self.trial, gradient, solved, weight
        shift = self.preconditioner.shifts(self.weight, self.ridge, self.shift)
        changed = np.flatnonzero(shift != self.shift)
        self.shift = shift
        self.scale = self.preconditioner.scale(self.weight, self.ridge, shift)
        if len(changed):
            self._solve_again(changed)

    def _solve_again(self, changed: Rows) -> None:
        """Apply the preconditioner to what is remembered of problems whose shift, or whose ridge, is another one."""
        self.solved[changed] = self.preconditioner.solve(self.gradient[changed], self.shift[changed])
        for slot in range(_MEMORY):
            self.solved_changes[slot, changed] = self.preconditioner.solve(self.changes[slot, changed], self.shift[changed])

    def _learn(self, step: Reals, change: Reals, solved: Reals) -> None:
        """Remember one curvature pair for each problem; a pair without curvature counts as none."""
        self.newest = (self.newest + 1) % _MEMORY
        product = dots(step, change)
        rounding = np.finfo(step.dtype).eps * np.sqrt(dots(step, step) * dots(change, change))
        self.steps[self.newest] = step
        self.changes[self.newest] = change
        self.solved_changes[self.newest] = solved - self.solved
        self.step_change[self.newest] = np.where(product > rounding, product, 0.0)

    def _logit_error(self) -> Floats:
        steps = [self._scaled(self.solved)]
        if self.preconditioner.dense:
            # A sample may overestimate the curvature, and with it what is left, where L-BFGS has learnt better.
            steps.append(self._inverse_hessian())
        return relative_logit_sizes(self.preconditioner, self.point, self.tolerance, *steps)

    def _change_ridge(self, moved: Rows) -> None:
        """Go on to the next penalty: its gradients and curvature pairs differ by multiples of the points and the steps."""
        self.stage[moved] += 1
        self.passes[moved] = 0
        ridge = self.all_ridges[self.folds[moved], self.stage[moved]]
        difference = per_problem(ridge - self.ridge[moved], self.point) * self.penalised
        self.ridge[moved] = ridge
        self.gradient[moved] += difference * self.point[moved]
        self.changes[:, moved] += difference * self.steps[:, moved]
        for slot in range(_MEMORY):
            product = dots(self.steps[slot, moved], self.changes[slot, moved])
            self.step_change[slot, moved] = np.where(self.step_change[slot, moved] > 0, np.maximum(product, 0.0), 0.0)
        self.shift[moved] = self.preconditioner.shifts(self.weight[moved], ridge, self.shift[moved])
        self.scale[moved] = self.preconditioner.scale(self.weight[moved], ridge, self.shift[moved])
        self._solve_again(moved)

    def _keep(self, kept: Rows) -> None:
        """Go on with these problems only."""
        for name in _PER_PROBLEM:
            setattr(self, name, getattr(self, name)[kept])
        for name in _PER_PAIR_AND_PROBLEM:
            setattr(self, name, getattr(self, name)[:, kept])

    def _propose(self) -> None:
        direction = self._inverse_hessian()
        length = np.sqrt(dots(direction, direction))
        part = np.divide(self.reach, length, out=np.ones_like(length), where=self.reach < length)
        self.trial = self.point - per_problem(part, direction) * direction

    def _inverse_hessian(self) -> Reals:
        """Multiply the gradient by the L-BFGS approximation of the inverse Hessian (the two-loop recursion)."""
        rest, solved, scratch = self.gradient.copy(), self.solved.copy(), np.empty_like(self.gradient)
        known = self.step_change > 0
        order = [(self.newest - age) % _MEMORY for age in range(_MEMORY)]
        newest, order = order[0], [slot for slot in order if known[slot].any()]
        curvature = np.divide(1.0, self.step_change, out=np.zeros_like(self.step_change), where=known)
        parts = {}
        for slot in order:
            parts[slot] = curvature[slot] * dots(self.steps[slot], rest)
            part = per_problem(parts[slot], rest)
            rest -= np.multiply(part, self.changes[slot], out=scratch)
            solved -= np.multiply(part, self.solved_changes[slot], out=scratch)
        result = self._scaled(solved)
        result *= per_problem(self._shortening(newest), result)
        for slot in reversed(order):
            correction = parts[slot] - curvature[slot] * dots(self.changes[slot], result)
            result += np.multiply(per_problem(correction, result), self.steps[slot], out=scratch)
        return result

    def _shortening(self, slot: int) -> Floats:
        """How much less than the preconditioner expects one should move, as seen along the latest step."""
        expected = dots(self.changes[slot], self._scaled(self.solved_changes[slot]))
        product = self.step_change[slot]
        known = (product > 0) & (expected > 0)
        shortening: Floats = np.minimum(1.0, np.divide(product, expected, out=np.ones_like(product), where=known))
        return shortening

    def _scaled(self, solved: Reals) -> Reals:
        """Finish the preconditioner's inverse for vectors that it has solved."""
        return self._centred(self.scale * solved)

    def _centred(self, vectors: Reals) -> Reals:
        """Make vectors sum to zero over the outputs, in place, as softmax gradients do but for rounding."""
        if vectors.shape[1] > 1:
            # Outputs that a problem has no rows of have gradients of zero, hence no part in the sum.
            vectors -= self.share[:, :, None] * vectors.sum(axis=1, keepdims=True)
        return vectors
