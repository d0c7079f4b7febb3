"""Paired tests against statsmodels, scipy and all permutations written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from medsenteval.errors import SettingsError
from medsenteval.statistics import (
    mcnemar,
    mcnemar_matrix,
    mcnemar_p_values,
    permutation_correlation,
    permutation_f1,
    permutation_mean,
)
from medsenteval.statistics.paired_tests import _swaps
from tests.conftest import examples


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_statsmodels(b: int, c: int) -> None:
    first = np.repeat([True, True, False, False], [5, b, c, 3])
    second = np.repeat([True, False, True, False], [5, b, c, 3])
    table = [[5, b], [c, 3]]
    exact, corrected = mcnemar(first, second, "exact"), mcnemar(first, second, "corrected")
    reference = statsmodels_mcnemar(table, exact=True)
    assert (exact.statistic, exact.p_value) == pytest.approx((reference.statistic, reference.pvalue))
    if b + c and b != c:  # statsmodels subtracts 1 from |b - c| even where that is 0
        reference = statsmodels_mcnemar(table, exact=False, correction=True)
        assert (corrected.statistic, corrected.p_value) == pytest.approx((reference.statistic, reference.pvalue))
    assert mcnemar(first, second).p_value == (exact if b + c < 25 else corrected).p_value
    assert corrected.n == len(first)


def test_mcnemar_without_a_difference_is_not_significant() -> None:
    assert mcnemar_p_values(np.array([0, 7, 30]), np.array([0, 7, 30])).tolist() == [1.0, 1.0, 1.0]


def test_all_pairs_at_once_equal_single_tests() -> None:
    rng = np.random.default_rng(0)
    right = rng.random((5, 300)) < rng.uniform(0.5, 0.8, (5, 1))
    matrix = mcnemar_matrix(right)
    for i, j in product(range(5), range(5)):
        assert matrix[i, j] == pytest.approx(mcnemar(right[i], right[j]).p_value)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=9))
def test_permutation_of_few_means_tries_all_and_equals_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    # As many resamples as there are ways are just enough for all of them.
    moving = int(np.sum(first != second))
    found = permutation_mean(first, second, resamples=1 << moving, rng=np.random.default_rng(0))
    # scipy's own two-sided p doubles the smaller tail; ours counts |difference|. Written out here:
    signs = np.array(list(product([-1, 1], repeat=len(first))))
    sums = np.abs(signs @ (first - second))
    assert found.p_value == pytest.approx(np.mean(sums >= abs(np.sum(first - second)) - 1e-9))
    assert found.statistic == pytest.approx(np.mean(first) - np.mean(second))


def test_permutation_of_many_means_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    first = rng.standard_normal(200)
    second = first + 0.12 + rng.standard_normal(200)
    found = permutation_mean(first, second, resamples=20_000, rng=rng)
    reference = stats.permutation_test(
        (first, second), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=20_000, rng=np.random.default_rng(2),
    )  # fmt: skip
    assert found.p_value == pytest.approx(reference.pvalue, abs=0.03)
    # With right and wrong it is McNemar's exact test.
    right, wrong = rng.random(200) < 0.6, rng.random(200) < 0.5
    by_swaps = permutation_mean(right.astype(float), wrong.astype(float), resamples=40_000, rng=rng)
    assert by_swaps.p_value == pytest.approx(mcnemar(right, wrong, "exact").p_value, abs=0.015)


def test_permutation_of_f1_is_the_swapping_of_answers() -> None:
    rng = np.random.default_rng(3)
    gold = rng.random(60) < 0.4
    first = np.where(rng.random(60) < 0.8, gold, ~gold)
    second = np.where(rng.random(60) < 0.65, gold, ~gold)
    found = permutation_f1(gold, first, second, resamples=40_000, rng=rng)
    observed = f1_score(gold, first) - f1_score(gold, second)
    assert found.statistic == pytest.approx(observed)
    swap = rng.random((20_000, 60)) < 0.5
    a, b = np.where(swap, second, first), np.where(swap, first, second)
    f1_of_a, f1_of_b = (2 * (side & gold).sum(axis=1) / (side.sum(axis=1) + gold.sum()) for side in (a, b))
    assert f1_of_a[:5] == pytest.approx([f1_score(gold, side) for side in a[:5]])
    reached = np.mean(np.abs(f1_of_a - f1_of_b) >= abs(observed) - 1e-12)
    assert found.p_value == pytest.approx(reached, abs=0.012)
    assert permutation_f1(gold, first, first, resamples=100, rng=rng).p_value == 1.0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("positives", "recall", "false_alarms"),
    [
        (0.4, (0.8, 0.6), (0.2, 0.3)),
        (0.15, (0.9, 0.9), (0.1, 0.5)),
        (0.15, (0.5, 0.9), (0.02, 0.6)),
        (0.7, (0.9, 0.5), (0.1, 0.1)),
    ],
)
def test_permutation_of_f1_equals_all_swaps_written_out(
    seed: int, positives: float, recall: tuple[float, float], false_alarms: tuple[float, float]
) -> None:
    """Every way in which answers can change places, on few items, false positives dominating in two of the cases."""
    rng = np.random.default_rng(seed)
    gold = rng.random(40) < positives
    first, second = (
        np.where(gold, rng.random(40) < hits, rng.random(40) < alarms)
        for hits, alarms in zip(recall, false_alarms, strict=True)
    )
    apart = np.flatnonzero(first != second)[:14]
    same = np.setdiff1d(np.arange(40), apart)
    second[same] = first[same]

    def f1(predicted: np.ndarray) -> np.ndarray:
        true = (predicted & gold).sum(axis=-1)
        return np.asarray(2 * true / np.maximum(predicted.sum(axis=-1) + gold.sum(), 1))

    assert f1(first) == pytest.approx(f1_score(gold, first, zero_division=0))
    swap = np.zeros((2 ** len(apart), 40), dtype=bool)
    swap[:, apart] = np.array(list(product([False, True], repeat=len(apart)))).reshape(-1, len(apart))
    differences = f1(np.where(swap, second, first)) - f1(np.where(swap, first, second))
    observed = f1(first) - f1(second)
    exact = float(np.mean(np.abs(differences) >= abs(observed) - 1e-12))
    found = permutation_f1(gold, first, second, resamples=40_000, rng=rng)
    assert found.statistic == pytest.approx(float(observed))
    # Four standard errors of a share of 40,000 draws.
    assert found.p_value == pytest.approx(exact, abs=4 * (0.25 / 40_000) ** 0.5)
    assert found.n == 40


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_permutation_of_few_correlations_tries_all_swaps(kind: str) -> None:
    rng = np.random.default_rng(4)
    gold, first, second = rng.standard_normal((3, 8))
    first = gold + first
    found = permutation_correlation(kind, gold, first, second, resamples=256, rng=rng)  # type: ignore[arg-type]
    scale = stats.rankdata if kind == "spearman" else stats.zscore
    a, b = scale(first), scale(second)
    differences = []
    for swaps in product([False, True], repeat=8):
        x, y = np.where(swaps, b, a), np.where(swaps, a, b)
        differences.append(stats.pearsonr(x, scale(gold))[0] - stats.pearsonr(y, scale(gold))[0])
    assert found.statistic == pytest.approx(differences[0])
    assert found.p_value == pytest.approx(np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9))


def test_random_swaps_of_correlations_see_a_real_difference() -> None:
    rng = np.random.default_rng(5)
    gold = rng.standard_normal(300)
    good, bad = gold + 0.3 * rng.standard_normal(300), rng.standard_normal(300)
    assert permutation_correlation("spearman", gold, good, bad, resamples=999, rng=rng).p_value == pytest.approx(0.001)
    constant = permutation_correlation("pearson", gold, np.ones(300), np.ones(300), resamples=99, rng=rng)
    assert (constant.statistic, constant.p_value) == (0.0, 1.0)


def test_items_that_do_not_belong_together_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(SettingsError, match="same items twice"):
        permutation_mean(np.ones(3), np.ones((1, 3)), resamples=10, rng=rng)
    with pytest.raises(SettingsError, match="variant is 'midp'"):
        mcnemar_p_values(np.array([1]), np.array([2]), "midp")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="negative count"):
        mcnemar_p_values(np.array([-1]), np.array([2]))
    with pytest.raises(SettingsError, match="encoders, items"):
        mcnemar_matrix(np.ones(3, dtype=bool))
    with pytest.raises(SettingsError, match="takes pearson or spearman"):
        permutation_correlation("kendall", np.ones(3), np.ones(3), np.ones(3), resamples=9, rng=rng)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="resamples is 0"):
        permutation_mean(np.ones(3), np.zeros(3), resamples=0, rng=rng)


def test_every_pattern_of_swaps_is_drawn() -> None:
    drawn = np.concatenate(list(_swaps(20, 8000, np.random.default_rng(1)))).astype(int)
    assert drawn.shape == (8000, 20)
    patterns = np.bincount(drawn[:, :8] @ (1 << np.arange(8)), minlength=256)
    assert (len(patterns), patterns.min() > 0) == (256, True)
    assert stats.chisquare(patterns).pvalue > 0.01
