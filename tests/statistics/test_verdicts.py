"""Verdicts and ranks with known truth: equivalence is not claimed too often, and places are covered as promised."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.decisions import rank_coverage, share_equivalent
from medsenteval.errors import SettingsError
from medsenteval.statistics.outcomes import Interval
from medsenteval.statistics.verdicts import rank_intervals, verdict


@pytest.mark.parametrize(
    ("p", "low", "high", "said"),
    [
        (0.01, 0.5, 0.9, "equivalent"),
        (0.01, 0.5, 3.0, "better"),
        (0.01, -3.0, -0.5, "worse"),
        (0.30, -0.4, 2.0, "undecided"),
        (0.30, -0.4, 0.9, "equivalent"),
        (0.30, -1.0, 0.9, "undecided"),
    ],
)
def test_the_four_verdicts(p: float, low: float, high: float, said: str) -> None:
    assert verdict(p, Interval((low + high) / 2, low, high, 0.9, "percentile", 100), 1.0) == said


def test_a_wrong_interval_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"confidence 0\.9"):
        verdict(0.5, Interval(0, -1, 1, 0.95, "percentile", 100), 1.0)


@pytest.mark.parametrize("rope", [-1.0, np.nan, np.inf])
def test_a_margin_that_is_none_is_refused(rope: float) -> None:
    with pytest.raises(SettingsError, match=f"equivalence is {rope}; it must be finite and not negative"):
        verdict(0.5, Interval(0, -1, 1, 0.9, "percentile", 100), rope)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["acc", "f1", "pearson"])
def test_equivalence_at_the_margin_is_claimed_in_one_of_twenty_at_most(metric: str) -> None:
    # One in twenty, and two standard errors of 400 experiments; benchmarks/decisions.py has a thousand for every metric and n.
    assert share_equivalent(metric, 300, 400) <= 0.05 + 0.022


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_rank_intervals_cover_the_true_mean_ranks(spread: float) -> None:
    covered, width = rank_coverage(5, 5, spread, 60, resamples=200)
    # 93 to 97 %, and what 60 experiments of five places leave open; benchmarks/decisions.py has more.
    assert 0.90 <= covered <= 0.99
    assert width < 2.1


def test_encoders_that_differ_by_noise_alone_share_all_places() -> None:
    rng = np.random.default_rng(0)
    observed = [0.01 * rng.standard_normal(4) for _ in range(6)]
    resampled = [row + 0.02 * rng.standard_normal((500, 4)) for row in observed]
    for each in rank_intervals(observed, resampled):
        assert each.low < 2 < 3 < each.high
        assert 0.1 < each.best < 0.4


def test_ranks_by_hand() -> None:
    # Noise is a hundredth of the spread here, so that scores stay where they are but for the third digit.
    first = np.array([[0.9, 0.8, 0.1], [0.9, 0.8, 0.1], [0.7, 0.8, 0.1], [0.9, 0.7, 0.1]])
    (a, b, c) = rank_intervals([first[0]], [first], confidence=0.9)
    assert (a.rank, b.rank, c.rank) == (1, 2, 3)
    assert (a.best, b.best, c.best) == (0.75, 0.25, 0.0)
    assert (a.low, a.high) == (1, 2)
    assert (c.low, c.high) == (3, 3)
    with pytest.raises(SettingsError, match="do not belong together"):
        rank_intervals([first[0]], [])


def test_tasks_are_taken_as_they_are() -> None:
    steady = [np.tile([0.9, 0.8], (200, 1)), np.tile([0.7, 0.8], (200, 1)), np.tile([0.9, 0.8], (200, 1))]
    fixed = rank_intervals([each[0] for each in steady], steady)
    assert fixed[0].low == fixed[0].high == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("p", "estimate", "low", "high", "rope", "said"),
    [
        (0.05, 1.0, 0.5, 3.0, 1.0, "undecided"),
        (0.049, 1.0, 0.5, 3.0, 1.0, "better"),
        (0.01, 0.0, -2.0, 2.0, 1.0, "undecided"),
        (0.5, 0.0, -1.0, 0.5, 1.0, "undecided"),
        (0.5, 0.0, -0.5, 1.0, 1.0, "undecided"),
        (0.5, 0.0, 0.0, 0.0, 0.0, "undecided"),
    ],
)
def test_verdicts_at_their_limits(p: float, estimate: float, low: float, high: float, rope: float, said: str) -> None:
    assert verdict(p, Interval(estimate, low, high, 0.9, "percentile", 100), rope) == said


def test_ranks_of_one_encoder_of_equal_ones_and_at_95_percent() -> None:
    (alone,) = rank_intervals([np.array([0.5])], [np.full((20, 1), 0.5)])
    assert (alone.rank, alone.low, alone.high, alone.best) == (1.0, 1.0, 1.0, 1.0)
    noise = np.random.default_rng(0).standard_normal((200, 1)) * 0.1
    twins = rank_intervals([np.array([0.5, 0.5])], [0.5 + np.hstack([noise, noise + 9e-6])])
    assert [(each.low, each.high, each.best) for each in twins] == [(1.5, 1.5, 0.5)] * 2
    observed = np.array([0.9, 0.5, 0.4])
    drawn = observed + np.random.default_rng(1).standard_normal((300, 3))
    assert rank_intervals([observed], [drawn]) == rank_intervals([observed], [drawn], confidence=0.95)
