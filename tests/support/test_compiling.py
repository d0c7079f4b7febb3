"""Loops are compiled in a read-only installation too, and read-only views leave the array as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from medsenteval.support.compiling import compiled_loop, read_only


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
