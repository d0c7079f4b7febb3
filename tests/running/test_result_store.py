"""Results on disk: each job has its own place, whatever its encoder is called, and nothing takes another's."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import medsenteval
from medsenteval import Settings
from medsenteval.cli.main import main
from medsenteval.contracts import Result
from medsenteval.errors import DataError, DataMissingError, SettingsError
from medsenteval.running import record
from medsenteval.running.result_bundle import SUFFIX, pack_results
from medsenteval.running.result_schema import Failure
from medsenteval.running.result_store import ResultStore, ResultWarning, StoreError, load_results, of_tasks
from tests.comparison.simulated import accuracy_result
from tests.conftest import pipes

GOLD = np.arange(40) % 2


def test_names_that_were_one_folder_are_two_results(tmp_path: Path) -> None:
    def right(texts: list[str]) -> list[list[float]]:
        return [[len(text), text.count("e"), 1.0] for text in texts]

    found = {}
    for name in ("a b", "a_b", "a/b", "A_b"):
        results = medsenteval.evaluate(
            right, "BIOSSES", settings=Settings(resamples=100), output=tmp_path, name=name, identity="letters"
        )
        found[name] = results["BIOSSES"].encoder
    assert found == {name: name for name in ("a b", "a_b", "a/b", "A_b")}
    assert {result.encoder for result in ResultStore(tmp_path).results()} == set(found)


def test_a_job_finds_its_own_result_only(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    spaced, plain = (accuracy_result("RQE", "a b", GOLD, GOLD), accuracy_result("RQE", "a_b", GOLD, 1 - GOLD))
    plain = replace(plain, signature=spaced.signature)
    store.save(spaced)
    assert store.find("a_b", "RQE", plain.signature) is None
    store.save(plain)
    for result in (spaced, plain):
        found = store.find(result.encoder, "RQE", result.signature)
        assert found is not None
        assert (found.encoder, found.metrics) == (result.encoder, result.metrics)  # type: ignore[union-attr]


def test_each_job_has_its_place_and_a_result_replaces_its_failure(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    first = accuracy_result("RQE", "a", GOLD, GOLD)
    # As where folders do not tell letter case.
    other = replace(first, encoder="A")
    failed = store.save(Failure("RQE", "a", first.signature, "broken", "Error"))
    failure = store.find("a", "RQE", first.signature)
    assert isinstance(failure, Failure)
    places = {store.save(each).name for each in (first, other, first)}
    assert len(places) == 2
    assert failed.name.removesuffix(".failed.json") + ".json" in places
    assert not failed.exists()
    found = store.find("a", "RQE", first.signature)
    assert found is not None
    assert found.encoder == "a"
    assert store.find("a", "RQE", "another job") is None


def test_a_result_counts_for_its_own_job_only_and_more_than_a_failure(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    first = accuracy_result("RQE", "a", GOLD, GOLD)
    place = store.save(first)
    text = place.read_text("utf-8")
    store.save(Failure("RQE", "a", first.signature, "broken", "Error"))
    found = store.find("a", "RQE", first.signature)
    assert isinstance(found, Result)
    # Somebody has changed what is there.
    place.write_text(text.replace('"encoder": "a"', '"encoder": "A"'), "utf-8")
    assert isinstance(store.find("a", "RQE", first.signature), Failure)
    store.forget_failure("a", "RQE", first.signature)
    assert store.find("a", "RQE", first.signature) is None
    # The name that its file had in earlier versions.
    key = hashlib.sha256(first.signature.encode()).hexdigest()[:8]
    place.with_name(f"RQE.{key}.json").write_text(text, "utf-8")
    assert isinstance(store.find("a", "RQE", first.signature), Result)
    store.save(replace(first, encoder="A"))
    assert len(store.results()) == 3
    store.save(first)  # where another's now is, and beside nothing of its own
    assert sorted(result.encoder for result in store.results()) == ["A", "a"]


def test_no_task_name_leaves_the_folder(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    for task in ("../../outside", "/outside", "a/b", "a:b"):
        store.save(accuracy_result(task, "..", GOLD, GOLD))
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert len(store.results()) == 4


def test_the_very_name_wins_over_one_in_other_letters(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    for name in ("minilm", "MiniLM", "lexical"):
        store.save(accuracy_result("RQE", name, GOLD, GOLD))
        store.save(Failure("MR", name, "s", f"{name} broke", "Error"))
    chosen = load_results(["minilm", "Lexical"], store.folder)
    assert [result.encoder for result in chosen] == ["minilm", "lexical"]
    assert [result.encoder for result in load_results(["MINILM"], store.folder)] == ["MiniLM", "minilm"]
    page = tmp_path / "page.html"
    made = CliRunner().invoke(main, ["report", "minilm", "-r", str(store.folder), "-o", str(page), "--resamples", "100"])
    assert made.exit_code == 0, made.output
    assert "1 encoder(s)" in made.output
    assert "minilm broke" in page.read_text("utf-8")
    assert "MiniLM" not in page.read_text("utf-8")


@pytest.mark.parametrize(("wanted", "value"), [("auc", 1.0), ("AUC", 2.0), ("Auc", 1.0)])
def test_the_very_column_wins_too(wanted: str, value: float) -> None:
    from medsenteval.comparison.prediction import Columns

    assert Columns({"auc": {"a": 1.0}, "AUC": {"a": 2.0}}).column(wanted) == {"a": value}


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has pipes among files")
def test_a_pipe_or_a_folder_among_a_stranger_s_results_is_left_out(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    place = store.save(accuracy_result("RQE", "a", GOLD, GOLD))
    names = ("pipe.json", "pipe.failed.json", "pipe.results.zip", "RQE.pipe.json")
    for name in names:
        place.with_name(f"folder-{name}").mkdir()
    with pipes(*(place.with_name(name) for name in names)) as opened:
        assert [result.encoder for result in store.results()] == ["a"]
        assert store.failures() == []
        assert [result.encoder for result in store.latest_like("a", "RQE")] == ["a"]
    assert opened == []


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    store = ResultStore(tmp_path / "results")
    job = ("a", "RQE", "RQE@1|encoder=a")
    with store.locked(*job):
        pass
    [lock] = (tmp_path / "results" / "a").iterdir()
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(StoreError, match="cannot be written"), store.locked(*job):
        pass
    assert precious.read_text() == "mine"


def test_estimates_look_at_the_three_latest_of_the_encoder_and_of_the_task(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    tasks = ("RQE", "MedNLI", "TREC", "MR", "CR")
    for number, (encoder, task) in enumerate((encoder, task) for encoder in ("one", "two", "three", "four") for task in tasks):
        os.utime(store.save(accuracy_result(task, encoder, GOLD, GOLD)), (number, number))
    store.save(Failure("RQE", "one", "x", "no memory", "MemoryError"))
    found = [(result.encoder, result.task) for result in store.latest_like("one", "RQE")]
    assert found == [("one", "TREC"), ("one", "MR"), ("one", "CR"), ("two", "RQE"), ("three", "RQE"), ("four", "RQE")]


def test_a_stored_file_can_be_read_by_people(tmp_path: Path) -> None:
    text = ResultStore(tmp_path).save(accuracy_result("RQE", "β", GOLD, GOLD, notes=("naïve",))).read_text("utf-8")
    assert text.startswith('{\n "')
    assert '"naïve"' in text
    assert '"encoder": "β"' in text


def test_copies_of_a_result_count_once_and_other_scores_do_not_vanish(tmp_path: Path) -> None:
    one, other = (accuracy_result("RQE", "one", GOLD, answers) for answers in (GOLD, 1 - GOLD))
    for number, result in enumerate((one, one, other)):
        ResultStore(tmp_path / str(number)).save(result)
    found = load_results([str(tmp_path / str(number)) for number in range(3)], tmp_path)
    assert [result.metrics[0].value for result in found] == [100.0, 0.0]


def test_whoever_has_made_the_record_again_may_ask_for_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = accuracy_result("RQE", "one", GOLD, GOLD)
    monkeypatch.setattr(record, "_record", lambda: (stored,))
    assert load_results(["reference"], tmp_path, reference=True) == [stored]
    ResultStore(tmp_path).save(accuracy_result("MedNLI", "one", GOLD, GOLD))
    with pytest.raises(DataMissingError, match=r"it has none of these tasks, but, on real data: RQE$"):
        load_results([], tmp_path, reference=True)


def test_results_come_from_folders_files_bundles_and_names_of_encoders(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    paths = {name: store.save(accuracy_result("RQE", name, GOLD, GOLD)) for name in ("one", "two")}
    bundle = pack_results([accuracy_result("MR", "three", GOLD, GOLD)], tmp_path / f"b{SUFFIX}")
    empty = tmp_path / "empty"
    empty.mkdir()

    def loaded(*places: str | Path) -> list[str]:
        return [result.encoder for result in load_results(list(map(str, places)), store.folder)]

    assert loaded() == loaded(store.folder) == ["one", "two"]
    assert loaded("two") == loaded(paths["two"]) == ["two"]
    assert loaded(bundle, "one") == ["three", "one"]
    with pytest.raises(SettingsError, match=r"^'six' is neither a file or folder nor an encoder in .*; there: one, two$"):
        loaded("one", "six")
    with pytest.raises(DataMissingError, match=r"^no results folder .*none; name one with --results"):
        load_results(["one"], tmp_path / "none")
    with pytest.raises(DataMissingError, match=r"^no result was found in .*empty; `medsenteval run` makes some"):
        load_results([], empty)
    failed = store.save(Failure("MR", "one", "MR@1|encoder=one", "broken", "Error"))
    with pytest.raises(DataMissingError, match=r"no result was found in .*failed"):
        loaded(failed)
    # One file is an error where it is all that is asked for, and is left out beside others.
    paths["one"].write_text("{}", "utf-8")
    with pytest.raises(DataError, match=r"not a result of this toolkit: schema: None, but .* reads 1; remove it$"):
        loaded(paths["one"])
    with pytest.warns(ResultWarning, match="not a result of this toolkit"):
        assert loaded(paths["one"], paths["two"]) == ["two"]


def test_what_cannot_be_stored_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    result = accuracy_result("RQE", "one", GOLD, GOLD)
    for wrong in ({"details": {"x": float("nan")}}, {"timings": {"fit": -1.0}}, {"details": {"x": object()}}):
        with pytest.raises(DataError, match=r"^what the task returned cannot be stored: "):
            store.save(replace(result, **wrong))
    assert not (tmp_path / "results").exists()
    (tmp_path / "results").write_text("a file", "utf-8")
    with pytest.raises(StoreError, match=r"cannot be written: .*; name another folder with --output$"):
        store.save(result)


def test_a_job_is_locked_once_and_whoever_does_not_wait_is_told(tmp_path: Path) -> None:
    store, job = ResultStore(tmp_path), ("one", "RQE", "RQE@1|encoder=one")
    with store.locked(*job) as held, ResultStore(tmp_path).locked(*job, wait=False) as other:
        assert (held, other) == (True, False)
    with store.locked(*job, wait=False) as held, store.locked("two", *job[1:], wait=False) as other:
        assert (held, other) == (True, True)


def test_of_tasks_takes_tasks_and_groups_and_says_if_there_is_none() -> None:
    results = [accuracy_result(task, "one", GOLD, GOLD) for task in ("RQE", "MR", "file:a.csv", "file:A.csv")]

    def chosen(tasks: str | None) -> list[str]:
        return [result.task for result in of_tasks(results, tasks)]

    assert chosen(None) == ["RQE", "MR", "file:a.csv", "file:A.csv"]
    assert chosen("general") == ["MR"]
    assert chosen("mr, rqe") == ["RQE", "MR"]
    # The very name wins over one in other letters.
    assert (chosen("file:a.csv"), chosen("file:A.csv")) == (["file:a.csv"], ["file:A.csv"])
    with pytest.raises(SettingsError, match=r"^no result of the tasks 'TREC'$"):
        of_tasks(results, "TREC")
