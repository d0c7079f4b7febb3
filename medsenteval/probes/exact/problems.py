"""Folds and penalties of one probe laid out as problems, the path through them, and the fitted models that come out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.certificate import log_softmax
from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.probes.exact.gradient import Folds, GradientPass
from medsenteval.probes.exact.lbfgs import Solutions, minimise
from medsenteval.probes.exact.newton import finish
from medsenteval.support.arrays import Bools, Counts, Floats, Labels, Reals, Rows

#: Intercept of a class that a fold has no training rows of: its probability is an exact zero.
_ABSENT: Final = -1e4
#: Columns in a group of folds that one thread solves: many enough to keep threads busy with products, few enough for several.
_GROUP_COLUMNS: Final = 400
#: Columns that folds with all their penalties side by side may have together.
_SIDE_BY_SIDE_COLUMNS: Final = 80
#: The relative error of its logits at which the fit under the middle penalty becomes the start of the others.
_ROUGH: Final = 0.05
#: Passes after which fits that are not done are finished by Newton's method, if they have few coordinates in all.
_PASSES_BEFORE_NEWTON: Final = 300
_NEWTON_COORDINATES: Final = 2_000
#: Multiplications that Newton's method may take to check fits that seem to be done.
_CHECKED_WORK: Final = 500_000_000
#: Logits per pass from which groups of folds are worth threads of their own.
_GROUPED_NUMBERS: Final = 200_000
#: Fixed parts in which row blocks are summed when there are too few folds to be divided.
_ROW_PARTS: Final = 8
#: Multiplications per pass from which sharing out the rows pays for handing them to threads.
_SHARED_MULTIPLICATIONS: Final = 20_000_000
#: Feature values that are gathered at a time to be predicted.
_PREDICTED_VALUES: Final = 400_000


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted models of every fold (first axis) and penalty (second axis), in solver coordinates."""

    coordinates: Coordinates
    points: Reals
    errors: Floats
    #: The classes that each fold has training rows of.
    present: Bools
    #: The class that a fold with a single class always predicts, -1 elsewhere.
    constant: Labels

    def coefficients(self, fold: int, penalty: int) -> tuple[Floats, Floats]:
        """Return weights (outputs x columns) and intercepts for plain feature rows."""
        return self.coordinates.to_features(self.points[fold, penalty])

    def logits(self, fold: int, rows: Rows) -> Reals:
        """Return the logits of these rows under every penalty: penalties x outputs x rows."""
        points = self.coordinates.to_rows(self.points[fold])
        flat = points.reshape(-1, points.shape[-1])
        length = max(_PREDICTED_VALUES // self.coordinates.width, 1)
        blocks = (self.coordinates.rows(rows[start : start + length]) for start in range(0, len(rows), length))
        pieces = [flat[:, : block.shape[1]] @ block.T for block in blocks]
        logits = np.concatenate(pieces, axis=1) if pieces else np.zeros((len(flat), 0), dtype=flat.dtype)
        if self.coordinates.stored is None:
            logits += flat[:, -1:]
        return logits.reshape(*points.shape[:2], -1)

    def labels(self, fold: int, rows: Rows) -> Labels:
        """Return the predicted classes under every penalty: penalties x rows."""
        if self.constant[fold] >= 0:
            return np.full((self.points.shape[1], len(rows)), self.constant[fold], dtype=np.int64)
        logits = self.logits(fold, rows)
        if logits.shape[1] == 1:
            return np.asarray(logits[:, 0] > 0, dtype=np.int64)
        return np.asarray(logits.argmax(axis=1), dtype=np.int64)

    def probabilities(self, fold: int, rows: Rows) -> Floats:
        """Return class probabilities under the first penalty: rows x classes."""
        if self.constant[fold] >= 0:
            result = np.zeros((len(rows), self.present.shape[1]))
            result[:, self.constant[fold]] = 1.0
            return result
        result = np.exp(log_softmax(self.logits(fold, rows)[0].T.astype(np.float64)))
        return result


class Batch:
    """Folds, each with its list of penalties, over the rows that any of them trains on."""

    def __init__(
        self,
        coordinates: Coordinates,
        labels: Labels,
        n_classes: int,
        folds: Sequence[Fold],
        penalties: Sequence[Sequence[float]],
    ) -> None:
        self.coordinates, self.given, self.penalties = coordinates, folds, penalties
        self.n_outputs = 1 if n_classes == 2 else n_classes
        rows = _as_slice(trained_rows(folds, coordinates.features.n_rows))
        counts = np.stack([np.bincount(labels[fold.train], minlength=n_classes) for fold in folds])
        self.present = counts > 0
        n_present = self.present.sum(axis=1)
        self.constant = np.where(n_present == 1, counts.argmax(axis=1), -1).astype(np.int64)
        self.start = self._frequencies_only(counts)
        weights = _row_weights(folds, rows, coordinates)
        self.folds = Folds(coordinates, rows, weights, labels[rows], self.n_outputs, self._reference(counts))

        halved = (n_present == 2) & (n_classes > 2)
        strength = np.asarray(penalties, dtype=np.float64) * np.where(halved, 0.5, 1.0)[:, None]
        #: Positions of a fold's penalties from the strongest (smallest C) to the weakest.
        self.order = np.argsort(strength, axis=1, kind="stable")
        ascending = np.take_along_axis(strength, self.order, axis=1)
        with np.errstate(divide="ignore", over="ignore"):
            self.ridges = 1 / (counts.sum(axis=1)[:, None] * ascending * coordinates.scale**2)

    def _reference(self, counts: Counts) -> int | None:
        """Return the most frequent class that no fitted fold lacks."""
        everywhere = self.present[self.constant < 0].all(axis=0)
        if self.n_outputs == 1 or not everywhere.any():
            return None
        return int(np.where(everywhere, counts.sum(axis=0), -1).argmax())

    def _frequencies_only(self, counts: Counts) -> Reals:
        """Return the models that know nothing but how often each class occurs among a fold's training rows."""
        start = np.zeros((len(counts), self.n_outputs, self.coordinates.width), dtype=self.coordinates.dtype)
        with np.errstate(divide="ignore"):
            logs = np.log(counts)
        if self.n_outputs == 1:
            start[:, 0, -1] = np.where(self.present.all(axis=1), logs[:, 1] - logs[:, 0], 0.0)
        else:
            mean = np.where(self.present, logs, 0.0).sum(axis=1) / self.present.sum(axis=1)
            start[:, :, -1] = np.where(self.present, logs - mean[:, None], _ABSENT)
        return start

    def solve(self, pool: ThreadPoolExecutor, tolerance: float, max_passes: int) -> Fits:
        """Fit everything; groups of folds run side by side, or else the rows of a single group are shared out.

        What few passes do not settle is left to Newton's method, if it can write down its Hessians; where these cost next to
        nothing, it also checks what seems to be settled.
        """
        n_folds, n_stages = self.ridges.shape
        points = np.zeros((n_folds, n_stages, self.n_outputs, self.coordinates.width), dtype=self.coordinates.dtype)
        errors = np.zeros((n_folds, n_stages))
        fitted = np.flatnonzero(self.constant < 0)
        n_logits = len(fitted) * self.n_outputs * self.folds.weights.shape[1]
        groups = self._groups(fitted, n_logits)
        by_rows = len(groups) == 1 and n_logits * self.coordinates.width > _SHARED_MULTIPLICATIONS
        side_by_side = len(fitted) * n_stages * self.n_outputs <= _SIDE_BY_SIDE_COLUMNS
        newton_passes = max(max_passes - _PASSES_BEFORE_NEWTON, 0) if self._suits_newton else 0

        def solve_group(folds: Rows) -> None:
            given = pool if by_rows else None, tolerance, max_passes - newton_passes
            points[folds], errors[folds] = _solve_path(self, folds, side_by_side, *given)

        def finish_fit(place: Rows) -> None:
            fold, stage = place.tolist()
            start = points[fold, stage] if np.isfinite(points[fold, stage]).all() else self.start[fold]
            given = start, self.outputs_present[fold], float(self.ridges[fold, stage]), self.coordinates.preconditioner
            points[fold, stage], errors[fold, stage] = finish(every_fold, fold, *given, tolerance, newton_passes)

        if len(groups) == 1:
            solve_group(groups[0])  # its rows may need all threads of the pool
        else:
            list(pool.map(solve_group, groups))
        unsettled = errors > tolerance
        if errors[fitted].size * self._newton_work <= _CHECKED_WORK:
            unsettled[fitted] = True
        if newton_passes and unsettled.any():
            every_fold = GradientPass(self.folds)
            list(pool.map(finish_fit, np.argwhere(unsettled)))
        back = np.argsort(self.order, axis=1, kind="stable")
        points = np.take_along_axis(points, back[:, :, None, None], axis=1)
        return Fits(self.coordinates, points, np.take_along_axis(errors, back, axis=1), self.present, self.constant)

    @property
    def outputs_present(self) -> Bools:
        """The outputs that each fold has training rows of."""
        return self.present if self.n_outputs > 1 else np.ones((len(self.present), 1), dtype=bool)

    @property
    def _suits_newton(self) -> bool:
        stored = self.coordinates.stored is not None and self.coordinates.dtype is np.float64
        return stored and self.n_outputs * self.coordinates.width <= _NEWTON_COORDINATES

    @property
    def _newton_work(self) -> int:
        """Multiplications that a Hessian and its factor take."""
        width = self.n_outputs * self.coordinates.width
        return int(self.folds.weights.shape[1]) * width**2 // 2 + width**3 // 6

    def _groups(self, folds: Rows, n_logits: int) -> list[Rows]:
        """Divide the folds into groups that threads solve independently, if the groups are worth it."""
        if n_logits < _GROUPED_NUMBERS:
            return [folds] if len(folds) else []
        count = min(-(-len(folds) * self.n_outputs // _GROUP_COLUMNS), max(len(folds) // 10, 1))
        return np.array_split(folds, count)


def _solve_path(
    batch: Batch, folds: Rows, side_by_side: bool, pool: ThreadPoolExecutor | None, tolerance: float, max_passes: int
) -> tuple[Reals, Floats]:
    """Take one group of folds through their penalties; docs/solver.md, "The path through folds and penalties".

    Returned are the solutions, folds x penalties, and the relative errors of their logits.
    """
    start, ridges, present = batch.start[folds], batch.ridges[folds], batch.outputs_present[folds]
    gradient_pass = GradientPass(batch.folds.select(folds), pool, _ROW_PARTS)

    def solve(start: Reals, fold_of: Rows, ridges: Floats, tolerance: float) -> Solutions:
        def loss_gradient(points: Reals, problems: Rows) -> tuple[Reals, Reals]:
            return gradient_pass(points, fold_of[problems])

        preconditioner = batch.coordinates.preconditioner
        return minimise(loss_gradient, start, present[fold_of], ridges, preconditioner, tolerance, max_passes)

    every, n_stages = np.arange(len(folds)), ridges.shape[1]
    if not side_by_side:
        # Each fold under its strongest penalty, then the next, each time starting from its own solutions.
        found = solve(start, every, ridges, tolerance)
        return found.points, found.errors
    # Each fold under its middle penalty, roughly, and from there under all penalties at once.
    first = solve(start, every, ridges[:, [(n_stages - 1) // 2]], max(_ROUGH, tolerance))
    each = np.repeat(every, n_stages)
    found = solve(first.points[each, 0], each, ridges.reshape(-1, 1), tolerance)
    return found.points.reshape(*ridges.shape, *start.shape[1:]), found.errors.reshape(ridges.shape)


def trained_rows(folds: Sequence[Fold], n_rows: int) -> Rows:
    """Return the rows that any fold trains on, in ascending order."""
    used = np.zeros(n_rows, dtype=bool)
    for fold in folds:
        used[fold.train] = True
    return np.flatnonzero(used)


def _as_slice(rows: Rows) -> Rows | slice:
    """Return ascending rows as a slice if they follow one another, so that they need no copying."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows


def _row_weights(folds: Sequence[Fold], rows: Rows | slice, coordinates: Coordinates) -> Reals:
    """Return 1 / (number of training rows) where a fold trains, 0 elsewhere: folds x rows."""
    weights = np.zeros((len(folds), coordinates.features.n_rows), dtype=coordinates.dtype)
    for index, fold in enumerate(folds):
        weights[index] = np.bincount(fold.train, minlength=weights.shape[1]) / len(fold.train)
    return np.ascontiguousarray(weights[:, rows])
