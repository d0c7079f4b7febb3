"""What a page shows: the comparison's own numbers, what is missing and why, cost, disagreement."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix as reference_matrix

from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Metric
from medsenteval.errors import SettingsError
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.report.sections.disagreement import confusion_matrix, find_disagreements
from medsenteval.report.sections.relations import relation_scores
from medsenteval.running.result_schema import Failure
from tests.comparison.simulated import accuracy_result, correlation_result, simulated_result
from tests.report.made_up import analogy_result, many_results

QUICK = PageOptions(resamples=300)


def test_cells_are_the_comparison() -> None:
    results = many_results(4, 10, n_items=150)
    page = Page(results, options=QUICK)
    comparison = compare_results(results, resamples=300)
    ours = {(column.label, column.metric): cells for column, cells in page.cells.items()}
    assert page.comparison.encoders == comparison.encoders
    letters = comparison.letters()
    for column in comparison.columns:
        shown = ours[column.label, column.metric]
        for encoder, metric in column.scores.items():
            cell = shown[encoder]
            assert cell.value == metric.value
            assert cell.best == (encoder in column.best())
            spelled = {letter for text in cell.beats for letter in _spelled(text)}
            assert spelled == {letters[other] for other in column.beaten_by(encoder, 0.05)}
            assert cell.mark == (metric.mark)


def test_the_script_gets_each_difference_with_its_verdict_to_five_decimals() -> None:
    page = Page(many_results(3, 2, n_items=70), options=QUICK)
    payload = page.payload()
    assert payload["encoders"] == list(page.comparison.encoders)
    shown = [(c["label"], c["metric"], *pair) for c in payload["columns"] for pair in c["pairs"]]
    assert shown == [
        (found.task, found.metric, *(payload["encoders"].index(name) for name in (found.first, found.second)),
         *(float(f"{x:.5f}") for x in (found.interval.estimate, found.interval.low, found.interval.high, found.corrected)),
         payload["verdicts"].index(found.verdict))
        for column in payload["columns"] for found in page.decisions
        if (found.task, found.metric) == (column["label"], column["metric"])
    ]  # fmt: skip
    assert len(shown) >= 6
    assert any(round(low, 5) != round(low, 4) for *_, low, _, _, _ in shown)


def _spelled(text: str) -> list[str]:
    first, dash, last = text.partition("–")
    return [chr(code) for code in range(ord(first), ord(last) + 1)] if dash else [first]


def test_long_runs_of_letters_are_shortened() -> None:
    gold = np.zeros(200, dtype=int)
    predicted = [np.array([0] * right + [1] * (200 - right)) for right in (190, 60, 57, 40, 30)]
    results = [accuracy_result("RQE", f"e{i}", gold, answer) for i, answer in enumerate(predicted)]
    (cells,) = Page(results, options=QUICK).cells.values()
    assert cells["e0"].beats == ("b–e",)
    assert cells["e1"].beats == ("d", "e")


def test_tasks_stand_in_the_order_of_the_catalogue_and_encoders_as_given() -> None:
    gold = [0, 1] * 10
    made = [accuracy_result(task, name, gold, gold) for name in ("z", "a") for task in ("Mine", "MR", "RQE", "MedNLI")]
    page = Page(made, options=QUICK)
    assert [view.column.task for view in page.views] == ["MedNLI", "RQE", "MR", "Mine"]
    assert page.groups == ("sentence", "general", "other")
    assert page.comparison.encoders == ("z", "a")
    assert page.views[-1].access == "unknown"


def test_marks_of_scores_near_the_constant_answer() -> None:
    def result(encoder: str, value: float, low: float) -> Any:
        metric = Metric("map", value, low, 0.95, 0.2, "fraction", 9)
        return simulated_result("HPO", encoder, [metric], {"id": ["1", "2"]})

    scores = {"bad": (0.1, 0.05), "equal": (0.2, 0.1), "fair": (0.3, 0.2), "clear": (0.35, 0.21), "good": (0.9, 0.8)}
    page = Page([result(name, *ends) for name, ends in scores.items()], options=QUICK)
    (cells,) = page.cells.values()
    assert {name: cell.mark for name, cell in cells.items()} == {"bad": "!", "equal": "!", "fair": "?", "clear": "", "good": ""}
    assert {name: cell.share for name, cell in cells.items()} == pytest.approx(
        {"bad": -0.125, "equal": 0.0, "fair": 0.125, "clear": 0.1875, "good": 0.875}
    )
    assert [name for name, _ in page.views[0].columns[0].best_first()] == ["good", "clear", "fair", "equal", "bad"]


def test_seeds_and_protocols() -> None:
    gold = [0, 1] * 20
    wrong = [1 - g if i < 9 else g for i, g in enumerate(gold)]
    results = [
        accuracy_result("RQE", "one", gold, gold, seed=1, label_names=("no", "yes")),
        accuracy_result("RQE", "one", gold, wrong, seed=2, label_names=("no", "yes")),
        accuracy_result("RQE", "two", gold, wrong, seed=1, label_names=("no", "yes")),
        accuracy_result("RQE", "two", gold, gold, seed=1, how="RQE@1|kfold-5|exact|seed=1|data=abc"),
    ]
    page = Page(results, options=QUICK)
    assert [view.column.label for view in page.views] == ["RQE [1]", "RQE [2]"]
    assert [(job.encoder, job.seed) for job in page.views[0].results] == [("one", 1), ("one", 2), ("two", 1)]
    assert next(iter(page.cells.values()))["one"].value == pytest.approx((100 + 100 * 31 / 40) / 2)
    found = page.views[0].disagreement
    assert found is not None
    # The first seed of both: one is right on all items, two on all but nine.
    assert (found.all_right, found.all_wrong, found.split) == (31, 0, 9)


def test_confusion_against_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    gold, predicted = rng.integers(0, 4, 300), rng.integers(0, 4, 300)
    result = accuracy_result("TREC", "one", gold, predicted, label_names=("a", "b", "c", "d"))
    assert confusion_matrix(result) == reference_matrix(gold, predicted).tolist()
    assert confusion_matrix(accuracy_result("TREC", "one", gold, predicted)) is None
    for n, shown in ((1, False), (2, True), (30, True), (31, False)):
        labels = tuple(map(str, range(n)))
        matrix = confusion_matrix(accuracy_result("TREC", "one", gold % n, predicted % n, label_names=labels))
        assert (matrix is not None) == shown, n
        assert matrix is None or [len(row) for row in matrix] == [n] * n
    assert confusion_matrix(simulated_result("TREC", "one", [], {"id": ["1"]}, label_names=("a", "b"))) is None


def test_disagreement_of_classes() -> None:
    gold = [0, 0, 1, 2, 2]
    answers = {"a": [0, 1, 1, 2, 0], "b": [0, 0, 1, 0, 0], "c": [0, 2, 1, 1, 0], "d": [0, 0, 1, 2, 0]}
    names = ("x", "y", "z")
    results = {name: accuracy_result("PICO", name, gold, given, label_names=names) for name, given in answers.items()}
    found = find_disagreements(results, "acc")
    assert found is not None
    assert (found.n, found.all_right, found.all_wrong, found.split) == (5, 2, 1, 2)
    assert [item.id for item in found.items] == ["1", "3"]
    assert list(found.items[0].answers) == [
        ("x", ("b", "d"), True),
        ("y", ("a",), False),
        ("z", ("c",), False),
    ]
    assert found.items[0].gold == "x"
    assert len(find_disagreements(results, "acc", most=1).items) == 1  # type: ignore[union-attr]


def test_disagreement_of_similarities_is_by_rank() -> None:
    gold = [1.0, 2.0, 3.0, 4.0]
    results = {
        "a": correlation_result("BIOSSES", "a", gold, [0.1, 0.2, 0.3, 0.9]),
        "b": correlation_result("BIOSSES", "b", gold, [0.95, 0.91, 0.92, 0.93]),
    }
    found = find_disagreements(results, "pearson")
    assert found is not None
    assert found.split is None
    assert [item.id for item in found.items] == ["0", "1", "2", "3"]
    first = found.items[0]
    assert first.gold == "1"
    assert [(said, who) for said, who, _ in first.answers] == [
        ("lowest: rank 1 of 4", ("a",)),
        ("highest: rank 4 of 4", ("b",)),
    ]


def test_disagreement_of_values_and_of_entities() -> None:
    def change(name: str, values: list[float]) -> Any:
        metric = Metric("sensitivity", 0.5, 0.4, 0.6, 0, "fraction", 2)
        return simulated_result("NegationFlip", name, [metric], {"id": ["p", "q"], "sensitivity": values})

    found = find_disagreements({"a": change("a", [0.5, 0.1]), "b": change("b", [0.5, 0.7])}, "sensitivity")
    assert found is not None
    assert [(item.id, item.gold, [said for said, _, _ in item.answers]) for item in found.items] == [
        ("q", "", ["lowest: 0.100", "highest: 0.700"])
    ]

    def tagged(name: str, spans: list[str]) -> Any:
        items = {"id": ["s1", "s2"], "gold": ["0-1:Gene", ""], "predicted_1": spans}
        return simulated_result("BC2GM", name, [Metric("f1", 50, 40, 60, 10, "percent", 2)], items)

    found = find_disagreements({"a": tagged("a", ["0-1:Gene", ""]), "b": tagged("b", ["", ""])}, "f1")
    assert found is not None
    assert [said for said, _, _ in found.items[0].answers] == ["0-1:Gene", "none"]
    assert (found.all_right, found.split) == (1, 1)


def test_ten_items_are_shown_that_differ_most_the_first_of_equal_ones_first() -> None:
    gold = [0] * 40
    results = {name: accuracy_result("RQE", name, gold, [i % 2] * 40, label_names=("x", "y")) for i, name in enumerate("ab")}
    found = find_disagreements(results, "acc")
    assert found is not None
    assert [item.id for item in found.items] == [str(i) for i in range(10)]
    numbers = {
        name: correlation_result("BIOSSES", name, range(40), [i * (-1) ** p for i in range(40)]) for p, name in enumerate("ab")
    }
    shown = find_disagreements(numbers, "pearson")
    assert shown is not None
    assert [item.id for item in shown.items] == ["0", "39", "1", "38", "2", "37", "3", "36", "4", "35"]


def test_a_page_shows_ten_items_of_a_task_unless_told_otherwise() -> None:
    gold = [0] * 40
    results = [accuracy_result("RQE", name, gold, [i % 2] * 40, label_names=("x", "y")) for i, name in enumerate("ab")]
    for examples, shown in ((None, 10), (3, 3)):
        (view,) = Page(results, options=PageOptions(resamples=300, examples=examples)).views
        assert view.disagreement is not None
        assert len(view.disagreement.items) == shown


def test_nothing_to_disagree_on() -> None:
    one = accuracy_result("RQE", "one", [0, 1], [0, 1])
    assert find_disagreements({"one": one}, "acc") is None
    other = accuracy_result("RQE", "two", [1, 1], [0, 1])
    assert find_disagreements({"one": one, "two": other}, "acc") is None
    bare = [simulated_result("RQE", name, [], {"id": ["1", "2"]}) for name in "ab"]
    assert find_disagreements(dict(zip("ab", bare, strict=True)), "acc") is None


def test_missing_scores_and_their_reasons() -> None:
    gold = [0, 1] * 10
    results = [accuracy_result(task, "one", gold, gold) for task in ("RQE", "PICO", "BioC")]
    results.append(accuracy_result("RQE", "two", gold, gold))
    failures = [
        Failure("PICO", "two", "s", "cannot hold 3 GB", "MemoryError"),
        Failure("RQE", "one", "other", "an old failure of a job that has a result", "DataError"),
    ]
    page = Page(results, failures, QUICK)
    said = {(task, encoders): reason for task, encoders, reason in page.missing}
    assert said["PICO", ("two",)] == "failed: cannot hold 3 GB"
    assert said["BioC", ("two",)] == "no result stored: not run"
    assert said["BIOSSES", ()].startswith("no result stored: not run, or its data was absent. To get it: ")
    assert len(said) == 2 + 7


def test_cost() -> None:
    gold = [0, 1]
    more = {"timings": {"read": 1.0, "encode": 2.0, "fit": 3.0}, "coverage": {"zero_vectors": 0.25}}
    first = accuracy_result("RQE", "one", gold, gold, performance={"texts_encoded": 50, "peak_memory_mb": 70.0}, **more)
    cached = accuracy_result("PICO", "one", gold, gold, performance={"texts_encoded": 0, "peak_memory_mb": 90.0}, **more)
    bare = accuracy_result("RQE", "two", gold, gold)
    untimed = accuracy_result("RQE", "three", gold, gold, performance={"texts_encoded": 1})
    one, two, three = Page([first, cached, bare, untimed], options=QUICK).costs
    assert (one.read, one.encode, one.fit, one.texts_encoded) == (2.0, 4.0, 6.0, 50)
    # What the cache gave took no encoding: it is not counted as speed.
    assert one.per_second == 25.0
    assert (one.peak_memory_mb, one.unknown) == (90.0, 0.25)
    assert (two.per_second, two.peak_memory_mb, two.encode, two.unknown) == (None, None, 0.0, 0.0)
    assert (three.per_second, three.texts_encoded, three.encode) == (None, 1, 0.0)


def test_relations_of_analogies() -> None:
    same = [analogy_result(name, {"treats": 0.5, "causes": 0.25}) for name in ("one", "two")]
    expected = {"one": {"treats": 0.5, "causes": 0.25}, "two": {"treats": 0.5, "causes": 0.25}}
    assert relation_scores(same) == [("BMASS", "acc", expected)]
    other = replace(same[0], signature=same[0].signature.replace("|split|", "|multi-answer-3cosmul|"))
    unit = replace(same[0], signature=same[0].signature.replace("|data=", "|scale=unit|data="))
    ((_, _, series),) = relation_scores([same[0], other, unit])
    assert list(series) == ["one, split", "one, multi-answer-3cosmul", "one, split, scale=unit"]
    seeds = [same[0], replace(analogy_result("one", {"treats": 0.75}), seed=2)]
    assert relation_scores(seeds) == [("BMASS", "acc", {
        "one, seed=1111": {"treats": 0.5, "causes": 0.25}, "one, seed=2": {"treats": 0.75},
    })]  # fmt: skip
    # Other tasks have relations too, of another kind.
    medical = simulated_result("MedicalKnowledge", "one", [], {"id": ["1"]}, details={"relations": {"treats": 3}})
    assert relation_scores([medical]) == []


def word_result(task: str, name: str, n: int) -> Any:
    gold = list(map(float, range(n)))
    result = correlation_result(task, name, gold, gold)
    items = {**result.items, "first": [f"w{i}" for i in range(n)], "second": [f"w{i}" for i in range(n)]}
    return simulated_result(task, name, list(result.metrics), items)


def test_subsets() -> None:
    results = [word_result("UMNSRS-sim", "one", 30), word_result("MiniMayoSRS", "one", 6), word_result("RG-65", "one", 2)]
    page = Page(results, (), QUICK, {f"w{i}": float(i) for i in range(30)}, "frequency")
    assert [subsets.task for subsets in page.subsets] == ["UMNSRS-sim"]
    assert all(not math.isnan(score.value) for score in page.subsets[0].scores)
    assert len(page.without_subsets) == 2
    assert page.without_subsets[0] == "MiniMayoSRS: too few pairs in every subset"
    assert "RG-65" in page.without_subsets[1]
    with pytest.raises(SettingsError, match="word similarity"):
        Page([accuracy_result("RQE", "one", [0, 1], [0, 1])], (), QUICK, {"w": 1.0}, "frequency")
