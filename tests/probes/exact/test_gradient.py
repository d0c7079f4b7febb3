"""One pass over the rows against the textbook's formulas, wherever the rows stand and whichever classes a fold has."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.probes.exact.problems import Batch
from medsenteval.probes.features import Features
from tests.probes.problems import keep_raw


def features_of(kind: str, seed: int) -> Features:
    """Return 300 rows: in their order, from all over a matrix, or pairs."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((300, 21)).astype(np.float32)
    if kind == "in order":
        return Features.from_array(matrix)
    if kind == "other layout":
        return Features(np.asfortranarray(matrix), np.arange(300))
    left, right = rng.integers(0, 300, (2, 300))
    return Features(matrix, left, right if kind.startswith("pairs") else None)


def textbook_gradient(
    rows: NDArray[np.float64], labels: NDArray[np.int64], points: NDArray[np.float64], present: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradient of the mean log loss, and the mean of p (1 - p) for each output."""
    logits = rows @ points.T
    if points.shape[0] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
        present = np.ones(2, dtype=bool)
    logits[:, ~present] = -np.inf
    probabilities = np.exp(log_softmax(logits, axis=1))
    residuals = probabilities - np.eye(logits.shape[1])[labels]
    if points.shape[0] == 1:
        residuals, probabilities = residuals[:, 1:], probabilities[:, 1:]
    return residuals.T @ rows / len(rows), (probabilities * (1 - probabilities)).mean(axis=0)


@pytest.mark.parametrize("kind", ["in order", "scattered", "pairs", "pairs, built anew", "other layout"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("folds", ["one", "several", "without a common class"])
@pytest.mark.parametrize("stored", [False, True])
def test_a_pass_gives_the_gradient_of_the_mean_log_loss(
    kind: str, n_classes: int, folds: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not stored:
        keep_raw(monkeypatch)
    # In longer blocks a pass looks at some rows only to see the curvature.
    monkeypatch.setattr("medsenteval.probes.exact.gradient._SHORTEST_BLOCK", 300)
    if kind == "pairs, built anew":
        monkeypatch.setattr("medsenteval.probes.exact.coordinates._KEPT_BYTES", 0)
    features = features_of(kind, n_classes)
    rng = np.random.default_rng(7)
    y = rng.integers(0, n_classes, 300)
    rows = np.arange(300)
    trained = {
        "one": [rows[:211]],
        "several": [rows[:150], rows[::2], np.repeat(rows[100:], 2)],
        "without a common class": [rows[y != label] for label in range(n_classes)],
    }[folds]
    coordinates = Coordinates.of(features, 1, np.float64)
    assert (coordinates.axes is not None) == stored
    assert (coordinates.whole is None) == (not stored and kind in ("scattered", "pairs, built anew"))
    batch = Batch(coordinates, y, n_classes, [Fold(train, rows[-5:]) for train in trained], [[1.0]] * len(trained))
    problems = np.repeat(np.arange(len(trained)), 2)
    points = batch.start[problems] + rng.standard_normal(batch.start[problems].shape)
    gradient, weight = batch.gradient(points, problems)
    # The same in the features' own coordinates, whose gradients are brought back.
    centred = (features.take(slice(None)) - coordinates.mean) / coordinates.scale
    if stored:
        assert coordinates.axes is not None
        centred = centred @ coordinates.axes
    centred = np.concatenate([centred, np.ones((300, 1))], axis=1)
    for number, (problem, fold) in enumerate(zip(points, problems, strict=True)):
        present = batch.present[fold]
        if n_classes == 2 and not present.all():
            continue  # such a fold needs no fit
        expected = textbook_gradient(centred[trained[fold]], y[trained[fold]], problem, present)
        np.testing.assert_allclose(gradient[number], expected[0], atol=1e-12)
        # For a softmax the curvature is that of weights which sum to zero over the classes.
        np.testing.assert_allclose(
            weight[number], expected[1] * (1 if n_classes == 2 else n_classes / (n_classes - 1)), atol=1e-12
        )
