"""Intervals and correlations against scipy, scikit-learn and a bootstrap that really resamples items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import f1_score

from benchmarks.interval_coverage import SIZES, accuracy_coverage, correlation_coverage, f1_coverage
from medsenteval.statistics import (
    Correlation,
    Means,
    accuracy_difference_interval,
    accuracy_interval,
    correlation,
    correlation_interval,
    f1_from_counts,
    f1_interval,
    mean_share_interval,
    share_interval,
)
from medsenteval.statistics.intervals import left_out_difference_interval
from medsenteval.statistics.paired_bootstrap import left_out_scores
from medsenteval.statistics.power import difference_error
from tests.conftest import examples


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_f1_equals_scikit_learns(pairs: list[tuple[bool, bool]]) -> None:
    gold, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    expected = f1_score(gold, predicted, zero_division=0.0)
    assert float(f1_from_counts(np.array(cells(gold, predicted)))) == pytest.approx(expected, abs=1e-12)


def cells(gold: NDArray[Any], predicted: NDArray[Any]) -> list[int]:
    pairs = (gold & predicted, ~gold & predicted, gold & ~predicted, ~gold & ~predicted)
    return [int(np.sum(pair)) for pair in pairs]


@pytest.mark.parametrize(("right", "n"), [(0, 7), (1, 30), (28, 30), (30, 30), (81, 100)])
def test_the_interval_of_a_share_is_clopper_and_pearsons(right: int, n: int) -> None:
    expected = stats.binomtest(right, n).proportion_ci(0.9, "exact")
    assert share_interval(right / n, n, confidence=0.9) == pytest.approx((expected.low, expected.high), abs=1e-9)
    one_fold = accuracy_interval(np.array([right]), np.array([n]), confidence=0.9)
    assert one_fold == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_perfect_score_has_an_interval() -> None:
    """With no error among 30 items 9.5 % errors would still be seen so in one of twenty experiments, by either tail 11.6 %."""
    assert share_interval(1.0, 30, confidence=0.95) == pytest.approx((0.025 ** (1 / 30), 1.0))
    assert share_interval(0.0, 30, confidence=0.95) == pytest.approx((0.0, 1 - 0.025 ** (1 / 30)))
    share = 0.025 ** (1 / 6)
    assert f1_interval(np.array([[6, 0, 0, 50]]), confidence=0.95) == pytest.approx((2 * share / (1 + share), 1.0))
    # Nothing positive in gold or prediction: nothing is known of F1.
    assert f1_interval(np.array([[0, 0, 0, 50]]), confidence=0.95) == (0.0, 1.0)


def test_a_larger_variance_means_fewer_trials() -> None:
    plain = share_interval(0.8, 50, confidence=0.95)
    assert share_interval(0.8, 100, confidence=0.95, variance=0.8 * 0.2 / 50) == pytest.approx(plain)
    assert share_interval(0.8, 50, confidence=0.95, variance=0.8 * 0.2 / 100) == plain


def test_the_interval_of_f1_is_near_that_of_resampled_items() -> None:
    rng = np.random.default_rng(0)
    gold = rng.random(900) < 0.6
    predicted = gold ^ (rng.random(900) < 0.2)
    drawn = rng.integers(0, 900, size=(4_000, 900))
    literal = 2 * (gold & predicted)[drawn].sum(axis=1) / (gold[drawn].sum(axis=1) + predicted[drawn].sum(axis=1))
    assert literal[:5] == pytest.approx([f1_score(gold[i], predicted[i]) for i in drawn[:5]])
    ours = f1_interval(np.array([cells(gold, predicted)]), confidence=0.9)
    assert ours == pytest.approx(tuple(np.quantile(literal, [0.05, 0.95])), abs=0.003)
    assert ours[0] < f1_score(gold, predicted) < ours[1]


def test_folds_are_averaged_not_pooled() -> None:
    low, high = accuracy_interval(np.array([10, 0]), np.array([10, 1000]), confidence=0.95)
    # As many trials as twice the harmonic mean of the sizes, less than twice the small fold.
    expected = share_interval(0.5, 4 / (1 / 10 + 1 / 1000), confidence=0.95)
    assert (low, high) == expected
    assert low + high == pytest.approx(1.0)
    equal = accuracy_interval(np.array([9, 7]), np.array([10, 10]), confidence=0.95)
    assert equal == pytest.approx(share_interval(0.8, 20, confidence=0.95))


def test_folds_that_differ_widen_the_interval_of_f1() -> None:
    alike = f1_interval(np.array([[8, 2, 2, 20]] * 4), confidence=0.95)
    apart = f1_interval(np.array([[12, 0, 0, 20], [12, 0, 0, 20], [4, 4, 4, 20], [4, 4, 4, 20]]), confidence=0.95)
    # F1 of 1, 1, 1/2, 1/2: the mean's variance is 1/48, that of the share 3/5 by 4 / (2 - F1)^4, and so are its trials.
    variance = 4 / 1.25**4 / 48
    assert apart == pytest.approx(tuple(2 * s / (1 + s) for s in share_interval(0.6, 0.24 / variance, confidence=0.95)))
    assert alike == pytest.approx(f1_interval(np.array([[32, 8, 8, 80]]), confidence=0.95))
    assert apart[0] < alike[0] < alike[1] < apart[1]


def test_the_mean_of_shares_has_students_interval() -> None:
    """Near Student's where that is good, and within 0 and 1 where it is not."""
    values = np.random.default_rng(5).beta(6, 5, size=80)
    expected = stats.t.interval(0.95, 79, values.mean(), values.std(ddof=1) / 80**0.5)
    assert mean_share_interval(values, confidence=0.95) == pytest.approx(expected, abs=0.004)
    assert mean_share_interval(np.ones(9), confidence=0.95) == pytest.approx((0.025 ** (1 / 9), 1.0))
    # Values of one cluster count once: doubled, they tell no more.
    doubled = mean_share_interval(np.repeat(values, 2), confidence=0.95, clusters=[str(i // 2) for i in range(160)])
    assert doubled == pytest.approx(mean_share_interval(values, confidence=0.95))
    assert mean_share_interval(np.ones(9), confidence=0.95, clusters=list("aaabbbccc")) == pytest.approx(
        (0.025 ** (1 / 3), 1.0)
    )
    low, high = mean_share_interval(np.array([1.0, 1.0, 1.0, 0.2]), confidence=0.95)
    assert 0 <= low < 0.8 < high <= 1


def test_differences_of_accuracy_are_bonett_and_prices() -> None:
    """Their table of 25 pairs has (7 + 1) / 27 and (1 + 1) / 27 as adjusted shares."""
    low, high = accuracy_difference_interval(np.array([7]), np.array([1]), np.array([25]), confidence=0.95)
    half = 1.959963984540054 * ((10 / 27 - (6 / 27) ** 2) / 27) ** 0.5
    assert (low, high) == pytest.approx((6 / 27 - half, 6 / 27 + half))
    # Encoders that agree on ten items are not known to be equal.
    alike = accuracy_difference_interval(np.array([0]), np.array([0]), np.array([10]), confidence=0.95)
    assert alike == pytest.approx((-0.2310, 0.2310), abs=1e-4)
    folds = accuracy_difference_interval(np.array([4, 3]), np.array([0, 1]), np.array([12, 12]), confidence=0.95)
    assert folds == pytest.approx(accuracy_difference_interval(np.array([7]), np.array([1]), np.array([24]), confidence=0.95))
    # No difference of shares is beyond 1.
    one, none = np.array([1]), np.array([0])
    assert accuracy_difference_interval(one, none, one, confidence=0.95)[1] == 1.0
    assert accuracy_difference_interval(none, one, one, confidence=0.95)[0] == -1.0


@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_accuracy_cover_what_they_say(n: int, p: float) -> None:
    expected = {
        (30, 0.5): 0.9572, (30, 0.8): 0.9800, (30, 0.95): 0.9844, (100, 0.5): 0.9648, (100, 0.8): 0.9674,
        (100, 0.95): 0.9826, (300, 0.5): 0.9569, (300, 0.8): 0.9568, (300, 0.95): 0.9672,
    }  # fmt: skip
    assert accuracy_coverage(n, p) == pytest.approx(expected[n, p], abs=1e-4)


@pytest.mark.parametrize("f1", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_f1_cover_with_few_positives(n: int, f1: float) -> None:
    assert f1_coverage(n, 0.1, f1, 500) >= 0.93
    assert n == 30 or f1_coverage(n, 0.1, f1, 300, folds=10) >= 0.93


@pytest.mark.parametrize("rho", [0.3, 0.8])
@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_intervals_of_correlations_cover_with_few_pairs(kind: Correlation, rho: float) -> None:
    assert correlation_coverage(kind, 30, rho, True, experiments=300, resamples=150) >= 0.93


def row_correlation(x: NDArray[Any], y: NDArray[Any], axis: int) -> NDArray[np.float64]:
    x, y = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
    found: NDArray[np.float64] = (x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis))
    return found


def row_rank_correlation(x: NDArray[Any], y: NDArray[Any], axis: int) -> NDArray[Any]:
    return row_correlation(stats.rankdata(x, axis=axis), stats.rankdata(y, axis=axis), axis)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_correlation_interval_agrees_with_scipys_bootstrap(kind: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal(60)
    y = np.round(x + rng.standard_normal(60), 1)
    functions: dict[str, Callable[..., Any]] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    function = functions[kind]
    value, p = correlation(kind, x, y)  # type: ignore[arg-type]
    assert (value, p) == pytest.approx(tuple(function(x, y)))
    ours = correlation_interval(
        kind, x, y, resamples=6000, confidence=0.95, rng=np.random.default_rng(5)  # type: ignore[arg-type]
    )  # fmt: skip
    reference = stats.bootstrap(
        (x, y), row_correlation if kind == "pearson" else row_rank_correlation, paired=True, n_resamples=3000,
        method="percentile", rng=np.random.default_rng(6),
    )  # fmt: skip
    # Student's limits of Fisher's z with the bootstrap's error, which scipy estimates from its own resamples.
    error = reference.standard_error * (60 / 59) ** 0.5 / (1 - value**2)
    reach = stats.t.ppf(0.975, 58) * error
    assert ours == pytest.approx(tuple(np.tanh([np.arctanh(value) - reach, np.arctanh(value) + reach])), abs=0.01)
    assert ours == pytest.approx(tuple(reference.confidence_interval), abs=0.05)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_perfect_correlation_has_an_interval(kind: Correlation, sign: float) -> None:
    """As if a 31st pair agreed by chance: r = 30 / 31 with normal data's error."""
    x = np.arange(30.0)
    limits = correlation_interval(kind, x, sign * x, resamples=100, confidence=0.95, rng=np.random.default_rng(0))
    expected = np.tanh(np.arctanh(30 / 31) - stats.t.ppf(0.975, 28) * (30 / 29) ** 0.5 / 29**0.5)
    assert sorted(np.abs(limits)) == pytest.approx([expected, 1.0])
    assert np.sign(limits[0]) == sign
    assert expected == pytest.approx(0.9314, abs=1e-4)


def test_a_constant_side_has_no_correlation() -> None:
    assert correlation("pearson", np.ones(5), np.arange(5.0)) == (0.0, 1.0)
    interval = correlation_interval(
        "spearman", np.ones(5), np.arange(5.0), resamples=100, confidence=0.95, rng=np.random.default_rng(0)
    )
    assert interval == (0.0, 0.0)


def test_two_pairs_say_nothing_of_a_correlation() -> None:
    two = np.array([1.0, 2.0])
    assert correlation_interval("pearson", two, two, resamples=100, confidence=0.95, rng=np.random.default_rng(0)) == (-1, 1)


def test_large_inputs_are_resampled_in_blocks() -> None:
    x = np.arange(3000.0)
    noisy = x + 900 * np.random.default_rng(1).standard_normal(3000)
    low, high = correlation_interval("pearson", x, noisy, resamples=500, confidence=0.95, rng=np.random.default_rng(0))
    assert (low, high) == pytest.approx(tuple(stats.pearsonr(x, noisy).confidence_interval()), abs=0.01)


@pytest.mark.parametrize("heavy", [True, False])
def test_the_difference_of_two_means_is_students_with_the_freedom_of_its_variance(heavy: bool) -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_t(5, size=(2, 80)) if heavy else rng.random((2, 80))
    apart = values[0] - values[1]
    observed = values.mean(axis=1)
    low, high = left_out_difference_interval(
        observed, left_out_scores(Means.of(values)), confidence=0.9, correlated=False
    )  # fmt: skip
    freedom = 2 * 80 / (stats.kurtosis(apart, fisher=False) - 1)
    assert (freedom < 79) == heavy
    expected = stats.t.interval(0.9, min(freedom, 79), loc=apart.mean(), scale=stats.sem(apart))
    assert (low, high) == pytest.approx(expected, rel=1e-9)


def test_items_that_move_a_difference_equally_far_have_the_freedom_of_all_but_one() -> None:
    left_out = np.tile([[0.25, 0.0], [-0.25, 0.0]], (4, 1))
    low, high = left_out_difference_interval(np.array([0.5, 0.2]), left_out, confidence=0.9, correlated=False)
    assert (low, high) == pytest.approx(stats.t.interval(0.9, 7, loc=0.3, scale=(7 / 16) ** 0.5))


def test_the_difference_of_two_correlations_is_that_of_zou_2007() -> None:
    # His example of two correlations with one variable: r 0.396 and 0.179, 0.088 between the others, 66 people.
    first, second, between, n = 0.396, 0.179, 0.088, 66
    agreement = ((between - first * second / 2) * (1 - first**2 - second**2 - between**2) + between**3) / (
        (1 - first**2) * (1 - second**2)
    )
    # Influences with exactly these errors and this agreement, of so many items that Student's quantile is the normal one.
    rows = 40_000
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]).repeat(rows // 4, axis=0)
    signs[:, 1] = agreement * signs[:, 0] + (1 - agreement**2) ** 0.5 * signs[:, 1]
    observed = np.array([first, second])
    errors = (1 - observed**2) / (n - 3) ** 0.5
    found = left_out_difference_interval(observed, observed + signs * errors / rows**0.5, confidence=0.95, correlated=True)
    assert found == pytest.approx((-0.093, 0.517), abs=0.0006)


def test_encoders_that_no_item_tells_apart_and_perfect_ones_have_limits() -> None:
    same = np.tile(np.linspace(0.5, 0.6, 30)[:, None], (1, 2))
    assert left_out_difference_interval(np.array([0.5, 0.5]), same, confidence=0.9, correlated=True) == (0.0, 0.0)
    left_out = np.stack([np.ones(30), np.linspace(0.5, 0.6, 30)], axis=1)
    low, high = left_out_difference_interval(np.array([1.0, 0.55]), left_out, confidence=0.9, correlated=True)
    assert low < 0.45 < high


def test_leaving_out_groups_gives_nearly_the_error_of_leaving_out_items() -> None:
    score = Means.of(np.random.default_rng(4).random((2, 1_200)))
    one, other = (difference_error(left_out_scores(score, groups), 0, 1) for groups in (None, 400))
    assert left_out_scores(score, 400).shape == (400, 2)
    assert other == pytest.approx(one, rel=0.08)
