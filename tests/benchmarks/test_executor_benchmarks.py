"""The benchmarks of memory and workers run at small sizes and print what they promise."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


def run(name: str, *options: str) -> list[list[str]]:
    command = [sys.executable, str(REPOSITORY / "benchmarks" / name), "--small", *options]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout
    return [line.split() for line in printed.splitlines()]


@pytest.mark.slow
def test_the_memory_benchmark_prints_a_line_for_each_size() -> None:
    pytest.importorskip("torch")
    header, *sizes = run("memory.py")
    assert header[:2] == ["texts", "columns"]
    assert [line[0] for line in sizes] == ["5,000", "10,000"]
    before, encoded, peak = (float(number) for number in sizes[1][2:5])
    assert 0 < before <= encoded <= peak
    assert float(sizes[1][7]) > 50


@pytest.mark.slow
def test_the_executors_benchmark_finds_the_same_scores() -> None:
    _, _, *probes = run("executors.py", "--probes", "sklearn", "exact")
    assert [line[0] for line in probes] == ["sklearn", "exact"]
    assert all(" ".join(line).endswith("the same to the last bit") for line in probes)
