"""L-BFGS on quadratic losses, whose solutions are known."""

from __future__ import annotations

import numpy as np
import pytest

from medsenteval.probes.exact.lbfgs import minimise
from medsenteval.probes.exact.preconditioner import DiagonalPreconditioner, Preconditioner, SampledPreconditioner


@pytest.mark.parametrize("in_turn", [True, False])
@pytest.mark.parametrize("dense", [False, True])
def test_every_fold_and_penalty_ends_at_its_own_solution(in_turn: bool, dense: bool) -> None:
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

    def loss_gradient(points: np.ndarray, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        offset = points[:, 0, :-1] - targets[folds]
        gradient = np.concatenate([np.einsum("wij,wj->wi", hessians[folds], offset), 0.3 * points[:, 0, -1:]], axis=1)
        return gradient[:, None], np.full((len(folds), 1), 0.3)

    sampled = SampledPreconditioner.of(rows.astype(np.float32))
    preconditioner: Preconditioner = sampled if dense else DiagonalPreconditioner(np.append(np.diag(gram), 1.0))
    start, present = np.zeros((folds, 1, width + 1)), np.ones((folds, 1), dtype=bool)
    if in_turn:
        paths = minimise(loss_gradient, start, present, ridges, preconditioner, 1e-9, 500)
        points, errors, passes = paths.points, paths.errors, paths.passes
    else:
        each = np.repeat(np.arange(folds), 4)
        apart = minimise(
            lambda points, problems: loss_gradient(points, each[problems]),
            start[each],
            present[each],
            ridges.reshape(-1, 1),
            preconditioner,
            1e-9,
            500,
        )
        points = apart.points.reshape(folds, 4, 1, width + 1)
        errors, passes = apart.errors.reshape(folds, 4), apart.passes.reshape(folds, 4)
    assert (errors <= 1e-9).all()
    assert (ridges == given).all()
    for fold, stage in np.ndindex(*ridges.shape):
        penalised = hessians[fold] + ridges[fold, stage] * np.eye(width)
        solution = np.linalg.solve(penalised, hessians[fold] @ targets[fold])
        np.testing.assert_allclose(points[fold, stage, 0, :-1], solution, atol=1e-6)
        assert passes[fold, stage] > 0
    # What was learnt of the curvature shortens the way; single precision, which the sample has, leaves some room.
    assert passes.sum() <= {(True, False): 97, (False, False): 110, (True, True): 500, (False, True): 300}[in_turn, dense]


def test_every_penalty_gets_its_passes_and_the_error_left_is_reported() -> None:
    paths = minimise(
        lambda points, _: (np.sign(points - 5.0), np.full(points.shape[:2], 0.25)),  # no step is ever small
        np.zeros((1, 1, 3)),
        np.ones((1, 1), dtype=bool),
        np.array([[1e-3, 1e-4, 1e-5]]),
        DiagonalPreconditioner(np.ones(3)),
        1e-12,
        7,
    )
    assert (paths.errors > 1e-12).all()
    assert np.isfinite(paths.errors).all()
    assert (paths.passes == 7).all()
