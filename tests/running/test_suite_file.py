"""Suite files of strangers: no code runs that the user did not allow, and wrong types are named with the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.errors import SettingsError
from medsenteval.running.suite_file import SuiteDescription, read_suite, what_needs_trust
from medsenteval.settings import Settings

#: Leaves a file beside itself as soon as it is imported.
CODE = """
import pathlib
pathlib.Path(__file__).with_name("it-ran").touch()
def encode(texts):
    return [[len(text), text.count("e"), 1.0] for text in texts]
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A folder of a stranger's, entered by the user: a module, and a suite file with these lines."""
    (tmp_path / "stranger_code.py").write_text(CODE, "utf-8")
    monkeypatch.chdir(tmp_path)

    def write(lines: str) -> Path:
        (tmp_path / "suite.toml").write_text(f'tasks = "BIOSSES"\n{lines}\n', "utf-8")
        return tmp_path / "suite.toml"

    return write


SPELLINGS = (
    "python:stranger_code:encode", "Python:stranger_code:encode", "py-thon:stranger_code:encode",
    "dual,query=lexical,document=python:stranger_code:encode", "dual,query=python:stranger_code:encode,document=lexical",
    "medcpt,query=python:stranger_code:encode,document=lexical", "Med-CPT,query=lexical,document=python:stranger_code:encode",
)  # fmt: skip


@pytest.mark.parametrize("options", [["--plan"], [], ["--quiet"]])
@pytest.mark.parametrize("spec", SPELLINGS)
def test_a_suite_file_runs_no_code(stranger: Callable[[str], Path], spec: str, options: list[str]) -> None:
    path = stranger(f'encoders = ["lexical", "{spec}"]')
    outcome = CliRunner().invoke(main, ["run", str(path), *options])
    assert outcome.exit_code == 2
    assert spec in outcome.output
    assert "--allow-code" in outcome.output
    assert not (path.parent / "it-ran").exists()
    assert not (path.parent / "results").exists()


def test_code_that_the_user_allows_or_names_runs(stranger: Callable[[str], Path]) -> None:
    path = stranger(f'encoders = ["{SPELLINGS[0]}"]')
    for options in (["--allow-code"], ["--encoder", SPELLINGS[0], "--force"]):
        outcome = CliRunner().invoke(main, ["run", str(path), *options], catch_exceptions=False)
        assert outcome.exit_code == 0, outcome.output
    assert (path.parent / "it-ran").exists()


@pytest.mark.parametrize(
    "line",
    [
        'executor = "dask://127.0.0.1:9"',
        'executor = "dask://tls://127.0.0.1:9"',
        'encoders = "endpoint:https://127.0.0.1:9/v1#m,key_env=HOME"',
        'encoders = ["mteb:some/model"]',
    ],
)
def test_a_suite_file_reaches_no_other_machine(stranger: Callable[[str], Path], line: str) -> None:
    outcome = CliRunner().invoke(main, ["run", str(stranger(line)), "--plan"])
    assert outcome.exit_code == 2
    assert "hands texts and keys to another machine" in outcome.output


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("settings = 5", r"settings must be a table"),
        ('settings = "x"', r"settings must be a table"),
        ("task_options = 5", r"task_options must be a table"),
        ("[task_options]\nBioASQ = 5", r"task_options.BioASQ must be a table"),
        ('[settings]\nfolds = "x"', r"folds is 'x'; expected a whole number"),
        ("[settings]\nfolds = 2.5", r"folds is 2.5; expected a whole number"),
        ("[settings]\nfolds = true", r"folds is True; expected a whole number"),
        ("[settings]\nfolds = 99999999999999999999", r"folds is 9+; it must be finite"),
        ("[settings]\ngrouped = 1", r"grouped is 1; expected true or false"),
        ("[settings]\ntolerance = nan", r"tolerance is nan; it must be finite"),
        ("[settings]\nprobe = 5", r"probe is 5; expected a text"),
        ("[settings]\ntraining = 5", r"training is 5; expected a table"),
        ("[settings]\nseed = 5", r"unknown key settings.seed"),
        ("seeds = [-1]", r"seed is -1; it must be finite and not negative"),
        ("seeds = 4294967296", r"seed is 4294967296; it must be below"),
        ("seeds = [2.5]", r"seeds must be a list of int"),
        ("encoders = [5]", r"encoders must be a list of str"),
        ("encoders = []", r"encoders must be a list of str"),
        ("executor = 5", r"executor must be a text"),
        ("data = []", r"data must be a text"),
        ("output = 5", r"output must be a text"),
        ('output = "a\\u0000b"', r"output must be a text"),
        ('data = "~nobody-of-that-name/x"', r"home directory"),
    ],
)
def test_wrong_types_are_named_with_the_file(tmp_path: Path, lines: str, complaint: str) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(lines, "utf-8")
    with pytest.raises(SettingsError, match=rf"suite\.toml: .*{complaint}") as caught:
        read_suite(path)
    assert str(caught.value).count("suite.toml") == 1


def test_a_suite_file_is_read_whole(tmp_path: Path) -> None:
    assert SuiteDescription() == SuiteDescription(
        ("lexical",), ("sentence",), (1111,), None, Path("results"), "in-process", Settings()
    )
    path = tmp_path / "suite.toml"
    path.write_text(
        """
        tasks = "RQE"
        seeds = 7
        data = "my/data"
        output = "/elsewhere"
        executor = "processes:3"
        [[encoders]]
        encoder = "lexical"
        dimension = 64
        name = "a, b"
        [[encoders]]
        encoder = "endpoint:http://h/v1#m"
        verify = true
        other = false
        extra = {a = 1}
        [settings]
        folds = 3
        grouped = true
        [task_options.bioasq]
        snippets = "all"
        """,
        "utf-8",
    )
    settings = Settings(folds=3, grouped=True, task_options={"BioASQ": {"snippets": "all"}})
    encoders = (
        'lexical,dimension=64,name="a, b"', 'endpoint:http://h/v1#m,verify=yes,other=no,extra="{\\"a\\": 1}"',
    )  # fmt: skip
    assert read_suite(path) == SuiteDescription(
        encoders, ("RQE",), (7,), tmp_path / "my" / "data", Path("/elsewhere"), "processes:3", settings
    )
    path.write_text('[[tasks]]\ntask = "MR"\n[[tasks]]\ntask = "rqe"\n', "utf-8")
    assert read_suite(path).tasks == ("MR", "rqe")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('[[tasks]]\ntask = "MR"\nlabel = "x"', r"unknown key tasks\.label; known: $"),
        ('[[tasks]]\ntask = "MR"\nfile = "x"', r"\[\[tasks\]\] must say one of task, file and hf, and its options as texts$"),
        ("[[tasks]]\ntask = 5", r"\[\[tasks\]\] must say one of task, file and hf"),
        ("[tasks]\ntask = 'MR'", r"tasks must be a list of str, not \{'task': 'MR'\}$"),
        ("[[encoders]]\nname = 'x'", r"needs the key encoder, a specification such as 'lexical', got None$"),
        ("[[encoders]]\nencoder = 'lexical'\nx = [1]", r"encoders\.x must be a text, a number or a table, not \[1\]$"),
        ("[task_options.NOPE]\na = 'b'", r"no task is called 'NOPE'; did you mean "),
        ("seeds = [true]", r"seeds must be a list of int, not \[True\]$"),
        ("tasks = []", r"tasks must be a list of str, not \[\]$"),
        ("executor = 'dask:2'", r"the executor is 'dask:2'; it can be in-process, processes:N or dask://HOST:PORT$"),
        ("what = 1", r"unknown key what; known: data, encoders, executor, output, seeds, settings, task_options, tasks$"),
    ],
)
def test_what_a_suite_file_cannot_say_is_named(tmp_path: Path, lines: str, complaint: str) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(lines, "utf-8")
    with pytest.raises(SettingsError, match=rf"^{re.escape(str(path))}: .*{complaint}"):
        read_suite(path)


def test_what_needs_trust_is_all_that_runs_code_or_leaves_the_machine() -> None:
    described = SuiteDescription(("lexical", "python:m:o", "mteb:x", "endpoint:u#m", "vectors:x"), executor="dask://h:1")
    assert what_needs_trust(described) == ["python:m:o", "mteb:x", "endpoint:u#m", "dask://h:1"]
    assert what_needs_trust(SuiteDescription(executor="processes:2")) == []
