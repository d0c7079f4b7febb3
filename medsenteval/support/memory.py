"""Memory of this process: its peak, and handing freed memory back to the system between the phases of an evaluation."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def return_freed_memory() -> None:
    """Ask the C library to hand freed memory back, if it is one that hoards it and can be asked.

    glibc keeps what a program frees, up to 64 MB at the end of the heap and more between what is still used, and a heap for
    every thread. An evaluation goes through phases that need different things; without this each would add its own to the peak.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], Any] | None:
    try:
        trim: Callable[[int], Any] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # Windows has no library of that name
        return None
    return trim


def peak_memory_mb() -> float:
    """Return the largest memory this process has held so far, 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
