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
from medsenteval.probes.exact.gradient import GradientPass
from medsenteval.probes.exact.lbfgs import minimise
from medsenteval.probes.exact.newton import finish
from medsenteval.probes.exact.preconditioner import per_problem
from medsenteval.support.arrays import Bools, Counts, Floats, Labels, Reals, Rows

#: Intercept of a class that a fold has no training rows of, and less than that of another: its probability is an exact zero.
_ABSENT: Final = -1e4
#: Columns that folds with all their penalties side by side may have together.
_SIDE_BY_SIDE_COLUMNS: Final = 80
#: An extrapolation never goes further than this multiple of the last two solutions' distance.
_LONGEST_EXTRAPOLATION: Final = 2.0
#: The relative error of its logits at which the fit under the middle penalty becomes the start of the others.
_ROUGH: Final = 0.05
#: Passes after which fits that are not done are finished by Newton's method, if they have few coordinates in all.
_PASSES_BEFORE_NEWTON: Final = 300
_NEWTON_COORDINATES: Final = 2_000
#: Multiplications that Newton's method may take to check fits that seem to be done.
_CHECKED_WORK: Final = 500_000_000
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
        if self.coordinates.axes is None:
            logits += flat[:, -1:]
        return logits.reshape(*points.shape[:2], -1)

    def labels(self, fold: int, rows: Rows) -> Labels:
        """Return the predicted classes under every penalty: penalties x rows."""
        logits = self.logits(fold, rows)
        if logits.shape[1] == 1:
            return np.asarray(logits[:, 0] > 0, dtype=np.int64)
        return np.asarray(logits.argmax(axis=1), dtype=np.int64)

    def probabilities(self, fold: int, rows: Rows) -> Floats:
        """Return class probabilities under the first penalty: rows x classes."""
        return np.exp(log_softmax(self.logits(fold, rows)[0].T.astype(np.float64)))


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
        self.coordinates = coordinates
        self.n_outputs = 1 if n_classes == 2 else n_classes
        rows = _as_slice(trained_rows(folds, coordinates.features.n_rows))
        counts = np.stack([np.bincount(labels[fold.train], minlength=n_classes) for fold in folds])
        self.present = counts > 0
        #: The outputs that each fold has training rows of.
        self.outputs_present = self.present if self.n_outputs > 1 else np.ones((len(folds), 1), dtype=bool)
        n_present = self.present.sum(axis=1)
        #: Folds with a single class always predict it, as they start.
        self.fitted = np.flatnonzero(n_present > 1)
        self.start = self._frequencies_only(counts)
        weights = _row_weights(folds, rows, coordinates)
        self.gradient = GradientPass(coordinates, rows, weights, labels[rows], self.n_outputs, self._reference(counts))

        halved = (n_present == 2) & (n_classes > 2)
        #: Each fold's C under every penalty.
        self.strength = np.asarray(penalties, dtype=np.float64) * np.where(halved, 0.5, 1.0)[:, None]
        with np.errstate(divide="ignore", over="ignore"):
            self.ridges = 1 / (counts.sum(axis=1)[:, None] * self.strength * coordinates.scale**2)

    def _reference(self, counts: Counts) -> int | None:
        """Return the most frequent class that no fitted fold lacks."""
        everywhere = self.present[self.fitted].all(axis=0)
        if self.n_outputs == 1 or not everywhere.any():
            return None
        return int(np.where(everywhere, counts.sum(axis=0), -1).argmax())

    def _frequencies_only(self, counts: Counts) -> Reals:
        """Return the models that know nothing but how often each class occurs among a fold's training rows."""
        start = np.zeros((len(counts), self.n_outputs, self.coordinates.width), dtype=self.coordinates.dtype)
        with np.errstate(divide="ignore"):
            logs = np.log(counts)
        if self.n_outputs == 1:
            start[:, 0, -1] = np.clip(logs[:, 1] - logs[:, 0], _ABSENT, -_ABSENT)
        else:
            mean = np.where(self.present, logs, 0.0).sum(axis=1) / self.present.sum(axis=1)
            start[:, :, -1] = np.where(self.present, logs - mean[:, None], _ABSENT)
        return start

    def solve(self, pool: ThreadPoolExecutor, tolerance: float, max_passes: int) -> Fits:
        """Fit everything (docs/solver.md, "The path through folds and penalties").

        What few passes do not settle is left to Newton's method, if it can write down its Hessians; where these cost next to
        nothing, it also checks what seems to be settled.
        """
        points = np.repeat(self.start[:, None], self.ridges.shape[1], axis=1)
        errors = np.zeros(self.ridges.shape)
        size = self.n_outputs * self.coordinates.width
        stored_doubles = self.coordinates.axes is not None and self.coordinates.dtype is np.float64
        newton_passes = max(max_passes - _PASSES_BEFORE_NEWTON, 0) if stored_doubles and size <= _NEWTON_COORDINATES else 0

        def finish_fit(place: Rows) -> None:
            fold, stage = place.tolist()
            start = points[fold, stage] if np.isfinite(points[fold, stage]).all() else self.start[fold]
            points[fold, stage], errors[fold, stage] = finish(
                self.gradient,
                fold,
                start,
                self.outputs_present[fold],
                float(self.ridges[fold, stage]),
                self.coordinates.preconditioner,
                tolerance,
                newton_passes,
            )

        if len(self.fitted):
            self._take_path(points, errors, pool, tolerance, max_passes - newton_passes)
        unsettled = ~(errors <= tolerance)
        hessian_work = self.gradient.weights.shape[1] * size**2 // 2 + size**3 // 6
        if errors[self.fitted].size * hessian_work <= _CHECKED_WORK:
            unsettled[self.fitted] = True
        if newton_passes and unsettled.any():
            list(pool.map(finish_fit, np.argwhere(unsettled)))
        return Fits(self.coordinates, points, errors, self.present)

    def _take_path(self, points: Reals, errors: Floats, pool: ThreadPoolExecutor, tolerance: float, max_passes: int) -> None:
        """Fill in the points and relative errors of fitted folds under all penalties."""
        fitted, n_stages = self.fitted, self.ridges.shape[1]
        columns = len(fitted) * self.n_outputs
        shared = columns * self.gradient.weights.shape[1] * self.coordinates.width > _SHARED_MULTIPLICATIONS

        def solve(folds: Rows, stages: Rows, start: Reals, tolerance: float) -> tuple[Reals, Floats]:
            def loss_gradient(points: Reals, problems: Rows) -> tuple[Reals, Reals]:
                return self.gradient(points, folds[problems], pool if shared else None)

            present, ridges = self.outputs_present[folds], self.ridges[folds, stages]
            return minimise(loss_gradient, start, present, ridges, self.coordinates.preconditioner, tolerance, max_passes)

        # From the strongest penalty (the smallest C) to the weakest.
        order = np.argsort(self.strength[fitted], axis=1, kind="stable")
        if columns * n_stages <= _SIDE_BY_SIDE_COLUMNS:
            start, _ = solve(fitted, order[:, (n_stages - 1) // 2], self.start[fitted], max(_ROUGH, tolerance))
            folds, stages = np.repeat(fitted, n_stages), np.tile(np.arange(n_stages), len(fitted))
            points[folds, stages], errors[folds, stages] = solve(folds, stages, np.repeat(start, n_stages, axis=0), tolerance)
            return
        logs = np.log(np.take_along_axis(self.strength[fitted], order, axis=1))
        start = before = self.start[fitted]
        for number, stages in enumerate(order.T):
            found, errors[fitted, stages] = solve(fitted, stages, start, tolerance)
            points[fitted, stages] = found
            start = found
            if 1 <= number < n_stages - 1:
                # Along the line through the last two solutions, as the path is nearly straight in the logarithm of C.
                ahead, behind = logs[:, number + 1] - logs[:, number], logs[:, number] - logs[:, number - 1]
                factor = np.clip(ahead / np.maximum(behind, 1e-12), 0, _LONGEST_EXTRAPOLATION)
                start = found + per_problem(factor, found) * (found - before)
            before = found


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
