"""Comparisons: right tests, nothing across protocols, false marks no more often than promised."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from sklearn.metrics import f1_score

from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results, ranking, without_hope
from medsenteval.comparison.pairing import align_items, weighted_score
from medsenteval.comparison.published.numbers import select_numbers
from medsenteval.comparison.significance import Comparison
from medsenteval.contracts import Metric
from medsenteval.errors import DataMissingError, MedSentEvalError, SettingsError
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.running.result_store import ResultStore, load_results
from medsenteval.statistics import FriedmanOutcome, Means, Significance, bootstrap
from tests.comparison.simulated import accuracy_result, correlation_result, simulated_result


def answers(gold: np.ndarray, accuracy: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(gold)) < accuracy, gold, 1 - gold)


def simulated_encoders(rng: np.random.Generator, n: int, abilities: list[float]) -> list[Any]:
    """Encoders on one task that share the difficulty of items: a realistic, positive dependence between their errors."""
    gold = rng.integers(0, 2, n)
    difficulty = rng.normal(size=n)
    results = []
    for number, ability in enumerate(abilities):
        right = difficulty + rng.normal(size=n) < ability
        results.append(accuracy_result("RQE", f"e{number}", gold, np.where(right, gold, 1 - gold)))
    return results


def simulated_similarities(rng: np.random.Generator, n: int, noises: list[float]) -> list[Any]:
    gold = rng.normal(size=n)
    shared = rng.normal(size=n)
    return [
        correlation_result("BIOSSES", f"e{i}", gold, gold + noise * (shared + rng.normal(size=n)))
        for i, noise in enumerate(noises)
    ]


def test_accuracy_is_tested_with_mcnemar_and_corrected_by_holm() -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 2, 400)
    results = [accuracy_result("RQE", name, gold, answers(gold, p, rng)) for name, p in (("a", 0.9), ("b", 0.7), ("c", 0.72))]
    comparison = compare_results(results, resamples=500)
    (column,) = comparison.columns
    right = [np.array(r.items["gold"]) == np.array(r.items["predicted"]) for r in results]
    raw = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        first, second = int(np.sum(right[i] & ~right[j])), int(np.sum(~right[i] & right[j]))
        if first + second < 25:
            expected = stats.binomtest(first, first + second).pvalue
        else:
            expected = stats.chi2.sf((abs(first - second) - 1) ** 2 / (first + second), 1)
        raw.append(expected)
        assert column.p_values[i, j] == pytest.approx(expected)
    order = np.argsort(raw)
    holm = np.empty(3)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (3 - rank) * raw[index]))
        holm[index] = running
    assert [column.corrected[i, j] for i, j in ((0, 1), (0, 2), (1, 2))] == pytest.approx(holm.tolist())
    assert column.beaten_by("a", 0.05) == ["b", "c"]
    assert column.beaten_by("b", 0.05) == []
    assert column.best() == {"a"}
    assert comparison.wins_ties_losses() == {"a": (2, 0, 0), "b": (0, 1, 1), "c": (0, 1, 1)}
    found = column.difference("a", "b")
    assert found is not None
    assert found.interval.low < found.interval.estimate < found.interval.high
    assert found.interval.estimate == pytest.approx(column.scores["a"].value - column.scores["b"].value)


def test_correlations_and_f1_are_tested_by_a_paired_bootstrap() -> None:
    rng = np.random.default_rng(2)
    results = simulated_similarities(rng, 200, [0.3, 3.0])
    (column,) = compare_results(results, resamples=2000).columns
    assert column.test == "paired bootstrap"
    assert column.p_values[0, 1] < 0.01
    gold = rng.integers(0, 2, 200)
    with_f1 = []
    for name, p in (("a", 0.95), ("b", 0.6)):
        predicted = answers(gold, p, rng)
        f1 = 200 * np.sum(gold & predicted) / (gold.sum() + predicted.sum())
        metrics = [Metric("f1", float(f1), 0, 100, 60, "percent", 200)]
        items = {"id": list(map(str, range(200))), "gold": gold.tolist(), "predicted": predicted.tolist(), "fold": [0, 1] * 100}
        with_f1.append(simulated_result("RQE", name, metrics, items, label_names=("false", "true")))
    (column,) = compare_results(with_f1, resamples=2000).columns
    assert (column.test, column.beaten_by("a", 0.05)) == ("paired bootstrap", ["b"])


def test_subsets_are_averaged_as_the_score_is() -> None:
    rng = np.random.default_rng(3)
    gold = rng.normal(size=90)
    subset = ["x"] * 30 + ["y"] * 60
    results = []
    for name, noise in (("a", 0.2), ("b", 4.0)):
        predicted = gold + noise * rng.normal(size=90)
        parts = [np.corrcoef(gold[rows], predicted[rows])[0, 1] for rows in (slice(30), slice(30, 90))]
        values = {"pearson": np.mean(parts), "pearson_weighted": np.average(parts, weights=[30, 60])}
        metrics = [Metric(kind, float(value), -1, 1, 0, "fraction", 90) for kind, value in values.items()]
        items = {"id": list(map(str, range(90))), "gold": gold.tolist(), "predicted": predicted.tolist(), "subset": subset}
        results.append(simulated_result("STS12", name, metrics, items))
    for column in compare_results(results, resamples=1000).columns:
        found = column.difference("a", "b")
        assert found is not None
        assert found.interval.estimate == pytest.approx(column.scores["a"].value - column.scores["b"].value)
        assert found.corrected < 0.05


def test_other_protocols_are_never_compared_without_saying_so() -> None:
    gold = np.arange(40) % 2
    first = accuracy_result("RQE", "a", gold, gold, how="RQE@1|kfold-10|exact|seed=1111|data=abc")
    other_probe = accuracy_result("RQE", "b", gold, 1 - gold, how="RQE@1|kfold-10|sklearn|seed=1111|data=abc")
    other_data = accuracy_result("RQE", "c", gold, 1 - gold, how="RQE@1|kfold-10|exact|seed=1111|data=def")
    comparison = compare_results([first, other_probe, other_data], resamples=100)
    assert [column.label for column in comparison.columns] == ["RQE [1]", "RQE [2]", "RQE [3]"]
    assert all(not column.tested for column in comparison.columns)
    (note,) = [note for note in comparison.notes if "not compared across" in note]
    assert "[1] a: exact data=abc" in note
    assert "[2] b: sklearn data=abc" in note
    assert "[3] c: exact data=def" in note
    assert "not one protocol" in render_comparison(comparison)
    two = compare_results([first, other_probe], resamples=100)
    assert [column.label for column in two.columns] == ["RQE [1]", "RQE [2]"]
    assert "RQE: not one protocol, so not compared across: [1] a: exact; [2] b: sklearn" in two.notes


def test_only_common_items_are_tested() -> None:
    rng = np.random.default_rng(4)
    gold = rng.normal(size=60)
    full = correlation_result("BIOSSES", "a", gold, gold + rng.normal(size=60))
    part = correlation_result("BIOSSES", "b", gold, gold + rng.normal(size=60))
    kept = list(range(59, 9, -1))
    part = replace(part, items={name: [values[i] for i in kept] for name, values in part.items.items()})
    comparison = compare_results([full, part], resamples=200)
    assert comparison.columns[0].n_common == 50
    assert any("tested on the 50 items" in note for note in comparison.notes_on(comparison.columns))
    shown = render_comparison(comparison, options=TableOptions(metrics=("pearson",)))
    assert "BIOSSES, pearson: tested on the 50 items" in shown
    assert "spearman" not in shown


@pytest.mark.parametrize(
    ("ids", "gold", "found"),
    [
        (["7", "1"], [70, 10], [["1", "7"], ["1", "7"]]),
        (["7", "x"], [70, 10], "the encoders were scored on different items"),
        (["1", "2", "7"], None, [["1", "2", "7"], ["1", "2", "7"]]),
        (["1", "2", "7"], [10, 0, 70], "the gold answers differ"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_items_stand_in_one_order_and_have_one_gold_answer(
    ids: list[str], gold: list[int] | None, found: list[list[str]] | str, turned: bool
) -> None:
    others: dict[str, Any] = {"id": ids} if gold is None else {"id": ids, "gold": gold}
    items = [{"id": ["1", "2", "7"], "gold": [10, 20, 70]}, others]
    results = {str(i): simulated_result("MEN", str(i), [], each, headline=("acc",)) for i, each in enumerate(items)}
    aligned = align_items(dict(reversed(results.items())) if turned else results)
    if isinstance(aligned, str):
        assert aligned == found
    else:
        columns, n = aligned
        assert [sorted(column["id"]) for column in columns] == found
        assert columns[0]["id"] == columns[1]["id"]
        assert n == len(found[0])


def test_letters_go_to_the_encoder_that_the_test_found_better() -> None:
    """A score on easy items of its own, or the mean over other seeds, may be the higher one and yet the test's loser."""
    rng = np.random.default_rng(21)
    gold = rng.standard_normal(400)
    weak, strong = gold + 2 * rng.standard_normal(400), gold + rng.standard_normal(400)
    weak[200:] = 10 * gold[200:]
    strong = strong[:200]
    results = [correlation_result("MEN", "weak", gold, weak), correlation_result("MEN", "strong", gold[:200], strong)]
    (column,) = compare_results(results, resamples=500).columns
    assert column.scores["weak"].value > column.scores["strong"].value
    assert column.difference("strong", "weak").interval.low > 0  # type: ignore[union-attr]
    assert (column.beaten_by("strong", 0.05), column.beaten_by("weak", 0.05)) == (["weak"], [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"items": {"id": []}}, "no per-item predictions"),
        ({"items": {"id": ["1", "2"], "text": ["x", "y"]}}, "no per-item predictions"),
        ({"items": {"id": ["x", "y"], "gold": [0, 1], "predicted": [0, 1]}}, "different items"),
        ({"items": {"id": ["0", "0"], "gold": [0, 1], "predicted": [0, 1]}}, "item names repeat"),
        ({"items": {"id": ["0", "1"], "gold": [1, 0], "predicted": [0, 1]}}, "gold answers differ"),
    ],
)
def test_what_cannot_be_tested_is_said(change: dict[str, Any], reason: str) -> None:
    gold = np.arange(40) % 2
    results = [accuracy_result("RQE", "a", gold, gold), replace(accuracy_result("RQE", "b", gold, gold), **change)]
    comparison = compare_results(results, resamples=100)
    assert any(reason in note for note in comparison.notes_on(comparison.columns)), comparison.notes


def test_unknown_metrics_and_missing_labels_are_not_tested() -> None:
    gold = np.arange(40) % 2
    results = []
    for name in ("a", "b"):
        result = accuracy_result("MR", name, gold, gold)
        metrics = tuple(replace(result.metrics[0], name=kind) for kind in ("f1", "oddity"))
        results.append(replace(result, metrics=metrics, headline=("f1", "oddity")))
    comparison = compare_results(results, resamples=100)
    notes = comparison.notes_on(comparison.columns)
    assert any("without a positive label" in note for note in notes)
    assert any("no paired test for the metric 'oddity'" in note for note in notes)


def test_per_item_values_of_any_metric_are_resampled() -> None:
    rng = np.random.default_rng(5)
    results = []
    for name, shift in (("a", 0.5), ("b", 0.0)):
        values = rng.random(80) + shift
        metric = Metric("reciprocal_rank", float(values.mean()), 0, 1, 0, "fraction", 80)
        items = {"id": list(map(str, range(80))), "reciprocal_rank": values.tolist()}
        results.append(simulated_result("RQE", name, [metric], items))
    (column,) = compare_results(results, resamples=500).columns
    assert column.beaten_by("a", 0.05) == ["b"]


def test_seeds_are_averaged_and_one_is_tested() -> None:
    gold = np.arange(40) % 2
    rng = np.random.default_rng(6)
    results = [accuracy_result("RQE", name, gold, answers(gold, 0.8, rng), seed=seed) for name in ("a", "b") for seed in (1, 2)]
    comparison = compare_results(results, resamples=100)
    (column,) = comparison.columns
    assert column.scores["a"].value == pytest.approx(np.mean([results[0].metrics[0].value, results[1].metrics[0].value]))
    assert any("tests are of seed 1" in note for note in comparison.notes_on(comparison.columns))
    apart = compare_results([results[0], results[3]], resamples=100)
    assert any("share no seed" in note for note in apart.notes)


@pytest.mark.parametrize("part", ["limit=50", "incomplete"])
def test_scores_on_a_part_of_the_data_are_named(part: str) -> None:
    gold = np.arange(40) % 2
    results = [accuracy_result("RQE", name, gold, gold) for name in "ab"]
    assert not any("part of the data" in note for note in compare_results(results, resamples=100).notes)
    partial = [replace(each, signature=each.signature.replace("|data=", f"|{part}|data=")) for each in results]
    notes = compare_results(partial, resamples=100).notes
    assert f"RQE: scored on a part of the data ({part}): no score for publication" in notes


def test_two_encoders_of_one_name_stay_apart() -> None:
    gold = np.arange(40) % 2
    first = accuracy_result("RQE", "a", gold, gold)
    second = replace(accuracy_result("RQE", "a", gold, 1 - gold), encoder_identity="other")
    assert compare_results([first, second], resamples=100).encoders == ("a (1)", "a (2)")
    smaller = replace(second, dimension=16)
    assert compare_results([first, smaller], resamples=100).encoders == (f"a (size {first.dimension})", "a (size 16)")


def test_ranks_over_tasks() -> None:
    rng = np.random.default_rng(7)
    gold = rng.integers(0, 2, 100)
    tasks = ["RQE", "BioC", "MR", "CR", "MRPC", "TREC"]
    results = [
        accuracy_result(task, e, gold, answers(gold, p, rng))
        for task in tasks
        for e, p in (("a", 0.95), ("b", 0.8), ("c", 0.6))
    ]
    outcome = ranking(compare_results(results, resamples=100))
    assert isinstance(outcome, FriedmanOutcome)
    assert outcome.mean_ranks.tolist() == [1, 2, 3]
    two = compare_results([r for r in results if r.encoder != "c"], resamples=100)
    assert isinstance(ranking(two), Significance)
    assert isinstance(ranking(compare_results(results[:2], resamples=100)), str)
    with pytest.raises(SettingsError, match="no result"):
        compare_results([])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        *[({"level": level}, f"level is {level}; it must lie between 0 and 1") for level in (0, 1, 5, -0.05, float("nan"))],
        *[({"intervals": name}, f"intervals is '{name}'; it can be percentile or bca") for name in ("bogus", "fisher")],
        *[({"resamples": few}, f"resamples is {few}; intervals and tests need at least 99") for few in (1, 98)],
        ({"correction": "bogus"}, "the correction is 'bogus'; it can be none, "),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused_though_nothing_is_tested(option: dict[str, Any], message: str) -> None:
    alone = [accuracy_result("RQE", "one", [0, 1] * 6, [0, 1] * 6)]
    with pytest.raises(SettingsError, match=re.escape(message)):
        compare_results(alone, **{"resamples": 99, **option})


def test_percentages_and_fractions_are_ranked_on_one_scale() -> None:
    rng = np.random.default_rng(9)
    gold, scores = np.arange(200) % 2, rng.normal(size=200)
    results = []
    for name, flipped, noise in (("a", 30, 0.1), ("b", 28, 2.0)):
        predicted = np.where(np.arange(200) < flipped, 1 - gold, gold)
        results.append(accuracy_result("RQE", name, gold, predicted))
        results += [
            correlation_result(task, name, scores, scores + noise * rng.normal(size=200)) for task in ("BIOSSES", "ClinicalSTS")
        ]
    comparison = compare_results(results, resamples=100)
    outcome = ranking(comparison)
    assert isinstance(outcome, Significance)
    differences = [
        (c.scores["a"].value - c.scores["b"].value) / (100 if c.unit == "percent" else 1) for c in comparison.columns
    ]
    # One point of accuracy is less than 0.5 of a correlation: the smallest of the three ranks.
    assert outcome.statistic == stats.wilcoxon(differences).statistic == 1


@pytest.mark.parametrize(("points", "statistic"), [(5.0, 1.0), (15.0, 2.0), (25.0, 3.0), (35.0, 4.0), (45.0, 5.0)])
def test_a_point_of_accuracy_is_a_hundredth_of_a_correlation(points: float, statistic: float) -> None:
    """Differences of 0.1 to 0.4 in four correlations, and one in accuracy the other way: its rank among them is the scale."""
    results = []
    for name, gains, accuracy in (("a", (0.1, 0.2, 0.3, 0.4), 50.0), ("b", (0.0,) * 4, 50.0 + points)):
        metrics = [Metric("spearman", 0.3 + gain, 0, 1, 0, "fraction", 1000) for gain in gains]
        tasks = zip(("BIOSSES", "ClinicalSTS", "MayoSRS", "MEN"), metrics, strict=True)
        results += [simulated_result(task, name, [metric], {"id": []}) for task, metric in tasks]
        results.append(simulated_result("RQE", name, [Metric("acc", accuracy, 0, 100, 50, "percent", 1000)], {"id": []}))
    outcome = ranking(compare_results(results, resamples=100))
    assert isinstance(outcome, Significance)
    assert outcome.statistic == min(statistic, 15 - statistic)
    # The exact distribution of the signed rank sum of five differences.
    sums = [sum(rank for rank, sign in zip(range(1, 6), signs, strict=True) if sign) for signs in product((0, 1), repeat=5)]
    assert outcome.p_value == pytest.approx(2 * np.mean(np.array(sums) <= outcome.statistic))


def test_what_the_items_cannot_tell_apart_is_equal() -> None:
    def columns(values: list[float], kind: str, unit: str, n: int) -> Any:
        results = [
            simulated_result("RQE", f"e{i}", [Metric(kind, value, 0, 100, 50, unit, n)], {"id": []})
            for i, value in enumerate(values)
        ]
        return compare_results(results, resamples=100).columns[0]

    # Half an item of 100 is half a point; 70.5 and 69.4 are further apart than that, if not from what lies between.
    column = columns([70.0, 70.0 + 1e-9, 69.6, 69.4, 50.0], "acc", "percent", 100)
    assert column.best() == {"e0", "e1", "e2"}
    assert list(column.resolved().values()) == pytest.approx([70.0, 70.0, 70.0, 69.4, 50.0])
    # One of 100 items moves a correlation of 0.8 by about (1 - 0.64) / 100.
    assert columns([0.8, 0.8 - 0.0017, 0.8 - 0.0019], "pearson", "fraction", 100).best() == {"e0", "e1"}
    assert columns([1.0, 1.0 - 1e-8, 0.9999], "spearman", "fraction", 100).best() == {"e0", "e1"}
    assert columns([0.5, 0.496, 0.494], "map", "fraction", 100).best() == {"e0", "e1"}
    assert columns([0.5], "map", "fraction", 100).best() == set()
    assert (
        columns([70.0, 30.0], "acc", "percent", 1).best() == columns([70.0, 30.0], "acc", "percent", 0).best() == {"e0", "e1"}
    )
    assert columns([70.0, 19.0], "acc", "percent", 1).best() == {"e0"}


def noisy_twins(tasks: tuple[str, ...], extra: int = 1) -> list[Any]:
    """One model through two loaders, whose scores differ by float noise, and encoders that are worse."""
    results = []
    for number, task in enumerate(tasks):
        values = {"one": 0.8, "two": 0.8 + (-1) ** number * 3e-8, **{f"worse{i}": 0.5 - i / 10 for i in range(extra)}}
        for name, value in values.items():
            results.append(simulated_result(task, name, [Metric("spearman", value, 0, 1, 0, "fraction", 100)], {"id": []}))
    return results


def test_float_noise_gives_no_star_and_no_rank() -> None:
    comparison = compare_results(noisy_twins(("BIOSSES", "ClinicalSTS", "MEN", "MayoSRS")), resamples=100)
    assert all(column.best() == {"one", "two"} for column in comparison.columns)
    outcome = ranking(comparison)
    assert isinstance(outcome, FriedmanOutcome)
    assert outcome.mean_ranks.tolist() == [1.5, 1.5, 3.0]
    assert render_comparison(comparison).count("0.800*") == 8
    two = ranking(compare_results(noisy_twins(("BIOSSES", "ClinicalSTS", "MEN"), extra=0), resamples=100))
    assert isinstance(two, Significance)
    assert two.p_value == 1.0


@pytest.mark.parametrize(
    ("tasks", "encoders", "said"),
    [
        (2, 3, "With 2 tasks and 3 encoders no difference of mean ranks could be significant: 2.34 would be needed, "
               "and they lie at most 2 apart."),
        (3, 3, ""),
        (5, 2, "With 5 tasks no difference could be significant: p is 0.0625 or more."),
        (6, 2, ""),
    ],
)  # fmt: skip
def test_too_few_tasks_to_rank_are_named(tasks: int, encoders: int, said: str) -> None:
    names = ("BIOSSES", "ClinicalSTS", "MEN", "MayoSRS", "STS12", "STS13")[:tasks]
    comparison = compare_results(noisy_twins(names, encoders - 2), resamples=100)
    text = render_comparison(comparison)
    assert without_hope(ranking(comparison), 0.05) == said
    assert said in text
    assert ("could be significant" in text) == bool(said)
    assert ("Nemenyi" in text) == (encoders > 2 and not said)
    assert without_hope(ranking(comparison), 0.2) == ("" if encoders == 2 else said)


def test_every_metric_that_is_shown_is_tested() -> None:
    rng = np.random.default_rng(14)
    gold = rng.integers(0, 2, 300)
    results = []
    for name, p in (("a", 0.9), ("b", 0.6), ("c", 0.61)):
        result = accuracy_result("RQE", name, gold, answers(gold, p, rng), label_names=("false", "true"))
        predicted = np.array(result.items["predicted"])
        f1 = 200 * np.sum(gold & predicted) / (gold.sum() + predicted.sum())
        metrics = (*result.metrics, Metric("f1", float(f1), 0, 100, 60, "percent", 300))
        results.append(replace(result, metrics=metrics, headline=("acc",)))

    def rows(**options: Any) -> dict[tuple[str, str], dict[str, str]]:
        text = render_comparison(compare_results(results, resamples=1000, **options), "csv")
        return {(row["metric"], row["encoder"]): row for row in csv.DictReader(io.StringIO(text))}

    tested = rows(all_metrics=True)
    for metric in ("acc", "f1"):
        assert tested[metric, "a"]["tested"] == "b; c"
        assert tested[metric, "a"]["better_than"] == "b; c"
        assert tested[metric, "b"]["tested"] == "a; c"
        # Tested without a difference is not the same as not tested.
        assert tested[metric, "b"]["better_than"] == tested[metric, "b"]["note"] == ""
        assert tested[metric, "a"]["n"] == "300"
    column = compare_results(results, resamples=1000, all_metrics=True).columns[1]
    assert [float(p) for p in tested["f1", "b"]["p"].split("; ")] == pytest.approx(
        [column.corrected[1, 0], column.corrected[1, 2]], rel=1e-3
    )
    untested = rows()["f1", "a"]
    assert (untested["tested"], untested["p"], untested["note"]) == ("", "", "no headline metric")
    (alone,) = compare_results(results[:1], resamples=100).columns[:1]
    assert alone.untested == "one encoder"
    assert alone.p_values.shape == alone.corrected.shape == (0, 0)


def test_synthetic_data_gets_no_verdict() -> None:
    rng = np.random.default_rng(15)
    gold = rng.integers(0, 2, 200)
    results = [
        accuracy_result(task, name, gold, answers(gold, p, rng), synthetic=True)
        for task in ("RQE", "MR", "TREC", "MRPC")
        for name, p in (("a", 0.95), ("b", 0.6), ("c", 0.5))
    ]
    comparison = compare_results(results, resamples=500, all_metrics=True)
    for column in comparison.columns:
        assert (column.untested, column.tested, column.best()) == ("synthetic sample data", [], set())
        assert column.difference("a", "b") is None
    assert ranking(comparison) == "synthetic sample data ranks nobody"
    text = render_comparison(comparison, options=TableOptions(against="b"))
    assert f"{comparison.columns[0].scores['a'].value:.2f}" in text
    for verdict in ("*", "McNemar", "Friedman", "Wins", "Mean rank", "interval"):
        assert verdict not in text
    assert "not tested, not ranked, and none is called best" in text
    rows = list(csv.DictReader(io.StringIO(render_comparison(comparison, "csv"))))
    assert {(row["best"], row["better_than"], row["tested"], row["note"]) for row in rows} == {
        ("0", "", "", "synthetic sample data")
    }
    # Real data beside it is judged, and ranked without it.
    real = [replace(r, synthetic=False, signature=r.signature.replace("data=abc", "data=real")) for r in results[:6]]
    mixed = compare_results([*results, *real], resamples=500)
    outcome = ranking(mixed)
    assert isinstance(outcome, FriedmanOutcome)
    assert outcome.n_tasks == 2
    assert sum(bool(column.tested) for column in mixed.columns) == 2


@pytest.mark.parametrize(
    ("labels", "positive", "said"),
    [
        (("false", "true"), 1, ""),
        (("true", "false"), 0, ""),
        (("false", "maybe"), None, "F1 of a task without a positive label"),
    ],
)
def test_f1_is_that_of_the_positive_label_wherever_it_stands(labels: tuple[str, ...], positive: int | None, said: str) -> None:
    rng = np.random.default_rng(16)
    gold = (rng.random(120) < 0.3).astype(int)
    predictions = [answers(gold, p, rng) for p in (0.9, 0.7)]
    metrics = [Metric("f1", 50.0, 0, 100, 50, "percent", 120)]
    results = []
    for name, predicted in zip("ab", predictions, strict=True):
        items = {"id": list(map(str, range(120))), "gold": gold.tolist(), "predicted": predicted.tolist()}
        results.append(simulated_result("RQE", name, metrics, items, label_names=labels))
    (column,) = compare_results(results, resamples=300).columns
    assert column.untested == said
    found = column.difference("a", "b")
    if positive is None:
        assert found is None
    else:
        assert found is not None
        expected = [100 * f1_score(gold, predicted, pos_label=positive) for predicted in predictions]
        assert found.interval.estimate == pytest.approx(expected[0] - expected[1])


@pytest.mark.parametrize(
    ("correction", "encoders", "level", "enough"),
    [("holm", 8, 0.05, 560), ("bonferroni", 5, 0.05, 200), ("none", 8, 0.004, 250), ("bh", 8, 0.004, 250)],
)
def test_too_few_resamples_are_named(correction: str, encoders: int, level: float, enough: int) -> None:
    """With R resamples p is at least 1 / (R + 1), times the number of pairs where a correction multiplies by it."""
    results = simulated_similarities(np.random.default_rng(8), 40, [1.0] * encoders)
    tests = encoders * (encoders - 1) // 2 if correction in ("holm", "bonferroni") else 1
    assert tests / (enough + 1) < level <= tests / enough

    def said(resamples: int, level: float = level) -> list[str]:
        comparison = compare_results(results, resamples=resamples, correction=correction, level=level)
        return [note for note in comparison.notes if "resamples" in note]

    assert said(enough) == []
    (note,) = said(enough - 1)
    assert note == f"{enough - 1} resamples cannot make any of {tests} test(s) significant ({correction}): use {enough}"
    assert said(enough - 1, level=1.2 * level) == []
    assert not any("resamples" in note for note in compare_results(simulated_encoders(
        np.random.default_rng(8), 40, [0.5] * 8), resamples=100).notes)  # fmt: skip


def test_bca_intervals_say_what_is_significant_and_need_twice_as_many_resamples() -> None:
    results = simulated_similarities(np.random.default_rng(8), 40, [0.6, 1.0, 1.2])

    def compared(resamples: int) -> Comparison:
        return compare_results(results, resamples=resamples, intervals="bca", correction="holm")

    (column,) = compared(120).columns
    assert column.test == "BCa bootstrap"
    assert column.weighted is not None
    drawn = bootstrap(column.weighted, resamples=120, rng=np.random.default_rng(1111))
    assert np.array_equal(column.p_values, drawn.p_values("bca"))
    assert not np.array_equal(column.p_values, drawn.p_values("percentile"))
    found = column.difference(column.tested[0], column.tested[1])
    assert found is not None
    assert found.interval == drawn.difference(0, 1, confidence=0.95, method="bca")
    # Both ends of an interval have their resamples: 2 x 3 tests / 120 are not below 0.05.
    assert not [note for note in compared(120).notes if "resamples" in note]
    said = "119 resamples cannot make any of 3 test(s) significant (holm): use 120"
    assert [note for note in compared(119).notes if "resamples" in note] == [said]


def false_mark_rate(kind: str, trials: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    marked = 0
    for trial in range(trials):
        results = simulated_encoders(rng, 150, [0.5] * 4) if kind == "accuracy" else simulated_similarities(rng, 60, [1.0] * 4)
        (column,) = compare_results(results, resamples=400, seed=trial).columns
        marked += any(column.beaten_by(encoder, 0.05) for encoder in column.tested)
    return marked / trials


@pytest.mark.parametrize(("kind", "trials"), [("accuracy", 400), pytest.param("correlation", 200, marks=pytest.mark.slow)])
def test_equal_encoders_are_marked_no_more_often_than_promised(kind: str, trials: int) -> None:
    """Four encoders of equal ability: the share of columns with any mark is at most the level, up to chance (99.9 %)."""
    rate = false_mark_rate(kind, trials, seed=11)
    largest = stats.binom.ppf(0.999, trials, 0.05) / trials
    print(f"{kind}: false marks in {rate:.1%} of {trials} columns (nominal 5 %)")
    assert rate <= largest


def power(kind: str, effect: float, trials: int = 150) -> float:
    """Return how often an encoder that is better by ``effect`` is marked as better than both of two equal ones."""
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(trials):
        if kind == "accuracy":
            results = simulated_encoders(rng, 300, [0.5 + effect, 0.5, 0.5])
        else:
            results = simulated_similarities(rng, 100, [1.3 - effect, 1.3, 1.3])
        (column,) = compare_results(results, resamples=400).columns
        found += column.beaten_by("e0", 0.05) == ["e1", "e2"]
    return found / trials


@pytest.mark.parametrize(
    ("kind", "effects"),
    [("accuracy", (0.0, 0.2, 0.4, 0.8)), pytest.param("correlation", (0.0, 0.25, 0.5, 0.8), marks=pytest.mark.slow)],
)
def test_a_real_difference_is_found_the_more_often_the_larger_it_is(kind: str, effects: tuple[float, ...]) -> None:
    powers = [power(kind, effect) for effect in effects]
    print(f"power, {kind}: {dict(zip(effects, powers, strict=True))}")
    assert powers == sorted(powers)
    assert powers[0] <= 0.05
    assert powers[-1] > 0.9


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    rng = np.random.default_rng(13)
    store = ResultStore(tmp_path / "results")
    gold = rng.integers(0, 2, 200)
    for name, p in (("good", 0.9), ("poor_one", 0.6), ("middling", 0.75), ("fair", 0.8)):
        for task in ("RQE", "MR", "TREC"):
            store.save(accuracy_result(task, name, gold, answers(gold, p, rng)))
    return tmp_path / "results"


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["compare", *arguments, "--resamples", "1000"])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_the_command_in_every_format(stored: Path, tmp_path: Path) -> None:
    text = run(str(stored), "--against", "poor_one")
    assert "Mean rank" in text
    assert "Friedman" in text
    assert "good      poor_one" in text
    # Encoders come in the order of their folders.
    assert "a  fair" in text
    latex = run(str(stored), "--format", "latex", "--against", "good")
    assert r"poor\_one" in latex
    assert r"95 \% interval" in latex
    assert r"\textbf{" in run(str(stored), "--format", "latex")
    assert "**" in run(str(stored), "--format", "markdown")
    rows = list(csv.DictReader(io.StringIO(run(str(stored), "--format", "csv", "-t", "RQE"))))
    assert {row["encoder"] for row in rows} == {"good", "poor_one", "middling", "fair"}
    assert next(row["best"] for row in rows if row["encoder"] == "good") == "1"
    for result in load_results([str(stored)], stored):
        extra = replace(result.metrics[0], name="other")
        items = {
            **result.items,
            "other": [float(g == p) for g, p in zip(result.items["gold"], result.items["predicted"], strict=True)],
        }
        ResultStore(tmp_path / "more").save(replace(result, metrics=(*result.metrics, extra), headline=("acc",), items=items))
    rows = list(csv.DictReader(io.StringIO(run(str(tmp_path / "more"), "--format", "csv", "-t", "RQE"))))
    assert {row["metric"] for row in rows if row["tested"]} == {"acc", "other"}
    output = tmp_path / "out.md"
    run("good", "poor_one", "-r", str(stored), "--format", "markdown", "-o", str(output))
    assert output.read_text("utf-8").count("\n| ") >= 3


def test_published_rows_are_marked(stored: Path) -> None:
    text = run(str(stored), "--with", "published", "-t", "RQE,MR")
    assert "†  USE_large3 [medsenteval-3]" in text
    assert "57.92?" in text
    assert "Differs, RQE: [medsenteval-3] under kfold-10, senteval, ours under split, exact" in text
    assert "not testable" in text
    rows = list(csv.DictReader(io.StringIO(run(str(stored), "--with", "medsenteval-3", "-t", "RQE", "--format", "csv"))))
    assert next(row["note"] for row in rows if row["encoder"] == "ELMo_5.5B") == "57.92 is not a multiple of 1/302; 57.95 is"
    synthetic = [replace(result, synthetic=True) for result in load_results([str(stored)], stored)]
    shown = render_comparison(compare_results(synthetic, resamples=100, published=select_numbers(table="medsenteval-3")))
    assert "published numbers beside them compare nothing" in shown


def test_bad_requests_are_explained(stored: Path, tmp_path: Path) -> None:
    assert "there: fair, good, middling, poor_one" in run("nobody", "-r", str(stored), code=2)
    assert "no results folder" in run("good", "-r", str(tmp_path / "none"), code=2)
    assert "is not one of 'text', 'markdown', 'latex', 'csv'" in run(str(stored), "--format", "word", code=2)
    assert "--against is 'x'" in run(str(stored), "--against", "x", code=2)
    assert "no result of the tasks" in run(str(stored), "-t", "CR", code=2)
    (tmp_path / "empty").mkdir()
    assert "holds no result" in run(str(tmp_path / "empty"), code=2)
    (tmp_path / "bad.json").write_text("{}", "utf-8")
    with pytest.raises(MedSentEvalError, match=r"bad\.json: not a result"):
        load_results([str(tmp_path / "bad.json")], stored)
    with pytest.raises(DataMissingError):
        load_results([], tmp_path / "none")


def test_files_and_everything_in_the_folder(stored: Path) -> None:
    files = sorted(stored.rglob("*.json"))
    assert len(load_results([str(path) for path in files[:2]], stored)) == 2
    assert len(load_results([], stored)) == len(files) == 12
    # The same result twice is one result.
    assert len(load_results([str(stored), str(files[0])], stored)) == 12
    assert isinstance(compare_results(load_results([], stored), resamples=100), Comparison)
    assert json.loads(files[0].read_text("utf-8"))["schema"] == 1


@pytest.mark.slow
def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.compare import main as benchmark

    benchmark(["--small"])
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["Encoders", "Tasks"]
    assert [row.split()[:2] for row in rows] == [["4", "10"], ["8", "10"]]


def test_results_go_to_mteb_and_come_back(stored: Path, tmp_path: Path) -> None:
    exported = tmp_path / "mteb"
    result = CliRunner().invoke(main, ["export", "mteb", str(stored), "-o", str(exported)])
    assert result.exit_code == 0, result.output
    assert "12 result(s)" in result.output
    text = run(str(stored), "-t", "RQE", "--with", str(exported))
    assert "†  medsenteval/good [mteb]" in text


def test_labels_that_training_never_had_are_noted_below_the_comparison() -> None:
    gold = np.arange(40) % 2
    unseen = "3 of 40 tested items have a label that training never had: c (3)"
    results = [accuracy_result("RQE", name, gold, gold, notes=(unseen, "one row was read as Latin-1")) for name in ("a", "b")]
    assert compare_results(results).notes == (f"RQE: {unseen}",)


def test_analogies_are_tested_over_relations_as_they_are_scored() -> None:
    """The better encoder by relations is the worse one by questions, of which one relation has most."""
    relation = ["large"] * 60 + [f"small {i // 2}" for i in range(20)]
    rng = np.random.default_rng(0)
    right = {"by questions": np.arange(80) < 55, "by relations": (np.arange(80) >= 60) | (rng.random(80) < 0.3)}
    results = []
    for name, answers in right.items():
        means = [np.mean(answers[np.array(relation) == each]) for each in dict.fromkeys(relation)]
        metric = Metric("acc", float(np.mean(means)), 0.0, 1.0, 0.0, "fraction", 80)
        items = {"id": [str(i) for i in range(80)], "relation": relation, "acc": answers.astype(float).tolist()}
        results.append(simulated_result("BATS", name, [metric], items))
    (column,) = compare_results(results, resamples=1000).columns
    assert column.test == "paired bootstrap"
    found = column.difference("by relations", "by questions")
    assert found is not None
    expected = column.scores["by relations"].value - column.scores["by questions"].value
    assert found.interval.estimate == pytest.approx(expected)
    assert expected > 0.5 > 0 > right["by relations"].mean() - right["by questions"].mean()
    assert (found.interval.n, column.beaten_by("by relations", 0.05)) == (11, ["by questions"])
    for relation, values in ((["x"] * 3, [1.0, 0.0, 0.5]), (["x", "y", "x"], [0.75, 0.0])):
        score = weighted_score("acc", results[0], [{"acc": [1.0, 0.0, 0.5], "relation": relation}])
        assert isinstance(score, Means)
        assert score.values.tolist() == [values]


def test_a_column_says_how_its_scores_were_made() -> None:
    gold = [0, 1] * 6
    (probed,) = compare_results([accuracy_result("RQE", name, gold, gold) for name in "ab"], resamples=100).columns
    assert (probed.protocol, probed.label, probed.headline, probed.n_common) == ("split, exact", "RQE", True, 12)
    bare = [correlation_result("BIOSSES", name, range(6), [0, 2, 1, 3, 5, 4]) for name in "ab"]
    assert [column.protocol for column in compare_results(bare, resamples=100).columns] == ["cosine"]


def test_encoders_have_letters_beyond_the_alphabet() -> None:
    names = tuple(map(str, range(703)))
    letters = list(Comparison(names, {}, (), (), 0.05, "holm", False).letters().values())
    assert [letters[number] for number in (0, 1, 25, 26, 27, 701, 702)] == ["a", "b", "z", "aa", "ab", "zz", "aaa"]


def test_entities_are_compared_by_the_counts_of_every_run() -> None:
    def tagged(name: str, *runs: tuple[list[int], list[int], list[int]]) -> Any:
        counts = {
            f"{kind}_{i}": column for i, run in enumerate(runs, 1) for kind, column in zip(("tp", "fp", "fn"), run, strict=True)
        }
        items = {"id": [str(i) for i in range(4)], **counts}
        return simulated_result("AnatEM", name, [Metric("f1", 50, 0, 100, 0, "percent", 4)], items)

    one = tagged("one", ([2, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 2]), ([1, 0, 1, 1], [0, 0, 0, 3], [1, 0, 1, 2]))
    two = tagged("two", ([0, 0, 1, 1], [1, 1, 0, 0], [2, 0, 1, 2]), ([2, 0, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0]))
    (column,) = compare_results([one, two], resamples=100).columns
    # Two runs each: 2 x 4 / (2 x 4 + 1 + 3) and 2 x 3 / (2 x 3 + 3 + 4); 2 x 2 / (2 x 2 + 2 + 5) and 1.
    assert 100 * column.observed == pytest.approx([100 * (8 / 12 + 6 / 13) / 2, 100 * (4 / 11 + 1) / 2])
    assert (column.test, column.n_common) == ("paired bootstrap", 4)
    (apart,) = compare_results([one, tagged("two", ([1] * 4, [0] * 4, [0] * 4))], resamples=100).columns
    assert apart.untested == "the taggers were run a different number of times"


def test_other_versions_of_libraries_are_noted_but_not_of_python() -> None:
    gold = [0, 1] * 10

    def noted(**versions: str) -> bool:
        results = [accuracy_result("RQE", "one", gold, gold), accuracy_result("RQE", "two", gold, gold, versions=versions)]
        said = "RQE: made with different versions of this toolkit or its libraries"
        return said in compare_results(results, resamples=100).notes

    assert [noted(medsenteval="1"), noted(medsenteval="1", python="3.9"), noted(medsenteval="2")] == [False, False, True]
