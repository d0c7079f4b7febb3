"""``medsenteval doctor`` as a user meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from medsenteval.cli.main import main
from medsenteval.doctor import installation

Write = Callable[..., Path]


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *arguments], catch_exceptions=False)


def test_everything_is_well_on_the_sample() -> None:
    outcome = doctor("-e", "lexical", "-t", "BIOSSES,RQE")
    assert outcome.exit_code == 0
    assert "BIOSSES      synthetic sample, all 100" in outcome.stdout
    assert "numpy" in outcome.stdout
    assert outcome.stdout.endswith("No problems.\n")


def test_problems_end_in_2_with_advice(write: Write) -> None:
    root = write({"RQE/RQE_Train_8588_AMIA2016.xml": "<r>", "ClinicalSTS/clinicalSTS.test.txt": "a b\ta\t1\nb\tc\t2\n"})
    outcome = doctor("-d", str(root), "-e", "vectors:absent.txt")
    assert outcome.exit_code == 2
    assert "PROBLEM RQE" in outcome.stdout
    assert "`medsenteval tasks RQE` says what it should be" in outcome.stdout
    assert "absent       MedNLI, PubMed20K" in outcome.stdout
    assert "ClinicalSTS: not ready: test has 2 rows where 318 are published (0.6 %)" in outcome.stdout
    assert "absent.txt" in outcome.stdout
    assert outcome.stdout.endswith("3 problem(s)\n")


def test_a_missing_data_folder_is_a_problem() -> None:
    outcome = doctor("-d", "/no/such/folder")
    assert outcome.exit_code == 2
    assert "does not exist" in outcome.stdout


def test_a_cache_that_cannot_be_written_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(blocked / "cache"))
    finding = installation._cache_folder()
    assert finding.severity == "problem"
    assert "MEDSENTEVAL_CACHE" in finding.advice


def test_a_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_FEW_FREE_BYTES", float("inf"))
    assert "cache prune" in installation._cache_folder().advice


def test_missing_and_old_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "requires", lambda name: ["numpy>=999", "no-such-package>1", 'other; extra == "x"'])
    (finding,) = installation._required()
    assert finding.severity == "problem"
    assert "needed >=999" in finding.found
    assert "no-such-package is missing" in finding.found
    assert "other" not in finding.found


def test_a_bare_clone_is_told_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installation, "requires", absent)
    assert "pip install ." in installation._required()[0].advice


def test_absent_extras_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_version", lambda package: "")
    findings = installation._optional()
    assert {finding.severity for finding in findings} == {"note"}
    assert "medsenteval[torch]" in findings[0].advice


def test_the_module_runs_as_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "medsenteval", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("medsenteval, version ") or done.stdout.startswith("python -m medsenteval, version ")


@pytest.mark.parametrize(("free", "severity"), [(2e9, "ok"), (1.999e9, "problem")])
def test_two_gigabytes_must_be_free(free: float, severity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(os.environ["MEDSENTEVAL_CACHE"]) / "encoded" / "x"
    folder.mkdir(parents=True)
    (folder / "rows").write_bytes(bytes(3_000_000))
    monkeypatch.setattr("medsenteval.doctor.installation.shutil.disk_usage", lambda place: SimpleNamespace(free=free))
    found = installation._cache_folder()
    assert (found.severity, found.found.partition(": ")[2]) == (severity, "3 MB used, 2.0 GB free")


def test_tensorflow_may_be_the_one_for_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_version", lambda package: "2.1" if package == "tensorflow-cpu" else "")
    found = {finding.subject: finding for finding in installation._optional()}
    assert found["[use]"].found == "tensorflow 2.1: the Universal Sentence Encoder"
    assert [subject for subject, finding in found.items() if finding.severity == "ok"] == ["[use]"]
