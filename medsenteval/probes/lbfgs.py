"""Preconditioned L-BFGS for many ridge-penalised problems at once, each walking its own path of penalties.

A *walker* is one fold under one penalty. All walkers take their next trial step together, because the gradients of all
of them come out of one pass over the rows; but each decides for itself whether to accept the step and when it is done.
There are three ways through a fold's penalties (``Way``): *in turn* from the strongest to the weakest, *abreast* with a
walker for each from the start, or behind a *pilot*, which solves the middle one and then becomes as many walkers as there
are others, each with what it has learnt. A walker starts from the model that knows class frequencies only, and later from
its own fold's solutions: never from anything that has seen its held-out labels.

The objective of one walker is ``loss(x) + ridge / 2 * |x|^2`` (intercepts unpenalised), with ``loss`` a mean over
training rows. What is particular about the method:

* The initial inverse Hessian is diagonal, ``1 / (weight_k * spread_j + ridge)``: the basis supplies the spread, the
  latest pass the weight, which is the mean of p (1 - p) for that class. For softmax it acts on weights that sum to zero
  over the classes, where the optimum lies.
* Steps are judged by gradients alone: a convex function whose slope along the step is still negative has gone down, and
  one whose slope has turned upward a little has passed its minimum by a little. Loss values would be drowned by float32
  rounding long before gradients are.
* A rejected trial still teaches curvature. The walker stays, learns the pair, and may then go half as far at most.
* Curvature pairs survive a change of penalty, since the penalty's share of each pair is known exactly.
* A fit is done when its remaining step would change the logits by less than ``tolerance`` of their own size (both as
  root mean squares over rows). That is what decides whether predictions can still flip, whatever the scale or rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["LossGradient", "Paths", "Way", "walk"]

Floats = NDArray[np.floating[Any]]
Scalars = NDArray[np.float64]
Indices = NDArray[np.intp]
Way = Literal["in turn", "abreast", "pilot"]

#: Curvature pairs kept per walker; more did not save passes on real or synthetic features.
_MEMORY: Final = 5
#: A trial is accepted if the slope along it has not turned upward by more than this share of the initial slope.
_UPTURN: Final = 0.5
#: An extrapolation never goes further than this multiple of the last two solutions' distance.
_LONGEST_EXTRAPOLATION: Final = 2.0


_PER_WALKER: Final = (
    "folds", "stage", "ridge", "point", "gradient", "reach", "unconditional", "share", "weight", "inverse",
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
    spread: Floats,
    tolerance: float,
    max_passes: int,
    way: Way = "in turn",
) -> Paths:
    """Solve all folds under all their penalties.

    ``start`` has shape (folds, classes, coordinates), intercept last; ``present`` says which classes a fold has
    training rows of; ``ridges`` holds each fold's penalties, strongest first.
    """
    state = _Walkers(start, present, ridges, spread, tolerance, max_passes, way)
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
        spread: Floats,
        tolerance: float,
        max_passes: int,
        way: Way,
    ) -> None:
        count, n_outputs, width = start.shape
        self.all_ridges, self.spread = ridges, spread
        self.tolerance, self.max_passes = tolerance, max_passes
        self.penalised = np.ones(width, dtype=start.dtype)
        self.penalised[-1] = 0
        self.solutions = np.zeros((count, ridges.shape[1], n_outputs, width), dtype=start.dtype)
        self.errors = np.full(ridges.shape, np.inf)
        self.passes = np.zeros(ridges.shape)

        n_stages = ridges.shape[1]
        self.way = way
        self.middle = (n_stages - 1) // 2
        first = {"in turn": [0], "abreast": list(range(n_stages)), "pilot": [self.middle]}[way]
        self.folds: Indices = np.repeat(np.arange(count), len(first))
        self.stage: Indices = np.tile(np.array(first, dtype=np.intp), count)
        self.ridge = ridges[self.folds, self.stage]
        start, present, count = start[self.folds], present[self.folds], len(self.folds)
        self.trial = start
        self.point = start
        self.gradient = np.zeros_like(start)
        self.reach = np.full(count, np.inf)
        #: Trials that are not steps from ``point`` (the start, an extrapolation) and are accepted whatever the slope.
        self.unconditional = np.ones(count, dtype=bool)
        self.share = _class_share(present, start.dtype)
        self.weight = np.zeros((count, n_outputs), dtype=start.dtype)
        self.steps = np.zeros((_MEMORY, *start.shape), dtype=start.dtype)
        self.changes = np.zeros_like(self.steps)
        self.step_change = np.zeros((_MEMORY, count))
        self.step_step = np.zeros((_MEMORY, count))
        self.newest = 0
        self.started = False

    def advance(self, loss_gradient: Floats, weight: Floats) -> None:
        """Take in the gradients at the trial points and choose the next trial points."""
        self.passes[self.folds, self.stage] += 1
        gradient = loss_gradient + _column(self.ridge, self.trial) * self.penalised * self.trial
        self._accept(gradient, weight)
        self._finish()
        if len(self.folds):
            self._propose()

    def _accept(self, gradient: Floats, weight: Floats) -> None:
        step = self.trial - self.point
        change = gradient - self.gradient
        slope_before, slope_after = _dot(self.gradient, step), _dot(gradient, step)
        if self.started:
            self._learn(step, change)
        self.started = True
        accepted = self.unconditional | (slope_after <= _UPTURN * np.abs(slope_before))
        if accepted.all():
            self.point, self.gradient, self.weight = self.trial, gradient, weight
            self.reach[:] = np.inf
        else:
            self.point = np.where(accepted[:, None, None], self.trial, self.point)
            self.gradient = np.where(accepted[:, None, None], gradient, self.gradient)
            self.weight = np.where(accepted[:, None], weight, self.weight)
            self.reach = np.where(accepted, np.inf, 0.5 * np.sqrt(_dot(step, step)))
        self.inverse = 1 / np.maximum(
            self.weight[:, :, None] * self.spread + _column(self.ridge, gradient) * self.penalised,
            np.finfo(gradient.dtype).tiny,
        )

    def _learn(self, step: Floats, change: Floats) -> None:
        """Remember one curvature pair per walker; a pair without curvature counts as none."""
        self.newest = (self.newest + 1) % _MEMORY
        product = _dot(step, change)
        rounding = np.finfo(step.dtype).eps * np.sqrt(_dot(step, step) * _dot(change, change))
        self.steps[self.newest] = step
        self.changes[self.newest] = change
        self.step_change[self.newest] = np.where(product > rounding, product, 0.0)
        self.step_step[self.newest] = _dot(step * self.penalised, step)

    def _finish(self) -> None:
        """Store the fits that are done, send their walkers on to other penalties, dismiss those without one."""
        error = self._logit_error()
        done = (error <= self.tolerance) | (self.passes[self.folds, self.stage] >= self.max_passes)
        self.unconditional = np.zeros(len(done), dtype=bool)
        self.target: Floats | None = None
        if not done.any():
            return
        self.solutions[self.folds[done], self.stage[done]] = self.point[done]
        self.errors[self.folds[done], self.stage[done]] = error[done]
        copies = np.where(done, self._successors(), 1)
        if (copies != 1).any():
            self._keep(np.repeat(np.arange(len(done)), copies))
        moved = np.flatnonzero(np.repeat(done, copies))
        if len(moved):
            others = np.delete(np.arange(self.all_ridges.shape[1]), self.middle)
            self.stage[moved] = self.stage[moved] + 1 if self.way == "in turn" else np.resize(others, len(moved))
            self._change_ridge(moved)

    def _successors(self) -> Indices:
        """Return how many walkers each walker becomes when it is done."""
        n_stages = self.all_ridges.shape[1]
        if self.way == "in turn":
            successors: Indices = (self.stage + 1 < n_stages).astype(np.intp)
        else:
            successors = np.where((self.way == "pilot") & (self.stage == self.middle), n_stages - 1, 0)
        return successors

    def _logit_error(self) -> Scalars:
        remaining = self._precondition(self.gradient)
        step = np.sqrt(_dot(remaining * self.spread, remaining))
        size = np.sqrt(_dot(self.point * (self.spread * self.penalised), self.point))
        # Where features say next to nothing, an error within the intercept's own rounding is as good as none.
        smallest = 4 * np.finfo(self.point.dtype).eps / self.tolerance
        return step / np.maximum(size, smallest)

    def _keep(self, rows: Indices) -> None:
        """Go on with these walkers, some of them perhaps several times."""
        for name in _PER_WALKER:
            setattr(self, name, getattr(self, name)[rows])
        for name in _PER_PAIR_AND_WALKER:
            setattr(self, name, getattr(self, name)[:, rows])

    def _change_ridge(self, moved: Indices) -> None:
        ridge = self.all_ridges[self.folds[moved], self.stage[moved]]
        difference = ridge - self.ridge[moved]
        shift = _column(difference, self.point) * self.penalised
        self.gradient[moved] += shift * self.point[moved]
        self.changes[:, moved] += shift * self.steps[:, moved]
        learnt = self.step_change[:, moved] > 0
        self.step_change[:, moved] += np.where(learnt, difference * self.step_step[:, moved], 0.0)
        self.ridge[moved] = ridge
        self.inverse[moved] = 1 / np.maximum(
            self.weight[moved][:, :, None] * self.spread + _column(ridge, self.point) * self.penalised,
            np.finfo(self.point.dtype).tiny,
        )
        self._extrapolate(moved)

    def _extrapolate(self, moved: Indices) -> None:
        """Continue the line through the last two solutions, which is nearly straight in the penalty's logarithm."""
        moved = moved[self.stage[moved] >= 2]
        if not len(moved) or self.way != "in turn":
            return
        folds, stage = self.folds[moved], self.stage[moved]
        logs = np.log(np.stack([self.all_ridges[folds, stage - back] for back in range(3)]))
        factor = np.clip((logs[1] - logs[0]) / np.maximum(logs[2] - logs[1], 1e-12), 0.0, _LONGEST_EXTRAPOLATION)
        move = self.solutions[folds, stage - 1] - self.solutions[folds, stage - 2]
        self.target = np.zeros_like(self.point)
        self.target[moved] = self.point[moved] + _column(factor, move) * move
        self.unconditional[moved] = True

    def _propose(self) -> None:
        direction = self._inverse_hessian(self.gradient)
        length = np.sqrt(_dot(direction, direction))
        part = np.divide(self.reach, length, out=np.ones_like(length), where=self.reach < length)
        self.trial = self.point - _column(part, direction) * direction
        if self.target is not None:
            self.trial = np.where(self.unconditional[:, None, None], self.target, self.trial)

    def _inverse_hessian(self, gradient: Floats) -> Floats:
        """Multiply by the L-BFGS approximation of the inverse Hessian (the two-loop recursion)."""
        rest, scratch = gradient.copy(), np.empty_like(gradient)
        known = self.step_change > 0
        order = [(self.newest - age) % _MEMORY for age in range(_MEMORY)]
        newest, order = order[0], [slot for slot in order if known[slot].any()]
        curvature = np.divide(1.0, self.step_change, out=np.zeros_like(self.step_change), where=known)
        parts = {}
        for slot in order:
            parts[slot] = curvature[slot] * _dot(self.steps[slot], rest)
            rest -= np.multiply(_column(parts[slot], rest), self.changes[slot], out=scratch)
        result = self._precondition(rest)
        result *= _column(self._shortening(newest), result)
        for slot in reversed(order):
            correction = parts[slot] - curvature[slot] * _dot(self.changes[slot], result)
            result += np.multiply(_column(correction, result), self.steps[slot], out=scratch)
        return result

    def _shortening(self, slot: int) -> Scalars:
        """How much less than the preconditioner expects one should move, as seen along the latest step."""
        change = self.changes[slot]
        expected = _dot(change, self._precondition(change))
        product = self.step_change[slot]
        known = (product > 0) & (expected > 0)
        shortening: Scalars = np.minimum(1.0, np.divide(product, expected, out=np.ones_like(product), where=known))
        return shortening

    def _precondition(self, gradient: Floats) -> Floats:
        result = self.inverse * gradient
        if result.shape[1] > 1:
            # Classes that a walker has no rows of have gradients of zero, hence no part in the sum.
            result -= self.share[:, :, None] * result.sum(axis=1, keepdims=True)
        return result


def _class_share(present: NDArray[np.bool_], dtype: np.dtype[Any]) -> Floats:
    """Weights of the mean over the classes that a walker has; the others keep weights of zero."""
    share: Floats = (present / np.maximum(present.sum(axis=1, keepdims=True), 1)).astype(dtype)
    return share


def _dot(a: Floats, b: Floats) -> Scalars:
    """One scalar product per walker."""
    # As products of a row and a column, which take half the time of einsum's.
    product: Scalars = np.matmul(a.reshape(len(a), 1, -1), b.reshape(len(b), -1, 1))[:, 0, 0].astype(np.float64)
    return product


def _column(values: Scalars, like: Floats) -> Floats:
    """Shape one number per walker for arithmetic with points, without widening them to float64."""
    return values.astype(like.dtype)[:, None, None]
