"""The ``sklearn`` back end: scikit-learn's LogisticRegression called one fit at a time, as SentEval's usepytorch=False does."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from medsenteval.probes.backend import C_GRIDS, FitReport, Fold
from medsenteval.probes.features import Features
from medsenteval.support.arrays import Labels


class ScikitBackend:
    """Logistic regression exactly as scikit-learn fits it by default, its limit of 100 iterations included.

    It exists for parity with numbers that SentEval users have; the ``exact`` back end minimises the same function to
    convergence and in a fraction of the time.
    """

    name = "sklearn"

    def __init__(self, seed: int = 1111) -> None:
        self.seed = seed

    def penalties(self, protocol: str) -> tuple[float, ...]:
        return C_GRIDS[protocol]

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        accuracies = np.empty((len(folds), len(penalties)))
        unconverged = 0
        for i, fold in enumerate(folds):
            train, held_out = features.take(fold.train), features.take(fold.held_out)
            for j, penalty in enumerate(penalties):
                model, converged = self._fit(train, labels[fold.train], penalty)
                accuracies[i, j] = model.score(held_out, labels[fold.held_out])
                unconverged += not converged
        return accuracies, FitReport(accuracies.size, unconverged, None, None)

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[NDArray[np.float64]], FitReport]:
        predictions = []
        unconverged = 0
        for fold, penalty in zip(folds, penalties, strict=True):
            model, converged = self._fit(features.take(fold.train), labels[fold.train], penalty)
            unconverged += not converged
            probabilities = np.zeros((len(fold.held_out), n_classes))
            # Classes absent from the training rows keep probability 0.
            probabilities[:, model.classes_] = model.predict_proba(features.take(fold.held_out))
            predictions.append(probabilities)
        return predictions, FitReport(len(folds), unconverged, None, None)

    def _fit(self, rows: NDArray[np.float32], labels: Labels, penalty: float) -> tuple[LogisticRegression, bool]:
        model = LogisticRegression(C=penalty, random_state=self.seed)
        with warnings.catch_warnings():
            # Counted in the FitReport instead of printed six hundred times.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows, labels)
        return model, bool(np.max(model.n_iter_) < model.max_iter)
