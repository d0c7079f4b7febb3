"""What the items could show, in every table that says it: against sums over all outcomes and scores without each item."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from medsenteval import registry
from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import planned_differences, published_items, shown_differences, smallest_published
from medsenteval.contracts import Result
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.report.page_content import Page
from medsenteval.report.page_html import render_page
from medsenteval.running.job_identity import comparability
from medsenteval.running.score_table import detail_table
from medsenteval.support.arrays import Counts
from tests.comparison.simulated import accuracy_result, correlation_result

N = 60
#: What a two-sided test at 0.05 and a power of 0.8 need, in standard errors.
FACTOR = 1.959963985 + 0.841621234


def rated() -> list[Result]:
    """Two encoders 0.1 or so apart in correlation, not significantly."""
    rng = np.random.default_rng(3)
    gold, shared = rng.standard_normal((2, N))
    return [
        correlation_result("BIOSSES", name, gold, gold + shared + noise * rng.standard_normal(N))
        for name, noise in (("close", 0.5), ("loose", 1.2))
    ]


def answered() -> list[Result]:
    """Two encoders of which 10 items are right for the first alone and 5 for the second alone."""
    gold = np.arange(N) % 2
    first, second = gold.copy(), gold.copy()
    second[:10], first[10:15] = 1 - second[:10], 1 - first[10:15]
    return [accuracy_result("RQE", "first", gold, first), accuracy_result("RQE", "second", gold, second)]


def power_of_all_outcomes(n: int, first_only: float, second_only: float) -> float:
    """Add up the probabilities of every pair of counts at which McNemar's test rejects, by scipy's distributions."""
    from scipy.stats import binom, chi2, multinomial

    b, c = (counts.ravel() for counts in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    b, c = b[(b + c > 0) & (b + c <= n)], c[(b + c > 0) & (b + c <= n)]
    exact = np.minimum(2 * binom.cdf(np.minimum(b, c), b + c, 0.5), 1.0)
    approximate = chi2.sf(np.maximum(np.abs(b - c) - 1, 0) ** 2 / (b + c), 1)
    rejected = np.where(b + c < 25, exact, approximate) < 0.05
    shares = [first_only, second_only, 1 - first_only - second_only]
    return float(np.sum(np.asarray(multinomial.pmf(np.stack([b, c, n - b - c], axis=1), n, shares))[rejected]))


def left_out_error(results: list[Result]) -> tuple[float, float]:
    """Return the difference of two correlations and its standard error from leaving out each item, by numpy alone."""
    gold = np.array(results[0].items["gold"])
    said = [np.array(result.items["predicted"]) for result in results]

    def gap(kept: Counts) -> float:
        return float(np.corrcoef(said[0][kept], gold[kept])[0, 1] - np.corrcoef(said[1][kept], gold[kept])[0, 1])

    every = np.arange(N)
    gaps = np.array([gap(np.delete(every, i)) for i in every])
    return gap(every), float(np.sqrt((N - 1) / N * np.sum((gaps - gaps.mean()) ** 2)))


def test_accuracies_show_the_difference_that_all_outcomes_give() -> None:
    results = answered()
    ((place, shown),) = shown_differences(results).items()
    assert place == (comparability(results[0]), "acc")
    found = float(shown) / 100
    # A quarter of the items tells the two apart; what is shown is rounded to a tenth of a point.
    assert power_of_all_outcomes(N, 0.125 + found / 2, 0.125 - found / 2) == pytest.approx(0.8, abs=0.01)


def test_correlations_show_what_leaving_out_items_gives_and_say_how_many_would_decide() -> None:
    results = rated()
    difference, error = left_out_error(results)
    assert 0.02 < difference < FACTOR * error
    ((_, shown),) = shown_differences(results).items()
    assert shown == f"{FACTOR * error:.3f}"
    lines = render_comparison(compare_results(results, resamples=500)).splitlines()
    (power,) = (line.split() for line in lines if line.strip().startswith("they show"))
    assert power[-1] == f"{FACTOR * error:.3f}"
    (items,) = (line.split() for line in lines if line.strip().startswith("items "))
    assert items[-1] == str(N)
    (pair,) = (line.split() for line in lines if "paired bootstrap" in line and line.startswith("BIOSSES"))
    needed = N * (FACTOR * error / difference) ** 2
    assert int(pair[-1].replace(",", "")) == pytest.approx(math.ceil(needed), rel=0.01)
    assert any(line.startswith("To decide: how many items would show") for line in lines)


def test_a_decided_pair_needs_no_items() -> None:
    gold = np.arange(400) % 2
    wrong = np.where(np.arange(400) < 200, 1 - gold, gold)
    comparison = compare_results([accuracy_result("RQE", "a", gold, gold), accuracy_result("RQE", "b", gold, wrong)])
    table = render_comparison(comparison, "csv", TableOptions(differences=True)).splitlines()
    assert table[0].endswith(",n,To decide")
    assert table[1].endswith(",McNemar,400,")


def test_the_page_says_from_what_differences_on_the_items_show_something() -> None:
    _, error = left_out_error(rated())
    page = Page(rated())
    assert page.views[0].smallest == f"{FACTOR * error:.3f}"
    assert f"{N} items, which show differences from {FACTOR * error:.3f} on" in render_page(page)


def test_the_table_of_a_run_shows_the_column_where_it_says_something() -> None:
    results = answered()
    table = detail_table(results, shown_differences(results))
    assert "Shows" in table.splitlines()[0]
    assert "Shows: the smallest difference to another encoder" in table
    column = table.splitlines()[0].index("Shows")
    assert {line[column : column + 5].strip() for line in table.splitlines()[2:4]} == set(shown_differences(results).values())
    synthetic = detail_table([replace(result, synthetic=True) for result in results])
    assert "Shows" not in synthetic
    assert not shown_differences([replace(result, synthetic=True) for result in results])
    assert "Shows" in detail_table([replace(results[0], synthetic=True), results[1]])
    assert not shown_differences(results[:1])


def test_a_plan_goes_by_earlier_results_and_else_by_published_scores() -> None:
    tasks = {name: (registry.task(name), published_items(registry.task(name))) for name in ("RQE", "BIOSSES")}
    assert {name: n for name, (_, n) in tasks.items()} == {"RQE": 302, "BIOSSES": 100}
    published = planned_differences(tasks, [])
    assert published == {name: smallest_published(task, n) for name, (task, n) in tasks.items()}
    assert 4 < float(published["RQE"]) < 12
    earlier = planned_differences(tasks, answered())
    assert earlier == {"RQE": next(iter(shown_differences(answered()).values())), "BIOSSES": published["BIOSSES"]}
    assert smallest_published(registry.task("RQE"), 0) == "-"
