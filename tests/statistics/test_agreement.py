"""Agreement against the krippendorff package, its author's example and averages written out."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from medsenteval.errors import SettingsError
from medsenteval.statistics import agreement_with_others, krippendorff_alpha, pairwise_agreement
from medsenteval.statistics.agreement import rater_agreement
from medsenteval.support.arrays import Floats
from tests.conftest import examples

NAN = np.nan
#: Krippendorff 2011, Computing Krippendorff's alpha-reliability, part C: four observers, twelve units, missing data.
EXAMPLE = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
])  # fmt: skip


def test_krippendorffs_own_example() -> None:
    assert krippendorff_alpha(EXAMPLE) == pytest.approx(0.743, abs=5e-4)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 20), st.integers(2, 6), st.floats(0, 0.5))
def test_alpha_equals_the_krippendorff_package(seed: int, raters: int, items: int, levels: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, levels, (raters, items)).astype(float)
    ratings[rng.random(ratings.shape) < missing] = NAN
    paired = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    assume(len(np.unique(paired[~np.isnan(paired)])) > 1)
    expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal")
    assert krippendorff_alpha(ratings) == pytest.approx(expected, abs=1e-9)


def test_averages_of_correlations_are_those_written_out() -> None:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(30)
    ratings = np.round(truth + rng.standard_normal((4, 30)))
    pairs = [stats.spearmanr(ratings[i], ratings[j])[0] for i in range(4) for j in range(i)]
    assert pairwise_agreement(ratings) == pytest.approx(np.mean(pairs))
    others = [stats.spearmanr(ratings[i], np.delete(ratings, i, 0).mean(axis=0))[0] for i in range(4)]
    assert agreement_with_others(ratings) == pytest.approx(np.mean(others))
    # A mean of several raters is a better yardstick than one rater.
    assert agreement_with_others(ratings) > pairwise_agreement(ratings)


def test_items_that_one_rater_skipped_count_for_the_others() -> None:
    ratings = np.array([[1, 2, 3, 4, NAN], [2, 1, 3, NAN, 5], [1, 3, 2, 5, 4.0], [NAN, NAN, NAN, NAN, 1]])
    pairs = [stats.spearmanr([1, 2, 3], [2, 1, 3])[0], stats.spearmanr([1, 2, 3, 4], [1, 3, 2, 5])[0],
             stats.spearmanr([2, 1, 3, 5], [1, 3, 2, 4])[0]]  # fmt: skip
    assert pairwise_agreement(ratings) == pytest.approx(np.mean(pairs))
    assert -1 <= agreement_with_others(ratings) <= 1


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least two annotators"):
        krippendorff_alpha([[1.0, 2.0]])
    with pytest.raises(SettingsError, match="no item has two ratings"):
        krippendorff_alpha([[1.0, NAN], [NAN, 2.0]])
    with pytest.raises(SettingsError, match="all ratings are the same"):
        krippendorff_alpha([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(SettingsError, match="infinite"):
        pairwise_agreement([[np.inf, 1.0], [1.0, 2.0]])
    with pytest.raises(SettingsError, match="enough items in common"):
        pairwise_agreement([[1.0, 2.0], [1.0, 2.0]])


def test_three_items_in_common_are_enough_and_two_are_not() -> None:
    ratings = np.array([[1.0, 2.0, 3.0, np.nan], [2.0, 1.0, 3.0, 4.0]])
    assert pairwise_agreement(ratings) == pytest.approx(0.5)
    assert agreement_with_others(ratings) == pytest.approx(0.5)
    assert rater_agreement(ratings).tolist() == pytest.approx([0.5, 0.5])
    ratings[0, 2] = np.nan
    for measure in (pairwise_agreement, agreement_with_others):
        with pytest.raises(SettingsError, match="enough items in common"):
            measure(ratings)
    with np.errstate(invalid="raise"):
        assert np.isnan(rater_agreement(ratings)).all()


@pytest.mark.parametrize("seed", range(5))
def test_averages_with_many_missing_ratings_are_those_written_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 7, (5, 30)).astype(float)
    ratings[rng.random((5, 30)) < 0.4] = NAN

    def rho(one: Floats, other: Floats) -> float:
        both = ~np.isnan(one) & ~np.isnan(other)
        return float(stats.spearmanr(one[both], other[both])[0])

    pairs = np.array([[rho(ratings[i], ratings[j]) if i != j else NAN for j in range(5)] for i in range(5)])
    assert pairwise_agreement(ratings) == pytest.approx(np.nanmean(pairs))
    assert rater_agreement(ratings) == pytest.approx(np.nanmean(pairs, axis=1))
    others = [np.delete(ratings, i, 0) for i in range(5)]
    means = [
        np.array([np.mean(column[~np.isnan(column)]) if not np.isnan(column).all() else NAN for column in rest.T])
        for rest in others
    ]
    assert agreement_with_others(ratings) == pytest.approx(np.mean([rho(*each) for each in zip(ratings, means, strict=True)]))
