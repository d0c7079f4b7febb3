"""Tests of dependent correlations against published examples and against simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.errors import SettingsError
from medsenteval.statistics import compare_independent, steiger_test, williams_test
from tests.conftest import examples


def test_the_published_example() -> None:
    """The example of the R package psych (r.test), after Steiger 1980: t = -0.89, p = 0.37."""
    found = williams_test(0.4, 0.5, 0.1, 103)
    assert (round(found.statistic, 2), round(found.p_value, 2)) == (-0.89, 0.37)


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


@settings(max_examples=examples(40), deadline=None)
@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.integers(5, 500))
def test_tests_are_symmetric(r_first: float, r_second: float, n: int) -> None:
    between = r_first * r_second  # always possible
    for test in (williams_test, steiger_test):
        one, other = test(r_first, r_second, between, n), test(r_second, r_first, between, n)
        assert one.statistic == pytest.approx(-other.statistic, abs=1e-12)
        assert one.p_value == pytest.approx(other.p_value)
        assert 0 <= one.p_value <= 1


def test_edges() -> None:
    same = [williams_test(0.3, 0.3, 0.5, 20), steiger_test(0.3, 0.3, 0.5, 20)]
    assert [(found.statistic, found.p_value, found.n) for found in same] == [(0.0, 1.0, 20)] * 2
    assert compare_independent(1.0, 10, 0.5, 10).p_value == 0.0
    assert compare_independent(1.0, 10, 1.0, 10).p_value == 1.0
    assert steiger_test(1.0, 0.5, 0.5, 20).p_value == 0.0


def test_impossible_correlations_are_refused() -> None:
    with pytest.raises(SettingsError, match="no data can have"):
        williams_test(0.9, -0.9, 0.9, 30)
    with pytest.raises(SettingsError, match="no data can have"):
        steiger_test(0.9, -0.9, 0.9, 30)
    with pytest.raises(SettingsError, match="needs at least 4"):
        williams_test(0.1, 0.2, 0.3, 3)
    for r in (1.001, -1.001):
        with pytest.raises(SettingsError, match=f"{r} is no correlation"):
            compare_independent(0.5, 30, r, 30)


def test_the_fewest_items_that_each_test_takes() -> None:
    calls: list[tuple[int, Callable[[int], object]]] = [
        (4, lambda n: compare_independent(0.5, n, 0.4, 50)),
        (4, lambda n: compare_independent(0.5, 50, 0.4, n)),
        (4, lambda n: williams_test(0.5, 0.4, 0.3, n)),
        (4, lambda n: steiger_test(0.5, 0.4, 0.3, n)),
    ]
    for fewest, call in calls:
        assert call(fewest) is not None
        with pytest.raises(SettingsError, match=f"needs at least {fewest}"):
            call(fewest - 1)


def test_correlations_that_are_impossible_by_less_than_one_are_refused() -> None:
    for test in (williams_test, steiger_test):
        with pytest.raises(SettingsError, match=r"the correlations 0\.9, 0\.1, 0\.9 together"):
            test(0.9, 0.1, 0.9, 50)


@pytest.mark.parametrize("sign", [1, -1])
def test_williams_finds_a_difference_that_no_error_surrounds(sign: int) -> None:
    """Correlations that determine one another, and cancel out: Williams' denominator is 0."""
    found = williams_test(0.5 * sign, -0.5 * sign, 0.5, 20)
    assert (found.statistic, found.p_value) == (math.inf * sign, 0.0)
