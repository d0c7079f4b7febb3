"""Folds and penalties of one probe laid out as walkers, solved by threads, and the fitted models that come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import Crew
from medsenteval.probes.backend import Fold, Labels
from medsenteval.probes.basis import Basis
from medsenteval.probes.certificate import log_softmax
from medsenteval.probes.kernels import GradientPass, Problems
from medsenteval.probes.lbfgs import walk
from medsenteval.probes.newton import finish

__all__ = ["Batch", "Fits", "trained_rows"]

Floats = NDArray[np.floating[Any]]
RowNumbers = NDArray[np.intp]

#: Intercept of a class that a fold has no training rows of: its probability is an exact zero.
_ABSENT: Final = -1e4
#: Columns in a group of folds that one thread solves: so many that threads are busy with products, not with waiting for each
#: other between small steps, and few enough for several threads.
_GROUP_COLUMNS: Final = 400
#: Columns that folds with all their penalties side by side may have together.
_ABREAST_COLUMNS: Final = 80
#: Rows for each coordinate from which all penalties are so near to each other that one of them should lead the way.
_ROWS_FOR_PILOT: Final = 50
#: The relative error of its logits at which a fold's pilot parts elsewhere.
_PARTING: Final = 0.05
#: Passes after which fits that are not done had better be finished by Newton's method, if they have few coordinates in all.
_PASSES_BEFORE_NEWTON: Final = 300
_NEWTON_COORDINATES: Final = 2_000
#: Multiplications that Newton's method may take to look at fits that seem to be done.
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
    """Fitted models of every fold (first axis) and penalty (second axis), in the basis' coordinates."""

    basis: Basis
    points: Floats
    errors: NDArray[np.float64]
    #: The classes that each fold has training rows of.
    present: NDArray[np.bool_]
    #: The class that a fold with a single class always predicts, -1 elsewhere.
    constant: NDArray[np.int64]

    def coefficients(self, fold: int, penalty: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights (outputs x columns) and intercepts for plain feature rows."""
        return self.basis.to_features(self.points[fold, penalty])

    def logits(self, fold: int, rows: RowNumbers) -> Floats:
        """Return the logits of these rows under every penalty: penalties x outputs x rows."""
        points = self.basis.to_rows(self.points[fold])
        flat = points.reshape(-1, points.shape[-1])
        length = max(_PREDICTED_VALUES // self.basis.width, 1)
        pieces = [flat[:, : block.shape[1]] @ block.T for block in self.basis.blocks(rows, length)]
        logits = np.concatenate(pieces, axis=1) if pieces else np.zeros((len(flat), 0), dtype=flat.dtype)
        if self.basis.turned is None:
            logits += flat[:, -1:]
        return logits.reshape(*points.shape[:2], -1)

    def labels(self, fold: int, rows: RowNumbers) -> Labels:
        """Return the predicted classes under every penalty: penalties x rows."""
        if self.constant[fold] >= 0:
            return np.full((self.points.shape[1], len(rows)), self.constant[fold], dtype=np.int64)
        logits = self.logits(fold, rows)
        if logits.shape[1] == 1:
            return np.asarray(logits[:, 0] > 0, dtype=np.int64)
        return np.asarray(logits.argmax(axis=1), dtype=np.int64)

    def probabilities(self, fold: int, rows: RowNumbers) -> NDArray[np.float64]:
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
        basis: Basis,
        labels: Labels,
        n_classes: int,
        folds: Sequence[Fold],
        penalties: Sequence[Sequence[float]],
        engine: str,
    ) -> None:
        self.basis, self.folds, self.penalties, self.engine = basis, folds, penalties, engine
        self.n_outputs = 1 if n_classes == 2 else n_classes
        n_rows = basis.features.n_rows
        rows = slice(0, n_rows) if basis.turned is not None else _as_slice(trained_rows(folds, n_rows))
        counts = np.stack([np.bincount(labels[fold.train], minlength=n_classes) for fold in folds])
        self.present = counts > 0
        n_present = self.present.sum(axis=1)
        self.constant = np.where(n_present == 1, counts.argmax(axis=1), -1).astype(np.int64)
        self.start = self._frequencies_only(counts)
        weights = _row_weights(folds, rows, basis)
        self.problems = Problems(basis, rows, weights, labels[rows], self.n_outputs, self._reference(counts))

        halved = (n_present == 2) & (n_classes > 2)
        strength = np.asarray(penalties, dtype=np.float64) * np.where(halved, 0.5, 1.0)[:, None]
        #: Positions of a fold's penalties from the strongest (smallest C) to the weakest.
        self.order = np.argsort(strength, axis=1, kind="stable")
        ascending = np.take_along_axis(strength, self.order, axis=1)
        with np.errstate(divide="ignore", over="ignore"):
            self.ridges = 1 / (counts.sum(axis=1)[:, None] * ascending * basis.scale**2)

    def _reference(self, counts: NDArray[np.int64]) -> int | None:
        """Return the most frequent class that no walking fold lacks."""
        everywhere = self.present[self.constant < 0].all(axis=0)
        if self.n_outputs == 1 or not everywhere.any():
            return None
        return int(np.where(everywhere, counts.sum(axis=0), -1).argmax())

    def _frequencies_only(self, counts: NDArray[np.int64]) -> Floats:
        """Return the models that know nothing but how often each class occurs among a fold's training rows."""
        start = np.zeros((len(counts), self.n_outputs, self.basis.width), dtype=self.basis.dtype)
        with np.errstate(divide="ignore"):
            logs = np.log(counts)
        if self.n_outputs == 1:
            start[:, 0, -1] = np.where(self.present.all(axis=1), logs[:, 1] - logs[:, 0], 0.0)
        else:
            mean = np.where(self.present, logs, 0.0).sum(axis=1) / self.present.sum(axis=1)
            start[:, :, -1] = np.where(self.present, logs - mean[:, None], _ABSENT)
        return start

    def solve(self, crew: Crew, tolerance: float, max_passes: int) -> Fits:
        """Fit everything; groups of folds run side by side, or else the rows of a single group are shared out.

        What few passes do not settle is left to Newton's method, if it can write down its Hessians; where these cost next to
        nothing, it also has a look at what seems to be settled.
        """
        n_folds, n_stages = self.ridges.shape
        points = np.zeros((n_folds, n_stages, self.n_outputs, self.basis.width), dtype=self.basis.dtype)
        errors = np.zeros((n_folds, n_stages))
        walking = np.flatnonzero(self.constant < 0)
        n_logits = len(walking) * self.n_outputs * self.problems.weights.shape[1]
        groups = self._groups(walking, n_logits)
        by_rows = len(groups) == 1 and n_logits * self.basis.width > _SHARED_MULTIPLICATIONS

        parting = self._parting(len(walking) * n_stages * self.n_outputs, tolerance)
        curvature = self.basis.curvature
        newton_passes = max(max_passes - _PASSES_BEFORE_NEWTON, 0) if self._suits_newton else 0
        present = self.present if self.n_outputs > 1 else np.ones((n_folds, 1), dtype=bool)

        def walk_group(folds: RowNumbers) -> None:
            gradient = GradientPass(self.problems.select(folds), self.engine, crew if by_rows else None, _ROW_PARTS)
            given = self.start[folds], present[folds], self.ridges[folds]
            paths = walk(gradient, *given, curvature, tolerance, max_passes - newton_passes, parting)
            points[folds], errors[folds] = paths.points, paths.errors

        def finish_fit(place: RowNumbers) -> None:
            fold, stage = place.tolist()
            start = points[fold, stage] if np.isfinite(points[fold, stage]).all() else self.start[fold]
            given = start, present[fold], float(self.ridges[fold, stage])
            points[fold, stage], errors[fold, stage] = finish(every_fold, fold, *given, curvature, tolerance, newton_passes)

        crew.map(walk_group, groups)
        unsettled = errors > tolerance
        if errors[walking].size * self._newton_work <= _CHECKED_WORK:
            unsettled[walking] = True
        if newton_passes and unsettled.any():
            every_fold = GradientPass(self.problems, self.engine)
            crew.map(finish_fit, list(np.argwhere(unsettled)))
        back = np.argsort(self.order, axis=1, kind="stable")
        points = np.take_along_axis(points, back[:, :, None, None], axis=1)
        return Fits(self.basis, points, np.take_along_axis(errors, back, axis=1), self.present, self.constant)

    @property
    def _suits_newton(self) -> bool:
        stored = self.basis.turned is not None and self.basis.dtype is np.float64
        return stored and self.n_outputs * self.basis.width <= _NEWTON_COORDINATES

    @property
    def _newton_work(self) -> int:
        """Multiplications that a Hessian and its factor take."""
        width = self.n_outputs * self.basis.width
        return int(self.problems.weights.shape[1]) * width**2 // 2 + width**3 // 6

    def _parting(self, columns: int, tolerance: float) -> float | None:
        """Choose how the folds go through their penalties, given the columns of all of them together.

        A pass over many rows waits for memory: columns are cheap there, passes are not. So few folds try their penalties side
        by side; many folds fill the columns and walk their penalties in turn. Where rows outnumber coordinates by far, all
        penalties have nearly the same solution, and whoever knows one is a few steps from the others.
        """
        if columns > _ABREAST_COLUMNS:
            return None
        return tolerance if self.problems.weights.shape[1] > _ROWS_FOR_PILOT * self.basis.width else _PARTING

    def _groups(self, folds: RowNumbers, n_logits: int) -> list[RowNumbers]:
        """Divide the folds into batches that threads solve independently, if the batches are worth it."""
        if n_logits < _GROUPED_NUMBERS:
            return [folds] if len(folds) else []
        count = min(-(-len(folds) * self.n_outputs // _GROUP_COLUMNS), max(len(folds) // 10, 1))
        return np.array_split(folds, count)


def trained_rows(folds: Sequence[Fold], n_rows: int) -> RowNumbers:
    """Return the rows that any fold trains on, in ascending order."""
    used = np.zeros(n_rows, dtype=bool)
    for fold in folds:
        used[fold.train] = True
    return np.flatnonzero(used)


def _as_slice(rows: RowNumbers) -> RowNumbers | slice:
    """Return ascending rows as a slice if they follow one another, so that they need no copying."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows


def _row_weights(folds: Sequence[Fold], rows: RowNumbers | slice, basis: Basis) -> Floats:
    """Return 1 / (number of training rows) where a fold trains, 0 elsewhere: folds x rows."""
    weights = np.zeros((len(folds), basis.features.n_rows), dtype=basis.dtype)
    for index, fold in enumerate(folds):
        weights[index] = np.bincount(fold.train, minlength=weights.shape[1]) / len(fold.train)
    return np.ascontiguousarray(weights[:, rows])
