"""Tests over tasks against scipy and Demšar's worked example; corrections against statsmodels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from medsenteval.errors import SettingsError
from medsenteval.statistics import (
    benjamini_hochberg,
    bonferroni,
    correct,
    critical_difference,
    friedman,
    holm,
    wilcoxon_over_tasks,
)
from medsenteval.statistics.tests_over_tasks import smallest_wilcoxon_p
from tests.conftest import examples

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(max_examples=examples(40), deadline=None)
@given(P_VALUES)
def test_corrections_equal_those_of_statsmodels(p: list[float]) -> None:
    for ours, theirs in ((bonferroni, "bonferroni"), (holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        assert ours(p) == pytest.approx(multipletests(p, method=theirs)[1], abs=1e-12)


@settings(max_examples=examples(40), deadline=None)
@given(P_VALUES)
def test_corrections_are_ordered(p: list[float]) -> None:
    raw, by_rank, plain = correct(p, "bh"), correct(p, "holm"), correct(p, "bonferroni")
    assert (correct(p, "none") <= raw + 1e-12).all()
    assert (raw <= by_rank + 1e-12).all()
    assert (by_rank <= plain + 1e-12).all()


def test_wrong_p_values_are_refused() -> None:
    with pytest.raises(SettingsError, match="outside 0 to 1"):
        holm([0.5, 1.5])
    with pytest.raises(SettingsError, match="one list"):
        bonferroni([[0.5]])
    with pytest.raises(SettingsError, match="correction is 'sidak'"):
        correct([0.5], "sidak")
    assert benjamini_hochberg([]).size == 0


def test_critical_differences_are_those_of_demsars_table() -> None:
    """Demšar 2006, Table 5(a): q at 0.05 for two to ten classifiers."""
    published = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in enumerate(published, start=2):
        assert critical_difference(k, 6) / np.sqrt(k * (k + 1) / 36) == pytest.approx(q, abs=1e-3)
    # His worked example: four classifiers, 14 data sets.
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_friedman_equals_scipy_and_the_closed_forms() -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((14, 4)) + np.array([0.0, 0.8, 0.1, 0.9])
    found = friedman(scores)
    assert (found.statistic, found.p_value) == pytest.approx(tuple(stats.friedmanchisquare(*scores.T)))
    ranks = np.array([[1 + np.sum(row > value) for value in row] for row in scores]).mean(axis=0)
    assert found.mean_ranks == pytest.approx(ranks)
    chi_square = 12 * 14 / 20 * (np.sum(ranks**2) - 4 * 25 / 4)
    assert found.statistic == pytest.approx(chi_square)
    assert (found.n_tasks, found.n_encoders) == (14, 4)
    # A pair exactly as far apart as the critical difference has p = 0.05.
    distance = found.critical_difference / np.sqrt(4 * 5 / (6 * 14)) * np.sqrt(2)
    assert stats.studentized_range.sf(distance, 4, np.inf) == pytest.approx(0.05, abs=1e-6)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_wilcoxon_with_ties_equals_all_signs_written_out(differences: list[int]) -> None:
    """Pratt's ranks with zeros split in half, against every assignment of signs."""
    gaps = np.array(differences, dtype=float)
    found = wilcoxon_over_tasks(gaps, np.zeros(len(gaps)))
    if not gaps.any():
        assert (found.statistic, found.p_value) == (0.0, 1.0)
        return
    ranks = stats.rankdata(np.abs(gaps))
    half_of_zeros = ranks[gaps == 0].sum() / 2
    signs = np.array(list(product((0, 1), repeat=len(gaps))))
    sums = signs[:, gaps != 0] @ ranks[gaps != 0] + half_of_zeros
    plus = ranks[gaps > 0].sum() + half_of_zeros
    below, above = np.mean(sums <= plus + 1e-9), np.mean(sums >= plus - 1e-9)
    assert found.p_value == pytest.approx(min(1.0, 2 * min(below, above)))
    assert found.p_value >= smallest_wilcoxon_p(len(gaps)) - 1e-12


def test_the_smallest_p_of_wilcoxon_is_reached_where_all_differ_one_way() -> None:
    for n in (1, 2, 3, 5, 8, 12):
        assert wilcoxon_over_tasks(np.arange(1.0, n + 1), np.zeros(n)).p_value == pytest.approx(smallest_wilcoxon_p(n))
        assert wilcoxon_over_tasks(np.ones(n), np.zeros(n)).p_value == pytest.approx(smallest_wilcoxon_p(n))


def test_encoders_that_always_tie_do_not_differ() -> None:
    found = friedman(np.tile([[1.0], [2.0]], (1, 3)))
    assert (found.statistic, found.p_value) == (0.0, 1.0)
    assert found.mean_ranks.tolist() == [2.0, 2.0, 2.0]


def test_encoders_in_the_same_order_everywhere() -> None:
    found = friedman(np.tile([1.0, 2.0, 3.0], (5, 1)))
    assert found.mean_ranks.tolist() == [3.0, 2.0, 1.0]


def test_wilcoxon_is_scipys() -> None:
    rng = np.random.default_rng(1)
    first = rng.standard_normal(10)
    second = first + rng.standard_normal(10)
    found = wilcoxon_over_tasks(first, second)
    assert (found.statistic, found.p_value) == pytest.approx(tuple(stats.wilcoxon(first, second)))
    assert found.n == 10
    assert wilcoxon_over_tasks([1.0, 2.0], [1.0, 2.0]).p_value == 1.0


def test_scores_that_cannot_be_ranked_are_refused() -> None:
    with pytest.raises(SettingsError, match="at least 2 tasks and 3 encoders"):
        friedman([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(SettingsError, match="not finite"):
        friedman([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    with pytest.raises(SettingsError, match="same tasks twice"):
        wilcoxon_over_tasks([1.0], [1.0, 2.0])
    with pytest.raises(SettingsError, match="not finite"):
        wilcoxon_over_tasks([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(SettingsError, match="nothing to rank"):
        critical_difference(1, 5)
    with pytest.raises(SettingsError, match="level is 1"):
        critical_difference(3, 5, 1.0)


def test_ranks_tests_and_critical_difference_are_those_of_autorank() -> None:
    """autorank 1.3.0, force_mode="nonparametric", gave these for five encoders on twelve tasks."""
    drawn = 0.05 * np.random.default_rng(5).standard_normal((12, 5))
    scores = np.round(0.7 + 0.02 * np.arange(5) + drawn, 3)
    found = friedman(scores, 0.05)
    assert found.p_value == pytest.approx(0.0005810315308230404, rel=1e-9)
    assert found.critical_difference == pytest.approx(1.7607556243045581, abs=1e-4)
    assert found.mean_ranks == pytest.approx([11 / 3, 4.0, 3.5, 25 / 12, 1.75])
    # Theirs is one-sided.
    assert wilcoxon_over_tasks(scores[:, 0], scores[:, 1]).p_value == pytest.approx(2 * 0.404052734375, abs=0.01)


def test_the_level_is_one_in_twenty_unless_told() -> None:
    scores = [[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]]
    assert critical_difference(5, 10) == critical_difference(5, 10, 0.05)
    assert (friedman(scores).level, friedman(scores, 0.1).level) == (0.05, 0.1)
    assert friedman(scores).critical_difference == critical_difference(3, 2, 0.05)
    # Rank sums 2, 5 and 5: a chi-square of 3, which is 1 below its largest.
    assert friedman(scores).statistic == pytest.approx(3.0)
