"""Newton's method has the true Hessian, gets through rows that are all but separable, and stops when it is told to."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact import problems as batch
from medsenteval.probes.exact.certificate import certify
from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.exact.newton import _factor, _Problem, finish
from medsenteval.probes.exact.problems import Batch
from medsenteval.probes.features import Features
from tests.probes.problems import half, make_rows

Doubles = NDArray[np.float64]


def problem_of(k: int, missing: int | None = None, penalty: float = 10.0) -> tuple[Batch, _Problem]:
    x, y = make_rows(3, 60, 6, k)
    fold = half(60)
    if missing is not None:
        fold = Fold(fold.train[y[fold.train] != missing], fold.held_out)
    # Another fold, so that some of the stored rows are not trained on.
    other = Fold(np.arange(30, 60), np.arange(30))
    coordinates = Coordinates.of(Features.from_array(x), 1, np.float64)
    problems = Batch(coordinates, y, k, [fold, other], [[penalty], [penalty]])
    present = problems.present[0] if k > 2 else np.ones(1, dtype=bool)
    return problems, _Problem(problems.gradient, 0, present, float(problems.ridges[0, 0]))


@pytest.mark.parametrize(("k", "missing"), [(2, None), (4, None), (4, 1)])
def test_derivatives_are_those_of_the_objective(k: int, missing: int | None) -> None:
    problems, problem = problem_of(k, missing)
    rng = np.random.default_rng(5)
    n_outputs, width = problems.n_outputs, problems.coordinates.width
    point = problems.start[0] + 0.3 * rng.standard_normal((n_outputs, width)) * problem_present(problem, n_outputs)[:, None]
    gradient = problem.gradient(point, problem.residuals(point))
    # The pass that L-BFGS uses is the reference for the loss's share.
    loss_gradient, _ = problem.gradient_pass(point[None], np.array([0]))
    np.testing.assert_allclose(gradient, loss_gradient[0] + problem.ridge * point, atol=1e-14)

    step = problem.newton_step(problem.residuals(point), gradient)
    change = 1e-6
    moved = [problem.gradient(p, problem.residuals(p)) for p in (point + change * step, point - change * step)]
    np.testing.assert_allclose((moved[0] - moved[1]) / (2 * change), gradient, atol=1e-8)
    if missing is not None:
        np.testing.assert_array_equal(step[missing], 0)


def problem_present(problem: _Problem, n_outputs: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(n_outputs), problem.present)


@pytest.mark.parametrize(("k", "missing"), [(2, None), (4, None), (4, 1)])
@pytest.mark.parametrize("far", [False, True])
def test_it_gets_there_from_anywhere(k: int, missing: int | None, far: bool) -> None:
    problems, problem = problem_of(k, missing, penalty=1e6)
    start: Doubles = problems.start[0].astype(np.float64)
    present = problem_present(problem, len(start))
    if far:
        # Sure of the wrong answers: hardly any curvature tells the way back.
        start = start + 300 * np.random.default_rng(1).standard_normal(start.shape) * present[:, None]
    ridge, preconditioner = float(problems.ridges[0, 0]), problems.coordinates.preconditioner
    point, error = finish(problem.gradient_pass, 0, start, present, ridge, preconditioner, 1e-10, 2_000)
    assert error <= 1e-10
    gradient = problem.gradient(point, problem.residuals(point))
    assert np.abs(gradient).max() <= 1e-12


def test_steps_are_whole_ones_where_nothing_is_in_the_way() -> None:
    problems, problem = problem_of(3, penalty=0.1)

    def stepped(point: Doubles) -> Doubles:
        residuals = problem.residuals(point)
        return point - problem.newton_step(residuals, problem.gradient(point, residuals))

    near = stepped(problems.start[0].astype(np.float64))
    given = (problems.present[0], float(problems.ridges[0, 0]), problems.coordinates.preconditioner)
    # Three passes: one where it starts, one after each of two steps.
    found, _ = finish(problem.gradient_pass, 0, near, *given, 1e-15, 3)
    np.testing.assert_allclose(found, stepped(stepped(near)), rtol=0, atol=1e-13)
    assert np.abs(found - stepped(near)).max() > 1e-9


def test_it_stops_after_so_many_passes_with_the_best_point() -> None:
    problems, problem = problem_of(3, penalty=1e6)
    given = (
        problem.gradient_pass,
        0,
        problems.start[0],
        problems.present[0],
        float(problems.ridges[0, 0]),
        problems.coordinates.preconditioner,
    )
    errors = [finish(*given, 1e-12, passes)[1] for passes in (1, 5, 500)]
    assert errors[0] >= errors[1] >= errors[2]
    assert errors[0] > 1e-3
    assert errors[2] <= 1e-12


@pytest.mark.parametrize("k", [2, 3])
def test_what_few_passes_leave_short_is_finished(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = make_rows(9, 80, 12, k, strength=3.0)
    features, folds, grid = Features.from_array(x), [half(80), Fold(np.arange(20, 80), np.arange(20))], [1.0, 1e5]
    for work in (0, 10**9):
        monkeypatch.setattr(batch, "_PASSES_BEFORE_NEWTON", 3)
        monkeypatch.setattr(batch, "_CHECKED_WORK", work)
        fits = ExactBackend(1e-8).fit(features, y, k, folds, [grid] * 2)
        assert (fits.errors <= 1e-8).all()
        for (index, fold), stage in ((pair, stage) for pair in enumerate(folds) for stage in range(2)):
            bound = certify(x[fold.train], y[fold.train], grid[stage], *fits.coefficients(index, stage))
            assert bound.gap <= 1e-6 * bound.objective
    monkeypatch.setattr("medsenteval.probes.exact.logistic._MOST_PASSES", 3)
    short = ExactBackend(1e-8).fit(features, y, k, folds, [grid] * 2)
    assert (short.errors > 1e-8).any()


def test_a_matrix_that_rounding_left_indefinite_is_mended() -> None:
    rng = np.random.default_rng(2)
    columns = rng.standard_normal((30, 3))
    columns /= np.linalg.norm(columns, axis=1, keepdims=True)
    matrix = columns @ columns.T
    # More than rounding would do, so that what is added first is not enough.
    matrix -= 1e-9 * np.outer(*[np.linalg.eigh(matrix)[1][:, 0]] * 2)
    factor = np.tril(_factor(matrix.copy())[0])
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-6)
