"""Decisions on made-up encoders whose difference is known, through the command and against the formulas."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import (
    _careful,
    decide,
    items_to_decide,
    published_items,
    ranks_with_intervals,
    smallest_published,
    smallest_shown,
)
from medsenteval.contracts import Result
from medsenteval.errors import SettingsError
from medsenteval.running.result_store import ResultStore
from medsenteval.statistics.power import mcnemar_power
from tests.comparison.simulated import accuracy_result, correlation_result


def three_encoders(n: int = 4_000) -> list[Result]:
    """One clearly better than two that all but agree with each other."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, n)
    good = np.where(rng.random(n) < 0.9, gold, 1 - gold)
    plain = np.where(rng.random(n) < 0.8, gold, 1 - gold)
    twin = plain.copy()
    twin[:8] = 1 - twin[:8]
    return [accuracy_result("RQE", name, gold, said) for name, said in (("good", good), ("plain", plain), ("twin", twin))]


def test_the_verdicts_are_what_is_known_of_the_encoders() -> None:
    comparison = compare_results(three_encoders(), resamples=1_000)
    found = {(each.first, each.second): each for each in decide(comparison, rope=1.0)}
    assert {pair: each.verdict for pair, each in found.items() if "good" in pair} == {
        ("good", "plain"): "better",
        ("good", "twin"): "better",
    }
    (twins,) = (each for pair, each in found.items() if "good" not in pair)
    assert twins.verdict == "equivalent"
    assert twins.items is None
    clear = found["good", "plain"]
    assert clear.smallest is not None
    assert clear.items is None


@pytest.mark.parametrize("rope", [-1.0, float("nan"), float("inf")])
def test_a_margin_that_is_none_is_refused_though_no_pair_is_tested(rope: float) -> None:
    alone = compare_results(three_encoders(30)[:1], resamples=100)
    with pytest.raises(SettingsError, match=f"equivalence is {rope}; it must be finite and not negative"):
        decide(alone, rope)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_a_level_that_leaves_no_confidence_is_refused_though_no_pair_is_tested(level: float) -> None:
    alone = three_encoders(30)[:1]
    decide(compare_results(alone, resamples=100, level=0.49), 1.0)
    with pytest.raises(SettingsError, match=rf"level is {level}; equivalence .* must be above 0: compare at one below 0\.5"):
        decide(compare_results(alone, resamples=100, level=level), 1.0)


def test_an_undecided_pair_says_how_many_items_would_decide() -> None:
    results = [result for result in three_encoders(30) if result.encoder != "twin"]
    (found,) = decide(compare_results(results, resamples=1_000), rope=0.5)
    assert found.verdict == "undecided"
    right = [np.array(result.items["gold"]) == np.array(result.items["predicted"]) for result in results]
    shares = float(np.mean(right[0] & ~right[1])), float(np.mean(~right[0] & right[1]))
    assert found.items is not None
    assert found.items > 30
    assert mcnemar_power(found.items, *shares) >= 0.8


def test_ranks_come_with_intervals_over_the_tasks_that_all_have() -> None:
    rng = np.random.default_rng(1)
    gold = rng.standard_normal(300)
    results = three_encoders(600)
    results += [
        correlation_result("BIOSSES", name, gold, gold + noise * rng.standard_normal(300))
        for name, noise in (("good", 0.3), ("plain", 1.0), ("twin", 1.0))
    ]
    ranks = ranks_with_intervals(compare_results(results, resamples=500), resamples=500)
    assert ranks["good"].rank == ranks["good"].low == ranks["good"].high == 1
    assert ranks["good"].best == 1
    assert ranks["plain"].low < ranks["plain"].high


def test_one_model_through_two_loaders_is_equivalent_and_shares_its_rank() -> None:
    rng = np.random.default_rng(2)
    results = []
    for task, rounding in (("BIOSSES", 1e-8), ("ClinicalSTS", -1e-8)):
        gold = rng.standard_normal(100)
        said = gold + rng.standard_normal(100)
        noise = {"one": 0.0 * gold, "two": rounding * gold, "worse": 2 * rng.standard_normal(100)}
        results += [correlation_result(task, name, gold, said + added) for name, added in noise.items()]
    comparison = compare_results(results, resamples=500)
    twins = [each for each in decide(comparison, rope=0.5) if {each.first, each.second} == {"one", "two"}]
    assert [(each.verdict, each.smallest, each.items) for each in twins] == [("equivalent", None, None)] * 2
    assert [items_to_decide(column, "one", "two", 0.05) for column in comparison.columns] == [None, None]
    ranks = ranks_with_intervals(comparison, resamples=500)
    assert ranks["one"] == ranks["two"]
    assert ranks["one"].rank == 1.5
    for column in comparison.columns:
        # The two best differ by rounding; what the items show is known from the next.
        shown, scores = smallest_shown(column, 0.05), column.scores
        assert shown is not None
        assert shown > 0.05
        assert 0 < abs(scores["one"].value - scores["two"].value) < 1e-7


def test_one_encoder_has_no_rank() -> None:
    assert ranks_with_intervals(compare_results(three_encoders(50)[:1])) == {}


def test_the_command_prints_verdicts_and_refuses_them_on_synthetic_data(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "real")
    for result in three_encoders(400):
        store.save(result)
    outcome = CliRunner().invoke(main, ["compare", str(tmp_path / "real"), "--rope", "2", "--resamples", "500"])
    assert outcome.exit_code == 0, outcome.output
    assert "Items to decide" in outcome.output
    assert "Best in" in outcome.output
    invented = ResultStore(tmp_path / "synthetic")
    for result in three_encoders(100):
        invented.save(Result(**{**vars(result), "synthetic": True}))
    refused = CliRunner().invoke(main, ["compare", str(tmp_path / "synthetic"), "--rope", "2", "--resamples", "500"])
    assert refused.exit_code == 2
    assert "synthetic" in refused.output


@pytest.mark.parametrize("kind", ["acc", "pearson"])
def test_a_pair_is_equivalent_within_the_region_alone(kind: str) -> None:
    """Points for accuracies, hundredths for correlations: the region just reaches what the difference may be, or just not."""
    rng = np.random.default_rng(5)
    if kind == "acc":
        results = [result for result in three_encoders(400) if result.encoder != "good"]
    else:
        gold, shared, *noise = rng.standard_normal((4, 300))
        said = {name: gold + shared + 0.1 * own for name, own in zip("ab", noise, strict=True)}
        results = [correlation_result("BIOSSES", name, gold, predicted) for name, predicted in said.items()]
    comparison = compare_results(results, resamples=1_000)
    (column,) = comparison.columns
    first, second = [name for name, _ in column.best_first()]
    narrow = column.difference(first, second, 0.9)
    assert narrow is not None
    careful = _careful(column, first, second, narrow.interval)
    reach = max(abs(careful.low), abs(careful.high)) * (1 if kind == "acc" else 100)
    within, beyond = (decide(comparison, rope)[0].verdict for rope in (1.004 * reach, 0.996 * reach))
    assert (within, beyond != "equivalent") == ("equivalent", True)


def test_the_items_of_a_task_are_those_it_scores() -> None:
    split, nested = registry.task("RQE"), registry.task("CitationSA")
    assert (split.protocol, published_items(split)) == ("kfold", 302)
    assert (nested.protocol, published_items(nested)) == ("nested", sum(nested.published_counts.values()))
    assert published_items(replace(split, published_counts={"train": 9})) == 0
    assert smallest_published(split, 0) == smallest_published(replace(split, name="Mine"), 302) == "-"
