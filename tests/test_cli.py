"""The command line as a user meets it: tables, messages, exit codes, speed of --help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medsenteval.cli import main

Write = Callable[..., Path]


def medsenteval(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_run_prints_tables_and_stores_results(tmp_path: Path) -> None:
    output = tmp_path / "out"
    outcome = medsenteval(
        "run", "-t", "BIOSSES,C-STS", "-o", str(output), "-e", "lexical", "-e", "lexical,dimension=64,name=small"
    )
    assert outcome.exit_code == 0
    assert "SYNTHETIC SAMPLE DATA" in outcome.stdout
    assert "constant answer" in outcome.stdout
    assert "4 result(s) stored in" in outcome.stdout
    assert sorted(path.parent.name for path in output.rglob("*.json")) == ["lexical"] * 2 + ["small"] * 2
    stored = json.loads(next(output.rglob("lexical/BIOSSES.*.json")).read_text())
    assert f"{stored['metrics'][0]['value']:.3f}" in outcome.stdout
    assert "BIOSSES: lexical: done in" in outcome.stderr


def test_quiet_prints_nothing_but_tables_and_notes(tmp_path: Path) -> None:
    outcome = medsenteval("run", "-t", "BioASQ", "-o", str(tmp_path), "--quiet")
    assert "Note: BioASQ: 2 row(s) rejected" in outcome.stdout
    assert outcome.stderr == ""


def test_absent_data_ends_in_3_with_instructions_and_the_rest_scored(tmp_path: Path, write: Write) -> None:
    root = write({"ClinicalSTS/clinicalSTS.test.txt": "".join(f"a{'b' * (i % 7)}\ta\t{i % 5}\n" for i in range(30))})
    outcome = medsenteval("run", "-t", "ClinicalSTS,MedNLI", "-d", str(root), "-o", str(tmp_path / "o"))
    assert outcome.exit_code == 3
    assert "physionet.org" in outcome.stderr
    assert "Left out, data absent: MedNLI" in outcome.stderr
    assert "SYNTHETIC" not in outcome.stdout
    assert "test has 30 rows, 318 are published" in outcome.stdout


def test_unreadable_data_ends_in_2_with_the_rest_scored(tmp_path: Path, write: Write) -> None:
    root = write(
        {"RQE/RQE_Train_8588_AMIA2016.xml": "<r>", "ClinicalSTS/clinicalSTS.test.txt": "a b\ta\t1\nb\tc\t2\nd e\td f\t5\n"}
    )
    outcome = medsenteval("run", "-t", "RQE,ClinicalSTS", "-d", str(root), "-o", str(tmp_path / "o"))
    assert outcome.exit_code == 2
    assert "RQE_Train_8588_AMIA2016.xml:1: not well-formed" in outcome.stderr
    assert "1 result(s) stored" in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["run", "-t", "MedNIL"], "did you mean 'MedNLI'"),
     (["run", "-e", "vectors:/no/such.txt"], "/no/such.txt: cannot be read"),
     (["run", "-e", "nothing"], "no encoder is called 'nothing'"),
     (["run", "--folds", "1"], "at least 2"),
     (["run", "--probe", "svm"], "it can be exact"),
     (["run", "-d", "/no/such/folder", "-t", "RQE"], "does not exist"),
     (["run", "--option", "snippets=all"], "TASK.NAME=VALUE"),
     (["run", "--option", "BioASQ.snippets=none", "-t", "BioASQ"], "first, all, concat"),
     (["run", "--executor", "threads:2"], "it can be in-process, processes:N, dask:N"),
     (["run", "--only-missing", "--force"], "--only-missing excludes --force"),
     (["run", "--only-missing", "--retry-failed"], "--only-missing excludes --retry-failed"),
     (["run", "--no-such-option"], "No such option"),
     (["jump"], "No such command")],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = medsenteval(*arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert "Traceback" not in outcome.output
    assert list(tmp_path.iterdir()) == []


def test_tasks_and_encoders_are_listed(write: Write) -> None:
    listed = medsenteval("tasks").stdout
    assert all(name in listed for name in ("MedNLI", "VaccineSA", "snippets=first|all|concat", "nested"))
    absent = medsenteval("tasks", "-d", str(write({"RQE/x": ""}))).stdout
    assert "absent (credentialed)" in absent
    assert "sentence-transformers" in medsenteval("encoders").stdout


def test_one_task_is_described_with_citation_licence_and_source() -> None:
    described = medsenteval("tasks", "c-sts").stdout
    assert "Wang et al. 2018" in described
    assert "train 750, test 318" in described
    assert "part=test|train|all" in described


def test_help_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom medsenteval.cli import main\n"
        "try: main(['run', '--help'])\nexcept SystemExit: pass\n"
        "assert not {'numpy', 'sklearn', 'torch'} & set(sys.modules), 'heavy import'"
    )
    started = time.perf_counter()
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    seconds = time.perf_counter() - started
    assert finished.returncode == 0, finished.stderr
    assert "--encoder" in finished.stdout
    # The issue asks for 0.5 s on a quiet machine; the margin is for a loaded one.
    assert seconds < 2.0


def test_a_rerun_reuses_results_and_force_does_not(tmp_path: Path) -> None:
    arguments = ["run", "-t", "BIOSSES", "-o", str(tmp_path)]
    assert "1 to run" in medsenteval(*arguments, "--plan").stdout
    medsenteval(*arguments)
    assert "1 of them from an earlier run" in medsenteval(*arguments).stdout
    assert "earlier run" not in medsenteval(*arguments, "--force").stdout
    assert "1 stored, 0 failed before, 0 to run" in medsenteval(*arguments, "--plan").stdout


def test_a_suite_file_and_options_that_win_over_it(tmp_path: Path, write: Write) -> None:
    toml = """
encoders = ["lexical,dimension=64,name=small"]
tasks = ["BioASQ"]
seeds = [1, 2]
output = "out"
[settings]
folds = 3
[task_options.bioasq]
snippets = "concat"
"""
    folder = write({"suite.toml": toml})
    outcome = medsenteval("run", str(folder / "suite.toml"))
    assert outcome.exit_code == 0
    assert "kfold-3, exact, seed 2" in outcome.stdout
    stored = [json.loads(path.read_text()) for path in (folder / "out").rglob("*.json")]
    assert all("snippets=concat" in result["signature"] for result in stored)
    assert "kfold-4" in medsenteval("run", str(folder / "suite.toml"), "--folds", "4", "--seed", "1").stdout


@pytest.mark.parametrize(
    ("toml", "message"),
    [("encoder = 'lexical'", "unknown key encoder; known: data, encoders"),
     ("[settings]\nfold = 3", "unknown key settings.fold"),
     ("seeds = ['a']", "seeds must be a list of int"),
     ("seeds = [", "not TOML"),
     ("task_options = {BioASQ = 'all'}", "must be a table"),
     ("[task_options.Nothing]\na = 1", "no task is called 'Nothing'")],
)  # fmt: skip
def test_a_wrong_suite_file_is_refused(toml: str, message: str, write: Write) -> None:
    outcome = medsenteval("run", str(write({"suite.toml": toml}) / "suite.toml"))
    assert outcome.exit_code == 2
    assert message in outcome.stderr


def test_seeds_must_be_numbers_and_a_suite_file_must_exist(tmp_path: Path) -> None:
    assert "whole numbers" in medsenteval("run", "--seeds", "1,x").stderr
    assert "cannot be read" in medsenteval("run", str(tmp_path / "none.toml")).stderr


def test_the_cache_is_shown_verified_and_pruned(tmp_path: Path) -> None:
    medsenteval("run", "-t", "BIOSSES,ClinicalSTS", "-o", str(tmp_path))
    shown = medsenteval("cache", "info").stdout
    assert "BIOSSES" in shown
    assert "2 entries" in shown
    assert medsenteval("cache", "verify").exit_code == 0
    matrix = next(Path(os.environ["MEDSENTEVAL_CACHE"]).rglob("matrix.f32"))
    matrix.write_bytes(b"x" + matrix.read_bytes()[1:])
    assert medsenteval("cache", "verify").exit_code == 2
    assert medsenteval("cache", "prune").exit_code == 2
    assert "removed" in medsenteval("cache", "prune", "--task", "BIOSSES").stdout
    assert "removed" not in medsenteval("cache", "prune", "--older-than", "1").stdout
    assert "removed" in medsenteval("cache", "prune", "--all").stdout
    assert "0 entries" in medsenteval("cache", "info").stdout


def test_no_cache_leaves_no_cache(tmp_path: Path) -> None:
    medsenteval("run", "-t", "BIOSSES", "-o", str(tmp_path), "--no-cache")
    assert "0 entries" in medsenteval("cache", "info").stdout


def test_the_plan_is_a_table_and_stops_there(tmp_path: Path) -> None:
    arguments = ["run", "-t", "BIOSSES,C-STS", "-o", str(tmp_path / "o")]
    planned = medsenteval(*arguments, "--plan", "--only-missing")
    assert planned.exit_code == 0
    assert "2 job(s): 0 stored, 0 failed before, 2 to run" in planned.stdout
    assert "estimated time: unknown" in planned.stdout
    assert not list(tmp_path.rglob("*.json"))
    medsenteval(*arguments)
    assert "2 stored, 0 failed before, 0 to run" in medsenteval(*arguments, "--plan").stdout
    assert "estimated time: under 1 s" in medsenteval(*arguments, "--plan", "--force").stdout


def test_a_suite_file_names_the_executor(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text('encoders = ["lexical"]\ntasks = ["BIOSSES"]\nexecutor = "processes:1"\noutput = "out"\n')
    outcome = medsenteval("run", str(suite))
    assert outcome.exit_code == 0
    assert "1 result(s) stored" in outcome.stdout
    assert len(list((tmp_path / "out").rglob("BIOSSES.*.json"))) == 1
    suite.write_text('executor = "everywhere"\n')
    assert medsenteval("run", str(suite)).exit_code == 2
