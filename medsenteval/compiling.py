"""Loops compiled by numba, where it is installed and the work repays loading it; without it plain NumPy does the same.

Importing numba and reading its compiled code takes 1.2 s (4 s on the very first time, when it compiles), which plain code
loses on some fifteen million tokens. So plain code runs until it has handled that many in this process, and the compiled loops
from then on: at worst twice the time of the better choice. Results are the same bits either way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

__all__ = ["compiled_loop", "loops_worth_loading", "read_only"]

#: Tokens on which plain code loses as much time as loading the compiled loops takes (benchmarks/mowe.py); one that is split
#: and then pooled counts twice.
_TOKENS_WORTH_LOADING: Final = 30_000_000


class _Tally:
    """Tokens that plain code handled in this process, whatever it did with them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_tokens = 0

    def add(self, n_tokens: int) -> int:
        with self._lock:
            self._n_tokens += n_tokens
            return self._n_tokens


_tally = _Tally()


def loops_worth_loading(module: str, n_tokens: int) -> Any:
    """Return a module of compiled loops for work on this many tokens, or None if plain code should do it."""
    if _tally.add(n_tokens) < _TOKENS_WORTH_LOADING or find_spec("numba") is None:
        return None
    return import_module(module)


def compiled_loop(function: Callable[..., Any]) -> Any:
    """Compile a function to run outside the interpreter's lock; its code is kept for the next process."""
    from numba import njit

    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # There is no folder to keep it in (an installation that cannot be written, and no home): each process compiles it.
        return njit(nogil=True)(function)


def read_only(array: Any) -> Any:
    """Return an array that a loop only reads; numba would compile the loop once for mapped ones and once for others."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
