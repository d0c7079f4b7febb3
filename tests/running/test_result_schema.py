"""Result files of strangers: read whole and sound, or refused with file and key, and never the end of all others."""

from __future__ import annotations

import json
import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval import Settings
from medsenteval.cli.main import main
from medsenteval.contracts import SCHEMA
from medsenteval.errors import DataError, DataMissingError
from medsenteval.registry import select_tasks
from medsenteval.running.result_schema import parse_outcome
from medsenteval.running.result_store import ResultStore, ResultWarning, load_results
from medsenteval.running.suite import Suite
from tests.comparison.simulated import accuracy_result
from tests.conftest import CountingEncoder
from tests.fuzz.result_readers import HOSTILE_VALUES, RESULTS, places, replaced, use

MUTATIONS = 500


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_every_family_are_read_as_they_were_written(name: str, tmp_path: Path) -> None:
    result = RESULTS[name]
    read = parse_outcome(json.dumps(result.to_json()))
    assert read.to_json() == result.to_json()  # type: ignore[union-attr]
    use([read, replace(result, encoder="other", encoder_identity="other")], tmp_path)  # type: ignore[list-item]


@pytest.mark.slow
def test_nothing_in_a_result_breaks_what_reads_it(tmp_path: Path) -> None:
    rng = random.Random(20)
    read = 0
    for _ in range(MUTATIONS):
        own = RESULTS[rng.choice(list(RESULTS))]
        stored = json.loads(json.dumps(own.to_json()))
        path = rng.choice([place for place in places(stored) if 0 < len(place) <= 3])
        try:
            found = parse_outcome(json.dumps(replaced(stored, path, rng.choice(HOSTILE_VALUES))))
        except DataError:
            continue
        read += 1
        use([found, replace(own, encoder="other", encoder_identity="other-1")], tmp_path, page=False)  # type: ignore[list-item]
    assert 20 < read < MUTATIONS // 2


@pytest.mark.parametrize(
    ("where", "value", "key"),
    [
        (("items",), 5, "items"),
        (("items", "id"), None, "items.id"),
        (("items", "id"), [5] * 12, "items.id: a list of texts"),
        (("items", "relation"), [5] * 12, "items.relation: a list of texts"),
        (("items", "acc"), ["x"] * 12, "items.acc: a list of texts"),
        (("items", "tp_1"), ["x"] * 12, "items.tp_1: a list of texts"),
        (("items", "tp_1"), [1] * 12, "tp_, fp_ and fn_ of each run are expected"),
        (("items", "own"), ["x", 1] * 6, "items.own: a list of texts"),
        (("items", "own"), [True] * 12, "items.own: a list of texts"),
        (("items", "own"), ["x"] * 11, "items.own: as many values as ids"),
        (("items", "gold"), ["x"] * 12, "items.gold"),
        (("items", "predicted"), [-1] * 12, "items.predicted"),
        (("items", "predicted"), [3] * 12, "items.predicted"),
        (("items", "predicted"), [0] * 11, "items.predicted"),
        (("items", "fold"), [0.5] * 12, "items.fold"),
        (("items", "fold"), [10**30] * 12, "items.fold"),
        (("details",), [], "details"),
        (("details",), {"relations": {"a": 5}}, "details.relations"),
        (("details",), {"relations": []}, "details.relations"),
        (("details",), {"unknown_pairs": 5}, "details.unknown_pairs"),
        (("details",), {"pairs": "x"}, "details.pairs"),
        (("senteval",), {"relations": {"a": {"acc": "x"}}}, "senteval.relations"),
        (("timings", "encode"), "x", "timings"),
        (("timings", "encode"), -1, "timings"),
        (("versions",), {"numpy": 2}, "versions"),
        (("versions",), ["numpy"], "versions"),
        (("performance", "texts"), None, "performance"),
        (("coverage",), 1, "coverage"),
        (("metrics", 0, "low"), "40", r"metrics\[0\].low"),
        (("metrics", 0, "n"), True, r"metrics\[0\].n"),
        (("metrics", 0), [], r"metrics\[0\]"),
        (("metrics",), [], "metrics"),
        (("headline",), [], "headline"),
        (("label_names",), "ab", "label_names"),
        (("notes",), [5], "notes"),
        (("seed",), -1, "seed"),
        (("dimension",), 2**70, "dimension"),
        (("synthetic",), 1, "synthetic"),
        (("encoder",), "\ud800", "surrogates not allowed"),
        (("surprise",), 1, "surprise"),
        (("failure",), {"task": 5}, "failure.task"),
    ],
)
def test_an_error_names_file_and_key(tmp_path: Path, where: tuple[Any, ...], value: Any, key: str) -> None:
    stored: Any = json.loads(json.dumps(RESULTS["classes"].to_json()))
    place = stored
    for part in where[:-1]:
        place = place[part]
    place[where[-1]] = value
    (tmp_path / "r.json").write_text(json.dumps(stored), "utf-8")
    with pytest.raises(DataError, match=rf"r\.json: not a result of this toolkit: .*{key}"):
        load_results([str(tmp_path / "r.json")], tmp_path)


def test_a_broken_and_a_newer_file_are_left_out_with_a_warning(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    for name in ("one", "two"):
        store.save(accuracy_result("RQE", name, [0, 1] * 20, [0, 1] * 20))
    (store.folder / "one" / "broken.json").write_text('{"schema": 1, "task"', "utf-8")
    (store.folder / "one" / "newer.json").write_text(json.dumps({"schema": SCHEMA + 1}), "utf-8")
    for command in (["compare"], ["report", "-o", str(tmp_path / "page.html"), "--resamples", "100"]):
        made = CliRunner().invoke(main, [*command, str(store.folder)], catch_exceptions=False)
        assert made.exit_code == 0, made.output
        assert "broken.json: not a result of this toolkit: not JSON" in made.output
        assert "newer.json: not a result of this toolkit: schema: 2" in made.output
        assert "Traceback" not in made.output
    shown = CliRunner().invoke(main, ["compare", str(store.folder)]).output
    assert "Warning: " in shown
    assert "one" in shown
    assert "two" in shown


def test_a_folder_of_broken_files_alone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{", "utf-8")
    with pytest.warns(ResultWarning, match=r"r\.json"), pytest.raises(DataMissingError, match="holds no result"):
        load_results([str(tmp_path)], tmp_path)


def test_a_run_over_a_damaged_result_does_its_job_again(tmp_path: Path) -> None:
    store, settings = ResultStore(tmp_path), Settings(folds=2, resamples=100)

    def run() -> Any:
        return Suite([CountingEncoder()], select_tasks("BIOSSES"), settings, store=store).run()

    first = run()
    [path] = tmp_path.rglob("*.json")
    path.write_text(path.read_text("utf-8")[:-40], "utf-8")
    with pytest.warns(ResultWarning, match="not a result of this toolkit"):
        again = run()
    assert again.reused == 0
    assert again.results[0].metrics == first.results[0].metrics
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run().reused == 1


def nested(depth: int) -> dict[str, Any]:
    inner: Any = 1.0
    for _ in range(depth):
        inner = {"a": inner}
    return {"a": inner}


@pytest.mark.parametrize(
    ("where", "value", "sound"),
    [
        (("dimension",), 2**63 - 1, True),
        (("dimension",), 2**63, False),
        (("seed",), 0, True),
        (("metrics", 0, "low"), -(2**63), True),
        (("metrics", 0, "low"), -(2**63) - 1, False),
        (("metrics", 0, "low"), 2**63 - 1, True),
        (("metrics", 0, "low"), 2**63, False),
        (("timings", "encode"), 0, True),
        (("items", "predicted"), [2] * 12, True),
        (("items", "predicted"), [3] * 12, False),
        (("details",), nested(18), True),
        (("details",), nested(19), False),
    ],
)
def test_values_at_the_ends_of_what_may_be(where: tuple[Any, ...], value: Any, sound: bool) -> None:
    stored: Any = json.loads(json.dumps(RESULTS["classes"].to_json()))
    changed = json.dumps({**stored, where[0]: value} if len(where) == 1 else replaced(stored, where, value))
    if sound:
        assert parse_outcome(changed).task == stored["task"]
    else:
        with pytest.raises(DataError, match=where[0]):
            parse_outcome(changed)


def test_a_wrong_value_is_shown_in_forty_letters() -> None:
    stored: Any = json.loads(json.dumps(RESULTS["classes"].to_json()))
    with pytest.raises(DataError, match=f"expected, not '{'x' * 39}$"):
        parse_outcome(json.dumps({**stored, "dimension": "x" * 99}))
    with pytest.raises(DataError, match="not a list of other things"):
        parse_outcome(json.dumps({**stored, "dimension": ["x" * 99]}))
