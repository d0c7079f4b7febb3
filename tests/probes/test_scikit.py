"""The back end of scikit-learn: its own scores, and a count of the fits that it stopped before they had converged."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from medsenteval.probes.backend import Fold
from medsenteval.probes.features import Features
from medsenteval.probes.scikit import ScikitBackend
from tests.probes.problems import make_rows

#: From a fit that ends at once to fits that 100 iterations leave short.
PENALTIES = (1e-8, 1.0, 1e4)


def test_scores_are_scikit_learns_and_fits_that_stop_at_its_limit_are_counted() -> None:
    x, y = make_rows(3, 90, 12, 3)
    x *= np.logspace(0, 3, 12, dtype=np.float32)
    rows = np.arange(90)
    folds = [Fold(np.setdiff1d(rows, part), part) for part in np.array_split(rows, 2)]
    accuracies, stopped, probabilities = np.empty((2, 3)), np.zeros((2, 3), dtype=bool), {}
    for (i, fold), (j, penalty) in ((each, other) for each in enumerate(folds) for other in enumerate(PENALTIES)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = LogisticRegression(C=penalty, random_state=1111).fit(x[fold.train], y[fold.train])
        stopped[i, j] = any(issubclass(each.category, ConvergenceWarning) for each in told)
        accuracies[i, j] = model.score(x[fold.held_out], y[fold.held_out])
        probabilities[i, j] = model.predict_proba(x[fold.held_out])
    assert 0 < stopped.sum() < stopped.size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours, report = ScikitBackend().score_grid(Features.from_array(x), y, 3, folds, PENALTIES)
        assert np.array_equal(ours, accuracies)
        assert (report.n_fits, report.n_unconverged) == (6, stopped.sum())
        for j, penalty in enumerate(PENALTIES):
            predictions, report = ScikitBackend().predict(Features.from_array(x), y, 3, folds, [penalty] * 2)
            assert (report.n_fits, report.n_unconverged) == (2, stopped[:, j].sum())
            for i, prediction in enumerate(predictions):
                assert prediction == pytest.approx(probabilities[i, j])
