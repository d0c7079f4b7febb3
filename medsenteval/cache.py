"""Where things that can be computed again are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Return the folder named by MEDSENTEVAL_CACHE, or the user's cache folder; it may not exist yet."""
    named = os.environ.get("MEDSENTEVAL_CACHE")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "medsenteval"
