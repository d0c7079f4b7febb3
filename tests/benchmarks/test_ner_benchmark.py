"""The tagger's benchmark runs on the sample and prints its table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.slow
def test_the_small_benchmark_prints_every_row() -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "benchmarks/ner.py", "--small"]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    rows = {line.split("  ")[0]: line for line in printed.splitlines()}
    assert float(rows["dictionary"].split()[-1]) > 0
    assert {"lexical", "random vectors", "all O"} <= set(rows)
    assert "one epoch of one run on one core" in printed
