"""Memory of this process."""

from __future__ import annotations

import sys


def peak_memory_mb() -> float:
    """Return the largest memory this process has held so far, 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
