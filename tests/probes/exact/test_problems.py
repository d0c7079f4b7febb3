"""Where the fits of a path through penalties start."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact import problems
from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.probes.exact.lbfgs import minimise
from medsenteval.probes.exact.problems import Batch
from medsenteval.probes.features import Features


def test_from_the_third_penalty_on_a_fit_starts_on_the_line_through_the_last_two_solutions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line is straight in the logarithm of C and continued at most twice as far, in the order of C, fold by fold."""
    rng = np.random.default_rng(0)
    features = Features.from_array(rng.standard_normal((60, 4)))
    labels, rows = rng.integers(0, 2, 60), np.arange(60)
    folds = [Fold(rows[:40], rows[40:]), Fold(rows[20:], rows[:20])]
    penalties = [[8.0, 0.5, 1.0, 0.25], [0.1, 100.0, 1.0, 3.0]]
    starts: list[Any] = []

    def noted(loss_gradient: Any, start: Any, *given: Any) -> Any:
        starts.append(start.copy())
        return minimise(loss_gradient, start, *given)

    monkeypatch.setattr(problems, "minimise", noted)
    monkeypatch.setattr(problems, "_SIDE_BY_SIDE_COLUMNS", 0)
    monkeypatch.setattr(problems, "_NEWTON_COORDINATES", 0)
    batch = Batch(Coordinates.of(features, 2, np.float64), labels, 2, folds, penalties)
    with ThreadPoolExecutor(1) as pool:
        points = batch.solve(pool, 1e-8, 500).points
    assert len(starts) == 4
    for fold, own in enumerate(penalties):
        order = np.argsort(own)
        solutions, logs = points[fold][order], np.log(np.sort(own))
        np.testing.assert_array_equal(starts[0][fold], batch.start[fold])
        np.testing.assert_array_equal(starts[1][fold], solutions[0])
        for stage in (2, 3):
            factor = min((logs[stage] - logs[stage - 1]) / (logs[stage - 1] - logs[stage - 2]), 2)
            expected = solutions[stage - 1] + factor * (solutions[stage - 1] - solutions[stage - 2])
            np.testing.assert_allclose(starts[stage][fold], expected)
