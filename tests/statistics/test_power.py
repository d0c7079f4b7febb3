"""Power against simulation: what the formulas promise is what repeated experiments give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import multinomial, norm

from benchmarks.decisions import normal_power, simulated_power
from medsenteval.errors import SettingsError
from medsenteval.statistics import correlations, mcnemar_p_values
from medsenteval.statistics.paired_bootstrap import left_out_scores
from medsenteval.statistics.power import (
    _fewest,
    difference_error,
    items_for_accuracy,
    items_for_difference,
    mcnemar_power,
    smallest_accuracy_difference,
    smallest_difference,
    smallest_expected,
    typical_accuracy_disagreement,
    typical_correlation_error,
)
from medsenteval.support.arrays import Floats


@pytest.mark.parametrize("n", [30, 100, 300, 1400])
@pytest.mark.parametrize(("first", "second"), [(0.12, 0.04), (0.1, 0.05), (0.2, 0.12), (0.05, 0.05), (0.3, 0.0)])
def test_mcnemar_power_is_the_share_of_simulated_rejections(n: int, first: float, second: float) -> None:
    draws = np.random.default_rng(n).multinomial(n, [first, second, 1 - first - second], size=20_000)
    rejected = float((mcnemar_p_values(draws[:, 0], draws[:, 1]) < 0.05).mean())
    assert mcnemar_power(n, first, second) == pytest.approx(rejected, abs=0.012)


def test_power_without_disagreement_is_zero_and_impossible_shares_are_refused() -> None:
    assert mcnemar_power(100, 0.0, 0.0) == 0.0
    with pytest.raises(SettingsError, match="add up to 0 to 1"):
        mcnemar_power(100, 0.7, 0.4)


@pytest.mark.parametrize("n", [100, 300, 1400])
def test_the_smallest_difference_has_the_power_asked_for(n: int) -> None:
    found = smallest_accuracy_difference(n, 0.2)
    assert found is not None
    assert mcnemar_power(n, 0.1 + found / 2, 0.1 - found / 2) == pytest.approx(0.8, abs=0.005)
    assert normal_power(smallest_difference(0.03), 0.03) == pytest.approx(0.8, abs=1e-6)
    assert smallest_accuracy_difference(20, 0.05) is None


def test_the_items_that_are_said_to_decide_do_and_one_less_does_not() -> None:
    n = items_for_accuracy(0.10, 0.05)
    assert n is not None
    assert mcnemar_power(n, 0.10, 0.05) >= 0.8 > mcnemar_power(n // 2, 0.10, 0.05)
    m = items_for_difference(0.05, 0.04, 100)
    assert m is not None
    assert normal_power(0.05, 0.04 * (100 / m) ** 0.5) >= 0.8 > normal_power(0.05, 0.04 * (100 / (m - 1)) ** 0.5)
    assert items_for_difference(-0.05, 0.04, 100) == m
    assert items_for_difference(0.0, 0.04, 100) is None
    assert items_for_difference(0.05, 0.0, 100) == 2
    assert smallest_difference(0.1, 0.01) == pytest.approx(0.1 * (norm.ppf(0.995) + norm.ppf(0.8)))


def _draw(rng: np.random.Generator, n: int, first: float, second: float) -> tuple[Floats, Floats]:
    """Draw gold scores and two encoders that correlate so with them and share part of their noise."""
    gold, shared = rng.standard_normal((2, n))
    own = rng.standard_normal((2, n))
    return gold, np.array(
        [
            r * gold + (1 - r * r) ** 0.5 * (0.4**0.5 * shared + 0.6**0.5 * noise)
            for r, noise in zip((first, second), own, strict=True)
        ]
    )


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_the_error_of_a_difference_is_its_spread_over_samples(kind: str) -> None:
    rng = np.random.default_rng(5)
    scores = [correlations(kind, predicted, gold) for gold, predicted in (_draw(rng, 300, 0.75, 0.67) for _ in range(400))]  # type: ignore[arg-type]
    ones = np.ones((1, 300))
    observed = np.array([score(ones)[0] @ [1.0, -1.0] for score in scores])
    said = np.mean([difference_error(left_out_scores(score), 0, 1) for score in scores[:40]])
    assert said == pytest.approx(observed.std(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "n"), [("acc", 300), ("pearson", 100), ("spearman", 300), ("f1", 1_400)])
def test_predicted_power_is_that_of_simulated_experiments(metric: str, n: int) -> None:
    predicted, found = simulated_power(metric, n, 600, resamples=300)
    # Three points, and three standard errors of 600 experiments; benchmarks/decisions.py makes 4,000 for every metric and n.
    assert predicted == pytest.approx(found, abs=0.03 + 0.055)


@pytest.mark.parametrize(("metric", "score", "n"), [("acc", 0.8, 302), ("pearson", 0.7, 100), ("spearman", 0.7, 1_000)])
def test_what_items_would_show_is_the_difference_with_the_power_asked_for(metric: str, score: float, n: int) -> None:
    found = smallest_expected(metric, score, n)
    assert found is not None
    if metric == "acc":
        apart = typical_accuracy_disagreement(score)
        assert mcnemar_power(n, (apart + found) / 2, (apart - found) / 2) == pytest.approx(0.8, abs=0.005)
    else:
        assert normal_power(found, typical_correlation_error(score, n)) == pytest.approx(0.8, abs=1e-6)
    assert smallest_expected("f1", score, n) is None
    assert smallest_expected("acc", 1.0, n) is None


def test_typical_disagreement_and_error_are_those_of_their_models() -> None:
    rng = np.random.default_rng(1)
    common, own = rng.standard_normal(400_000), rng.standard_normal((2, 400_000))
    assert typical_accuracy_disagreement(0.8) == pytest.approx(0.16)
    # Correlated right answers: shared with probability one half, drawn apart otherwise.
    shared = np.abs(common) < 0.6744897501960817
    both = own[0] < 0.8416
    first, second = np.where(shared, both, own[0] < 0.8416), np.where(shared, both, own[1] < 0.8416)
    assert float(np.mean(first != second)) == pytest.approx(typical_accuracy_disagreement(0.8), abs=0.003)
    # With a share of 0.4 of their noise in common two encoders of 0.7 correlate by 0.694.
    samples = [_draw(rng, 500, 0.7, 0.7) for _ in range(2_000)]
    assert np.mean([np.corrcoef(*p)[0, 1] for _, p in samples]) == pytest.approx(0.7, abs=0.01)
    gaps = [np.corrcoef(p[0], g)[0, 1] - np.corrcoef(p[1], g)[0, 1] for g, p in samples]
    assert typical_correlation_error(0.7, 500) == pytest.approx(float(np.std(gaps)), rel=0.06)


def test_a_number_of_items_that_nobody_has_takes_no_memory() -> None:
    assert smallest_expected("acc", 0.8, 10_000) is not None
    assert smallest_expected("acc", 0.8, 2**53) is None


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        (mcnemar_power, (100, 0.2, 0.1), {"level": 0.05}),
        (smallest_accuracy_difference, (100, 0.3), {"level": 0.05}),
        (items_for_accuracy, (0.2, 0.1), {"level": 0.05}),
        (smallest_difference, (0.1,), {"level": 0.05}),
        (items_for_difference, (0.1, 0.2, 50), {"level": 0.05}),
    ],
)
def test_the_level_is_one_in_twenty(
    function: Callable[..., float | None], arguments: tuple[float, ...], told: dict[str, float]
) -> None:
    assert function(*arguments) == function(*arguments, **told) is not None


def test_power_at_its_ends() -> None:
    # Of six items that all speak for one encoder p is 2 / 64, of five 2 / 32.
    assert mcnemar_power(6, 1.0, 0.0) == pytest.approx(1.0)
    assert mcnemar_power(5, 1.0, 0.0) == 0.0
    assert mcnemar_power(1, 0.5, 0.5) == mcnemar_power(0, 0.5, 0.5) == 0.0
    assert smallest_accuracy_difference(5, 1.0) is None
    with pytest.raises(SettingsError, match="add up to 0 to 1"):
        mcnemar_power(100, 0.2, -0.1)


@pytest.mark.parametrize("wanted", [2, 3, 4, 5, 7, 8, 9, 100, 8_388_608])
def test_the_fewest_items_are_found_whatever_their_number(wanted: int) -> None:
    assert _fewest(lambda n: n >= wanted) == wanted


def test_more_than_ten_million_items_are_not_asked_for() -> None:
    assert _fewest(lambda n: n >= 8_388_609) is None
    assert _fewest(lambda n: True) == 2
    most = smallest_difference(1.0) / 1e6**0.5
    assert (items_for_difference(1.001 * most, 1.0, 10), items_for_difference(0.999 * most, 1.0, 10)) == (9_980_030, None)
    assert items_for_difference(5e-324, 1.0, 10) is None


def test_what_items_are_expected_to_show() -> None:
    for metric, score, n in (("acc", 0, 9), ("acc", 1, 9), ("f1", 0.5, 9), ("pearson", 0.5, 3), ("pearson", 0.5, 10**7 + 1)):
        assert smallest_expected(metric, score, n) is None
    for metric, n in (("spearman", 4), ("pearson_mean", 10**7)):
        assert smallest_expected(metric, 0.5, n) == smallest_difference(typical_correlation_error(0.5, n))
    assert smallest_expected("acc", 0.8, 500) == pytest.approx(smallest_accuracy_difference(500, 0.16))


@pytest.mark.parametrize("level", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("n", [9, 24, 30])
def test_mcnemar_power_is_the_sum_over_all_outcomes(n: int, level: float) -> None:
    first, second = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
    possible = first + second <= n
    counts = np.stack([first[possible], second[possible], (n - first - second)[possible]], axis=1)
    rejected = mcnemar_p_values(counts[:, 0], counts[:, 1]) < level
    expected = np.asarray(multinomial.pmf(counts, n, [0.5, 0.2, 0.3]))[rejected].sum()
    assert mcnemar_power(n, 0.5, 0.2, level) == pytest.approx(expected, abs=1e-6)
