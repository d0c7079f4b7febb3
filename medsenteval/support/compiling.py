"""What modules of loops that numba compiles share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled_loop(function: Callable[..., Any]) -> Any:
    """Compile a function to run outside the interpreter's lock; its code is kept for the next process."""
    from numba import njit

    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # There is no folder to keep it in (an installation that cannot be written, and no home): each process compiles it.
        return njit(nogil=True)(function)
