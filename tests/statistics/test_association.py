"""Correlations over few encoders against scipy's exact permutations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from medsenteval.errors import SettingsError
from medsenteval.statistics import Correlation, associate


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("n", [3, 4, 6])
def test_all_orders_equal_scipys_exact_permutation_test(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = np.round(rng.standard_normal((2, n)), 1)
    found = associate(x, y, kind)  # type: ignore[arg-type]
    functions: dict[str, Callable[..., Any]] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    function = functions[kind]

    def strength(column: NDArray[np.float64]) -> float:
        return float(abs(function(x, column)[0]))

    expected = stats.permutation_test((y,), strength, permutation_type="pairings", alternative="greater")
    assert found.complete
    assert found.permutation_p == pytest.approx(expected.pvalue)
    assert (found.coefficient, found.p_value) == pytest.approx(tuple(function(x, y)))


def test_more_points_are_shuffled_at_random() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(25)
    y = 0.4 * x + rng.standard_normal(25)
    found = associate(x, y, resamples=80_000)
    assert not found.complete
    assert found.permutation_p == pytest.approx(found.p_value, abs=0.01)
    low, high = stats.pearsonr(x, y).confidence_interval()
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_point_can_carry_a_correlation() -> None:
    x, y = np.array([0.0, 1, 0, 1, 10]), np.array([1.0, 0, 0, 1, 10])
    found = associate(x, y)
    assert found.coefficient > 0.95
    assert found.most_influential == 4
    assert found.leave_one_out[4] == pytest.approx(0.0, abs=1e-12)
    for i in range(5):
        rows = np.arange(5) != i
        assert found.leave_one_out[i] == pytest.approx(stats.pearsonr(x[rows], y[rows])[0], abs=1e-12)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_without_the_one_point_that_varies_there_is_no_correlation(kind: Correlation) -> None:
    rising, alone = [1.0, 2, 3, 4, 5], [7.0, 7, 7, 9, 7]
    for found in (associate(rising, alone, kind), associate(alone, rising, kind)):
        assert np.isnan(found.leave_one_out).tolist() == [False, False, False, True, False]
        assert found.most_influential == 3


def test_three_points_do_not_say_what_one_of_them_does() -> None:
    found = associate([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    assert found.coefficient == pytest.approx(0.5)
    assert found.n == 3
    assert np.isnan(found.leave_one_out).all()


def test_too_little_to_correlate_is_refused() -> None:
    with pytest.raises(SettingsError, match="three or more points"):
        associate([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(SettingsError, match="not finite"):
        associate([1.0, 2.0, np.nan], [1.0, 2.0, 3.0])
    with pytest.raises(SettingsError, match="it can be pearson or spearman"):
        associate([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], "kendall")


def test_a_hundred_thousand_orders_are_drawn_beyond_ten_points() -> None:
    found = associate(range(12), range(12))
    assert not found.complete
    assert found.permutation_p == pytest.approx(1 / 100_001, rel=1e-9)
    assert not associate(range(11), range(11), resamples=10).complete
    # A column that does not vary correlates as strongly in every order.
    assert associate(range(12), [1.0] * 12, resamples=50).permutation_p == 1.0


def test_five_points_have_an_interval_and_four_have_none() -> None:
    four, five = (associate([1.0, 2, 3, 4, 9][:n], [1.0, 3, 2, 4, 5][:n]) for n in (4, 5))
    assert np.isnan([four.low, four.high]).all()
    assert not np.isnan([five.low, five.high, *four.leave_one_out]).any()


def test_intervals_of_spearmans_correlations_are_bonett_and_wrights_and_cover() -> None:
    rng = np.random.default_rng(2)
    rho, covered = 6 / np.pi * np.arcsin(0.6 / 2), 0
    for _ in range(300):
        x, y = rng.standard_normal((2, 30))
        found = associate(x, 0.6 * x + 0.8 * y, "spearman", resamples=1)
        covered += found.low <= rho <= found.high
    assert covered / 300 == pytest.approx(0.95, abs=0.04)
    reach = stats.norm.ppf(0.975) * ((1 + found.coefficient**2 / 2) / 27) ** 0.5
    ends = np.tanh([np.arctanh(found.coefficient) - reach, np.arctanh(found.coefficient) + reach])
    assert (found.low, found.high) == pytest.approx(tuple(ends))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_points_on_a_line_have_their_correlation_as_both_limits(sign: float) -> None:
    found = associate(np.arange(6.0), sign * np.arange(6.0), "spearman")
    assert (found.low, found.high) == pytest.approx((sign, sign))
