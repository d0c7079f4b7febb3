"""The ``exact`` back end: L2-penalised logistic regression at its optimum, for all folds and penalties at once.

The objective is scikit-learn's, ``C * sum of log losses + |w|^2 / 2``, intercepts unpenalised, one sigmoid for two classes and
a softmax for more. A class without training rows is never predicted, as in scikit-learn; a fold with one class predicts that
class for every row. docs/solver.md derives the method and says what the tolerance means for predictions.

Nothing that has seen a fold's held-out labels enters its fit: it starts from class frequencies, from its own fold under another
penalty, or, for a final fit, from the search's fits to subsets of its own training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError, SettingsError
from medsenteval.probes.backend import C_GRIDS, FitReport, Fold, check_labels
from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.probes.exact.problems import Batch, Fits, trained_rows
from medsenteval.probes.exact.stopping_rule import default_tolerance
from medsenteval.probes.features import Features
from medsenteval.support.arrays import Labels, Rows
from medsenteval.support.cores import available_cores, one_thread_per_product

Penalties = Sequence[Sequence[float]]

#: Below this tolerance float32 gradients are no longer good enough.
_FLOAT32_TOLERANCE: Final = 1e-5
#: A fit that has not converged in float32 after this many passes is tried again in float64.
_FLOAT32_PASSES: Final = 400
_MOST_PASSES: Final = 4_000
#: Final fits are this much more precise than those of the search, down to a precision that changes nothing any more.
_FINAL_PRECISION: Final = 3.0
_FINEST_TOLERANCE: Final = 1e-7


@dataclass(frozen=True, eq=False)
class _Search:
    """The fits of a search for the best penalty, kept until the final fits have started from them."""

    features: Features
    labels: Labels
    folds: Sequence[Fold]
    penalties: Sequence[float]
    fits: Fits

    def serves(self, features: Features, labels: Labels, n_classes: int, trained: Rows) -> bool:
        """Whether fits of these labels to these rows can start from the search's."""
        same = self.features is features and self.fits.present.shape[1] == n_classes and np.array_equal(self.labels, labels)
        return same and self.fits.coordinates.serves(trained)


class ExactBackend:
    """Logistic regression solved to a stated tolerance for all folds and penalties of a protocol together."""

    name = "exact"

    def __init__(self, tolerance: float | None = None) -> None:
        if tolerance is not None and not tolerance > 0:
            raise SettingsError(f"the tolerance of the exact probe must be positive, not {tolerance}")
        self.tolerance = tolerance
        self._search: _Search | None = None

    def penalties(self, protocol: str) -> tuple[float, ...]:
        """Return SentEval's grid of C for ``split``, ``kfold`` or ``nested``, smallest first."""
        return C_GRIDS[protocol]

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        """Return the accuracy (0 to 1) on each fold's held-out rows, as an array of folds x penalties."""
        for index, fold in enumerate(folds):
            if len(fold.held_out) == 0:
                raise ProbeError(f"fold {index} has no held-out rows to be scored on")
        fits = self.fit(features, labels, n_classes, folds, [penalties] * len(folds))
        self._search = _Search(features, labels, folds, penalties, fits)
        with one_thread_per_product():
            correct = [fits.labels(index, fold.held_out) == labels[fold.held_out] for index, fold in enumerate(folds)]
        return np.stack([each.mean(axis=1) for each in correct]), self._report(fits, self._tolerance_for(features))

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[NDArray[np.float64]], FitReport]:
        """Fit fold i with ``penalties[i]`` and predict its held-out rows."""
        if len(folds) != len(penalties):
            raise ProbeError(f"{len(folds)} folds were given {len(penalties)} penalties; each fold needs one")
        searched = self._tolerance_for(features)
        tolerance = max(searched / _FINAL_PRECISION, min(searched, _FINEST_TOLERANCE))
        single = [[penalty] for penalty in penalties]
        fits = self.fit(features, labels, n_classes, folds, single, tolerance, self._search)
        self._search = None
        with one_thread_per_product():
            predictions = [fits.probabilities(index, fold.held_out) for index, fold in enumerate(folds)]
        return predictions, self._report(fits, tolerance)

    def _tolerance_for(self, features: Features) -> float:
        return default_tolerance(features.n_rows) if self.tolerance is None else self.tolerance

    def fit(
        self,
        features: Features,
        labels: Labels,
        n_classes: int,
        folds: Sequence[Fold],
        penalties: Penalties,
        tolerance: float | None = None,
        search: _Search | None = None,
    ) -> Fits:
        """Fit every fold with every penalty in its list; all lists have the same length.

        Each fold starts from the fits of a ``search`` to subsets of its rows, where there are any.
        """
        _check(features, labels, n_classes, folds, penalties)
        tolerance = self._tolerance_for(features) if tolerance is None else tolerance
        single = tolerance >= _FLOAT32_TOLERANCE
        dtype = np.float32 if single else np.float64
        trained = trained_rows(folds, features.n_rows)
        # Our own threads only: those of the matrix libraries would wait for a core, and with another number of them the axes,
        # and with them a score, have other bits.
        with one_thread_per_product(), ThreadPoolExecutor(available_cores()) as pool:
            if search is not None and search.serves(features, labels, n_classes, trained):
                batch = Batch(search.fits.coordinates.astype(dtype), labels, n_classes, folds, penalties)
                _start_from_search(batch, search, folds, penalties)
            else:
                columns = len(folds) * (1 if n_classes == 2 else n_classes)
                batch = Batch(Coordinates.of(features, columns, dtype, trained), labels, n_classes, folds, penalties)
            fits = batch.solve(pool, tolerance, _FLOAT32_PASSES if single else _MOST_PASSES)
            failed = [index for index, errors in enumerate(fits.errors) if not (errors <= tolerance).all()]
            if failed and single:
                some_folds, some_penalties = [folds[i] for i in failed], [penalties[i] for i in failed]
                precise = Batch(batch.coordinates.astype(np.float64), labels, n_classes, some_folds, some_penalties)
                again = precise.solve(pool, tolerance, _MOST_PASSES)
                fits.points[failed], fits.errors[failed] = again.points, again.errors
        return fits

    def _report(self, fits: Fits, tolerance: float) -> FitReport:
        unconverged = int((~(fits.errors <= tolerance)).sum())
        return FitReport(fits.errors.size, unconverged, float(fits.errors.max()), tolerance)


def _start_from_search(batch: Batch, search: _Search, folds: Sequence[Fold], penalties: Penalties) -> None:
    """Let each fold start from the mean of the search's fits, under its penalty, to subsets of its own rows."""
    trained_on = np.zeros((len(search.folds), search.features.n_rows), dtype=bool)
    for number, other in enumerate(search.folds):
        trained_on[number, other.train] = True
    for index, (fold, (penalty, *_)) in enumerate(zip(folds, penalties, strict=True)):
        if penalty not in search.penalties:
            continue
        outside = np.ones(trained_on.shape[1], dtype=bool)
        outside[fold.train] = False
        same_classes = (search.fits.present == batch.present[index]).all(axis=1)
        alike = np.flatnonzero(~trained_on[:, outside].any(axis=1) & same_classes)
        if len(alike):
            stage = list(search.penalties).index(penalty)
            batch.start[index] = search.fits.points[alike, stage].mean(axis=0, dtype=np.float64)


def _check(features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Penalties) -> None:
    check_labels(features, labels, n_classes)
    if not folds:
        raise ProbeError("there are no folds to fit")
    for index, fold in enumerate(folds):
        if len(fold.train) == 0:
            raise ProbeError(f"fold {index} has no training rows")
    for penalty in {penalty for several in penalties for penalty in several}:
        if not (penalty > 0 and np.isfinite(penalty)):
            raise ProbeError(f"C must be a positive number, not {penalty}")
