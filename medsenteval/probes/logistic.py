"""The ``exact`` back end: L2-penalised logistic regression at its optimum, for all folds and penalties at once.

The objective is scikit-learn's to the letter: ``C * sum of log losses + |w|^2 / 2``, intercepts unpenalised, one sigmoid
for two classes and a softmax for more. (A softmax over two classes would be penalised half as much; where a fold happens
to contain two of several classes, C is halved to undo that.) A class without training rows is never predicted, as in
scikit-learn, which fits the classes present; a fold with one class predicts that class for every row.

The parts: ``basis`` finds coordinates with diagonal curvature, ``kernels`` computes gradients of many problems in one
pass over the rows, ``lbfgs`` walks every fold from strong to weak penalties.

**What the tolerance means.** Each fit stops when the step still to be taken, estimated from its gradient g and the
curvature M as ``M^-1 g``, would change its logits by less than ``tolerance`` of their size, both as root mean squares over
the rows. This is a gradient norm relative to the solution, in the metric that matters for predictions: it is unchanged when features
are scaled, rotated or repeated, and a value of r moves about r / 10 of the predictions at most. ``FitReport``
holds the largest of them and counts the fits that fell short. Below ``1e-5`` the arithmetic is float64.

**A certificate that needs no estimate.** Let F(w) be the objective minimised over the intercept. F is strongly convex with
modulus 1, and with the residuals y - p as dual point the duality gap is exactly ``|grad F(w)|^2 / 2``: the log losses meet
their conjugates with equality, and what remains is ``|w|^2/2 + |v|^2/2 - w.v`` with ``v = C * sum (y - p) x``. Hence

    F(w) - F* <= |grad F(w)|^2 / 2        and        |w - w*| <= |grad F(w)|.

``certify`` evaluates this bound in float64 for any fitted weights, ours or scikit-learn's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from medsenteval.errors import ProbeError, SettingsError
from medsenteval.features import Features
from medsenteval.probes.backend import FitReport, Fold, Labels, Prediction
from medsenteval.probes.basis import Basis
from medsenteval.probes.kernels import GradientPass, Problems
from medsenteval.probes.lbfgs import walk

__all__ = ["Certificate", "ExactBackend", "Fits", "certify"]

Floats = NDArray[np.floating[Any]]
RowNumbers = NDArray[np.intp]

#: SentEval's grids of C per protocol, in the order in which ties are resolved.
_GRIDS: Final[dict[str, tuple[float, ...]]] = {
    "split": tuple(2.0**power for power in range(-2, 4)),
    "nested": tuple(2.0**power for power in range(-2, 4)),
    "kfold": tuple(2.0**power for power in range(-1, 6)),
}
#: Below this tolerance float32 gradients are no longer good enough.
_FLOAT32_TOLERANCE: Final = 1e-5
#: A fit that has not converged in float32 after this many passes is tried again in float64.
_FLOAT32_PASSES: Final = 400
#: Intercept of a class that a fold has no training rows of: its probability is an exact zero.
_ABSENT: Final = -1e4
#: Matrix products with fewer columns than this waste the machine; lone folds then fit several penalties side by side.
_FEWEST_COLUMNS: Final = 32
#: Numbers in one weight matrix from which a batch of folds is worth a thread of its own.
_GROUP_NUMBERS: Final = 40_000
#: Fixed parts in which row blocks are summed when a batch is too small to be divided by folds.
_ROW_PARTS: Final = 4
#: Logit numbers per pass from which sharing out the rows pays for handing them to threads.
_SHARED_NUMBERS: Final = 2_000_000


@dataclass(frozen=True, eq=False)
class Fits:
    """Fitted models of every fold (first axis) and penalty (second axis), in the basis' coordinates."""

    basis: Basis
    points: Floats
    errors: NDArray[np.float64]
    #: The class that a fold with a single class always predicts, -1 elsewhere.
    constant: NDArray[np.int64]
    n_classes: int

    def coefficients(self, fold: int, penalty: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights (outputs x columns) and intercepts for plain feature rows."""
        return self.basis.to_features(self.points[fold, penalty])

    def logits(self, fold: int, rows: RowNumbers) -> Floats:
        """Return the logits of these rows under every penalty: penalties x outputs x rows."""
        points = self.basis.to_rows(self.points[fold])
        flat = points.reshape(-1, points.shape[-1])
        pieces = [flat[:, : block.shape[1]] @ block.T for block in self.basis.blocks(rows, 4_096)]
        logits = np.concatenate(pieces, axis=1) if pieces else np.zeros((len(flat), 0), dtype=flat.dtype)
        if self.basis.turned is None:
            logits += flat[:, -1:]
        return logits.reshape(*points.shape[:2], -1)

    def labels(self, fold: int, rows: RowNumbers) -> NDArray[np.int64]:
        """Return the predicted classes under every penalty: penalties x rows."""
        if self.constant[fold] >= 0:
            return np.full((self.points.shape[1], len(rows)), self.constant[fold])
        logits = self.logits(fold, rows)
        if logits.shape[1] == 1:
            return (logits[:, 0] > 0).astype(np.int64)
        return logits.argmax(axis=1).astype(np.int64)

    def probabilities(self, fold: int, rows: RowNumbers) -> NDArray[np.float64]:
        """Return class probabilities under the first penalty: rows x classes."""
        if self.constant[fold] >= 0:
            result = np.zeros((len(rows), self.n_classes))
            result[:, self.constant[fold]] = 1.0
            return result
        return _softmax(self.logits(fold, rows)[0].T.astype(np.float64))


class ExactBackend:
    """Logistic regression solved to a stated tolerance for all folds and penalties of a protocol together.

    ``engine`` chooses who multiplies matrices: "torch", "numpy", or "auto" for torch where it is installed. ``threads`` is the
    number of cores to use, by default all that this process may run on. Neither changes the answer beyond rounding.
    """

    name = "exact"

    def __init__(
        self, tolerance: float = 2e-3, engine: str = "auto", threads: int | None = None, max_passes: int = 1_000
    ) -> None:
        if not tolerance > 0:
            raise SettingsError(f"the tolerance of the exact probe must be positive, not {tolerance}")
        if engine not in ("auto", "numpy", "torch"):
            raise SettingsError(f"unknown engine {engine!r} for the exact probe; known: auto, numpy, torch")
        if threads is not None and threads < 1:
            raise SettingsError(f"the exact probe needs at least one thread, not {threads}")
        torch_found = find_spec("torch") is not None
        if engine == "torch" and not torch_found:
            raise SettingsError("engine 'torch' was asked for but torch is not installed; use engine='auto'")
        self.tolerance = tolerance
        self.engine = "torch" if engine != "numpy" and torch_found else "numpy"
        self.threads = threads if threads is not None else _available_cores()
        self.max_passes = max_passes
        #: Kept from the search for a penalty until the final fit, which needs the same rows in the same basis.
        self._basis: Basis | None = None

    def penalties(self, protocol: str) -> tuple[float, ...]:
        """Return SentEval's grid of C for ``split``, ``kfold`` or ``nested``, smallest first."""
        return _GRIDS[protocol]

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        """Return the accuracy (0 to 1) on each fold's held-out rows, as an array of folds x penalties."""
        for index, fold in enumerate(folds):
            if len(fold.held_out) == 0:
                raise ProbeError(f"fold {index} has no held-out rows to be scored on")
        fits = self.fit(features, labels, n_classes, folds, [penalties] * len(folds))
        self._basis = fits.basis

        def accuracy(index: int) -> NDArray[np.float64]:
            held_out = folds[index].held_out
            return (fits.labels(index, held_out) == labels[held_out]).mean(axis=1)

        with self._workers() as pool:
            accuracies = np.stack(list(pool.map(accuracy, range(len(folds)))))
        return accuracies, self._report(fits)

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[Prediction], FitReport]:
        """Fit fold i with ``penalties[i]`` and predict its held-out rows."""
        if len(folds) != len(penalties):
            raise ProbeError(f"{len(folds)} folds were given {len(penalties)} penalties; each fold needs one")
        fits = self.fit(features, labels, n_classes, folds, [[penalty] for penalty in penalties])
        self._basis = None
        with self._workers() as pool:
            held_out = [fold.held_out for fold in folds]
            predictions = [Prediction(p) for p in pool.map(fits.probabilities, range(len(folds)), held_out)]
        return predictions, self._report(fits)

    def fit(
        self,
        features: Features,
        labels: Labels,
        n_classes: int,
        folds: Sequence[Fold],
        penalties: Sequence[Sequence[float]],
    ) -> Fits:
        """Fit every fold with every penalty in its list; all lists have the same length."""
        _check(features, labels, n_classes, folds, penalties)
        dtype = np.float32 if self.tolerance >= _FLOAT32_TOLERANCE else np.float64
        with self._workers() as pool:
            basis = self._basis
            if basis is None or basis.features is not features:
                basis = Basis.of(features, len(folds) * (1 if n_classes == 2 else n_classes), dtype)
            fits = _Batch(self, basis, labels, n_classes, folds, penalties).solve(pool)
            failed = np.flatnonzero((fits.errors > self.tolerance).any(axis=1))
            if len(failed) and dtype is np.float32:
                some_folds, some_penalties = [folds[i] for i in failed], [penalties[i] for i in failed]
                exact = basis.astype(np.float64)
                again = _Batch(self, exact, labels, n_classes, some_folds, some_penalties).solve(pool)
                fits.points[failed], fits.errors[failed] = again.points, again.errors
        return fits

    @contextmanager
    def _workers(self) -> Iterator[ThreadPoolExecutor]:
        """Start our threads and keep those of the matrix libraries out of their way, where they would wait in vain."""
        with threadpool_limits(limits=1), ThreadPoolExecutor(self.threads) as pool:
            if self.engine != "torch":
                yield pool
                return
            import torch

            before = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                yield pool
            finally:
                torch.set_num_threads(before)

    def _report(self, fits: Fits) -> FitReport:
        unconverged = int((fits.errors > self.tolerance).sum())
        worst = float(fits.errors.max()) if fits.errors.size else 0.0
        return FitReport(fits.errors.size, unconverged, worst, self.tolerance)


class _Batch:
    """Folds and penalties laid out as walkers over the rows that any fold trains on."""

    def __init__(
        self,
        backend: ExactBackend,
        basis: Basis,
        labels: Labels,
        n_classes: int,
        folds: Sequence[Fold],
        penalties: Sequence[Sequence[float]],
    ) -> None:
        self.backend, self.basis, self.n_classes = backend, basis, n_classes
        self.n_outputs = 1 if n_classes == 2 else n_classes
        rows = slice(0, basis.features.n_rows) if basis.turned is not None else _union([fold.train for fold in folds])
        self.problems = Problems(basis, rows, _row_weights(folds, rows, basis), labels[rows], self.n_outputs)
        counts = np.stack([np.bincount(labels[fold.train], minlength=n_classes) for fold in folds])
        self.present = counts > 0
        n_present = self.present.sum(axis=1)
        self.constant = np.where(n_present == 1, counts.argmax(axis=1), -1).astype(np.int64)
        self.start = self._frequencies_only(counts)

        halved = (n_present == 2) & (n_classes > 2)
        strength = np.asarray(penalties, dtype=np.float64) * np.where(halved, 0.5, 1.0)[:, None]
        self.order = np.argsort(strength, axis=1, kind="stable")
        ascending = np.take_along_axis(strength, self.order, axis=1)
        with np.errstate(divide="ignore", over="ignore"):
            self.ridges = 1 / (counts.sum(axis=1)[:, None] * ascending * basis.scale**2)

    def _frequencies_only(self, counts: NDArray[np.int64]) -> Floats:
        """Return the models that know nothing but how often each class occurs among a fold's training rows."""
        start = np.zeros((len(counts), self.n_outputs, self.basis.width), dtype=self.basis.dtype)
        with np.errstate(divide="ignore"):
            logs = np.log(counts)
        if self.n_outputs == 1:
            difference = logs[:, 1] - logs[:, 0]
            start[:, 0, -1] = np.where(np.isfinite(difference), difference, 0.0)
        else:
            mean = np.where(self.present, logs, 0.0).sum(axis=1) / self.present.sum(axis=1)
            start[:, :, -1] = np.where(self.present, logs - mean[:, None], _ABSENT)
        return start

    def solve(self, pool: ThreadPoolExecutor) -> Fits:
        n_folds, n_stages = self.ridges.shape
        points = np.zeros((n_folds, n_stages, self.n_outputs, self.basis.width), dtype=self.basis.dtype)
        errors = np.zeros((n_folds, n_stages))
        walking = np.flatnonzero(self.constant < 0)
        pieces = self._paths_per_fold(len(walking), n_stages)
        groups = self._groups(walking, pieces)
        by_rows = len(groups) == 1 and len(walking) * pieces * self.n_outputs * self.problems.weights.shape[1] > _SHARED_NUMBERS

        max_passes = self.backend.max_passes
        if self.basis.dtype is np.float32:
            max_passes = min(max_passes, _FLOAT32_PASSES)

        def walk_group(folds: RowNumbers) -> None:
            stages = np.array_split(np.arange(n_stages), pieces)
            longest = max(len(part) for part in stages)
            fold_of = np.repeat(folds, pieces)
            ridges = np.full((len(fold_of), longest), np.nan)
            for piece, part in enumerate(stages):
                ridges[piece::pieces, : len(part)] = self.ridges[folds][:, part]
            own_fold = np.repeat(np.arange(len(folds)), pieces)
            shared = pool if by_rows else None
            gradient = GradientPass(self.problems.select(folds), own_fold, self.backend.engine, shared, _ROW_PARTS)
            paths = walk(
                gradient, self.start[fold_of], self.present[fold_of] if self.n_outputs > 1 else np.ones((len(fold_of), 1), bool),
                ridges, self.basis.spread, self.backend.tolerance, max_passes, gradient.rounding,
            )  # fmt: skip
            for piece, part in enumerate(stages):
                points[np.ix_(folds, part)] = paths.points[piece::pieces, : len(part)]
                errors[np.ix_(folds, part)] = paths.errors[piece::pieces, : len(part)]

        if by_rows or len(groups) <= 1:
            for group in groups:
                walk_group(group)
        else:
            list(pool.map(walk_group, groups))
        back = np.argsort(self.order, axis=1, kind="stable")
        points = np.take_along_axis(points, back[:, :, None, None], axis=1)
        return Fits(self.basis, points, np.take_along_axis(errors, back, axis=1), self.constant, self.n_classes)

    def _paths_per_fold(self, n_folds: int, n_stages: int) -> int:
        """How many walkers share a fold's penalties: more than one where a single path leaves the products too narrow."""
        if self.basis.turned is not None:
            return 1
        return int(np.clip(-(-_FEWEST_COLUMNS // max(n_folds * self.n_outputs, 1)), 1, n_stages))

    def _groups(self, folds: RowNumbers, pieces: int) -> list[RowNumbers]:
        """Divide the folds into batches that threads can solve independently."""
        numbers = len(folds) * pieces * self.n_outputs * self.basis.width
        count = int(np.clip(numbers // _GROUP_NUMBERS, 1, max(len(folds) // 4, 1)))
        if count > 1:
            count += count % 2
        return [group for group in np.array_split(folds, count) if len(group)]


@dataclass(frozen=True)
class Certificate:
    """The objective of a fitted model, with the intercept that suits its weights best, and a bound on what is missing.

    ``gap`` is the duality gap: the objective is above its minimum by no more, and the weights are within sqrt(2 * gap)
    of the optimal ones.
    """

    objective: float
    gap: float


def certify(
    rows: Floats, labels: Labels, penalty: float, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> Certificate:
    """Bound the distance of weights (outputs x columns) to the optimum for these training rows and this C, in float64.

    One output stands for one sigmoid over labels 0 and 1. The weights must give every output a training row.
    """
    rows = rows.astype(np.float64)
    fixed = rows @ weights.T
    intercepts = _best_intercepts(fixed, labels, intercepts.astype(np.float64))
    log_probabilities = _log_softmax(fixed + intercepts)
    residual = _one_hot(labels, log_probabilities.shape[1]) - np.exp(log_probabilities)
    if weights.shape[0] == 1:
        residual = residual[:, 1:]
    gradient = weights - penalty * residual.T @ rows
    loss = -log_probabilities[np.arange(len(labels)), labels].sum()
    return Certificate(
        objective=float(penalty * loss + 0.5 * np.square(weights).sum()), gap=float(0.5 * np.square(gradient).sum())
    )


def _best_intercepts(fixed: NDArray[np.float64], labels: Labels, intercepts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise the loss over the intercepts by Newton's method, backing off while the loss would rise."""

    def loss(values: NDArray[np.float64]) -> float:
        return float(-_log_softmax(fixed + values)[np.arange(len(labels)), labels].sum())

    current = loss(intercepts)
    for _ in range(50):
        p = np.exp(_log_softmax(fixed + intercepts))
        residual = (p - _one_hot(labels, p.shape[1])).sum(axis=0)
        curvature = np.diag(p.sum(axis=0)) - p.T @ p
        if fixed.shape[1] == 1:
            residual, curvature = residual[1:], curvature[1:, 1:]
        step = np.linalg.pinv(curvature) @ residual
        while (after := loss(intercepts - step)) > current and np.abs(step).max() > 1e-15:
            step = step / 2
        if after >= current:
            break
        intercepts, current = intercepts - step, after
    return intercepts


def _log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log probabilities of all classes (rows x classes); one column of logits is a sigmoid for two classes."""
    if logits.shape[1] == 1:
        return -np.logaddexp(0.0, np.concatenate([logits, -logits], axis=1))
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(_log_softmax(logits))


def _one_hot(labels: Labels, n_classes: int) -> NDArray[np.float64]:
    return np.eye(n_classes)[labels]


def _check(
    features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[Sequence[float]]
) -> None:
    if len(labels) != features.n_rows:
        raise ProbeError(f"{features.n_rows} feature rows were given {len(labels)} labels")
    if len(labels) and not (0 <= int(labels.min()) and int(labels.max()) < n_classes):
        raise ProbeError(f"labels must be 0 to {n_classes - 1}, but they reach from {labels.min()} to {labels.max()}")
    if not folds:
        raise ProbeError("there are no folds to fit")
    for index, fold in enumerate(folds):
        if len(fold.train) == 0:
            raise ProbeError(f"fold {index} has no training rows")
    for penalty in {penalty for several in penalties for penalty in several}:
        if not (penalty > 0 and np.isfinite(penalty)):
            raise ProbeError(f"C must be a positive number, not {penalty}")


def _union(parts: Sequence[RowNumbers]) -> RowNumbers | slice:
    """Return the rows that occur in any part, as a slice if they follow one another, so that they need no copying."""
    rows = np.unique(np.concatenate(parts))
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows


def _row_weights(folds: Sequence[Fold], rows: RowNumbers | slice, basis: Basis) -> Floats:
    """Return 1 / (number of training rows) where a fold trains, 0 elsewhere: folds x rows."""
    weights = np.zeros((len(folds), basis.features.n_rows), dtype=basis.dtype)
    for index, fold in enumerate(folds):
        weights[index] = np.bincount(fold.train, minlength=weights.shape[1]) / len(fold.train)
    return np.ascontiguousarray(weights[:, rows])


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
