"""Tests of dependent correlations against published examples and against simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from medsenteval.errors import SettingsError
from medsenteval.statistics import compare_independent, fisher_interval, steiger_disjoint_test, steiger_test, williams_test
from tests.conftest import examples


def test_published_examples() -> None:
    """The examples of the R package psych (r.test), after Steiger 1980: t = -0.89, p = 0.37; z = 1.2, p = 0.23."""
    found = williams_test(0.4, 0.5, 0.1, 103)
    assert (round(found.statistic, 2), round(found.p_value, 2)) == (-0.89, 0.37)
    disjoint = steiger_disjoint_test(0.5, 0.6, 0.5, 0.5, 0.7, 0.8, 103)
    assert (round(abs(disjoint.statistic), 1), round(disjoint.p_value, 2)) == (1.2, 0.23)


def simulated(covariance: list[list[float]], n: int, times: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=(times, n), method="cholesky")
    draws -= draws.mean(axis=1, keepdims=True)
    draws /= np.sqrt((draws**2).sum(axis=1, keepdims=True))
    return np.asarray(np.einsum("tni,tnj->tij", draws, draws))


def test_under_the_null_hypothesis_one_in_twenty_is_significant() -> None:
    """Two encoders that are equally good and alike: both tests keep their level, a test for independent samples does not."""
    matrices = simulated([[1, 0.6, 0.6], [0.6, 1, 0.8], [0.6, 0.8, 1]], n=60, times=2000)
    for test in (williams_test, steiger_test):
        p = [test(r[0, 1], r[0, 2], r[1, 2], 60).p_value for r in matrices]
        assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.015)
    p = [compare_independent(r[0, 1], 60, r[0, 2], 60).p_value for r in matrices]
    assert np.mean(np.array(p) < 0.05) < 0.01


def test_the_disjoint_test_keeps_its_level() -> None:
    covariance = [[1, 0.5, 0.6, 0.3], [0.5, 1, 0.3, 0.6], [0.6, 0.3, 1, 0.5], [0.3, 0.6, 0.5, 1]]
    matrices = simulated([[float(x) for x in row] for row in covariance], n=60, times=2000)
    p = [steiger_disjoint_test(r[0, 1], r[2, 3], r[0, 2], r[0, 3], r[1, 2], r[1, 3], 60).p_value for r in matrices]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.015)


@settings(max_examples=examples(40), deadline=None)
@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.integers(5, 500))
def test_tests_are_symmetric(r_first: float, r_second: float, n: int) -> None:
    between = r_first * r_second  # always possible
    for test in (williams_test, steiger_test):
        one, other = test(r_first, r_second, between, n), test(r_second, r_first, between, n)
        assert one.statistic == pytest.approx(-other.statistic, abs=1e-12)
        assert one.p_value == pytest.approx(other.p_value)
        assert 0 <= one.p_value <= 1
    assert steiger_disjoint_test(r_first, r_second, 0, 0, 0, 0, n).p_value == pytest.approx(
        compare_independent(r_first, n, r_second, n).p_value
    )


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.8])
def test_fisher_interval_is_scipys_for_pearson(r: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 50))
    y = y - x * (x @ y) / (x @ x)
    x, y = x - x.mean(), y - y.mean()
    y -= x * (x @ y) / (x @ x)
    y = r * x / np.linalg.norm(x) + math.sqrt(1 - r * r) * y / np.linalg.norm(y)
    expected = stats.pearsonr(x, y).confidence_interval(0.9)
    found = fisher_interval(r, 50, confidence=0.9)
    assert (found.low, found.high) == pytest.approx(tuple(expected))
    spearman, kendall = (fisher_interval(r, 50, kind=kind) for kind in ("spearman", "kendall"))
    assert spearman.low <= fisher_interval(r, 50).low < kendall.low


def test_spearman_and_kendall_intervals_cover() -> None:
    rng = np.random.default_rng(2)
    rho = 6 / math.pi * math.asin(0.6 / 2)
    tau = 2 / math.pi * math.asin(0.6)
    covered = np.zeros(2)
    for _ in range(300):
        x, y = rng.standard_normal((2, 50))
        y = 0.6 * x + 0.8 * y
        spearman = fisher_interval(float(stats.spearmanr(x, y)[0]), 50, kind="spearman")
        kendall = fisher_interval(float(stats.kendalltau(x, y)[0]), 50, kind="kendall")
        covered += (spearman.low <= rho <= spearman.high, kendall.low <= tau <= kendall.high)
    assert covered / 300 == pytest.approx(0.95, abs=0.04)


def test_edges() -> None:
    assert fisher_interval(1.0, 10).low == 1.0
    same = [williams_test(0.3, 0.3, 0.5, 20), steiger_test(0.3, 0.3, 0.5, 20)]
    same.append(steiger_disjoint_test(0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 20))
    assert [(found.statistic, found.p_value, found.n) for found in same] == [(0.0, 1.0, 20)] * 3
    assert compare_independent(1.0, 10, 0.5, 10).p_value == 0.0
    assert compare_independent(1.0, 10, 1.0, 10).p_value == 1.0
    assert steiger_test(1.0, 0.5, 0.5, 20).p_value == 0.0


def test_impossible_correlations_are_refused() -> None:
    with pytest.raises(SettingsError, match="no data can have"):
        williams_test(0.9, -0.9, 0.9, 30)
    with pytest.raises(SettingsError, match="no data can have"):
        steiger_test(0.9, -0.9, 0.9, 30)
    with pytest.raises(SettingsError, match="no data can have"):
        steiger_disjoint_test(0.9, -0.9, 0.9, 0.9, 0.9, 0.9, 30)
    with pytest.raises(SettingsError, match="needs at least 4"):
        williams_test(0.1, 0.2, 0.3, 3)
    with pytest.raises(SettingsError, match=r"1\.2 is no correlation"):
        fisher_interval(1.2, 30)
    with pytest.raises(SettingsError, match="it can be pearson"):
        fisher_interval(0.2, 30, kind="tau")  # type: ignore[arg-type]


def test_the_fewest_items_that_each_test_takes() -> None:
    calls: list[tuple[int, Callable[[int], object]]] = [
        (5, lambda n: fisher_interval(0.5, n)),
        (4, lambda n: compare_independent(0.5, n, 0.4, 50)),
        (4, lambda n: compare_independent(0.5, 50, 0.4, n)),
        (4, lambda n: williams_test(0.5, 0.4, 0.3, n)),
        (4, lambda n: steiger_test(0.5, 0.4, 0.3, n)),
        (4, lambda n: steiger_disjoint_test(0.5, 0.4, 0.3, 0.2, 0.3, 0.2, n)),
    ]
    for fewest, call in calls:
        assert call(fewest) is not None
        with pytest.raises(SettingsError, match=f"needs at least {fewest}"):
            call(fewest - 1)


def test_correlations_that_are_impossible_by_less_than_one_are_refused() -> None:
    for test in (williams_test, steiger_test):
        with pytest.raises(SettingsError, match=r"the correlations 0\.9, 0\.1, 0\.9 together"):
            test(0.9, 0.1, 0.9, 50)
    assert fisher_interval(0.5, 30).confidence == 0.95
    for r in (1.001, -1.001):
        with pytest.raises(SettingsError, match="is no correlation"):
            fisher_interval(r, 30)


@pytest.mark.parametrize("sign", [1, -1])
def test_williams_finds_a_difference_that_no_error_surrounds(sign: int) -> None:
    """Correlations that determine one another, and cancel out: Williams' denominator is 0."""
    found = williams_test(0.5 * sign, -0.5 * sign, 0.5, 20)
    assert (found.statistic, found.p_value) == (math.inf * sign, 0.0)
