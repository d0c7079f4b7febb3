"""Weighted scores against scores of really repeated items, and the bootstrap against scipy's on the same resamples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri
from sklearn.metrics import f1_score

from medsenteval.errors import SettingsError
from medsenteval.statistics import (
    Accuracies,
    Bootstrap,
    F1Scores,
    Means,
    WeightedScore,
    bootstrap,
    correlations,
)
from medsenteval.statistics.paired_bootstrap import bca_terms, fisher_limits
from medsenteval.statistics.weighted_scores import Correlation, SubsetCorrelations
from tests.conftest import examples

SCIPY: dict[str, Callable[..., tuple[float, float]]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def small_sample(seed: int, n: int, encoders: int, levels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predictions and gold scores with few distinct values, so that there are ties everywhere."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, (encoders, n)).astype(float), rng.integers(0, levels, n).astype(float)


@pytest.mark.parametrize("kind", SCIPY)
@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 25), levels=st.integers(2, 60))
def test_weighted_correlations_are_those_of_repeated_items(kind: str, seed: int, n: int, levels: int) -> None:
    predicted, gold = small_sample(seed, n, 2, levels)
    weights = np.random.default_rng(seed + 1).integers(0, 4, (3, n)).astype(float)
    weights[:, :2] += 1
    found = correlations(kind, predicted, gold)(weights)  # type: ignore[arg-type]
    for row, counts in enumerate(weights.astype(int)):
        y = np.repeat(gold, counts)
        for column in range(2):
            x = np.repeat(predicted[column], counts)
            expected = SCIPY[kind](x, y)[0] if np.ptp(x) and np.ptp(y) else 0.0
            assert found[row, column] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 30), n_folds=st.integers(1, 3))
def test_weighted_f1_and_means_are_those_of_repeated_items(seed: int, n: int, n_folds: int) -> None:
    rng = np.random.default_rng(seed)
    gold, predicted = rng.random(n) < 0.4, rng.random((2, n)) < 0.5
    folds = np.arange(n) % n_folds
    weights = rng.integers(1, 4, (2, n)).astype(float)
    f1 = F1Scores.of(gold, predicted, folds)(weights)
    accuracy = Accuracies.of(predicted == gold, folds)(weights)
    for row, counts in enumerate(weights.astype(int)):
        for column in range(2):
            drawn = [np.repeat(np.flatnonzero(folds == fold), counts[folds == fold]) for fold in range(n_folds)]
            parts = [(gold[rows], predicted[column][rows]) for rows in drawn]
            assert f1[row, column] == pytest.approx(np.mean([f1_score(g, p, zero_division=0.0) for g, p in parts]))
            assert accuracy[row, column] == pytest.approx(np.mean([np.mean(g == p) for g, p in parts]))


def test_large_samples_lose_no_digits() -> None:
    n = 40_000
    x = np.random.default_rng(2).standard_normal(n)
    y = x + np.random.default_rng(3).standard_normal(n)
    assert correlations("spearman", x, y)(np.ones((1, n)))[0, 0] == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-9)


def spearman_difference(
    a: NDArray[np.float64], b: NDArray[np.float64], y: NDArray[np.float64], *, axis: int = -1
) -> NDArray[np.float64]:
    ranks = [stats.rankdata(side, axis=axis) for side in (a, b, y)]
    a, b, y = (side - side.mean(axis=axis, keepdims=True) for side in ranks)

    def correlate(x: NDArray[np.float64]) -> NDArray[np.float64]:
        covariance = (x * y).sum(axis=axis)
        return np.asarray(covariance / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis)))

    return correlate(a) - correlate(b)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_a_difference_of_spearmans_equals_scipys_on_the_same_resamples(method: str) -> None:
    rng = np.random.default_rng(0)
    gold = np.round(10 * rng.random(80)) / 3
    predicted = gold + rng.standard_normal((2, 80)) * [[2.0], [3.0]]
    found = bootstrap(correlations("spearman", predicted, gold), resamples=3000, rng=np.random.default_rng(7))
    interval = found.difference(0, 1, method=method)  # type: ignore[arg-type]
    expected = stats.bootstrap(
        (predicted[0], predicted[1], gold), spearman_difference, paired=True, vectorized=True, n_resamples=3000,
        method="BCa" if method == "bca" else "percentile", rng=np.random.default_rng(7),
    )  # fmt: skip
    assert (interval.low, interval.high) == pytest.approx(tuple(expected.confidence_interval), abs=1e-12)
    assert np.sort(found.values @ [1, -1]) == pytest.approx(np.sort(expected.bootstrap_distribution), abs=1e-12)
    assert interval.estimate == pytest.approx(float(spearman_difference(predicted[0], predicted[1], gold)), abs=1e-12)
    assert (interval.n, interval.method, interval.confidence) == (80, method, 0.95)


@pytest.mark.parametrize(
    ("score", "literal"),
    [
        (Means.of(np.arange(40.0) ** 2), lambda rows: np.mean(np.arange(40.0)[rows] ** 2)),
        (correlations("pearson", np.arange(40.0) ** 2, np.arange(40.0) % 7),
         lambda rows: stats.pearsonr(np.arange(40.0)[rows] ** 2, np.arange(40.0)[rows] % 7)[0]),
        (F1Scores.of(np.arange(40) % 3 == 0, np.arange(40) % 2 == 0),
         lambda rows: f1_score(rows % 3 == 0, rows % 2 == 0)),
        (correlations("kendall", np.arange(40.0) ** 2, np.arange(40.0) % 7),
         lambda rows: stats.kendalltau(np.arange(40.0)[rows] ** 2, np.arange(40.0)[rows] % 7)[0]),
    ],
)  # fmt: skip
def test_resamples_and_jackknife_equal_literal_ones(
    score: WeightedScore, literal: Callable[[NDArray[np.int64]], float]
) -> None:
    found = bootstrap(score, resamples=100, rng=np.random.default_rng(3))
    drawn = np.random.default_rng(3).integers(0, 40, (100, 40))
    assert found.values[:, 0] == pytest.approx([literal(rows) for rows in drawn], abs=1e-10)
    left_out = [literal(np.delete(np.arange(40), i)) for i in range(40)]
    assert found.jackknife[:, 0] == pytest.approx(left_out, abs=1e-10)


def test_items_are_resampled_within_their_folds() -> None:
    folds = np.repeat([0, 1], [3, 50])
    # Every resample has exactly one fold of right answers and one of wrong ones.
    found = bootstrap(Accuracies.of(folds == 0, folds), resamples=200, rng=np.random.default_rng(0))
    assert found.values == pytest.approx(0.5)
    assert found.interval().low == found.interval().high == 0.5


def test_bca_of_a_score_that_cannot_move_is_that_score() -> None:
    found = bootstrap(Accuracies.of(np.ones((2, 9), dtype=bool)), resamples=100, rng=np.random.default_rng(0))
    assert (found.interval(method="bca").low, found.interval(method="bca").high) == (1.0, 1.0)
    assert found.test(0, 1).p_value == 1.0


def test_one_item_folds_survive_the_jackknife() -> None:
    found = bootstrap(Means.of(np.array([1.0, 3.0]), np.array([0, 1])), resamples=100, rng=np.random.default_rng(0))
    assert found.jackknife[:, 0].tolist() == [1.5, 0.5]


def accuracy_bootstrap(p_first: float, p_second: float, n: int = 400, seed: int = 0) -> Bootstrap:
    rng = np.random.default_rng(seed)
    right = np.stack([rng.random(n) < p_first, rng.random(n) < p_second])
    return bootstrap(Accuracies.of(right), resamples=4000, rng=rng)


def test_paired_bootstrap_test_agrees_with_the_normal_test() -> None:
    found = accuracy_bootstrap(0.7, 0.6)
    right = found.score.values  # type: ignore[attr-defined]
    expected = 2 * stats.norm.sf(abs(np.mean(right[0] - right[1])) / (np.std(right[0] - right[1]) / 20))
    assert found.test(0, 1).p_value == pytest.approx(expected, abs=0.03)
    assert found.test(0, 1).p_value == found.test(1, 0).p_value
    assert found.p_values().tolist() == [[1.0, found.test(0, 1).p_value], [found.test(0, 1).p_value, 1.0]]


def test_under_the_null_hypothesis_p_is_rarely_small() -> None:
    p = [accuracy_bootstrap(0.6, 0.6, n=150, seed=seed).test(0, 1).p_value for seed in range(60)]
    assert 0 <= np.mean(np.array(p) < 0.1) <= 0.25
    assert max(p) > 0.5


def test_an_interval_excludes_zero_where_there_is_a_difference() -> None:
    assert accuracy_bootstrap(0.9, 0.4).difference(0, 1).low > 0
    assert accuracy_bootstrap(0.4, 0.9).difference(0, 1).high < 0
    same = accuracy_bootstrap(0.5, 0.5).difference(0, 0)
    assert (same.low, same.high) == (0, 0)


def test_what_cannot_be_resampled_is_refused() -> None:
    gold = np.arange(4.0)
    with pytest.raises(SettingsError, match="the correlation is 'tau'"):
        correlations("tau", gold, gold)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"shape \(2, 3\)"):
        correlations("pearson", np.ones((2, 3)), gold)
    with pytest.raises(SettingsError, match="one row of items"):
        correlations("pearson", gold, np.ones((2, 4)))
    with pytest.raises(SettingsError, match="not finite"):
        Means.of(np.array([1.0, np.nan]))
    with pytest.raises(SettingsError, match="2 fold numbers for 4 items"):
        Means.of(gold, np.array([0, 1]))
    for few in (0, 1, 98):  # of one resample the interval has no width
        with pytest.raises(SettingsError, match=f"resamples is {few}; intervals and tests need at least 99"):
            bootstrap(Means.of(gold), resamples=few, rng=np.random.default_rng(0))
    found = bootstrap(Means.of(gold), resamples=99, rng=np.random.default_rng(0))
    with pytest.raises(SettingsError, match="confidence is 1"):
        found.interval(confidence=1.0)
    with pytest.raises(SettingsError, match="method is 'basic'"):
        found.interval(method="basic")  # type: ignore[arg-type]


def test_p_of_bca_is_the_level_at_which_scipys_interval_begins_to_exclude_zero() -> None:
    rng = np.random.default_rng(3)
    gold, compared = rng.standard_normal(60), 0
    for noise in (0.9, 1.3, 1.7):
        predicted = np.stack([gold + rng.standard_normal(60), gold + noise * rng.standard_normal(60)])
        found = bootstrap(correlations("spearman", predicted, gold), resamples=4000, rng=np.random.default_rng(7))
        p = found.bca_test(0, 1).p_value
        assert found.p_values("bca") == pytest.approx(np.array([[1.0, p], [p, 1.0]]))
        assert found.bca_test(1, 0).p_value == p
        for level in (0.5 * p, 1.5 * p):
            if not 0.01 < level < 0.95:
                continue
            low, high = stats.bootstrap(
                (*predicted, gold), spearman_difference, paired=True, vectorized=True, n_resamples=4000,
                confidence_level=1 - level, method="BCa", rng=np.random.default_rng(7),
            ).confidence_interval  # fmt: skip
            assert (low > 0 or high < 0) == (level > p)
            compared += 1
        # An encoder more changes nothing for the others.
        three = correlations("spearman", np.stack([predicted[0], -gold, predicted[1]]), gold)
        assert bootstrap(three, resamples=4000, rng=np.random.default_rng(7)).bca_test(0, 2).p_value == pytest.approx(p)
    assert compared >= 4


def test_p_of_bca_where_no_resample_reaches_zero_or_there_is_no_difference() -> None:
    assert accuracy_bootstrap(0.5, 0.5).bca_test(0, 0).p_value == 1.0
    gold = np.arange(30.0)
    found = bootstrap(correlations("spearman", np.stack([gold, -gold]), gold), resamples=500, rng=np.random.default_rng(0))
    assert found.bca_test(0, 1).p_value == 2 / 501


@pytest.mark.parametrize(("at_zero", "p"), [(-0.5, 0.2), (1e-11, 0.2), (1e-6, 0.1)])
def test_p_of_bca_without_corrections_is_twice_the_share_beyond_zero_the_observed_sample_included(
    at_zero: float, p: float
) -> None:
    # As many resamples lie below the difference of 0.5 as above, which is no bias; symmetric items accelerate nothing.
    score = Means.of(np.array([[0.0, 1.0, 1.0, 0.0], [0.5, -0.5, -0.5, 0.5]]))
    differences = [at_zero, *[0.25] * 8, 0.5, *[0.75] * 9]
    found = Bootstrap(score, np.array([0.5, 0.0]), np.stack([differences, np.zeros(19)], axis=1))
    assert found.bca_test(0, 1).p_value == pytest.approx(p)


@pytest.mark.parametrize("values", [[2.0, 3.0, 4.0], [-2.0, -3.0, -4.0]])
def test_resamples_all_on_one_side_say_nothing_of_the_bias(values: list[float]) -> None:
    moving = np.array([1.0, 2.0, 4.0])
    assert bca_terms(0.0, np.array(values), moving) == (0.0, 0.0)
    bias, acceleration = bca_terms(0.0, np.array([*values, -values[0]]), moving)
    assert bias == pytest.approx(ndtri(0.25 if values[0] > 0 else 0.75))
    gaps = moving.mean() - moving
    assert acceleration == pytest.approx(np.sum(gaps**3) / (6 * np.sum(gaps**2) ** 1.5))
    assert bca_terms(0.0, np.array([-1.0, 1.0]), np.ones(3)) == (0.0, 0.0)


@pytest.mark.parametrize(("r", "n", "ends"), [(0.5, 2, (-1.0, 1.0)), (0.0, 3, (0.0, 0.0))])
def test_limits_of_a_correlation_of_few_items_or_without_error(r: float, n: int, ends: tuple[float, float]) -> None:
    assert fisher_limits(r, 0.0, n, 0.95) == ends


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_correlation_is_beyond_one_by_rounding(kind: Correlation, sign: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        gold = rng.standard_normal(30)
        weights = np.stack([np.bincount(rng.integers(0, 30, 30), minlength=30) for _ in range(50)]).astype(np.float64)
        found = correlations(kind, sign * 3 * gold + 1, gold)(weights)
        assert np.abs(found).max() <= 1.0
        assert found == pytest.approx(np.full_like(found, sign))


@pytest.mark.filterwarnings("error")
def test_a_subset_of_one_pair_scores_0_without_it() -> None:
    """A pair that is left out may be all of its subset: no correlation, no division by 0, no NaN in intervals and p values."""
    rng = np.random.default_rng(1)
    predicted, gold = rng.normal(size=(2, 21)), rng.normal(size=21)
    rows = [np.array([0]), np.arange(1, 21)]
    for kind in SCIPY:
        score = SubsetCorrelations.of(kind, predicted, gold, rows, [1.0, 1.0])  # type: ignore[arg-type]
        drawn = bootstrap(score, resamples=200, rng=rng)
        whole = [SCIPY[kind](row[1:], gold[1:])[0] / 2 for row in predicted]
        assert drawn.jackknife[0] == pytest.approx(whole)
        found = drawn.difference(0, 1, method="bca")
        assert found.low < found.estimate < found.high
        assert 0 < drawn.bca_test(0, 1).p_value <= 1
