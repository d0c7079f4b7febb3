"""The folder that a report or its figures go to."""

from __future__ import annotations

import os
from pathlib import Path

from medsenteval.errors import SettingsError


def ready_folder(folder: Path) -> None:
    """Make a folder that can be written to; called before anything is computed, so that no work is lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{folder}: cannot be made: {error.strerror or error}; name another place with --output") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SettingsError(f"{folder}: cannot be written to; name another place with --output")
