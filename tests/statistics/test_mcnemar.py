"""McNemar's test against statsmodels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from medsenteval.errors import SettingsError
from medsenteval.statistics import mcnemar, mcnemar_matrix, mcnemar_p_values
from tests.conftest import examples


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
@example(11, 13)
@example(12, 13)
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
    assert mcnemar(first, second) == (exact if b + c < 25 else corrected)
    assert (exact.test, corrected.test) == ("McNemar, exact", "McNemar, corrected")
    assert corrected.n == len(first)


def test_mcnemar_without_a_difference_is_not_significant() -> None:
    assert mcnemar_p_values(np.array([0, 7, 30]), np.array([0, 7, 30])).tolist() == [1.0, 1.0, 1.0]


def test_all_pairs_at_once_equal_single_tests() -> None:
    rng = np.random.default_rng(0)
    right = rng.random((5, 300)) < rng.uniform(0.5, 0.8, (5, 1))
    matrix = mcnemar_matrix(right)
    for i, j in product(range(5), range(5)):
        assert matrix[i, j] == pytest.approx(mcnemar(right[i], right[j]).p_value)


def test_items_that_do_not_belong_together_are_refused() -> None:
    for other in (np.ones((1, 3), dtype=bool), np.ones(2, dtype=bool)):
        with pytest.raises(SettingsError, match="same items twice"):
            mcnemar(np.ones(3, dtype=bool), other)
    with pytest.raises(SettingsError, match="variant is 'midp'"):
        mcnemar_p_values(np.array([1]), np.array([2]), "midp")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="negative count"):
        mcnemar_p_values(np.array([-1]), np.array([2]))
    with pytest.raises(SettingsError, match="encoders, items"):
        mcnemar_matrix(np.ones(3, dtype=bool))
