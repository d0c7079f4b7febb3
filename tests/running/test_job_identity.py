"""One result counts for each job, the newest; encoders of one name stay apart; both are said."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Result
from medsenteval.running.job_identity import one_for_each_job, training_note
from medsenteval.running.result_store import ResultStore, load_results
from medsenteval.running.score_table import score_table
from tests.comparison.simulated import accuracy_result

GOLD = np.arange(40) % 2


def made_with(number: str, when: str, right: int, encoder: str = "a", **changes: Any) -> Result:
    result = accuracy_result("RQE", encoder, GOLD, np.where(np.arange(40) < right, GOLD, 1 - GOLD), **changes)
    versions = {"medsenteval": "1", "scikit-learn": number}
    return replace(result, versions=versions, made=when, signature=f"{result.signature},scikit-learn={number}")


def test_the_newest_of_one_job_counts_and_the_others_are_named() -> None:
    old, new = made_with("1.9.1", "2024-01-01", 30), made_with("1.8.0", "2024-02-01", 38)
    for results in ([old, new], [new, old]):
        kept, notes = one_for_each_job(results)
        assert [result.metrics for result in kept] == [new.metrics]
        (note,) = notes
        assert note == (
            "RQE, a, seed 1111: an older result of the same job is left out, made with scikit-learn 1.9.1 (now 1.8.0)"
        )
    comparison = compare_results([old, new, made_with("1.8.0", "2024-02-01", 20, "b")], resamples=100)
    (column,) = comparison.columns
    assert column.scores["a"].value == 95.0
    assert sum("older result" in note for note in comparison.notes) == 1
    assert not any("means over seeds" in note for note in comparison.notes)
    assert "±" not in score_table([old, new])
    assert "95.00" in score_table([old, new])


def test_other_seeds_are_other_jobs() -> None:
    results = [made_with("1.8.0", "2024-01-01", 30, seed=seed) for seed in (1, 2)]
    assert len(one_for_each_job(results)[0]) == 2
    assert "±" in score_table(results)


def test_results_without_a_date_go_by_their_file(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    for number, right, when in (("1.9.1", 30, 1_000_000_000), ("1.8.0", 38, 1_500_000_000)):
        path = store.save(made_with(number, "", right))
        os.utime(path, (when, when))
    kept, _ = one_for_each_job(load_results([str(tmp_path)], tmp_path))
    assert [result.metrics[0].value for result in kept] == [95.0]
    assert kept[0].made.startswith("2017-07-14")
    path = store.save(made_with("1.9.1", "", 30))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    assert one_for_each_job(load_results([], tmp_path))[0][0].metrics[0].value == 75.0


def test_two_scores_of_one_signature_are_named_and_copies_count_once(tmp_path: Path) -> None:
    old, new = made_with("1.8.0", "2024-01-01", 30), made_with("1.8.0", "2024-02-01", 38)
    assert old.signature == new.signature
    for name, result in (("a", old), ("b", new), ("c", new)):
        ResultStore(tmp_path / name).save(result)
    for order in ("abc", "cba", "bac"):
        loaded = load_results([str(tmp_path / name) for name in order], tmp_path)
        assert sorted(result.metrics[0].value for result in loaded) == [75.0, 95.0]
        kept, notes = one_for_each_job(loaded)
        assert [result.metrics[0].value for result in kept] == [95.0]
        assert notes == ["RQE, a, seed 1111: an older result of the same job is left out, made with the same versions"]
    outcome = CliRunner().invoke(main, ["results", "pack", *(str(tmp_path / name) for name in "ab"), "-o", "x.results.zip"])
    assert outcome.exit_code == 2
    assert "a, RQE: two scores of the same job" in outcome.output
    bundle = tmp_path / "b" / "copy.results.zip"
    assert CliRunner().invoke(main, ["results", "pack", str(tmp_path / "b"), "-t", "RQE", "-o", str(bundle)]).exit_code == 0
    (whole,) = load_results([str(tmp_path / "b")], tmp_path)
    assert whole.metrics == new.metrics


def unidentified(task: str, vectors: str, right: int) -> Result:
    result = accuracy_result(task, "encode", GOLD, np.where(np.arange(40) < right, GOLD, 1 - GOLD))
    mark = f"encode (no identity{f', vectors {vectors}' if vectors else ''})"
    return replace(result, encoder_identity="", signature=result.signature.replace("encoder=encode-1", f"encoder={mark}"))


def test_a_name_without_identity_is_one_encoder_until_its_vectors_differ() -> None:
    kept, notes = one_for_each_job([unidentified("RQE", "aa", 30), unidentified("MR", "bb", 30)])
    assert {result.encoder for result in kept} == {"encode"}
    assert notes == ["encode has no identity: results of that name are taken for one encoder's"]
    differing = [unidentified("RQE", "aa", 30), unidentified("RQE", "cc", 38), unidentified("RQE", "", 20)]
    kept, notes = one_for_each_job(differing)
    assert [(result.encoder, result.metrics[0].value) for result in kept] == [
        ("encode (1)", 75.0),
        ("encode (2)", 95.0),
        ("encode (3)", 50.0),
    ]
    assert "its vectors differ between runs" in notes[0]
    assert compare_results(differing, resamples=100).encoders == ("encode (1)", "encode (2)", "encode (3)")
    assert [result.encoder for result in one_for_each_job(kept)[0]] == [result.encoder for result in kept]


@pytest.mark.parametrize("command", [["gap"], ["export", "mteb", "-o", "mteb"]])
def test_commands_say_what_they_leave_out(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = ResultStore(tmp_path / "results")
    for number, when, right in (("1.9.1", "2024-01-01", 30), ("1.8.0", "2024-02-01", 38)):
        store.save(made_with(number, when, right))
    store.save(accuracy_result("MRPC", "a", GOLD, GOLD))
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "made with scikit-learn 1.9.1 (now 1.8.0)" in done.stderr


def test_unknown_training_is_not_taken_for_none() -> None:
    assert training_note(["yes", "no", "no", "unknown"]) == (
        "Trained on the task's data: 1 score(s) yes, 2 no, 1 unknown, which does not mean no"
    )
