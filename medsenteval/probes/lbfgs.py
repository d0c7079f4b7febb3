"""Preconditioned L-BFGS for many ridge-penalised problems at once, each walking its own path of penalties.

A *walker* is one fold under one penalty. All walkers take their next trial step together, because the gradients of all
of them come out of one pass over the rows; but each decides for itself whether to accept the step and when it is done.
There are two ways through a fold's penalties: *in turn* from the strongest to the weakest, or behind a *pilot*, which goes
some of the way under the middle one and then parts into as many walkers as there are penalties, each with what it has learnt:
at first all of them would go much the same way. A walker starts from the model that knows class frequencies only, and later
from where its own fold has got to: never from anything that has seen its held-out labels.

The objective of one walker is ``loss(x) + ridge / 2 * |x|^2`` (intercepts unpenalised), with ``loss`` a mean over
training rows. What is particular about the method:

* The initial inverse Hessian is that of ``weight_k * S + ridge``: the basis supplies S (``curvature``), the latest pass
  the weight, which is the mean of p (1 - p) for that class. For softmax it acts on weights that sum to zero over the classes,
  where the optimum lies.
* Steps are judged by gradients alone: a convex function whose slope along the step is still negative has gone down, and
  one whose slope has turned upward a little has passed its minimum by a little. Loss values would be drowned by float32
  rounding long before gradients are.
* A rejected trial still teaches curvature. The walker stays, learns the pair, and may then go half as far at most.
* Curvature pairs survive a change of penalty, since the penalty's share of each pair is known exactly.
* A fit is done when its remaining step would change the logits by less than ``tolerance`` of their own size (both as
  root mean squares over rows). That is what decides whether predictions can still flip, whatever the scale or rank. The
  step is the initial inverse Hessian's, and also the next one to be taken where that Hessian comes from a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from medsenteval.probes.curvature import Curvature, dots, per_walker, relative_logit_sizes

__all__ = ["LossGradient", "Paths", "walk"]

Floats = NDArray[np.floating[Any]]
Scalars = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Curvature pairs kept per walker; more did not save passes on real or synthetic features.
_MEMORY: Final = 5
#: A trial is accepted if the slope along it has not turned upward by more than this share of the initial slope.
_UPTURN: Final = 0.5
#: An extrapolation never goes further than this multiple of the last two solutions' distance.
_LONGEST_EXTRAPOLATION: Final = 2.0


_PER_WALKER: Final = (
    "folds", "stage", "ridge", "point", "gradient", "reach", "unconditional", "pilot", "share", "weight", "level", "scale",
)  # fmt: skip
_PER_PAIR_AND_WALKER: Final = ("steps", "changes", "step_change", "step_step")


class LossGradient(Protocol):
    """Mean-loss gradients at points of some folds, and the mean of p (1 - p) per class that belongs to them."""

    def __call__(self, points: Floats, folds: Indices) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True, eq=False)
class Paths:
    """Solutions of every fold under every penalty, with the relative logit error left in each."""

    points: Floats
    errors: Scalars
    passes: Scalars


def walk(
    loss_gradient: LossGradient,
    start: Floats,
    present: NDArray[np.bool_],
    ridges: Scalars,
    curvature: Curvature,
    tolerance: float,
    max_passes: int,
    parting: float | None = None,
) -> Paths:
    """Solve all folds under all their penalties.

    ``start`` has shape (folds, classes, coordinates), intercept last; ``present`` says which classes a fold has
    training rows of; ``ridges`` holds each fold's penalties, strongest first. A pilot parts when the relative logit error
    that is left to it is ``parting``; without that, penalties are gone through in turn.
    """
    state = _Walkers(start, present, ridges, curvature, tolerance, max_passes, parting)
    while len(state.folds):
        state.advance(*loss_gradient(state.trial, state.folds))
    return Paths(state.solutions, state.errors, state.passes)


class _Walkers:
    """The walkers still under way. The first axis of arrays is walkers; in histories it is the second."""

    def __init__(
        self,
        start: Floats,
        present: NDArray[np.bool_],
        ridges: Scalars,
        curvature: Curvature,
        tolerance: float,
        max_passes: int,
        parting: float | None,
    ) -> None:
        count, n_outputs, width = start.shape
        self.all_ridges, self.curvature = ridges, curvature
        self.tolerance, self.max_passes = tolerance, max_passes
        self.penalised = np.ones(width, dtype=start.dtype)
        self.penalised[-1] = 0
        self.solutions = np.zeros((count, ridges.shape[1], n_outputs, width), dtype=start.dtype)
        self.errors = np.full(ridges.shape, np.inf)
        self.passes = np.zeros(ridges.shape)

        self.parting = parting
        first = 0 if parting is None else (ridges.shape[1] - 1) // 2
        self.folds: Indices = np.arange(count)
        self.stage: Indices = np.full(count, first)
        self.pilot = np.full(count, parting is not None)
        self.ridge = ridges[:, first].copy()
        self.trial = start
        self.point = start
        self.gradient = np.zeros_like(start)
        #: What the curvature makes of the gradient, and below of its changes: themselves, unless it is dense.
        self.solved = self.gradient
        #: Where a dense curvature leads; without one it is not known before it is needed.
        self.direction = self.gradient
        self.reach = np.full(count, np.inf)
        #: Trials that are not steps from ``point`` (the start, an extrapolation) and are accepted whatever the slope.
        self.unconditional = np.ones(count, dtype=bool)
        self.share = _class_share(present, start.dtype)
        self.weight = np.zeros((count, n_outputs), dtype=start.dtype)
        #: Which of the curvature's approximations a walker uses, and what that leaves to multiply by.
        self.level = np.zeros(count)
        self.scale = np.zeros_like(start)
        self.steps = np.zeros((_MEMORY, *start.shape), dtype=start.dtype)
        self.changes = np.zeros_like(self.steps)
        self.solved_changes = np.zeros_like(self.steps) if curvature.dense else self.changes
        self.step_change = np.zeros((_MEMORY, count))
        self.step_step = np.zeros((_MEMORY, count))
        self.newest = 0
        self.started = False

    def advance(self, loss_gradient: Floats, weight: Floats) -> None:
        """Take in the gradients at the trial points and choose the next trial points."""
        self.passes[self.folds, self.stage] += 1
        gradient = loss_gradient + per_walker(self.ridge, self.trial) * self.penalised * self.trial
        self._accept(self._centred(gradient) if self.curvature.dense else gradient, weight)
        self._finish()
        if len(self.folds):
            self._propose()

    def _accept(self, gradient: Floats, weight: Floats) -> None:
        step = self.trial - self.point
        change = gradient - self.gradient
        slope_before, slope_after = dots(self.gradient, step), dots(gradient, step)
        if not self.started:
            self.level = self.curvature.levels(weight, self.ridge)
        solved = self.curvature.solve(gradient, self.level)
        if self.started:
            self._learn(step, change, solved)
        self.started = True
        stay = np.flatnonzero(~(self.unconditional | (slope_after <= _UPTURN * np.abs(slope_before))))
        self.reach[:] = np.inf
        if len(stay):
            self.reach[stay] = 0.5 * np.sqrt(dots(step[stay], step[stay]))
            # They are few, so that they are put back among those who go on.
            solved[stay] = self.solved[stay]
            gradient[stay], weight[stay], self.trial[stay] = self.gradient[stay], self.weight[stay], self.point[stay]
        self.point, self.gradient, self.solved, self.weight = self.trial, gradient, solved, weight
        level = self.curvature.levels(self.weight, self.ridge, self.level)
        changed = np.flatnonzero(level != self.level)
        self.level = level
        self.scale = self.curvature.scale(self.weight, self.ridge, level)
        if len(changed):
            self._solve_again(changed)

    def _solve_again(self, walkers: Indices) -> None:
        """Let the curvature take in what has changed under these walkers: their level, or their ridge."""
        level = self.level[walkers]
        self.solved[walkers] = self.curvature.solve(self.gradient[walkers], level)
        for slot in range(_MEMORY):
            self.solved_changes[slot, walkers] = self.curvature.solve(self.changes[slot, walkers], level)

    def _learn(self, step: Floats, change: Floats, solved: Floats) -> None:
        """Remember one curvature pair per walker; a pair without curvature counts as none."""
        self.newest = (self.newest + 1) % _MEMORY
        product, square = dots(step, change), dots(step, step)
        rounding = np.finfo(step.dtype).eps * np.sqrt(square * dots(change, change))
        self.steps[self.newest] = step
        self.changes[self.newest] = change
        if self.curvature.dense:
            np.subtract(solved, self.solved, out=self.solved_changes[self.newest])
        self.step_change[self.newest] = np.where(product > rounding, product, 0.0)
        # What the penalty sees of it; it only steers, so a difference is accurate enough.
        self.step_step[self.newest] = np.maximum(square - np.square(step[:, :, -1], dtype=np.float64).sum(axis=1), 0.0)

    def _finish(self) -> None:
        """Let pilots part, store the fits that are done, send their walkers on to other penalties or dismiss them."""
        self.unconditional = np.zeros(len(self.folds), dtype=bool)
        self.target: Floats | None = None
        error = self._logit_error()
        if self.parting is not None and self.pilot.any():
            arrived = self.pilot & ((error <= self.parting) | self._exhausted())
            if arrived.any():
                self._part(arrived)
                error = self._logit_error()
        done = (error <= self.tolerance) | self._exhausted()
        if not done.any():
            return
        self.solutions[self.folds[done], self.stage[done]] = self.point[done]
        self.errors[self.folds[done], self.stage[done]] = error[done]
        go_on = done & (self.stage + 1 < self.all_ridges.shape[1]) & (self.parting is None)
        if (done & ~go_on).any():
            kept = np.flatnonzero(~done | go_on)
            self._keep(kept)
            go_on = go_on[kept]
        moved = np.flatnonzero(go_on)
        if len(moved):
            self.stage[moved] += 1
            self._change_ridge(moved)
            if self.curvature.dense:
                self.direction = self._inverse_hessian()

    def _exhausted(self) -> NDArray[np.bool_]:
        exhausted: NDArray[np.bool_] = self.passes[self.folds, self.stage] >= self.max_passes
        return exhausted

    def _part(self, arrived: NDArray[np.bool_]) -> None:
        """Make of each of these pilots a walker for every penalty, its own among them."""
        n_stages = self.all_ridges.shape[1]
        copies = np.where(arrived, n_stages, 1)
        self._keep(np.repeat(np.arange(len(arrived)), copies))
        parted = np.flatnonzero(np.repeat(arrived, copies))
        self.stage[parted] = np.resize(np.arange(n_stages), len(parted))
        self.pilot[parted] = False
        self._change_ridge(parted)

    def _logit_error(self) -> Scalars:
        steps = [self._scaled(self.solved)]
        if self.curvature.dense:
            # What a sample says may be steeper than what has been learnt since.
            self.direction = self._inverse_hessian()
            steps.append(self.direction)
        return relative_logit_sizes(self.curvature, self.point, self.tolerance, *steps)

    def _keep(self, rows: Indices) -> None:
        """Go on with these walkers, some of them perhaps several times."""
        for name in _PER_WALKER:
            setattr(self, name, getattr(self, name)[rows])
        for name in _PER_PAIR_AND_WALKER:
            setattr(self, name, getattr(self, name)[:, rows])
        if self.curvature.dense:
            self.solved, self.solved_changes = self.solved[rows], self.solved_changes[:, rows]
            self.direction = self.direction[rows]
        else:
            self.solved, self.solved_changes = self.gradient, self.changes

    def _change_ridge(self, moved: Indices) -> None:
        ridge = self.all_ridges[self.folds[moved], self.stage[moved]]
        difference = ridge - self.ridge[moved]
        shift = per_walker(difference, self.point) * self.penalised
        self.gradient[moved] += shift * self.point[moved]
        self.changes[:, moved] += shift * self.steps[:, moved]
        learnt = self.step_change[:, moved] > 0
        self.step_change[:, moved] += np.where(learnt, difference * self.step_step[:, moved], 0.0)
        self.ridge[moved] = ridge
        self.level[moved] = self.curvature.levels(self.weight[moved], ridge, self.level[moved])
        self.scale[moved] = self.curvature.scale(self.weight[moved], ridge, self.level[moved])
        if self.curvature.dense:
            self._solve_again(moved)
        self._extrapolate(moved)

    def _extrapolate(self, moved: Indices) -> None:
        """Continue the line through the last two solutions, which is nearly straight in the penalty's logarithm."""
        moved = moved[self.stage[moved] >= 2]
        if not len(moved) or self.parting is not None:
            return
        folds, stage = self.folds[moved], self.stage[moved]
        logs = np.log(np.stack([self.all_ridges[folds, stage - back] for back in range(3)]))
        factor = np.clip((logs[1] - logs[0]) / np.maximum(logs[2] - logs[1], 1e-12), 0.0, _LONGEST_EXTRAPOLATION)
        move = self.solutions[folds, stage - 1] - self.solutions[folds, stage - 2]
        self.target = np.zeros_like(self.point)
        self.target[moved] = self.point[moved] + per_walker(factor, move) * move
        self.unconditional[moved] = True

    def _propose(self) -> None:
        direction = self.direction if self.curvature.dense else self._inverse_hessian()
        length = np.sqrt(dots(direction, direction))
        part = np.divide(self.reach, length, out=np.ones_like(length), where=self.reach < length)
        self.trial = self.point - per_walker(part, direction) * direction
        if self.target is not None:
            self.trial = np.where(self.unconditional[:, None, None], self.target, self.trial)

    def _inverse_hessian(self) -> Floats:
        """Multiply the gradient by the L-BFGS approximation of the inverse Hessian (the two-loop recursion)."""
        rest, scratch = self.gradient.copy(), np.empty_like(self.gradient)
        solved = self.solved.copy() if self.curvature.dense else rest
        known = self.step_change > 0
        order = [(self.newest - age) % _MEMORY for age in range(_MEMORY)]
        newest, order = order[0], [slot for slot in order if known[slot].any()]
        curvature = np.divide(1.0, self.step_change, out=np.zeros_like(self.step_change), where=known)
        parts = {}
        for slot in order:
            parts[slot] = curvature[slot] * dots(self.steps[slot], rest)
            part = per_walker(parts[slot], rest)
            rest -= np.multiply(part, self.changes[slot], out=scratch)
            if self.curvature.dense:
                solved -= np.multiply(part, self.solved_changes[slot], out=scratch)
        result = self._scaled(solved)
        result *= per_walker(self._shortening(newest), result)
        for slot in reversed(order):
            correction = parts[slot] - curvature[slot] * dots(self.changes[slot], result)
            result += np.multiply(per_walker(correction, result), self.steps[slot], out=scratch)
        return result

    def _shortening(self, slot: int) -> Scalars:
        """How much less than the preconditioner expects one should move, as seen along the latest step."""
        expected = dots(self.changes[slot], self._scaled(self.solved_changes[slot]))
        product = self.step_change[slot]
        known = (product > 0) & (expected > 0)
        shortening: Scalars = np.minimum(1.0, np.divide(product, expected, out=np.ones_like(product), where=known))
        return shortening

    def _scaled(self, solved: Floats) -> Floats:
        """Finish what the curvature's inverse makes of vectors that it has solved."""
        return self._centred(self.scale * solved)

    def _centred(self, vectors: Floats) -> Floats:
        """Make vectors sum to zero over the classes, in place, as softmax gradients do but for rounding."""
        if vectors.shape[1] > 1:
            # Classes that a walker has no rows of have gradients of zero, hence no part in the sum.
            vectors -= self.share[:, :, None] * vectors.sum(axis=1, keepdims=True)
        return vectors


def _class_share(present: NDArray[np.bool_], dtype: np.dtype[Any]) -> Floats:
    """Weights of the mean over the classes that a walker has; the others keep weights of zero."""
    share: Floats = (present / np.maximum(present.sum(axis=1, keepdims=True), 1)).astype(dtype)
    return share
