"""The benchmarks of statistics and term similarity run, and their two sides agree."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


def run(name: str) -> str:
    command = [sys.executable, f"benchmarks/{name}.py", "--small"]
    finished = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_resampling() -> None:
    printed = run("resampling")
    gap = re.search(r"differ by (\S+):", printed)
    assert gap is not None
    assert float(gap[1]) < 1e-9
    assert "All pairs of 3 encoders on 10 tasks" in printed


@pytest.mark.slow
def test_term_similarity() -> None:
    last = run("term_similarity").splitlines()[-1].split()
    assert last[0] == "all"
    assert float(last[-1]) < 1e-6
