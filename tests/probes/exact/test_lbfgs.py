"""L-BFGS on quadratic losses, whose solutions are known."""

from __future__ import annotations

import numpy as np
import pytest

from medsenteval.probes.exact.lbfgs import minimise
from medsenteval.probes.exact.preconditioner import DiagonalPreconditioner, Preconditioner, SampledPreconditioner


@pytest.mark.parametrize("dense", [False, True])
def test_every_problem_ends_at_its_own_solution(dense: bool) -> None:
    rng = np.random.default_rng(0)
    folds, width = 3, 8
    rows = rng.standard_normal((200, width)) * np.geomspace(1, 0.05, width)
    rows -= rows.mean(axis=0)
    gram = rows.T @ rows / len(rows)
    # Each fold's loss is somewhat different: its own weights of the rows, and its own target.
    hessians = np.stack([rows.T @ (rows * rng.uniform(0.2, 0.6, (200, 1))) / len(rows) for _ in range(folds)])
    targets = rng.standard_normal((folds, width))
    ridges = np.outer([1.0, 0.5, 2.0], [1.0, 0.1, 0.03, 0.001]).ravel()
    given, fold, passes = ridges.copy(), np.repeat(np.arange(folds), 4), [0]

    def loss_gradient(points: np.ndarray, problems: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        passes[0] += len(problems)
        offset = points[:, 0, :-1] - targets[fold[problems]]
        gradient = np.concatenate([np.einsum("wij,wj->wi", hessians[fold[problems]], offset), 0.3 * points[:, 0, -1:]], axis=1)
        return gradient[:, None], np.full((len(problems), 1), 0.3)

    sampled = SampledPreconditioner(rows.astype(np.float32))
    preconditioner: Preconditioner = sampled if dense else DiagonalPreconditioner(np.append(np.diag(gram), 1.0))
    start, present = np.zeros((12, 1, width + 1)), np.ones((12, 1), dtype=bool)
    points, errors = minimise(loss_gradient, start, present, ridges, preconditioner, 1e-9, 500)
    assert (errors <= 1e-9).all()
    assert (ridges == given).all()
    for number, ridge in enumerate(ridges):
        hessian = hessians[fold[number]]
        solution = np.linalg.solve(hessian + ridge * np.eye(width), hessian @ targets[fold[number]])
        np.testing.assert_allclose(points[number, 0, :-1], solution, atol=1e-6)
    # What was learnt of the curvature shortens the way; single precision, which the sample has, leaves some room.
    assert passes[0] <= (300 if dense else 110)


def test_every_penalty_gets_its_passes_and_the_error_left_is_reported() -> None:
    passes = []

    def no_step_is_ever_small(points: np.ndarray, problems: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        passes.append(len(problems))
        return np.sign(points - 5.0), np.full(points.shape[:2], 0.25)

    start, present, ridges = np.zeros((3, 1, 3)), np.ones((3, 1), dtype=bool), np.array([1e-3, 1e-4, 1e-5])
    _, errors = minimise(no_step_is_ever_small, start, present, ridges, DiagonalPreconditioner(np.ones(3)), 1e-12, 7)
    assert (errors > 1e-12).all()
    assert np.isfinite(errors).all()
    assert passes == [3] * 7
