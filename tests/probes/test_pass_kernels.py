"""The compiled pass over raw rows against sums that are written as the formulas are, in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")

from medsenteval.compiling import compiled_loop
from medsenteval.features import COMBINATIONS, Features
from medsenteval.lanes import FLOATS, load, store
from medsenteval.probes import pass_kernels
from medsenteval.probes.pass_kernels import ROWS, _power, add_rows
from medsenteval.probes.wide import sum_of


@compiled_loop
def powers_of(exponents, powers):  # type: ignore[no-untyped-def]
    for place in range(0, exponents.shape[1], FLOATS):
        store(powers, (0, place), _power(load(exponents, (0, place))))


@compiled_loop
def sums_of_pieces(numbers, sums):  # type: ignore[no-untyped-def]
    for place in range(len(sums)):
        sums[place] = sum_of(load(numbers, (0, place * FLOATS)))


def test_powers_are_exact_to_the_last_bits() -> None:
    exponents = np.concatenate([-np.geomspace(1e-30, 87, 100 * FLOATS - 1), [0.0]])[None].astype(np.float32)
    powers = np.empty_like(exponents)
    powers_of(exponents, powers)
    np.testing.assert_allclose(powers, np.exp(exponents.astype(np.float64)), rtol=2.5e-7)


def test_powers_of_hopeless_exponents_are_next_to_nothing() -> None:
    powers = np.full((1, FLOATS), np.nan, dtype=np.float32)
    powers_of(np.resize(np.array([-88.0, -1e4, -1e30, -np.inf], dtype=np.float32), (1, FLOATS)), powers)
    assert (powers >= 0).all()
    assert (powers < 2e-38).all()


def test_sums_take_every_lane_once() -> None:
    numbers = (2.0 ** np.arange(3 * FLOATS)[None] % 1001).astype(np.float32)
    sums = np.zeros(3, dtype=np.float32)
    sums_of_pieces(numbers, sums)
    np.testing.assert_array_equal(sums, numbers.reshape(3, FLOATS).sum(axis=1))


def plain_sums(
    x: np.ndarray, own: np.ndarray, share: np.ndarray, weights: np.ndarray, intercepts: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    walkers = len(share)
    logits = np.zeros((n_classes, walkers, len(x)))
    lines = (weights.astype(np.float64) @ x.T + intercepts[:, None]).reshape(-1, walkers, len(x))
    logits[: len(lines)] = lines
    powers = np.exp(logits - logits.max(axis=0))
    truth = np.arange(n_classes)[:, None, None] == own
    residuals = share * (powers / powers.sum(axis=0) - truth)
    flat = residuals[: len(lines)].reshape(-1, len(x))
    return flat @ x, flat.sum(axis=1), np.stack([np.abs(residuals).sum(axis=2), (residuals**2).sum(axis=2)])


@settings(max_examples=60, deadline=None)
@given(
    n_rows=st.sampled_from([1, 3, ROWS - 1, ROWS, ROWS + 1, 70, 40 * ROWS + 5]),
    width=st.sampled_from([1, 2, FLOATS - 1, FLOATS, 4 * FLOATS, 4 * FLOATS + 1, 64, 100, 800, 1_537]),
    n_classes=st.integers(2, 6),
    walkers=st.integers(1, 5),
    all_have_lines=st.booleans(),
    one_share=st.booleans(),
    combination=st.sampled_from([None, *COMBINATIONS]),
    seed=st.integers(0, 1_000),
)
def test_sums_are_those_of_the_formulas(
    n_rows: int,
    width: int,
    n_classes: int,
    walkers: int,
    all_have_lines: bool,
    one_share: bool,
    combination: str | None,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((max(n_rows // 2, 1), width)).astype(np.float32)
    places = rng.integers(0, len(matrix), n_rows)
    partners, rows = np.empty(0, dtype=np.intp), matrix[places]
    if combination is not None:
        partners = rng.integers(0, len(matrix), n_rows)
        rows = Features(matrix, places, partners, combination).take(slice(None))
        width = rows.shape[1]
    own = rng.integers(0, n_classes, n_rows)
    share = rng.random((walkers, 1 if one_share else n_rows)).astype(np.float32)
    n_lines = (n_classes if all_have_lines else n_classes - 1) * walkers
    weights = (rng.standard_normal((n_lines, width)) / np.sqrt(width)).astype(np.float32)
    intercepts = rng.standard_normal(n_lines).astype(np.float32)
    found = add_rows(matrix, places, partners, own, share, weights, intercepts, n_classes)
    expected = plain_sums(rows.astype(np.float64), own, share, weights, intercepts, n_classes)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5 * np.sqrt(n_rows))


@pytest.mark.slow
def test_any_number_of_lanes_gives_the_same_sums(tmp_path: Path) -> None:
    """As if this processor's registers were wider, or narrower, than they are."""
    program = f"""
import numba, numpy as np
from llvmlite import binding
numba.njit(lambda: 1)()  # from here on numba knows what the processor really has
binding.get_host_cpu_features = lambda: {{"avx512f": {FLOATS == 8}}}
from medsenteval.lanes import FLOATS
from medsenteval.probes.pass_kernels import add_rows
from tests.probes.test_pass_kernels import plain_sums
rng = np.random.default_rng(0)
x, own = rng.standard_normal((75, 83)).astype(np.float32), rng.integers(0, 3, 75)
share, weights = np.ones((2, 1), dtype=np.float32), rng.standard_normal((4, 83)).astype(np.float32)
intercepts = np.zeros(4, dtype=np.float32)
found = add_rows(x, np.arange(75), np.arange(0), own, share, weights, intercepts, 3)
expected = plain_sums(x.astype(np.float64), own, share, weights, intercepts, 3)
print(FLOATS, max(float(np.abs(ours - theirs).max()) for ours, theirs in zip(found, expected)))
"""
    # Elsewhere, because numba takes what it has compiled for the same processor.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    lanes, error = run.stdout.split()
    assert int(lanes) == 24 - FLOATS
    assert float(error) < 1e-4


def test_long_sums_do_not_lose_digits() -> None:
    """Rows that all say the same add up to as many times the same; one float32 sum of them all is 6e-5 off."""
    n_rows = 50 * ROWS * pass_kernels._SUMMED_GROUPS
    matrix, places = np.full((1, 3), 0.1, dtype=np.float32), np.zeros(n_rows, dtype=np.int64)
    share, nothing = np.ones((1, 1), dtype=np.float32), np.zeros((1, 3), dtype=np.float32)
    own, nobody = np.zeros(n_rows, dtype=np.int64), np.empty(0, dtype=np.int64)
    gradient, sums, _ = add_rows(matrix, places, nobody, own, share, nothing, np.zeros(1, np.float32), 2)
    np.testing.assert_allclose(gradient, -0.05 * n_rows, rtol=1e-5)
    assert sums[0] == -0.5 * n_rows
