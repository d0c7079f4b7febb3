"""Texts of restricted data sets do not reach a page, whatever else is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.contracts import Result, Task
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.errors import UnknownNameError
from medsenteval.report.privacy import access_of, public_error, public_note, texts_may_be_shown
from medsenteval.report.sections.disagreement import item_texts
from medsenteval.running.result_schema import Failure
from medsenteval.running.result_store import ResultStore
from medsenteval.settings import Settings

TASKS = ("MedNLI", "PICO", "ClinicalSTS", "BioASQ")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real results of two encoders on the sample: two restricted data sets, two open ones."""
    folder = tmp_path_factory.mktemp("results")
    encoders = ["-e", "lexical,dimension=16", "-e", "lexical,dimension=64"]
    settings = ["--limit", "60", "--folds", "2", "--quiet", "--no-cache"]
    done = CliRunner().invoke(main, ["run", "-t", ",".join(TASKS), *encoders, "-o", str(folder), *settings])
    assert done.exit_code == 0, done.output
    return folder


def page_text(stored: Path, folder: Path, *arguments: str) -> tuple[str, Any]:
    target = folder / "report.html"
    done = CliRunner().invoke(main, ["report", str(stored), "-o", str(target), "--resamples", "200", *arguments])
    assert done.exit_code == 0, done.output
    import html

    return html.unescape(target.read_text("utf-8")), done


def texts_of(task: str) -> set[str]:
    found = load_dataset(registry.task(task), sample_root(), Settings())
    return {text for text in found.all_texts() if len(text) > 12}


def quoted(page: str, task: str) -> set[str]:
    return {text for text in texts_of(task) if text in page}


def test_no_text_without_examples(stored: Path, tmp_path: Path) -> None:
    page, _ = page_text(stored, tmp_path)
    assert not [task for task in TASKS if quoted(page, task)]


def test_restricted_texts_stay_away(stored: Path, tmp_path: Path) -> None:
    page, _ = page_text(stored, tmp_path, "--examples", "5")
    assert quoted(page, "PICO")
    for task in TASKS:
        if access_of(task) != "open":
            assert quoted(page, task) == set()
            ids = {
                str(item)
                for result in ResultStore(stored).results()
                if result.task == task
                for item in result.items["id"]
                if len(str(item)) > 6
            }
            assert not [item for item in ids if item in page], "ids can be looked up: they stay away too"
    assert "Access to this data set is “credentialed”" in page
    assert {access_of(task) for task in TASKS} == {"credentialed", "open", "on request", "registration"}


def test_restricted_texts_when_asked_for(stored: Path, tmp_path: Path) -> None:
    page, done = page_text(stored, tmp_path, "--examples", "5", "--include-restricted")
    assert all(quoted(page, task) for task in TASKS)
    assert "share it only with those who may see them" in done.output


def test_a_plug_in_of_unknown_access_is_restricted() -> None:
    assert access_of("SomebodysTask") == "unknown"
    assert not texts_may_be_shown("SomebodysTask", include_restricted=False)
    assert texts_may_be_shown("SomebodysTask", include_restricted=True)


def test_notes_and_errors_quote_no_row() -> None:
    note = "3 row(s) rejected; the first: mli.jsonl:3: 23: the label 'patient has\na fever' is unknown"
    assert public_note(note, may_be_shown=False) == "3 row(s) rejected"
    assert public_note(note, may_be_shown=True) == note
    empty = "2 empty text(s) kept in test: 23f-a, 24f-b"
    assert public_note(empty, may_be_shown=False) == "2 empty text(s) kept in test"
    assert public_note("12 of 40 annotated tweets have no text", may_be_shown=False) == "12 of 40 annotated tweets have no text"
    failure = Failure("MedNLI", "e", "s", "row 'patient has a fever' is odd", "DataError")
    assert "fever" not in public_error(failure, may_be_shown=False)
    assert "DataError" in public_error(failure, may_be_shown=False)
    assert public_error(failure, may_be_shown=True) == failure.error


def result_of(stored: Path, task: str) -> Result:
    return next(result for result in ResultStore(stored).results() if result.task == task)


def test_texts_belong_to_their_ids(stored: Path) -> None:
    result = result_of(stored, "PICO")
    texts = item_texts(result, sample_root())
    assert isinstance(texts, dict)
    assert set(map(str, result.items["id"])) <= texts.keys()
    lines = (sample_root() / "PICO" / "PICO_test.txt").read_text("utf-8").splitlines()
    for item, (text,) in texts.items():
        assert text in lines[int(item.split(":")[1]) - 1]


def test_other_data_gives_no_texts(stored: Path, tmp_path: Path) -> None:
    result = result_of(stored, "PICO")
    assert "cannot be read" in str(item_texts(result, tmp_path))
    folder = tmp_path / "PICO"
    folder.mkdir()
    for path in (sample_root() / "PICO").glob("*.txt"):
        (folder / path.name).write_text(path.read_text("utf-8").replace("patients", "persons"), "utf-8")
    (tmp_path / "SYNTHETIC.txt").touch()
    assert "not that of the run" in str(item_texts(result, tmp_path))
    page, _ = page_text(stored, tmp_path, "--examples", "--data", str(tmp_path))
    assert "Ids without texts: the data in" in page
    assert quoted(page, "PICO") == set()


@pytest.mark.parametrize("limit", ["x", "-5", "9" * 5000, "2.5", "0", "٣"])
def test_a_signature_of_a_stranger_gives_a_reason_instead_of_an_error(stored: Path, limit: str) -> None:
    result = result_of(stored, "PICO")
    hostile = replace(result, signature=result.signature.replace("|encoder=", f"|limit={limit}|encoder="))
    assert "limit" in str(item_texts(hostile, sample_root()))


def test_a_result_of_a_stranger_names_no_file_outside_of_the_data_folder(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    secret = tmp_path / "secret.csv"
    secret.write_text("text,label\nno pain,well\nmuch pain,ill\n")
    (data / "notes.csv").write_text(secret.read_text())
    opened: list[Path] = []

    def own_task(path: Path, **_: str) -> Task:
        opened.append(path)
        raise UnknownNameError("seen")

    monkeypatch.setattr(registry, "own_task", own_task)
    for name in (str(secret), "../secret.csv", "sub/../../secret.csv", "notes.csv"):
        told = item_texts(replace(result_of(stored, "PICO"), task=f"file:{name}"), data)
        assert told == "its texts are not in the data folder"
    assert opened == [data / "notes.csv"]


def test_an_id_of_several_texts_gets_none() -> None:
    from medsenteval.contracts import Dataset, Split
    from medsenteval.report.sections.disagreement import _texts_by_id

    splits = {"train": Split(("1", "2"), ("a", "b")), "test": Split(("1", "3"), ("c", "d"))}
    assert _texts_by_id(Dataset("x", splits), "kfold") == {"2": ("b",), "3": ("d",)}
    assert _texts_by_id(Dataset("x", splits), "split") == {"1": ("c",), "3": ("d",)}


def test_results_hold_no_sentences(stored: Path) -> None:
    """What the page is made of has none either, so that it cannot leak by another way."""
    for path in stored.rglob("*.json"):
        task = json.loads(path.read_text("utf-8"))["task"]
        assert quoted(path.read_text("utf-8"), task) == set()
