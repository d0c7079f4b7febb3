"""Verdicts and ranks with known truth: equivalence is not claimed too often, and places are covered as promised."""

from __future__ import annotations

import numpy as np
import pytest

from medsenteval.errors import SettingsError
from medsenteval.statistics import Accuracies, bootstrap
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


def test_a_wrong_interval_or_a_negative_margin_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"confidence 0\.9"):
        verdict(0.5, Interval(0, -1, 1, 0.95, "percentile", 100), 1.0)
    with pytest.raises(SettingsError, match="negative"):
        verdict(0.5, Interval(0, -1, 1, 0.9, "percentile", 100), -1.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1400])
def test_equivalence_at_the_margin_is_claimed_in_one_of_twenty_at_most(n: int) -> None:
    rng = np.random.default_rng(n)
    margin, disagreement = 0.03 if n == 1400 else 0.06, 0.12
    shares = [(disagreement + margin) / 2, (disagreement - margin) / 2, 1 - disagreement]
    false = 0
    for _ in range(1_000):
        kind = rng.choice(3, size=n, p=shares)
        drawn = bootstrap(Accuracies.of(np.array([kind != 1, kind != 0])), resamples=500, rng=rng)
        interval = drawn.difference(0, 1, confidence=0.9, method="percentile")
        false += verdict(1.0, interval, margin) == "equivalent"
    # One in twenty, and two standard errors of a thousand experiments.
    assert false <= 50 + 14


@pytest.mark.slow
def test_rank_intervals_cover_the_true_ranks() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([0.80, 0.76, 0.72, 0.68, 0.64])
    n, covered, width = 150, 0, 0.0
    for _ in range(400):
        right = rng.random((5, n)) < truth[:, None]
        drawn = bootstrap(Accuracies.of(right), resamples=400, rng=rng)
        found = rank_intervals([drawn.observed], [drawn.values])
        covered += sum(each.low <= place <= each.high for place, each in enumerate(found, start=1))
        width += sum(each.high - each.low for each in found)
    # Ranks are whole numbers, so intervals cover more often than they promise; they must not get wide by it.
    assert covered / 2_000 >= 0.93
    assert width / 2_000 < 2.4


def test_ranks_by_hand() -> None:
    first = np.array([[0.9, 0.8, 0.1], [0.9, 0.8, 0.1], [0.7, 0.8, 0.1], [0.9, 0.9, 0.1]])
    (a, b, c) = rank_intervals([first[0]], [first], confidence=0.9)
    assert (a.rank, b.rank, c.rank) == (1, 2, 3)
    assert (a.best, b.best, c.best) == (0.625, 0.375, 0.0)
    assert (a.low, a.high) == (1, 2)
    assert (c.low, c.high) == (3, 3)
    with pytest.raises(SettingsError, match="do not belong together"):
        rank_intervals([first[0]], [])


def test_drawing_tasks_widens_the_intervals() -> None:
    steady = [np.tile([0.9, 0.8], (200, 1)), np.tile([0.7, 0.8], (200, 1)), np.tile([0.9, 0.8], (200, 1))]
    observed = [each[0] for each in steady]
    fixed = rank_intervals(observed, steady)
    drawn = rank_intervals(observed, steady, tasks=np.random.default_rng(0))
    assert fixed[0].low == fixed[0].high == pytest.approx(4 / 3)
    assert drawn[0].low == 1
    assert drawn[0].high > fixed[0].high
