"""Intervals and correlations against scipy, scikit-learn and a bootstrap that really resamples items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from medsenteval.statistics import bootstrap_correlation, bootstrap_counts, correlation, f1_from_counts


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_f1_equals_scikit_learns(pairs: list[tuple[bool, bool]]) -> None:
    gold, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    cells = [np.sum(gold & predicted), np.sum(~gold & predicted), np.sum(gold & ~predicted), np.sum(~gold & ~predicted)]
    expected = f1_score(gold, predicted, zero_division=0.0)
    assert float(f1_from_counts(np.array(cells))) == pytest.approx(expected, abs=1e-12)


def test_drawing_counts_is_resampling_items() -> None:
    """The count bootstrap and a literal resampling of items have the same distribution, here at both ends."""
    rng = np.random.default_rng(0)
    gold, predicted = rng.random(80) < 0.6, rng.random(80) < 0.6
    cells = np.array(
        [[np.sum(gold & predicted), np.sum(~gold & predicted), np.sum(gold & ~predicted), np.sum(~gold & ~predicted)]]
    )
    ours = bootstrap_counts(cells, f1_from_counts, resamples=40_000, confidence=0.9, rng=np.random.default_rng(1))
    drawn = np.random.default_rng(2).integers(0, 80, size=(20_000, 80))
    literal = 2 * (gold & predicted)[drawn].sum(axis=1) / (gold[drawn].sum(axis=1) + predicted[drawn].sum(axis=1))
    assert literal[:5] == pytest.approx([f1_score(gold[i], predicted[i]) for i in drawn[:5]])
    assert ours == pytest.approx(tuple(np.quantile(literal, [0.05, 0.95])), abs=0.01)


def test_accuracy_interval_equals_the_binomial_quantiles() -> None:
    low, high = bootstrap_counts(
        np.array([[70, 30]]), lambda drawn: drawn[..., 0] / 100, resamples=50_000, confidence=0.95, rng=np.random.default_rng(3)
    )
    expected = stats.binom.ppf([0.025, 0.975], 100, 0.7) / 100
    assert (low, high) == pytest.approx(tuple(expected), abs=0.0101)


def test_folds_are_averaged_not_pooled() -> None:
    perfect_and_wrong = np.array([[10, 0], [0, 1000]])
    interval = bootstrap_counts(
        perfect_and_wrong, lambda d: d[..., 0] / d.sum(axis=-1), resamples=100, confidence=0.95, rng=np.random.default_rng(0)
    )
    assert interval == (0.5, 0.5)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_correlation_interval_agrees_with_scipys_bootstrap(kind: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal(60)
    y = np.round(x + rng.standard_normal(60), 1)
    function = stats.pearsonr if kind == "pearson" else stats.spearmanr
    value, p = correlation(kind, x, y)  # type: ignore[arg-type]
    assert (value, p) == pytest.approx(tuple(function(x, y)))
    ours = bootstrap_correlation(
        kind, x, y, resamples=6000, confidence=0.95, rng=np.random.default_rng(5)  # type: ignore[arg-type]
    )  # fmt: skip
    reference = stats.bootstrap(
        (x, y), lambda a, b: function(a, b)[0], paired=True, vectorized=False, n_resamples=3000, method="percentile",
        rng=np.random.default_rng(6),
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx(tuple(reference), abs=0.03)
    assert ours[0] < value < ours[1]


def test_a_constant_side_has_no_correlation() -> None:
    assert correlation("pearson", np.ones(5), np.arange(5.0)) == (0.0, 1.0)
    interval = bootstrap_correlation(
        "spearman", np.ones(5), np.arange(5.0), resamples=100, confidence=0.95, rng=np.random.default_rng(0)
    )
    assert interval == (0.0, 0.0)


def test_large_inputs_are_resampled_in_blocks() -> None:
    x = np.arange(3000.0)
    low, high = bootstrap_correlation("pearson", x, x, resamples=3000, confidence=0.95, rng=np.random.default_rng(0))
    assert low == pytest.approx(1.0)
    assert high == pytest.approx(1.0)
