"""The benchmarks run, at tiny sizes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.slow
@pytest.mark.parametrize(("script", "expected"), [("nearest_terms", "faster"), ("separation", "avg_rho")])
def test_small_benchmark(script: str, expected: str) -> None:
    if script == "nearest_terms":
        pytest.importorskip("numba")
        pytest.importorskip("rapidfuzz")
    run = subprocess.run(
        [sys.executable, str(REPOSITORY / "benchmarks" / f"{script}.py"), "--small"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert expected in run.stdout
