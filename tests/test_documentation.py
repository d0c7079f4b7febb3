"""Every code block of README and docs runs, or says why it cannot run here; task pages are true; the site builds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from docs import task_pages
from medsenteval.cli.commands import COMMANDS
from medsenteval.datasets.locate import load_dataset
from medsenteval.errors import DataMissingError, UnknownNameError
from medsenteval.registry import TASK_GROUPS, task
from medsenteval.settings import Settings
from tests.conftest import REPOSITORY
from tests.documented import INLINE, assert_command_exists, assert_page_runs, blocks, commands, page_folder

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
TASK_PAGES = sorted((REPOSITORY / "docs" / "tasks").glob("*.md"))
#: Pages whose blocks take more than a few seconds.
SLOW = {
    "README", "analogies", "compare", "diagnostics", "general-tasks", "index", "ner", "report", "reproducing", "suites",
    "terms", "word-tasks",
}  # fmt: skip


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_folder(tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in SLOW else []) for page in PAGES]
)
def test_every_block_of_a_page_runs_or_says_why_not(
    page: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.listdir(prepared):
        (tmp_path / name).symlink_to((prepared / name).resolve())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    assert_page_runs(page)


@pytest.mark.parametrize("page", [*PAGES, *TASK_PAGES], ids=lambda page: page.stem)
def test_commands_within_sentences_exist(page: Path) -> None:
    for found in INLINE.findall(page.read_text("utf-8")):
        for words in commands(found.replace("\n", " ")):
            assert_command_exists(f"{page.name}: `{found}`", words[1:])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nls\n```", "neither run nor marked"),
        ("```sh\nmedsenteval rum\n```", "no command 'rum'"),
        ("<!-- not run: why -->\n```sh\nmedsenteval run --taskz RQE\n```", "--taskz"),
        ("<!-- not run: why -->\n```sh\nmedsenteval run -e vectors:x,cased=no\n```", "no option \\['cased'\\]"),
        ("<!-- not run: why -->\n```sh\nmedsenteval correlate --kind kendall\n```", "cannot be 'kendall'"),
        ("```sh\nmedsenteval run -d nowhere\n```", "ended with 2"),
        ("```\nx\n```", "neither run nor checked"),
        ("<!-- printed by: medsenteval --version -->\n```text\nmedsenteval, version 99\n```", "is not printed"),
        ("text\n\n    indented\n", "'indented'"),
        ("<!-- not run because -->\n```sh\nls\n```", "no mark that the test knows"),
        ("<!-- not run: why -->\ntext\n", "must stand on the line before"),
        ("- item\n  ```sh\n  ls\n  ```", "must begin at the margin"),
    ],
)
def test_a_block_that_is_wrong_fails(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.md").write_text(text, "utf-8")
    with pytest.raises(AssertionError, match=said):
        assert_page_runs(tmp_path / "page.md")


def test_unknown_tasks_and_broken_python_fail_even_where_they_are_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for text, error in [
        ("<!-- not run: why -->\n```sh\nmedsenteval run -t MedNIL\n```", UnknownNameError),
        ("<!-- not run: why -->\n```python\ndef (\n```", SyntaxError),
    ]:
        page.write_text(text, "utf-8")
        with pytest.raises(error):
            assert_page_runs(page)


@pytest.mark.slow
def test_task_pages_are_what_their_tasks_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert task_pages.main(["--check"]) == 0, capsys.readouterr().out
    names = {name for table in TASK_GROUPS.values() for name in table}
    assert {page.stem for page in TASK_PAGES} == names | {"index"}
    for page in TASK_PAGES:
        assert not list(blocks(page)), f"{page.name} has a code block that nothing runs"


@pytest.mark.realdata
def test_the_baselines_that_task_pages_state_are_those_of_the_real_data(realdata: Path) -> None:
    checked = 0
    for page in TASK_PAGES:
        stated = re.search(r"^Accuracy (\d+\.\d\d)", page.read_text("utf-8"), re.MULTILINE)
        root = realdata if page.stem == "RQE" else realdata / "senteval" / "data"
        if stated is None:
            continue
        try:
            dataset = load_dataset(task(page.stem), root, Settings())
        except DataMissingError:
            continue
        labels = (dataset.splits.get("test") or next(iter(dataset.splits.values()))).labels
        assert labels is not None
        assert f"{100 * np.bincount(labels).max() / len(labels):.2f}" == stated[1], page.stem
        checked += 1
    assert checked >= 9


def test_the_readme_lists_every_command_and_every_group_of_tasks() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    for name in (*COMMANDS, *TASK_GROUPS):
        assert f"`{name}`" in readme, name


def test_the_readme_opens_with_small_pictures_of_page_and_table() -> None:
    """They are drawn by ``python -m docs.pictures``; a clone should not carry more than it needs."""
    readme = (REPOSITORY / "README.md").read_text("utf-8").split("## ")[0]
    for name in ("page", "table"):
        assert f"](docs/images/{name}.png)" in readme
        drawn = (REPOSITORY / "docs" / "images" / f"{name}.png").read_bytes()
        assert drawn.startswith(b"\x89PNG")
        assert 5_000 < len(drawn) < 60_000


def test_every_file_that_the_documents_link_to_exists() -> None:
    for document in [*PAGES, *TASK_PAGES]:
        for target in (part.split(")")[0] for part in document.read_text("utf-8").split("](")[1:]):
            if not target.startswith("http"):
                assert (document.parent / target.split("#")[0]).exists(), f"{document.name} -> {target}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_the_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    finished = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert {page.stem for page in PAGES[1:]} <= {page.stem for page in built}
    for page in built:
        html = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?([^\"'\s>]+)", html)
        loaded += re.findall(r"<link[^>]*\shref=[\"']?([^\"'\s>]+)", html)
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text("utf-8")), style.name
    home = (tmp_path / "site" / "index.html").read_text("utf-8")
    for page in PAGES[1:]:
        assert f'href="{page.stem}.html"' in home or page.stem == "index", f"{page.name} is not in the nav of mkdocs.yml"


def test_every_environment_variable_is_documented() -> None:
    page = (REPOSITORY / "docs" / "environment.md").read_text("utf-8")
    sources = [path for folder in ("medsenteval", "tasks", "encoders", "tests") for path in (REPOSITORY / folder).rglob("*.py")]
    named = {name for path in sources for name in re.findall(r"MEDSENTEVAL_[A-Z]+", path.read_text("utf-8"))}
    assert named
    assert named == set(re.findall(r"MEDSENTEVAL_[A-Z]+", page))


def test_the_workflows_run_the_two_commands_of_the_readme() -> None:
    yaml = pytest.importorskip("yaml")
    folder = REPOSITORY / ".github" / "workflows"
    flows = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in folder.glob("*.yml")}
    assert set(flows) == {"tests", "release"}
    steps = flows["tests"]["jobs"]["commands"]["steps"]
    ran = [
        step["run"].replace('"$BIN/', ".venv/bin/").replace('" ', " ").replace("python -m venv", "python3 -m venv")
        for step in steps
        if "run" in step
    ]
    readme = (REPOSITORY / "README.md").read_text("utf-8").replace('".[test]"', '".[test]')
    assert len(ran) == 2
    for command in ran:
        assert command.strip() in readme, command
    assert flows["release"]["jobs"]["publish"]["permissions"] == {"id-token": "write"}
