"""The walk through penalties on quadratic losses, whose solutions are known."""

from __future__ import annotations

import numpy as np
import pytest

from medsenteval.probes.curvature import Curvature, Diagonal, Sampled
from medsenteval.probes.lbfgs import walk


@pytest.mark.parametrize("parting", [None, 1e9, 0.05, 1e-9], ids=["in turn", "parting at once", "on the way", "at the end"])
@pytest.mark.parametrize("dense", [False, True])
def test_every_fold_and_penalty_ends_at_its_own_solution(parting: float | None, dense: bool) -> None:
    rng = np.random.default_rng(0)
    folds, width = 3, 8
    rows = rng.standard_normal((200, width)) * np.geomspace(1, 0.05, width)
    rows -= rows.mean(axis=0)
    gram = rows.T @ rows / len(rows)
    # Each fold's loss is somewhat different: its own weights of the rows, and its own target.
    hessians = np.stack([rows.T @ (rows * rng.uniform(0.2, 0.6, (200, 1))) / len(rows) for _ in range(folds)])
    targets = rng.standard_normal((folds, width))
    ridges = np.outer([1.0, 0.5, 2.0], [1.0, 0.1, 0.03, 0.001])
    given = ridges.copy()

    def loss_gradient(points: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        offset = points[:, 0, :-1] - targets[which]
        gradient = np.concatenate([np.einsum("wij,wj->wi", hessians[which], offset), 0.3 * points[:, 0, -1:]], axis=1)
        return gradient[:, None], np.full((len(which), 1), 0.3)

    curvature: Curvature = Sampled.of(rows.astype(np.float32)) if dense else Diagonal(np.append(np.diag(gram), 1.0))
    start, present = np.zeros((folds, 1, width + 1)), np.ones((folds, 1), dtype=bool)
    paths = walk(loss_gradient, start, present, ridges, curvature, 1e-9, 500, parting)
    assert (paths.errors <= 1e-9).all()
    assert (ridges == given).all()
    for fold, stage in np.ndindex(*ridges.shape):
        penalised = hessians[fold] + ridges[fold, stage] * np.eye(width)
        solution = np.linalg.solve(penalised, hessians[fold] @ targets[fold])
        np.testing.assert_allclose(paths.points[fold, stage, 0, :-1], solution, atol=1e-6)
        assert paths.passes[fold, stage] > 0


def test_a_pilot_that_does_not_arrive_parts_all_the_same() -> None:
    """Every penalty gets its passes, and what is left of the error is reported."""
    curvature = Diagonal(np.ones(3))
    paths = walk(
        lambda points, _: (np.sign(points - 5.0), np.full(points.shape[:2], 0.25)),  # no step is ever small
        np.zeros((1, 1, 3)),
        np.ones((1, 1), dtype=bool),
        np.array([[1e-3, 1e-4, 1e-5]]),
        curvature,
        1e-12,
        7,
        1e-12,
    )
    assert (paths.errors > 1e-12).all()
    assert np.isfinite(paths.errors).all()
    assert paths.passes[0, 1] == 7
    assert (paths.passes >= 7).all()
