"""Results as objects: tables, frames and what is asked of them by name; every public docstring's example runs."""

from __future__ import annotations

import doctest
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval.comparison.decision import ranks_with_intervals
from medsenteval.errors import DataMissingError, MissingExtraError, SettingsError
from medsenteval.report.notebook import Compared
from medsenteval.running.result_store import ResultStore
from medsenteval.running.results import Results
from medsenteval.settings import Settings
from tests.comparison.simulated import accuracy_result

QUICK = Settings(folds=2, resamples=100, limit=60)
GOLD = np.tile([0, 1], 50)


def counted(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("e"), text.count(" ")] for text in texts]


@pytest.fixture(scope="module")
def results() -> Results:
    encoders = ["lexical,dimension=64", counted]
    # A limit would draw other rows with each seed, which are other data and other columns.
    quick = QUICK.with_changes(limit=None)
    return medsenteval.evaluate(encoders, "BioASQ,BIOSSES", settings=quick, name=["words", "counts"], seeds=(1, 2))


def test_several_encoders_and_seeds(results: Results) -> None:
    assert (results.encoders, results.tasks, len(results)) == (["words", "counts"], ["BioASQ", "BIOSSES"], 8)
    assert {result.seed for result in results.values()} == {1, 2}
    with pytest.raises(SettingsError, match=r"BIOSSES has 4 results: words \(seed 1\), .*values\(\) has them all"):
        results["BIOSSES"]
    with pytest.raises(KeyError, match="encoders: words, counts"):
        results["BIOSSES", "glove"]
    with pytest.raises(KeyError, match="no result of the task 'RQE'; there: BioASQ, BIOSSES"):
        results["RQE"]
    with pytest.raises(SettingsError, match="give a list with a name for each"):
        medsenteval.evaluate(["lexical", counted], "BIOSSES", name="one")


def test_the_frame_holds_every_score_at_full_precision(results: Results) -> None:
    frame = results.to_dataframe()
    wanted = ["encoder", "task", "metric", "value", "low", "high", "baseline", "n", "protocol", "signature"]
    assert set(wanted) <= set(frame.columns)
    expected = [
        (result.encoder, result.task, metric.name, metric.value, result.signature)
        for result in results.values()
        for metric in result.metrics
    ]
    assert list(frame[["encoder", "task", "metric", "value", "signature"]].itertuples(index=False, name=None)) == expected


def test_frames_tell_encoders_of_one_name_and_protocols_apart() -> None:
    pytest.importorskip("pandas")
    small, large = (accuracy_result("RQE", "bert", GOLD, GOLD, dimension=size, encoder_identity=f"{size}") for size in (3, 16))
    cut = replace(small, coverage={"tokens": 0.2}, probe="sklearn", signature=small.signature.replace("exact", "sklearn"))
    found = Results([small, large, cut])
    frame = found.to_dataframe()
    assert list(frame["encoder"]) == ["bert (size 3)", "bert (size 16)", "bert (size 3)"]
    assert list(frame["probe"]) == ["exact", "exact", "sklearn"]
    assert list(frame["caution"]) == ["", "", "the encoder knows less than half of this task's words"]
    items = found.items()
    assert len(items) == 3 * len(GOLD)
    assert not items.duplicated(["encoder", "protocol", "seed", "id"]).any()
    assert "protocol" not in Results([small, large]).items().columns


def test_an_encoder_has_one_name_in_all_frames() -> None:
    good, bad = ("good", GOLD), ("bad", 1 - GOLD)
    several = Results(
        [
            replace(accuracy_result(task, "one", GOLD, answers), encoder_identity=identity)
            for task, order in (("RQE", (good, bad)), ("BioASQ", (bad, good)))
            for identity, answers in order
        ]
    )
    scores = several.to_dataframe().set_index(["task", "encoder"])["value"]
    for task in several.tasks:
        items = several.items(task)
        shares = (items["gold"] == items["predicted"]).groupby(items["encoder"]).mean()
        assert (100 * shares).to_dict() == scores[task].to_dict()


def test_items_score_as_the_result_does(results: Results) -> None:
    frame = Results(result for result in results.values() if result.encoder == "words").items("BioASQ")
    one = frame[frame["seed"] == 1]
    result = next(r for r in results.values() if (r.encoder, r.task, r.seed) == ("words", "BioASQ", 1))
    assert set(one["gold"]) == set(result.label_names)
    by_fold = (one["gold"] == one["predicted"]).groupby(one["fold"]).mean()
    assert 100 * by_fold.mean() == pytest.approx(result.metric("acc").value)
    with pytest.raises(SettingsError, match="name one of BioASQ, BIOSSES"):
        results.items()


def test_what_is_shown_is_short(results: Results) -> None:
    assert len(repr(results)) < 800
    assert len(repr(results.values()[0])) < 200
    assert "BioASQ" in repr(results.values()[0])
    html = results._repr_html_()
    assert html.count("<tr>") == 1 + 2 + 1
    assert "±" in html
    hostile = Results([accuracy_result("RQE", "<script>", GOLD, GOLD)])
    assert "<script>" not in hostile._repr_html_()


def test_stored_results_are_reused_unless_forced(tmp_path: Path) -> None:
    calls: list[int] = []

    def counting(texts: list[str]) -> Any:
        calls.append(len(texts))
        return counted(texts)

    def run(**more: Any) -> Any:
        return medsenteval.evaluate(
            counting, "BIOSSES", settings=QUICK, output=tmp_path, identity="counts-1", cache=False, **more
        )["BIOSSES"]

    first, again = run(), run()
    assert (first.made, first.metrics) == (again.made, again.metrics)
    once = len(calls)
    assert run(force=True).made > first.made
    assert len(calls) == 2 * once
    assert medsenteval.load_results(tmp_path)["BIOSSES"].metrics == first.metrics
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataMissingError, match="holds no result"):
        medsenteval.load_results(tmp_path / "empty")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"settings": {"fold": 5}}, "no setting is called 'fold'; did you mean 'folds'?"),
        ({"fold": 5}, "no setting is called 'fold'; did you mean 'folds'?"),
        ({"settings": 7}, "settings is 7; expected Settings or a dict such as {'folds': 5}"),
        ({"settings": {"folds": "5"}}, "folds is '5'; expected a whole number"),
    ],
)
def test_wrong_settings_say_what_is_expected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        medsenteval.evaluate("lexical", "BIOSSES", **given)
    assert str(caught.value) == said


def test_settings_by_name_and_as_a_dict() -> None:
    by_name = medsenteval.evaluate("lexical,dimension=64", "BioASQ", folds=3, limit=40)["BioASQ"]
    as_dict = medsenteval.evaluate("lexical,dimension=64", "BioASQ", settings={"folds": 3, "limit": 40})["BioASQ"]
    assert by_name.signature == as_dict.signature
    assert by_name.protocol == "kfold-3"


def test_pandas_is_asked_for_by_name(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'medsenteval\[pandas\]'"):
        results.to_dataframe()


def test_a_comparison_as_an_object() -> None:
    rng = np.random.default_rng(7)
    good, poor = (np.where(rng.random(100) < share, GOLD, 1 - GOLD) for share in (0.95, 0.6))
    found = medsenteval.compare([accuracy_result("RQE", "poor", GOLD, poor), accuracy_result("RQE", "good", GOLD, good)])
    assert isinstance(found, Compared)
    (row,) = found.to_dataframe().to_dict("records")
    assert (row["first"], row["second"], row["verdict"], row["n"]) == ("poor", "good", "worse", 100)
    expected = 100 * (np.mean(poor == GOLD) - np.mean(good == GOLD))
    assert row["difference"] == pytest.approx(expected)
    assert row["low"] < row["difference"] < row["high"] < 0
    assert {name: rank.rank for name, rank in found.ranks.items()} == {"poor": 2.0, "good": 1.0}
    assert found.ranks == ranks_with_intervals(found.comparison, seed=1111)
    assert "better" in repr(found)
    assert found._repr_markdown_().startswith("|  | Encoder | Size | RQE |")


def test_stored_results_are_compared_by_the_name_of_their_folder(tmp_path: Path) -> None:
    made = [accuracy_result("RQE", name, GOLD, GOLD) for name in ("one", "two")]
    for result in made:
        ResultStore(tmp_path).save(result)
    assert str(medsenteval.compare(tmp_path, resamples=100)) == str(medsenteval.compare(made, resamples=100))
    stored = medsenteval.load_results(tmp_path)
    assert (stored.keys(), list(stored), len(stored)) == (["RQE"], ["RQE"], 2)
    assert "RQE" in stored
    assert "rqe" not in stored


PUBLIC = [name for name in medsenteval.__all__ if name not in ("__version__", "engine", "registry", "utils")]


@pytest.mark.parametrize("name", [*PUBLIC, "engine.SE", "registry.task", "registry.select_tasks", "registry.load_encoder"])
def test_the_example_in_a_public_docstring_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing: Any = medsenteval
    for part in name.split("."):
        thing = getattr(thing, part)
    finder = doctest.DocTestFinder(recurse=isinstance(thing, type))
    module = False if name == "report" else None
    tests = [test for test in finder.find(thing, name, module=module, globs={"medsenteval": medsenteval}) if test.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        said: list[str] = []
        failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append).failed
        assert not failed, "".join(said)
