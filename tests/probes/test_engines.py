"""Who multiplies: NumPy, torch or loops of our own, with the same results."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from medsenteval.errors import SettingsError
from medsenteval.features import COMBINATIONS, Features
from medsenteval.probes import logistic
from medsenteval.probes.backend import Fold
from medsenteval.probes.basis import Basis
from medsenteval.probes.batch import Batch
from medsenteval.probes.kernels import GradientPass
from medsenteval.probes.logistic import ExactBackend, _torch_is_faster
from tests.probes.problems import ENGINES, half, keep_raw, make_rows


def features_of(kind: str, seed: int) -> Features:
    """Return 300 rows: in their order, from all over a matrix, or pairs."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((300, 21)).astype(np.float32)
    if kind == "in order":
        return Features.from_array(matrix)
    left, right = rng.integers(0, 300, (2, 300))
    return Features(matrix, left, right if kind.startswith("pairs") else None)


@pytest.mark.parametrize("kind", ["in order", "scattered", "pairs", "pairs, built anew", "other layout"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("folds", ["one", "several", "without a common class"])
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_a_pass_gives_the_same_gradients(
    kind: str, n_classes: int, folds: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_raw(monkeypatch)
    # In long blocks the plain way looks at some rows only to see the curvature.
    monkeypatch.setattr("medsenteval.probes.kernels._SHORTEST_BLOCK", 300)
    if kind == "pairs, built anew":
        monkeypatch.setattr("medsenteval.probes.basis._KEPT_BYTES", 0)
        monkeypatch.setattr("medsenteval.probes.kernels._GATHERED_VALUES", 100)
    features = features_of(kind, n_classes)
    if kind == "other layout":
        features = Features(np.asfortranarray(features.matrix), features.left)
    rng = np.random.default_rng(7)
    y = rng.integers(0, n_classes, 300)
    rows = np.arange(300)
    trained = {
        "one": [rows[:211]],
        "several": [rows[:150], rows[::2], np.repeat(rows[100:], 2)],
        "without a common class": [rows[y != label] for label in range(n_classes)],
    }[folds]
    basis = Basis.of(features, 1, np.float32)
    penalties = [[1.0]] * len(trained)
    batch = Batch(basis, y, n_classes, [Fold(train, rows[-5:]) for train in trained], penalties, "numpy")
    walkers = np.repeat(np.arange(len(trained)), 2)
    points = batch.start[walkers] + rng.standard_normal(batch.start[walkers].shape).astype(np.float32)
    plain, other = (GradientPass(batch.problems, name)(points, walkers) for name in ("numpy", engine))
    np.testing.assert_allclose(other[0], plain[0], atol=2e-6 * float(np.abs(plain[0]).max()))
    np.testing.assert_allclose(other[1], plain[1], atol=1e-5)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_fits_are_the_same_at_the_default_tolerance(k: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_raw(monkeypatch)
    x, y = make_rows(3, 3_000, 37, k)
    features = Features.from_array(x)
    plain, other = (
        ExactBackend(engine=name).predict(features, y, k, [half(3_000)], [1.0])[0][0].probabilities
        for name in ("numpy", engine)
    )
    np.testing.assert_allclose(other, plain, atol=1e-4)


@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
def test_compiled_loops_need_no_pair_features(combination: str, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """They make them of the two rows, pass after pass; whoever computes in float64 has them stored."""
    pytest.importorskip("numba")
    keep_raw(monkeypatch)
    x, y = make_rows(5, 500, 19, 3)
    second = np.random.default_rng(5).permutation(500)
    pairs = Features(x, np.arange(500), second, combination)
    plain, compiled = (
        ExactBackend(tolerance, engine=name).fit(pairs, y, 3, [half(500)], [[0.5, 2.0]]) for name in ("numpy", "compiled")
    )
    assert plain.basis.built is not None
    assert (compiled.basis.built is None) == (tolerance >= 1e-5)
    rows = np.arange(500)
    assert (compiled.labels(0, rows) == plain.labels(0, rows)).mean() > 0.998
    np.testing.assert_allclose(compiled.probabilities(0, rows), plain.probabilities(0, rows), atol=30 * tolerance)


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_same_bits_on_every_run_and_any_number_of_threads(engine: str, raw: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if raw:
        keep_raw(monkeypatch)
        monkeypatch.setattr("medsenteval.probes.batch._SHARED_MULTIPLICATIONS", 0)
    x, y = make_rows(13, 400, 120, 3)
    rows = np.arange(400)
    folds = [Fold(np.setdiff1d(rows, rows[i::25]), rows[i::25]) for i in range(25)]

    def run(threads: int) -> np.ndarray:
        backend = ExactBackend(engine=engine, threads=threads)
        return backend.fit(Features.from_array(x), y, 3, folds, [[0.25, 1.0, 4.0]] * 25).points

    first = run(1)
    np.testing.assert_array_equal(first, run(1))
    np.testing.assert_array_equal(first, run(2))


@pytest.mark.parametrize(
    ("extensions", "faster"),
    [
        ({"found": ["X86_V3"]}, False),
        ({"found": ["X86_V3", "X86_V4"]}, True),
        ({"found": ["AVX2", "AVX512_SKX"]}, True),
        ({"baseline": ["NEON"]}, False),
    ],
)
def test_torch_multiplies_where_registers_are_wide(
    extensions: dict[str, list[str]], faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names this version of NumPy has for them."""
    monkeypatch.setattr(np, "show_config", lambda mode: {"SIMD Extensions": extensions})
    assert _torch_is_faster() is faster


def test_numpy_and_torch_say_the_same_of_this_processor() -> None:
    torch = pytest.importorskip("torch")
    assert _torch_is_faster() is ("AVX512" in torch.backends.cpu.get_cpu_capability())


@pytest.mark.parametrize("width", [12, 300])
def test_small_problems_do_not_wait_for_torch_or_numba(width: int) -> None:
    program = f"""
import sys
import numpy as np
from medsenteval.features import COMBINATIONS, Features
from medsenteval.probes.backend import Fold
from medsenteval.probes.logistic import ExactBackend
rng = np.random.default_rng(0)
features, rows = Features.from_array(rng.standard_normal((150, {width}))), np.arange(150)
ExactBackend().predict(features, rows % 3, 3, [Fold(rows[:100], rows[100:])], [1.0])
print("torch" in sys.modules, "numba" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False False\n"


@pytest.mark.parametrize(
    ("rows", "found", "wide", "engine"),
    [
        (200_000, {"numba", "torch"}, True, "compiled"),
        (200_000, {"torch"}, True, "torch"),
        (200_000, {"torch"}, False, "numpy"),
        (200_000, {"numba"}, False, "compiled"),
        (200_000, set(), True, "numpy"),
        (9_000, {"numba"}, False, "numpy"),
    ],
)
def test_the_fastest_engine_that_is_installed_is_chosen(
    rows: int, found: set[str], wide: bool, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logistic, "find_spec", lambda name: name if name in found else None)
    monkeypatch.setattr(logistic, "_torch_is_faster", lambda: wide)
    matrix = np.random.default_rng(0).standard_normal((50, 60), dtype=np.float32)
    features = Features(matrix, np.resize(np.arange(50), rows))
    assert logistic._fastest_engine(features) == engine


def test_engines_that_are_unknown_or_not_installed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"unknown engine 'fortran'.*auto, numpy, torch, compiled"):
        ExactBackend(engine="fortran")
    nothing: Any = lambda name: None  # noqa: E731
    monkeypatch.setattr(logistic, "find_spec", nothing)
    with pytest.raises(SettingsError, match="numba is not installed; use engine='auto'"):
        ExactBackend(engine="compiled")
