"""When compiled loops are loaded, and that a read-only installation compiles them all the same."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from medsenteval import compiling
from medsenteval.compiling import compiled_loop, loops_worth_loading, read_only


def test_small_work_does_not_load_numba_and_much_of_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_tally", compiling._Tally())
    monkeypatch.setattr(compiling, "_TOKENS_WORTH_LOADING", 100)
    asked = [loops_worth_loading("json", 30) for _ in range(4)]
    assert [loops is not None for loops in asked] == [False, False, False, compiling.find_spec("numba") is not None]
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    assert loops_worth_loading("json", 10**9) is None, "without numba nothing is loaded"


def test_encoding_a_few_texts_does_not_import_numba() -> None:
    code = """
import sys
from medsenteval.encoders.vectors import from_table
print(from_table("t", ["a", "b"], [[1, 2], [3, 4]]).encode(["a b", "b"]).tolist(), "numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[[2.0, 3.0], [3.0, 4.0]] False"


def test_compiled_code_need_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    plain_njit = numba.njit

    def njit(*functions: Any, **options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return plain_njit(*functions, **options)

    monkeypatch.setattr(numba, "njit", njit)

    def double(x: int) -> int:
        return 2 * x

    assert compiled_loop(double)(21) == 42


def test_read_only_views_leave_the_array_writable() -> None:
    array = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        read_only(array)[0] = 1
    array[0] = 1
    assert read_only(array)[0] == 1
