"""The exact back end against scikit-learn run to convergence, and against its own certificate."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from medsenteval.errors import ProbeError, SettingsError
from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.certificate import certify
from medsenteval.probes.exact.coordinates import Coordinates, _principal_axes
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.exact.preconditioner import DiagonalPreconditioner, SampledPreconditioner
from medsenteval.probes.exact.problems import Batch, Fits, _as_slice
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import run_kfold, run_nested, run_split
from tests.conftest import examples
from tests.probes.problems import half, keep_raw, make_rows

TIGHT = 1e-7


def converged(x: np.ndarray, y: np.ndarray, penalty: float) -> LogisticRegression:
    """Fit scikit-learn to its last digits, by Newton's method: L-BFGS needs thousands of passes and ends above the optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(C=penalty, tol=1e-10, max_iter=1_000, solver="newton-cholesky").fit(x.astype(np.float64), y)


def assert_optimal(x: np.ndarray, y: np.ndarray, k: int, penalties: list[float], backend: ExactBackend) -> None:
    """Check every fit's objective against scikit-learn's, and that its certificate agrees."""
    everything = np.arange(len(y))
    fits = backend.fit(Features.from_array(x), y, k, [Fold(everything, everything)], [penalties])
    assert backend.tolerance is not None
    assert (fits.errors <= backend.tolerance).all()
    for index, penalty in enumerate(penalties):
        ours = certify(x, y, penalty, *fits.coefficients(0, index))
        reference = converged(x, y, penalty)
        theirs = certify(x, y, penalty, reference.coef_, reference.intercept_)
        assert ours.objective <= theirs.objective * (1 + 1e-6)
        assert ours.objective - ours.gap <= theirs.objective * (1 + 1e-9)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(12, 90),
    d=st.integers(1, 120),
    k=st.integers(2, 5),
    strength=st.sampled_from([0.0, 0.5, 3.0]),
    imbalance=st.sampled_from([0.0, 1.0]),
    scale=st.sampled_from([1e-4, 1.0, 1e3]),
    offset=st.sampled_from([0.0, 5.0]),
    spoil=st.sampled_from(["nothing", "duplicate", "constant", "zero"]),
)
# Too hard for L-BFGS; seeming to be done when they were not; a class so sure that its intercept had no curvature left; losses
# so small that the logs of probabilities near one have few digits.
@example(seed=0, n=72, d=27, k=5, strength=0.0, imbalance=1.0, scale=1e3, offset=0.0, spoil="nothing")
@example(seed=2749, n=70, d=4, k=5, strength=0.5, imbalance=0.0, scale=1e3, offset=5.0, spoil="nothing")
@example(seed=1934, n=74, d=5, k=4, strength=3.0, imbalance=0.0, scale=1e3, offset=5.0, spoil="nothing")
@example(seed=0, n=34, d=8, k=4, strength=3.0, imbalance=1.0, scale=1e3, offset=0.0, spoil="nothing")
def test_objective_is_never_above_converged_scikit_learn(
    seed: int, n: int, d: int, k: int, strength: float, imbalance: float, scale: float, offset: float, spoil: str
) -> None:
    x, y = make_rows(seed, n, d, k, strength, imbalance)
    y[:k] = np.arange(k)
    if spoil == "duplicate":
        x = np.concatenate([x, x[:, : d // 2 + 1]], axis=1)
    elif spoil == "constant":
        x[:, 0] = 7.0
    elif spoil == "zero":
        x[:, 0] = 0.0
    assert_optimal((x + offset) * np.float32(scale), y, k, [0.25, 1.0, 8.0], ExactBackend(TIGHT))


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_extreme_penalties_and_separable_rows(k: int, raw: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if raw:
        keep_raw(monkeypatch)
    x, y = make_rows(3, 60, 8, k, strength=4.0)
    assert_optimal(x, y, k, [1e-6, 1e-2, 1.0, 1e4, 1e9], ExactBackend(TIGHT))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_extreme_feature_scales(scale: float) -> None:
    x, y = make_rows(5, 80, 6, 3)
    plain = ExactBackend(TIGHT).predict(Features.from_array(x), y, 3, [half(80)], [1.0])[0][0]
    scaled = ExactBackend(TIGHT).predict(Features.from_array(x * scale), y, 3, [half(80)], [scale**-2])[0][0]
    np.testing.assert_allclose(scaled, plain, atol=1e-5)


@pytest.mark.parametrize("form", ["stored", "stored, wide", "raw"])
@pytest.mark.parametrize("k", [2, 4])
def test_every_form_of_the_coordinates_gives_scikit_learn_probabilities(
    form: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, d = (80, 150) if form == "stored, wide" else (200, 30)
    x, y = make_rows(7, n, d, k)
    if form == "raw":
        keep_raw(monkeypatch)
    coordinates = Coordinates.of(Features.from_array(x), 1, np.float64)
    assert (coordinates.axes is None) == (form == "raw")
    assert isinstance(coordinates.preconditioner, SampledPreconditioner) == (form == "raw")
    assert (coordinates.spanning is not None) == (form == "stored, wide")
    predictions, report = ExactBackend(TIGHT).predict(Features.from_array(x), y, k, [half(n)], [2.0])
    reference = converged(x[: n // 2], y[: n // 2], 2.0)
    np.testing.assert_allclose(predictions[0], reference.predict_proba(x[n // 2 :]), atol=1e-4)
    assert report.n_unconverged == 0


@pytest.mark.parametrize("k", [2, 3])
def test_axes_of_few_rows_serve_steep_spectra_and_repeated_rows(k: int) -> None:
    x, y = make_rows(13, 70, 200, k)
    x *= np.geomspace(1, 1e-5, 200, dtype=np.float32)
    x[30:40], y[30:40] = x[:10], y[20:30]
    assert_optimal(x, y, k, [1e-3, 1.0, 1e3, 1e6], ExactBackend(TIGHT))
    features, fold = Features.from_array(x), Fold(np.arange(60), np.arange(60, 70))
    backends = [ExactBackend(), ExactBackend(TIGHT)]
    usual, tight = (backend.fit(features, y, k, [fold], [[1e-3, 1.0]]) for backend in backends)
    for stage in range(2):
        logits, exact = (fits.logits(0, np.arange(70))[stage] for fits in (usual, tight))
        spread = np.sqrt(np.mean((exact - exact.mean(axis=1, keepdims=True)) ** 2))
        assert np.sqrt(np.mean((logits - exact) ** 2)) <= 0.003 * spread


@pytest.mark.parametrize("form", ["stored", "raw", "raw, kept"])
def test_pair_features_are_fitted_as_if_they_had_been_built(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((90, 5)).astype(np.float32)
    left, right = rng.integers(0, 90, 150), rng.integers(0, 90, 150)
    pairs = Features(matrix, left, right)
    y = (np.abs(matrix[left] - matrix[right]).sum(axis=1) > 5.5).astype(np.int64)
    if form != "stored":
        keep_raw(monkeypatch)
    if form == "raw":
        monkeypatch.setattr("medsenteval.probes.exact.coordinates._KEPT_BYTES", 0)
    backend = ExactBackend(TIGHT)
    from_pairs = backend.predict(pairs, y, 2, [half(150)], [1.0])[0][0]
    built = backend.predict(Features.from_array(pairs.take(slice(None))), y, 2, [half(150)], [1.0])[0][0]
    np.testing.assert_allclose(from_pairs, built, atol=1e-5)


@pytest.mark.parametrize(("k", "missing"), [(4, [2]), (3, [1]), (2, [0])])
def test_class_missing_from_a_folds_training_rows(k: int, missing: list[int]) -> None:
    x, y = make_rows(11, 120, 10, k)
    rows = np.arange(120)
    kept = rows[~np.isin(y, missing)]
    folds = [Fold(kept, rows), Fold(rows[:80], rows[80:])]
    predictions, _ = ExactBackend(TIGHT).predict(Features.from_array(x), y, k, folds, [1.0, 1.0])
    present = [c for c in range(k) if c not in missing]
    single = np.ones((120, 1))
    expected = single if len(present) == 1 else converged(x[kept], y[kept], 1.0).predict_proba(x)
    np.testing.assert_allclose(predictions[0][:, present], expected, atol=1e-4)
    assert (predictions[0][:, missing] == 0).all()
    accuracies, _ = ExactBackend(TIGHT).score_grid(Features.from_array(x), y, k, folds, [1.0, 2.0])
    assert accuracies[0, 0] == (predictions[0].argmax(axis=1) == y).mean()


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("missing", [[0, 1, 2], [0, 0, 0]])
def test_no_class_or_few_classes_are_in_every_fold(raw: bool, missing: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    if raw:
        keep_raw(monkeypatch)
    x, y = make_rows(19, 150, 8, 3)
    rows = np.arange(150)
    folds = [Fold(rows[y != label], rows) for label in missing]
    predictions, _ = ExactBackend(TIGHT).predict(Features.from_array(x), y, 3, folds, [0.5, 1.0, 2.0])
    for fold, prediction, label, penalty in zip(folds, predictions, missing, [0.5, 1.0, 2.0], strict=True):
        expected = converged(x[fold.train], y[fold.train], penalty).predict_proba(x)
        np.testing.assert_allclose(np.delete(prediction, label, axis=1), expected, atol=1e-4)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(60, 200),
    d=st.integers(2, 250),
    k=st.integers(2, 4),
    weak=st.booleans(),
)
@example(seed=120, n=170, d=44, k=3, weak=True)
def test_default_tolerance_predicts_as_scikit_learn_but_for_near_ties(seed: int, n: int, d: int, k: int, weak: bool) -> None:
    x, y = make_rows(seed, 2 * n, d, k, 0.4 if weak else 0.7)
    y[:k] = np.arange(k)
    grid = [0.25, 2.0, 8.0]
    fold = half(2 * n)
    fits = ExactBackend().fit(Features.from_array(x), y, k, [fold], [grid])
    ours = fits.labels(0, fold.held_out)
    for index, penalty in enumerate(grid):
        theirs = converged(x[fold.train], y[fold.train], penalty).predict_proba(x[fold.held_out])
        others = np.flatnonzero(ours[index] != theirs.argmax(axis=1))
        second, first = np.sort(theirs[others], axis=1)[:, -2:].T
        assert len(others) <= 2
        assert (first - second < 0.01).all()


GOLDEN = [
    ("binary", "nested", 93.75, 93.33, None),
    ("binary", "kfold", 95.56, 88.33, "0 1 1 0 1 0 1 0 1 0 1 0"),
    ("binary", "split", 96.67, 93.33, None),
    ("four", "nested", 91.78, 90.75, None),
    ("four", "kfold", 91.00, 90.00, "0 3 2 0 1 2 2 1 1 2 2 0"),
    ("four", "split", 91.00, 90.00, None),
]


@pytest.mark.parametrize(("data", "protocol", "dev", "test", "first"), GOLDEN)
def test_recorded_outputs_of_senteval(data: str, protocol: str, dev: float, test: float, first: str | None) -> None:
    n, d, k, seed = {"binary": (240, 20, 2, 1), "four": (400, 30, 4, 2)}[data]
    x, y = make_rows(seed, n, d, k)
    features, rows, backend = Features.from_array(x), np.arange(n), ExactBackend(tolerance=1e-6)
    if protocol == "nested":
        outcome = run_nested(backend, features, y, k, n_folds=10)
    elif protocol == "kfold":
        train, held_out = rows[: n * 3 // 4], rows[n * 3 // 4 :]
        outcome = run_kfold(backend, features, y, k, train=train, test=held_out, n_folds=10, seed=1111)
    else:
        train, middle, last = rows[: n // 2], rows[n // 2 : n * 3 // 4], rows[n * 3 // 4 :]
        outcome = run_split(backend, features, y, k, train=train, dev=middle, test=last)
    accuracy = np.mean([round(100 * float((fold.predicted == y[fold.rows]).mean()), 2) for fold in outcome.folds])
    assert outcome.dev_accuracy == dev
    assert round(float(accuracy), 2) == test
    if first is not None:
        assert outcome.folds[0].predicted[:12].tolist() == [int(label) for label in first.split()]
    assert outcome.report.n_unconverged == 0


def test_a_fold_never_learns_from_its_held_out_labels() -> None:
    x, y = make_rows(17, 150, 40, 3)
    rows = np.arange(150)
    folds = [Fold(np.setdiff1d(rows, rows[i::5]), rows[i::5]) for i in range(5)]
    spoilt = y.copy()
    spoilt[folds[0].held_out] = (y[folds[0].held_out] + 1) % 3
    backend = ExactBackend(tolerance=0.3)
    features = Features.from_array(x)
    clean, other = (backend.fit(features, labels, 3, folds[:1], [[0.5, 1.0]]).points for labels in (y, spoilt))
    np.testing.assert_allclose(clean, other, atol=1e-5)


def test_final_fits_start_only_from_what_their_own_training_rows_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = make_rows(31, 120, 10, 3)
    rows = np.arange(120)
    starts = []
    original = Batch.solve

    def spy(self: Batch, *arguments: Any) -> Fits:
        starts.append(self.start.copy())
        return original(self, *arguments)

    monkeypatch.setattr(Batch, "solve", spy)
    features, backend = Features.from_array(x), ExactBackend()
    inner = [Fold(rows[10:100], rows[:10]), Fold(rows[20:110], rows[110:])]
    outer = [Fold(rows[10:110], rows[110:]), Fold(rows[:100], rows[100:]), Fold(rows[30:], rows[:30])]
    backend.score_grid(features, y, 3, inner, [1.0, 2.0])
    backend.predict(features, y, 3, outer, [2.0, 2.0, 2.0])
    warm = np.abs(starts[1][:, :, :-1]).sum(axis=(1, 2)) > 0
    assert warm.tolist() == [True, True, False]
    backend.score_grid(features, y, 3, inner, [1.0, 2.0])
    backend.predict(features, (y + 1) % 3, 3, outer, [2.0, 2.0, 2.0])
    assert not starts[3][:, :, :-1].any()


@pytest.mark.parametrize("raw", [False, True])
def test_same_bits_on_every_run_and_any_number_of_threads(raw: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medsenteval.probes.exact.problems._SHARED_MULTIPLICATIONS", 0)
    if raw:
        keep_raw(monkeypatch)
    x, y = make_rows(13, 400, 120, 3)
    rows = np.arange(400)
    folds = [Fold(np.setdiff1d(rows, rows[i::25]), rows[i::25]) for i in range(25)]

    def run(threads: int) -> np.ndarray:
        monkeypatch.setattr("medsenteval.probes.exact.logistic.available_cores", lambda: threads)
        return ExactBackend().fit(Features.from_array(x), y, 3, folds, [[0.25, 1.0, 4.0]] * 25).points

    first = run(1)
    np.testing.assert_array_equal(first, run(1))
    np.testing.assert_array_equal(first, run(2))


@pytest.mark.parametrize("width", [12, 300])
def test_broken_torch_and_numba_change_nothing(width: int, tmp_path: Path) -> None:
    """Results depend on NumPy and SciPy alone, whatever else is installed and in whatever state."""
    for name in ("torch", "numba"):
        (tmp_path / f"{name}.py").write_text("raise OSError('a library is missing')", encoding="utf-8")
    program = f"""
import sys
import numpy as np
sys.path.insert(0, {str(tmp_path)!r})
from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.features import Features
rng = np.random.default_rng(0)
features, rows = Features.from_array(rng.standard_normal((40_000, {width}))), np.arange(40_000)
predictions, report = ExactBackend().predict(features, rows % 3, 3, [Fold(rows[:30_000], rows[30_000:])], [1.0])
print(report.n_unconverged, "torch" in sys.modules, "numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "0 False False\n", done.stderr


def test_penalties_may_come_in_any_order() -> None:
    x, y = make_rows(19, 100, 12, 3)
    features, fold = Features.from_array(x), half(100)
    up = ExactBackend(TIGHT).score_grid(features, y, 3, [fold], [0.25, 1.0, 4.0])[0]
    down = ExactBackend(TIGHT).score_grid(features, y, 3, [fold], [4.0, 1.0, 1.0, 0.25])[0]
    assert up[0].tolist() == down[0, [3, 1, 0]].tolist()
    assert down[0, 1] == down[0, 2]


@pytest.mark.parametrize(
    ("constant", "value"),
    [("_SIDE_BY_SIDE_COLUMNS", 0), ("_ROUGH", 0.0), ("_ROUGH", 1e9)],
    ids=["in turn", "one penalty to its end first", "side by side from the start"],
)
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_every_way_through_the_penalties_gives_the_same_models(
    constant: str, value: float, raw: bool, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against penalties side by side from a rough start; two folds, of which the second is done later than the first."""
    if raw:
        keep_raw(monkeypatch)
    x, y = make_rows(37, 160, 20, k)
    features, folds = Features.from_array(x), [half(160), Fold(np.arange(30, 150), np.arange(30))]
    grid = [[0.25, 1.0, 4.0, 32.0], [4.0, 0.5, 0.25, 1e3]]
    usual = ExactBackend(TIGHT).fit(features, y, k, folds, grid)
    monkeypatch.setattr(f"medsenteval.probes.exact.problems.{constant}", value)
    other = ExactBackend(TIGHT).fit(features, y, k, folds, grid)
    assert (usual.points != other.points).any()
    assert (other.errors <= TIGHT).all()
    for fold, stage in np.ndindex(2, 4):
        rows, penalty = folds[fold].train, grid[fold][stage]
        models = [fits.coefficients(fold, stage) for fits in (usual, other)]
        bounds = [certify(x[rows], y[rows], penalty, *model) for model in models]
        assert bounds[0].objective == pytest.approx(bounds[1].objective, rel=1e-9)
        # Each is within sqrt(2 * gap) of the optimum, so they cannot be further apart than both together.
        assert np.linalg.norm(models[0][0] - models[1][0]) <= sum(np.sqrt(2 * bound.gap) for bound in bounds)


@pytest.mark.parametrize(("n", "d"), [(300, 40), (40, 90)])
@pytest.mark.parametrize("decay", [1e-3, 1e-5])
def test_axes_are_orthonormal_and_have_diagonal_curvature(n: int, d: int, decay: float) -> None:
    rows = make_rows(41, n, d, 3)[0] * np.geomspace(1, decay, d, dtype=np.float32)
    coordinates = Coordinates.of(Features.from_array(rows), 100, np.float64)
    assert coordinates.axes is not None
    assert isinstance(coordinates.preconditioner, DiagonalPreconditioner)
    np.testing.assert_allclose(coordinates.axes.T @ coordinates.axes, np.eye(coordinates.axes.shape[1]), atol=1e-11)
    rotated = (rows - coordinates.mean) / coordinates.scale @ coordinates.axes
    spread = coordinates.preconditioner.spread[:-1]
    np.testing.assert_allclose(rotated.T @ rotated / len(rows), np.diag(spread), atol=1e-10)
    # The axes span the rows: nothing of them is lost.
    assert np.square(rotated).sum() == pytest.approx(n * d, rel=1e-9)


def test_certificate_bounds_the_distance_to_the_optimum() -> None:
    x, y = make_rows(23, 120, 9, 3)
    features, everything = Features.from_array(x), Fold(np.arange(120), np.arange(120))
    exact, rough = (
        certify(x, y, 1.0, *ExactBackend(tolerance).fit(features, y, 3, [everything], [[1.0]]).coefficients(0, 0))
        for tolerance in (1e-10, 0.2)
    )
    assert exact.gap < 1e-9
    assert 0 <= rough.objective - exact.objective <= rough.gap


def test_unconverged_fits_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medsenteval.probes.exact.logistic._MOST_PASSES", 2)
    x, y = make_rows(29, 100, 30, 3)
    backend = ExactBackend(tolerance=1e-9)
    _, report = backend.score_grid(Features.from_array(x), y, 3, [half(100)], [1.0, 2.0])
    assert report.n_fits == report.n_unconverged == 2
    assert report.worst_gradient is not None
    assert report.worst_gradient > 1e-9


def test_what_float32_leaves_short_is_fitted_again_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of three folds fails in float32: it alone is fitted again, and the others stay as they are."""
    x, y = make_rows(31, 120, 10, 3)
    features, rows = Features.from_array(x), np.arange(120)
    folds = [Fold(np.setdiff1d(rows, part), part) for part in np.array_split(rows, 3)]
    expected, _ = ExactBackend(1e-4).predict(features, y, 3, folds, [0.5, 2.0, 8.0])
    solve, solved = Batch.solve, []

    def failing(batch: Batch, pool: Any, tolerance: float, passes: int) -> Any:
        fits = solve(batch, pool, tolerance, passes)
        solved.append((batch.coordinates.dtype, len(fits.errors), passes))
        if batch.coordinates.dtype is np.float32:
            fits.points[1], fits.errors[1] = 100.0, 1.0
        return fits

    monkeypatch.setattr(Batch, "solve", failing)
    found, report = ExactBackend(1e-4).predict(features, y, 3, folds, [0.5, 2.0, 8.0])
    assert solved == [(np.float32, 3, 400), (np.float64, 1, 4000)]
    assert (report.n_fits, report.n_unconverged) == (3, 0)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_constant_features_give_class_frequencies() -> None:
    y = np.array([0, 0, 0, 1] * 10)
    fold = Fold(np.arange(40), np.arange(4))
    prediction = ExactBackend().predict(Features.from_array(np.full((40, 3), 2.5)), y, 2, [fold], [1.0])[0][0]
    np.testing.assert_allclose(prediction, [[0.75, 0.25]] * 4, atol=1e-3)


def test_errors_name_the_problem() -> None:
    features, y, fold = Features.from_array(np.eye(4)), np.array([0, 1, 0, 1]), Fold(np.arange(4), np.arange(4))
    backend = ExactBackend()
    with pytest.raises(ProbeError, match="3 labels"):
        backend.score_grid(features, y[:3], 2, [fold], [1.0])
    with pytest.raises(ProbeError, match="labels must be 0 to 1"):
        backend.score_grid(features, y + 1, 2, [fold], [1.0])
    with pytest.raises(ProbeError, match="fold 0 has no training rows"):
        backend.score_grid(features, y, 2, [Fold(fold.train[:0], fold.train)], [1.0])
    with pytest.raises(ProbeError, match="fold 0 has no held-out rows"):
        backend.score_grid(features, y, 2, [Fold(fold.train, fold.train[:0])], [1.0])
    with pytest.raises(ProbeError, match="C must be a positive number, not 0"):
        backend.score_grid(features, y, 2, [fold], [0.0])
    spoilt = np.eye(4)
    spoilt[0, 2] = np.nan
    with pytest.raises(ProbeError, match="column 2 holds values that are not finite"):
        backend.score_grid(Features.from_array(spoilt), y, 2, [fold], [1.0])
    with pytest.raises(SettingsError, match="tolerance"):
        ExactBackend(tolerance=0.0)


@pytest.mark.parametrize("rows", [[3], [3, 4, 5], [0, 2], [0, 2, 3, 5], [0, 1, 2, 4], [1, 3, 4, 5]])
def test_rows_that_follow_one_another_are_a_slice_and_no_others(rows: list[int]) -> None:
    found = _as_slice(np.array(rows))
    assert isinstance(found, slice) == (rows == list(range(rows[0], rows[0] + len(rows))))
    assert np.arange(9)[found].tolist() == rows


def test_coordinates_change_their_precision_and_rows_without_spread_have_one_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    features = Features.from_array(np.random.default_rng(0).standard_normal((50, 6)))
    stored = Coordinates.of(features, 1, np.float32)
    keep_raw(monkeypatch)
    raw = Coordinates.of(features, 1, np.float32)
    for coordinates in (stored, raw):
        assert coordinates.astype(np.float32) is coordinates
        other = coordinates.astype(np.float64)
        assert (other.dtype, other.width) == (np.float64, coordinates.width)
        points = np.ones((2, coordinates.width))
        expected = coordinates.to_features(points.astype(np.float32))
        for found, wanted in zip(other.to_features(points), expected, strict=True):
            np.testing.assert_allclose(np.abs(found), np.abs(wanted), rtol=1e-3, atol=1e-4)
        assert other.rows(slice(0, 3)).dtype == np.float64
    axes, spread = _principal_axes(np.zeros((3, 7)), np.float64)
    assert (axes.shape, axes[:, 0].tolist(), spread.tolist()) == ((7, 1), [1, 0, 0, 0, 0, 0, 0], [0])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rows_have_as_many_axes_as_dimensions(scale: float) -> None:
    """What rounding leaves of dimensions that rows do not have is no axis, whatever the size of the rows."""
    rng = np.random.default_rng(1)
    rows = scale * rng.standard_normal((8, 3)) @ rng.standard_normal((3, 20))
    axes, spread = _principal_axes(rows - rows.mean(axis=0), np.float64)
    assert axes.shape == (20, 3)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(spread.sum(), np.square(rows - rows.mean(axis=0)).sum() / 8)
