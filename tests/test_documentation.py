"""Every command and code block of README and docs runs, or is marked with the reason why it cannot run here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.documented import INLINE, blocks, check_command, commands, page_folder, run_block

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
TASK_PAGES = sorted((REPOSITORY / "docs" / "tasks").glob("*.md"))
#: Pages whose blocks take more than a few seconds.
SLOW: set[str] = set()


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
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.language == "indented" and page.name == "README.md":
            # The two commands that a newcomer copies: tests/test_install.py and CI run them.
            assert block.text.startswith("python3 -m venv .venv && "), block.place
            continue
        run_block(block, namespace)


@pytest.mark.parametrize("page", [*PAGES, *TASK_PAGES], ids=lambda page: page.stem)
def test_commands_within_sentences_exist(page: Path) -> None:
    for found in INLINE.findall(page.read_text("utf-8")):
        for words in commands(found.replace("\n", " ")):
            check_command(f"{page.name}: `{found}`", words[1:])
