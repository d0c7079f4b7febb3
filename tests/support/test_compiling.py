"""Loops are compiled in a read-only installation too."""

from __future__ import annotations

from typing import Any

import pytest

from medsenteval.support.compiling import compiled_loop


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
