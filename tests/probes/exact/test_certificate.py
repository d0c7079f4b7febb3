"""A certificate's objective has the best intercepts, wherever those of the model stand, and its gap bounds what is missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from medsenteval.probes.exact.certificate import certify, log_softmax
from tests.probes.problems import make_rows


@pytest.mark.parametrize("away", [0.0, 5.0, -8.0, 30.0])
@pytest.mark.parametrize("outputs", [1, 3])
def test_intercepts_are_the_best_even_where_a_whole_step_would_go_too_far(outputs: int, away: float) -> None:
    """With the curvature of a sure model, Newton's step overshoots from five already, and has to be shortened."""
    x, y = make_rows(4, 60, 5, max(outputs, 2))
    weights = 0.3 * np.random.default_rng(5).standard_normal((outputs, 5))
    fixed = x.astype(np.float64) @ weights.T

    def loss(intercepts: np.ndarray) -> float:
        return float(-log_softmax(fixed + intercepts)[np.arange(60), y].sum())

    best = minimize(loss, np.zeros(outputs), method="BFGS", options={"gtol": 1e-9}).fun
    start = away * np.eye(outputs)[0]
    found = certify(x, y, 2.0, weights, start)
    assert found.objective == pytest.approx(2.0 * best + 0.5 * np.square(weights).sum(), rel=1e-9)
    assert found.gap == pytest.approx(certify(x, y, 2.0, weights, np.zeros(outputs)).gap, rel=1e-5)
