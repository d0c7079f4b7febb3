"""The command line as a user meets it: tables, messages, exit codes, speed of --help."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from medsenteval.cli.commands import COMMAND_GROUPS, COMMANDS
from medsenteval.cli.figures import _inches as figure_inches
from medsenteval.cli.main import main
from medsenteval.cli.shared import line_width
from medsenteval.cli.terms import _statistics_table
from medsenteval.datasets.locate import sample_root
from medsenteval.errors import SettingsError
from medsenteval.running.result_store import ResultStore
from tests.conftest import REPOSITORY
from tests.report.made_up import many_results

#: The group of commands is imported under the module's own name, too.
main_module = sys.modules["medsenteval.cli.main"]
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


def test_help_shows_every_command_once_in_a_group() -> None:
    listed = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(listed) == sorted(COMMANDS)
    shown = medsenteval("--help").stdout
    assert [shown.index(f"{title}:") for title in COMMAND_GROUPS] == sorted(
        shown.index(f"{title}:") for title in COMMAND_GROUPS
    )
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", shown, re.MULTILINE)


def test_the_readme_names_commands_and_subcommands_that_exist() -> None:
    table = (REPOSITORY / "README.md").read_text("utf-8").partition("\n## Commands\n")[2].partition("\n\nExit codes")[0]
    rows = [re.findall("`([^`]+)`", cell) for line in table.splitlines()[3:] for cell in line.split("|")[1:3]]
    said = list(zip(rows[::2], rows[1::2], strict=True))
    assert {name for names, _ in said for name in names} == set(COMMANDS)
    with main.make_context("medsenteval", [], resilient_parsing=True) as context:
        for names, words in said:
            group = main.get_command(context, names[0])
            if isinstance(group, click.Group):
                assert set(words) <= set(group.commands), names[0]


def test_one_broken_file_is_not_the_end_of_a_comparison(tmp_path: Path) -> None:
    for result in many_results(2, 1, n_items=60):
        ResultStore(tmp_path).save(result)
    (tmp_path / "broken.json").write_text("{", "utf-8")
    (tmp_path / "newer.json").write_text('{"schema": 99}', "utf-8")
    outcome = medsenteval("compare", str(tmp_path), "--resamples", "100")
    assert outcome.exit_code == 0
    assert "encoder-01" in outcome.stdout
    assert outcome.stderr.count("Warning: ") == 2
    assert "broken.json: not a result of this toolkit" in outcome.stderr


def test_quiet_prints_nothing_but_tables_and_notes(tmp_path: Path) -> None:
    outcome = medsenteval("run", "-t", "BioASQ", "-o", str(tmp_path), "--quiet")
    assert "Note: BioASQ: 2 row(s) rejected" in outcome.stdout
    assert outcome.stderr == ""


def test_absent_data_ends_in_3_with_instructions_and_the_rest_scored(tmp_path: Path, write: Write) -> None:
    root = write({"ClinicalSTS/clinicalSTS.test.txt": "".join(f"a{'b' * (i % 7)}\ta\t{i % 5}\n" for i in range(30))})
    outcome = medsenteval("run", "-t", "ClinicalSTS,MedNLI", "-d", str(root), "--allow-incomplete", "-o", str(tmp_path / "o"))
    assert outcome.exit_code == 3
    assert "physionet.org" in outcome.stderr
    assert "Left out, data absent: MedNLI" in outcome.stderr
    assert "SYNTHETIC" not in outcome.stdout
    assert "test has 30 rows, 318 are published" in outcome.stdout


def test_unreadable_data_ends_in_2_with_the_rest_scored(tmp_path: Path, write: Write) -> None:
    root = write(
        {"RQE/RQE_Train_8588_AMIA2016.xml": "<r>", "ClinicalSTS/clinicalSTS.test.txt": "a b\ta\t1\nb\tc\t2\nd e\td f\t5\n"}
    )
    outcome = medsenteval("run", "-t", "RQE,ClinicalSTS", "-d", str(root), "--allow-incomplete", "-o", str(tmp_path / "o"))
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
     (["run", "--option", "BioASQ.snippets=all", "--option", "bioasq.snippets=first"], "given twice, as all and first"),
     (["run", "--executor", "threads:2"], "it can be in-process, processes:N or dask://HOST:PORT"),
     (["run", "--only-missing", "--force"], "--only-missing excludes --force"),
     (["run", "--only-missing", "--retry-failed"], "--only-missing excludes --retry-failed"),
     (["run", "--no-such-option"], "No such option"),
     (["run", "-t", "nothing-like-it"], "`medsenteval tasks` lists all"),
     (["reproduce", "medsenteval-3", "-e", "GloVe_840B"], "expected ROW=SPECIFICATION"),
     (["reproduce", "medsenteval-3", "-e", "GloVe_840B="], "expected ROW=SPECIFICATION"),
     (["reproduce", "medsenteval-3", "-e", "BioBERT=lexical", "-e", "BioBERT=other"], "given twice, as lexical and other"),
     (["compare", "--level", "5"], "--level is 5; it must lie between 0 and 1"),
     (["report", "--level", "0"], "--level is 0; it must"),
     (["figures", "--level", "1"], "--level is 1; it must"),
     (["audit", "--level", "-0.05"], "--level is -0.05; it must"),
     (["correlate", "--published", "biosim-5", "--level", "nan"], "--level is nan; it must"),
     (["compare", "--seed", "-1"], "-1 is not in the range x>=0"),
     (["terms", "separate", "-e", "lexical", "--seed", "-1"], "-1 is not in the range x>=0"),
     (["terms", "sheet", "sets", "-o", "x.xlsx", "--seed", "-1"], "-1 is not in the range x>=0"),
     (["analogies", "generate", "--seed", "-1"], "-1 is not in the range x>=0"),
     (["train-infersent", "--vectors", "x", "--seed", "-1"], "-1 is not in the range x>=0"),
     (["data", "fetch", "RQE", "--timeout", "inf"], "inf is not in the range 0.1<=x<=86400"),
     (["jump"], "No such command 'jump'. `medsenteval --help` lists them."),
     (["comparee"], "Did you mean compare or"),
     (["pub"], "Did you mean published?")],
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


def test_listings_fit_the_terminal_or_come_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    for command in (["tasks"], ["encoders"], ["data", "status", "UMLS", "SNOMED-CT"]):
        narrow, wide = (medsenteval(*command, *more).stdout.splitlines() for more in ([], ["--wide"]))
        # A folder's path is whole however long it is.
        assert max(len(line) for line in narrow if str(REPOSITORY) not in line) <= 70, command
        assert not any("…" in line for line in wide)
        assert max(map(len, wide)) > 100
    monkeypatch.setenv("COLUMNS", "80")
    assert "SICKRelatednessCosine " in medsenteval("tasks").stdout  # names are never cut
    assert "…" in medsenteval("tasks").stdout
    monkeypatch.delenv("COLUMNS")
    assert "…" not in medsenteval("tasks").stdout  # what goes to a file or a program is whole
    listed = json.loads(medsenteval("tasks", "--json").stdout)
    assert next(task for task in listed if task["name"] == "MedNLI")["labels"] == ["entailment", "neutral", "contradiction"]
    assert json.loads(medsenteval("encoders", "--json").stdout)["kinds"]["vectors"].startswith("PATH of GloVe")
    assert json.loads(medsenteval("data", "status", "RQE", "--json").stdout)[0]["state"] == "synthetic sample"


def test_own_data_from_a_csv_to_a_score_and_a_comparison(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f'{i},"case {i}, {"calm" if i % 2 else "shock"}",{i % 2}' for i in range(40)]
    monkeypatch.chdir(write({"notes.csv": "\n".join(["id,note,label", *rows, "99,,1"]), "odd.csv": "a,b\n1,2\n"}))
    described = medsenteval("data", "describe", "notes.csv,id=")
    assert described.exit_code == 0
    assert "text <- note, label <- label (2 labels: 0 20, 1 20), 40 rows, 1 rejected" in described.stdout
    assert "rejected: notes.csv:42: column 'note': empty" in described.stdout
    assert "case 7" not in described.stdout
    assert "case 0, shock" in medsenteval("data", "describe", "notes.csv", "--examples", "1").stdout
    common = ("run", "-t", "file:notes.csv", "--folds", "2", "-o", str(tmp_path / "r"), "--allow-incomplete", "--quality")
    outcome = medsenteval(*common, "-e", "lexical", "-e", "lexical,dimension=64,name=small")
    assert outcome.exit_code == 0, outcome.stderr
    assert "file:notes.csv: text <- note" in outcome.stderr
    assert "case" not in "".join(path.read_text() for path in (tmp_path / "r").rglob("*.json"))
    assert (
        "2 of them from an earlier run" in medsenteval(*common, "-e", "lexical", "-e", "lexical,dimension=64,name=small").stdout
    )
    compared = medsenteval("compare", str(tmp_path / "r"), "-t", "file:notes.csv")
    assert compared.exit_code == 0
    assert "file:notes.csv" in compared.stdout
    refused = medsenteval("run", "-t", "file:odd.csv", "-o", str(tmp_path / "r"))
    assert refused.exit_code == 2
    assert "no column is known to be the text" in refused.stderr


def test_tasks_and_encoders_are_listed(write: Write) -> None:
    listed = medsenteval("tasks").stdout
    assert all(name in listed for name in ("MedNLI", "VaccineSA", "nested"))
    assert "snippets=first|all|concat" in medsenteval("tasks", "BioASQ").stdout
    absent = medsenteval("tasks", "-d", str(write({"RQE/x": ""}))).stdout
    assert next(line for line in absent.splitlines() if line.startswith("MedNLI")).split()[-1] == "absent"
    assert "Access:    credentialed" in medsenteval("tasks", "MedNLI").stdout
    assert "sentence-transformers" in medsenteval("encoders").stdout


def test_one_task_is_described_with_citation_licence_and_source() -> None:
    described = medsenteval("tasks", "c-sts").stdout
    assert "Wang et al. 2018" in described
    assert "train 750, test 318" in described
    assert "part=test|train|all" in described


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom medsenteval.cli.main import main\n"
        "try: main(['run', '--help'])\nexcept SystemExit: pass\n"
        "assert not {'numpy', 'sklearn', 'torch'} & set(sys.modules), 'heavy import'"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "--encoder" in finished.stdout


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
    for seeds in ("1,x", "1,", "9" * 20, "9" * 5000):
        assert "expected whole numbers separated by commas" in medsenteval("run", "--seeds", seeds).stderr
    assert f"seed is {2**32}; it must be below 2^32" in medsenteval("run", "--seeds", f"1,{2**32}").stderr
    assert "cannot be read" in medsenteval("run", str(tmp_path / "none.toml")).stderr


def test_the_cache_is_shown_verified_and_pruned(tmp_path: Path) -> None:
    folder = Path(os.environ["MEDSENTEVAL_CACHE"])
    medsenteval("run", "-t", "BIOSSES,ClinicalSTS", "-o", str(tmp_path))
    shown = medsenteval("cache", "info").stdout
    assert "1 entries" in shown
    assert "lexical" in shown
    assert medsenteval("cache", "verify").exit_code == 0
    rows = next(folder.rglob("rows.f32"))
    rows.write_bytes(b"x" + rows.read_bytes()[1:])
    assert medsenteval("cache", "verify").exit_code == 2
    assert medsenteval("cache", "prune").exit_code == 2
    assert "removed" not in medsenteval("cache", "prune", "--encoder", "nobody").stdout
    assert "removed" not in medsenteval("cache", "prune", "--older-than", "1").stdout
    assert medsenteval("cache", "prune", "--all").stdout.count("removed") == 1
    assert "0 entries" in medsenteval("cache", "info").stdout


@pytest.mark.parametrize(
    "command",
    [
        "run -t BIOSSES --quiet",
        f"terms link --obo {REPOSITORY}/data/sample/HPO/hp.obo --limit 5",
        "terms separate --list a.txt --list b.txt --list c.txt",
    ],
)
def test_no_cache_leaves_no_cache(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(f"{name}.txt").write_text(f"{name} cyst\n{name} pain\n", "utf-8")
    arguments = [*command.split(), "-e", "lexical,dimension=16"]
    for options, kept in ((["--no-cache"], "0 entries"), ([], "1 entries")):
        shutil.rmtree("results", ignore_errors=True)
        assert medsenteval(*arguments, *options).exit_code == 0
        assert kept in medsenteval("cache", "info").stdout


def test_the_plan_is_a_table_and_stops_there(tmp_path: Path) -> None:
    arguments = ["run", "-t", "BIOSSES,C-STS", "-o", str(tmp_path / "o")]
    planned = medsenteval(*arguments, "--plan", "--only-missing")
    assert planned.exit_code == 0
    assert "2 job(s): 0 stored, 0 failed before, 2 to run" in planned.stdout
    assert "estimated time: unknown" in planned.stdout
    assert not list(tmp_path.rglob("*.json"))
    medsenteval(*arguments)
    assert "2 stored, 0 failed before, 0 to run" in medsenteval(*arguments, "--plan").stdout
    # How long it will take says more about the machine.
    assert re.search(r"estimated time: (under )?\d", medsenteval(*arguments, "--plan", "--force").stdout)


def test_tasks_named_one_by_one_all_count(tmp_path: Path) -> None:
    command = ["run", "-e", "lexical,dimension=16", "--plan", "-o", str(tmp_path)]
    together = CliRunner().invoke(main, [*command, "-t", "BIOSSES,RQE,ClinicalSTS"])
    apart = CliRunner().invoke(main, [*command, "-t", "BIOSSES", "--tasks", "RQE,ClinicalSTS"])
    assert "3 job(s)" in together.output
    assert apart.output == together.output


def test_the_plan_names_tasks_whose_data_is_absent(tmp_path: Path) -> None:
    shutil.copytree(sample_root() / "BIOSSES", tmp_path / "data" / "BIOSSES")
    planned = medsenteval("run", "-t", "BIOSSES,TREC", "-d", str(tmp_path / "data"), "-o", str(tmp_path / "o"), "--plan")
    assert planned.exit_code == 3
    assert "1 job(s)" in planned.stdout
    assert "TREC: left out: TREC: no folder downstream/TREC" in planned.stderr


@pytest.mark.slow
def test_a_suite_file_names_the_executor(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text('encoders = ["lexical"]\ntasks = ["BIOSSES"]\nexecutor = "processes:1"\noutput = "out"\n')
    outcome = medsenteval("run", str(suite))
    assert outcome.exit_code == 0
    assert "1 result(s) stored" in outcome.stdout
    assert len(list((tmp_path / "out").rglob("BIOSSES.*.json"))) == 1
    suite.write_text('executor = "everywhere"\n')
    assert medsenteval("run", str(suite)).exit_code == 2


def raising(error: BaseException) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


def test_what_the_machine_refuses_is_one_line_and_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medsenteval.cli.data.data_root", raising(OSError(28, "No space left on device", "/full/x")))
    outcome = medsenteval("data", "status", "RQE")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr == "Error: /full/x: No space left on device; free some space, or name another place\n"
    monkeypatch.setattr("medsenteval.cli.data.data_root", raising(OSError("no file to blame")))
    with pytest.raises(OSError, match="no file to blame"):
        medsenteval("data", "status", "RQE")
    for given, said in (("", "files are written whole or not at all, and the same command goes on"), ("enough", "enough")):
        monkeypatch.setattr(
            "medsenteval.cli.data.data_root", raising(KeyboardInterrupt(given) if given else KeyboardInterrupt())
        )
        outcome = medsenteval("data", "status", "RQE")
        assert (outcome.exit_code, outcome.stderr) == (130, f"\nInterrupted: {said}\n")


def test_an_interrupt_does_not_wait_for_threads_that_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(main_module, "_PATIENCE", 0.01)
    monkeypatch.setattr(os, "_exit", ended.append)
    main_module._end_threads()
    assert ended == []
    release = threading.Event()
    busy = [threading.Thread(target=release.wait, args=(60,), daemon=daemon) for daemon in (True, False)]
    for thread in busy:
        thread.start()
    try:
        main_module._end_threads()
    finally:
        release.set()
        for thread in busy:
            thread.join()
    assert ended == [130]


def test_warnings_of_others_are_shown_as_python_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object) -> object:
        warnings.warn("a library is old", FutureWarning, stacklevel=1)
        raise SettingsError("the end")

    monkeypatch.setattr("medsenteval.cli.data.data_root", warn)
    outcome = medsenteval("data", "status", "RQE")
    first, *_, last = outcome.stderr.splitlines()
    assert (first.partition(": ")[2], last, outcome.stdout) == ("FutureWarning: a library is old", "Error: the end", "")


@pytest.mark.parametrize(("columns", "width"), [("1", 40), ("40", 40), ("41", 41), ("200", 200), ("wide", None), ("", None)])
def test_lines_are_as_long_as_columns_says_and_no_shorter_than_forty(
    columns: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert line_width(wide=False) == width
    assert line_width(wide=True) is None


def test_commands_can_be_completed_and_widths_named() -> None:
    assert main.list_commands(click.Context(main)) == sorted(COMMANDS)
    assert [figure_inches(width) for width in ("column", "page", "2.5", "100")] == [3.3, 6.9, 2.5, 100.0]
    for width in ("wide", "2.4", "100.1", ""):
        with pytest.raises(SettingsError, match="it can be column, page, or a number of inches from 2"):
            figure_inches(width)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], {"progress": None, "force": False, "retry_failed": False, "executor": "in-process", "budget": None}),
        (["--progress"], {"progress": True}),
        (["--quiet"], {"progress": False}),
        (["--quiet", "--progress"], {"progress": False}),
        (["--force"], {"force": True, "retry_failed": False}),
        (["--retry-failed"], {"force": False, "retry_failed": True}),
        (["--no-cache"], {"cache": None}),
        (["-x", "processes:2"], {"executor": "processes:2"}),
    ],
)
def test_options_of_a_run_reach_it(options: list[str], told: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def suite(*_: object, **named: object) -> object:
        given.update(named)
        raise SettingsError("enough")

    monkeypatch.setattr("medsenteval.running.suite.Suite", suite)
    assert medsenteval("run", "-t", "BIOSSES", *options).exit_code == 2
    assert {name: given[name] for name in told} == told


def test_the_table_of_term_sets() -> None:
    sizes = {"positive": {"n": 3, "mean": 1.0}, "random": {"n": 3, "mean": 2.5}}
    rows = [
        {"kind": "FSN_SYN", "difficulty": "easy", **sizes},
        {"kind": "SYN_SYN", "difficulty": "all", **sizes, "levenshtein": {"n": 1100, "mean": 4.126}},
        {"kind": "odd", "difficulty": "hard", "positive": {"n": 2, "mean": 1.0}},
    ]
    statistics = {"sets": rows, "terms": 1234, "multiword_terms": 0.5, "unpaired": {"x": 2000}}
    assert _statistics_table(statistics).splitlines() == [
        "Set            Pairs  Positive  Random  Levenshtein",
        "-------  ----  -----  --------  ------  -----------",
        "FSN_SYN  easy      6      1.00    2.50            -",
        "SYN_SYN  all   1,103      1.00    2.50         4.13",
        "odd      hard      2      1.00       -            -",
        "Mean Levenshtein distance, ignoring case, of similar pairs and of dissimilar pairs of each strategy.",
        "1,234 terms, 50% of several words.",
        "x: 2,000 term(s) found no partner",
    ]
