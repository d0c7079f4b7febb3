"""Bundles of results: packed without texts, refused after the change of any byte, and scores computed again from items."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import medsenteval
from medsenteval.cli.main import main
from medsenteval.comparison.bundle_verification import recomputed_score, verify_bundle
from medsenteval.contracts import Metric, Result
from medsenteval.errors import DataError
from medsenteval.running import result_bundle
from medsenteval.running.result_bundle import SUFFIX, pack_results, read_bundle, without_texts
from medsenteval.running.result_store import ResultStore
from medsenteval.settings import Settings
from tests.comparison.simulated import accuracy_result, simulated_result


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """Results of every family whose scores are computed in a way of their own."""
    settings = Settings(resamples=100, limit=80)
    names = "BIOSSES,BioC,STS12,UMNSRS-sim,HPO,Google,NCBI-disease"
    return list(medsenteval.evaluate("lexical,dimension=64", names, settings=settings, cache=False).values())


@pytest.fixture
def bundle(results: list[Result], tmp_path: Path) -> Path:
    return pack_results(results, tmp_path / "ours.results.zip")


def test_every_score_is_computed_again_from_the_items(results: list[Result], bundle: Path) -> None:
    found, beyond = verify_bundle(bundle)
    assert (len(found), beyond) == (len(results), [])
    for result in found:
        for metric in result.metrics:
            assert recomputed_score(result, metric) == pytest.approx(metric.value, rel=1e-9, abs=1e-9)


def test_a_bundle_holds_ids_and_answers_and_no_texts(results: list[Result], bundle: Path) -> None:
    words = next(result for result in results if result.task == "UMNSRS-sim")
    assert {"first", "second"} <= set(words.items)
    for result in read_bundle(bundle):
        assert not {"first", "second"} & set(result.items)
        assert result.rejected == ()
    quoted = replace(words, notes=("2 row(s) rejected; the first: file.txt:3: secret",), details={"unknown_words": ["secret"]})
    assert "secret" not in json.dumps(without_texts(quoted).to_json())


def test_one_changed_byte_anywhere_is_refused_with_its_place(results: list[Result], tmp_path: Path) -> None:
    bundle = pack_results(results[:1], tmp_path / "one.results.zip")
    whole = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        inside = {info.filename: info.header_offset + 30 + len(info.filename) for info in archive.infolist()}
    changed = tmp_path / "changed.results.zip"
    for place in [*range(0, len(whole), max(1, len(whole) // 150)), *range(len(whole) - 70, len(whole))]:
        changed.write_bytes(whole[:place] + bytes([whole[place] ^ 0x11]) + whole[place + 1 :])
        with pytest.raises(DataError, match=r"changed\.results\.zip: ") as caught:
            verify_bundle(changed)
        named = [name for name in inside if f"{name}: " in str(caught.value)]
        # A byte of the archive's own tables can make a name or the archive itself unreadable, which is said as well.
        elsewhere = ("the archive's own tables", "not a bundle", "File name in directory")
        assert named or any(words in str(caught.value) for words in elsewhere), str(caught.value)
    for name, start in inside.items():
        changed.write_bytes(whole[: start + 9] + bytes([whole[start + 9] ^ 1]) + whole[start + 10 :])
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            verify_bundle(changed)


def test_a_forged_score_is_found_though_every_hash_is_right(results: list[Result], tmp_path: Path) -> None:
    first = results[0]
    better = replace(first.metrics[0], value=first.metrics[0].value + 0.01)
    forged = pack_results([replace(first, metrics=(better, *first.metrics[1:]))], tmp_path / "forged.results.zip")
    assert len(read_bundle(forged)) == 1
    with pytest.raises(DataError, match=rf"{first.task}: {better.name} is .*, but the items give"):
        verify_bundle(forged)


@pytest.mark.parametrize(("share", "noticed"), [(0.9, False), (1.1, True)])
def test_a_score_may_differ_by_a_billionth_of_itself(
    results: list[Result], tmp_path: Path, share: float, noticed: bool
) -> None:
    (result,) = [each for each in results if each.task == "BIOSSES" and each.encoder == results[0].encoder]
    other = replace(result.metrics[0], value=result.metrics[0].value + share * 1e-9)
    forged = pack_results([replace(result, metrics=(other, *result.metrics[1:]))], tmp_path / "forged.results.zip")
    if noticed:
        with pytest.raises(DataError, match="but the items give"):
            verify_bundle(forged)
    else:
        verify_bundle(forged)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_a_score_whose_items_give_no_number_is_not_taken_for_theirs(tmp_path: Path) -> None:
    """Counts whose sums are infinite give an F1 of NaN, from which no score differs by more than anything."""
    counts = {"id": ["s1", "s2"], "tp_1": [1e308, 1e308], "fp_1": [0, 0], "fn_1": [0, 0]}
    forged = simulated_result("AnatEM", "mine", [Metric("f1", 99.0, 98, 100, 0, "percent", 2)], counts)
    path = pack_results([forged], tmp_path / "forged.results.zip")
    with pytest.raises(DataError, match=r"mine, AnatEM: f1 is 99\.0, but the items give nan"):
        verify_bundle(path)


def test_scores_that_items_do_not_give_are_named(tmp_path: Path) -> None:
    first = accuracy_result("RQE", "mine", [0, 1, 1], [0, 1, 0])
    spans = {"id": ["s1", "s2"], "gold": ["0-1:Gene 3-4:Gene", "0-1:Gene"], "predicted_1": ["0-1:Gene", "2-3:Gene"],
             "predicted_2": ["0-1:Gene 3-4:Gene", "0-1:Gene"]}  # fmt: skip
    # The runs find one of three entities and all three, of two and three said.
    rates = {"precision": (50.0 + 100) / 2, "recall": (100 / 3 + 100) / 2, "f1": (40.0 + 100) / 2}
    metrics = [Metric(name, value, 0, 100, 0, "percent", 2) for name, value in rates.items()]
    unknown = Metric("coverage", 3.0, 0, 100, 0, "percent", 3)
    tagged = simulated_result("AnatEM", "mine", [*metrics, unknown], spans)
    path = pack_results([replace(first, metrics=(*first.metrics, unknown)), tagged], tmp_path / "some.results.zip")
    results, beyond = verify_bundle(path)
    assert {result.task for result in results} == {"RQE", "AnatEM"}
    assert sorted(beyond) == ["mine, AnatEM, coverage", "mine, RQE, coverage"]
    said = CliRunner().invoke(main, ["results", "verify", str(path)]).output
    assert "2 result(s), 4 score(s) computed again" in said
    assert "not computed again, the items do not give it: mine, RQE, coverage" in said


def test_packing_twice_gives_the_same_bytes(results: list[Result], bundle: Path, tmp_path: Path) -> None:
    again = pack_results(list(reversed(read_bundle(bundle))), tmp_path / "again.results.zip")
    assert again.read_bytes() == bundle.read_bytes()


def test_what_the_results_of_a_task_share_is_stored_once(results: list[Result], tmp_path: Path) -> None:
    words = next(result for result in results if result.task == "UMNSRS-sim")
    many = [replace(words, encoder=f"e{number}", signature=f"{words.signature}{number}") for number in range(8)]
    one, all_of_them = (pack_results(each, tmp_path / f"{len(each)}.results.zip") for each in (many[:1], many))
    assert len(verify_bundle(all_of_them)[0]) == 8
    assert all_of_them.stat().st_size < 2 * one.stat().st_size


def test_commands_pack_verify_add_and_compare(results: list[Result], tmp_path: Path) -> None:
    runner, folder = CliRunner(), tmp_path / "results"
    for result in results[:2]:
        ResultStore(folder).save(result)
        ResultStore(folder).save(replace(result, encoder="other", encoder_identity="o", signature=result.signature + "o"))
    bundle, board = tmp_path / "mine.results.zip", tmp_path / "boards" / "ours"
    assert runner.invoke(main, ["results", "pack", "lexical", "-r", str(folder), "-o", str(bundle)]).exit_code == 0
    theirs = tmp_path / "packed" / "elsewhere" / "theirs.results.zip"
    assert runner.invoke(main, ["results", "pack", "other", "-r", str(folder), "-o", str(theirs)]).exit_code == 0
    verified = runner.invoke(main, ["results", "verify", str(bundle)])
    assert "unchanged; 2 result(s)" in verified.output
    for each in (bundle, theirs, bundle):
        added = runner.invoke(main, ["results", "add", str(each), str(board)])
        assert added.exit_code == 0, added.output
    compared = runner.invoke(main, ["compare", str(board)])
    assert compared.exit_code == 0, compared.output
    assert "lexical" in compared.output
    assert "other" in compared.output
    assert runner.invoke(main, ["compare", str(bundle), str(theirs)]).exit_code == 0
    bad = runner.invoke(main, ["results", "pack", "lexical", "-r", str(folder), "-o", str(tmp_path / "mine.zip")])
    assert (bad.exit_code, "ends in .results.zip" in bad.output) == (2, True)


def test_a_bundle_with_other_scores_of_the_same_job_is_not_added(results: list[Result], tmp_path: Path) -> None:
    first = results[0]
    one = pack_results([first], tmp_path / "one.results.zip")
    gone = {name: column[:-1] for name, column in first.items.items()}
    short = replace(first, items=gone)
    metrics = tuple(replace(metric, value=recomputed_score(short, metric) or 0.0) for metric in first.metrics)
    other = pack_results([replace(short, metrics=metrics)], tmp_path / "other.results.zip")
    runner, board = CliRunner(), str(tmp_path / "board")
    assert runner.invoke(main, ["results", "add", str(one), board]).exit_code == 0
    refused = runner.invoke(main, ["results", "add", str(other), board])
    assert refused.exit_code == 2
    assert "has other scores of the same job" in refused.output


@pytest.mark.slow
def test_a_bundle_that_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.results.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"{number}.json", bytes(1 << 20) * 60)
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(DataError, match="unpacks to more than 268,435,456 bytes"):
        read_bundle(bomb)


def test_a_bundle_of_just_the_largest_size_is_read_and_has_no_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack_results([accuracy_result("RQE", "β", [0, 1] * 9, [0, 1] * 9)], tmp_path / "a" / "b" / f"x{SUFFIX}")
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.read("bundle.json").decode().startswith('{\n "bundle": 2,\n "results": [')
        assert '"encoder":"β"' in archive.read("RQE.jsonl").decode()
    assert result_bundle._LARGEST == 256 * 1024**2
    monkeypatch.setattr(result_bundle, "_LARGEST", size)
    assert [result.encoder for result in read_bundle(path)] == ["β"]
    monkeypatch.setattr(result_bundle, "_LARGEST", size - 1)
    with pytest.raises(DataError, match=f"unpacks to more than {size - 1:,} bytes"):
        read_bundle(path)
