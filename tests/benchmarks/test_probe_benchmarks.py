"""The benchmark scripts run on small sizes and print what they promise."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from benchmarks import mowe
from medsenteval.probes.exact import problems
from medsenteval.probes.exact.gradient import GradientPass
from tests.conftest import REPOSITORY


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a script as Python runs it, but in this process, which has imported torch and scikit-learn."""

    def run_script(script: str, *arguments: str) -> str:
        path = REPOSITORY / "benchmarks" / script
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        monkeypatch.syspath_prepend(str(path.parent))
        monkeypatch.setattr(problems, "GradientPass", GradientPass)  # the script counts its products by another one
        with warnings.catch_warnings(), threadpool_limits(1):
            runpy.run_path(str(path), run_name="__main__")
        return capsys.readouterr().out

    return run_script


@pytest.mark.slow
def test_probes_are_timed_against_scikit_learn(run: Callable[..., str]) -> None:
    pytest.importorskip("torch")
    printed = run("probes.py", "--small", "--cases", "bioasq", "--budget", "60")
    assert "0 of 71 fits unconverged" in printed
    same = re.search(r"scikit-learn mode .* ratio +([\d.]+) +same predictions ([\d.]+) %", printed)
    assert same is not None
    assert float(same[2]) > 80


@pytest.mark.slow
def test_a_rival_over_its_budget_is_extrapolated_to_all_fits_of_the_protocol(run: Callable[..., str]) -> None:
    pytest.importorskip("torch")
    printed = run("probes.py", "--small", "--cases", "bioasq", "bioc", "--budget", "0")
    stopped = re.findall(r"scikit-learn mode +[\d.]+ s .*\((\d+) of (\d+) fits took [\d.]+ s; threads \d+\)", printed)
    assert stopped == [("1", "71"), ("1", "610")]


@pytest.mark.slow
def test_relatedness_is_learnt(run: Callable[..., str]) -> None:
    pytest.importorskip("torch")
    printed = run("relatedness.py", "--small")
    [found] = re.findall(r"ours: +[\d.]+ s, \d+ passes, dev [\d.]+, test ([\d.]+)", printed)
    assert float(found) > 0.5


@pytest.mark.slow
def test_converged_scikit_learn_agrees(run: Callable[..., str]) -> None:
    printed = run("converged.py", "--small", "--cases", "bioasq", "mednli-1200")
    differences = [float(value) for value in re.findall(r"objective ([+-][\d.e+-]+)", printed)]
    assert len(differences) == 4
    assert max(differences) < 1e-6
    assert {float(value) for value in re.findall(r"same ([\d.]+)", printed)} == {100.0}


@pytest.mark.slow
def test_mean_word_vectors_are_timed_against_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mowe, "N_WORDS", 40_000)
    monkeypatch.setattr(mowe, "N_SENTENCES", 40_000)
    monkeypatch.setattr(sys, "argv", ["mowe.py", "--quick", "--repeats", "1", "--folder", str(tmp_path)])
    mowe.main()
    printed = capsys.readouterr().out
    assert printed.count("raw text, tokenizer=words") == printed.count("SentEval's loop:") == 1
