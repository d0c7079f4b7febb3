"""A newcomer's hour: a clean copy of the repository in a new environment, following docs/index.md word for word to a
comparison of two encoders on real data."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.documented import blocks, commands
from tests.test_install import environment, install, source

pytestmark = [pytest.mark.slow, pytest.mark.install, pytest.mark.realdata]

#: The fixture of a clean copy of what git tracks.
__all__ = ["source"]


def test_the_quick_start_leads_to_a_comparison_on_real_data(
    source: Path, realdata: Path, glove_file: Path, tmp_path: Path
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    (home / "Downloads").mkdir(parents=True)
    work.mkdir()
    for file in (*(realdata / "rqe").glob("*.xml"), *(realdata / "biosses" / "BIOSSES-Dataset").glob("*.docx")):
        (home / "Downloads" / file.name).symlink_to(file)
    (work / "glove.6B.100d.txt").symlink_to(glove_file)
    python = environment(tmp_path / "env")
    install(python, source, cwd=work)

    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("MEDSENTEVAL_", "PYTHON"))}
    surroundings |= {"HOME": str(home), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    printed: dict[str, str] = {}
    for block in blocks(REPOSITORY / "docs" / "index.md"):
        if block.language != "sh":
            continue
        for words in commands(block.text):
            # The installation was done above, without the network; without it nothing can be fetched either.
            if words[0] != "medsenteval" or words[1:3] == ["data", "fetch"]:
                assert block.not_run, block.place
                continue
            given = [word.replace("~", str(home)) for word in words]
            finished = subprocess.run(given, cwd=work, env=surroundings, capture_output=True, text=True)
            assert finished.returncode == 0, f"{block.place}: {shlex.join(words)}\n{finished.stdout}\n{finished.stderr}"
            printed[" ".join(words[1:])] = finished.stdout

    assert "SYNTHETIC" in printed["run"]
    status = printed["data status sentence --data my-data"]
    assert re.search(r"RQE +sentence +ready +train 8,588, test 302", status)
    assert re.search(r"BIOSSES +sentence +ready +100 rows", status)
    assert "99.67" in printed["data quality RQE --data my-data"]
    scores = next(text for command, text in printed.items() if command.startswith("run --data my-data"))
    assert "SYNTHETIC" not in scores
    assert re.search(r"RQE +glove +acc +\d\d\.\d\d .*57\.28 +302", scores)
    comparison = printed["compare my-results/"]
    assert "SYNTHETIC" not in comparison
    assert re.search(r"BIOSSES +pearson +glove +lexical +-0\.\d+ .*paired bootstrap +100", comparison)
    assert re.search(r"RQE +acc +glove +lexical .*McNemar +302", comparison)
    assert "BioBERT [medsenteval-3]" in printed["compare my-results/ --with published"]
    assert (work / "report.html").stat().st_size > 10_000
