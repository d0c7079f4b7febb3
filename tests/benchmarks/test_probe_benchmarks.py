"""The benchmark scripts run on small sizes and print what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_probes_are_timed_against_scikit_learn() -> None:
    pytest.importorskip("torch")
    printed = run("probes.py", "--small", "--cases", "bioasq", "--budget", "60")
    assert "0 of 71 fits unconverged" in printed
    same = re.search(r"scikit-learn mode .* ratio +([\d.]+) +same predictions ([\d.]+) %", printed)
    assert same is not None
    assert float(same[2]) > 80


@pytest.mark.slow
def test_a_rival_over_its_budget_is_extrapolated_to_all_fits_of_the_protocol() -> None:
    pytest.importorskip("torch")
    printed = run("probes.py", "--small", "--cases", "bioasq", "bioc", "--budget", "0")
    stopped = re.findall(r"scikit-learn mode +[\d.]+ s .*\((\d+) of (\d+) fits took [\d.]+ s; threads \d+\)", printed)
    assert stopped == [("1", "71"), ("1", "610")]


@pytest.mark.slow
def test_converged_scikit_learn_agrees() -> None:
    printed = run("converged.py", "--small", "--cases", "bioasq", "mednli-1200")
    differences = [float(value) for value in re.findall(r"objective ([+-][\d.e+-]+)", printed)]
    assert len(differences) == 4
    assert max(differences) < 1e-6
    assert {float(value) for value in re.findall(r"same ([\d.]+)", printed)} == {100.0}


@pytest.mark.slow
def test_mean_word_vectors_are_timed_against_the_loop(tmp_path: Path) -> None:
    printed = run("mowe.py", "--quick", "--repeats", "1", "--folder", str(tmp_path))
    assert printed.count("raw text, tokenizer=words") == printed.count("SentEval's loop:") == 1
