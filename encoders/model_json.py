"""The JSON files that describe a model: read whole, or refused with their name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from medsenteval.errors import EncoderError

__all__ = ["read_json"]


def read_json(file: Path, expected: type, kind: str) -> Any:
    """Return what a JSON file holds, a dictionary or a list as ``expected``."""
    if not file.is_file():  # a pipe would be read for ever
        raise EncoderError(f"{kind}: {file} is missing or no file")
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(f"{kind}: {file} cannot be read as JSON: {error}") from error
    if not isinstance(found, expected):
        raise EncoderError(f"{kind}: {file} holds a {type(found).__name__}; expected is a {expected.__name__} in JSON")
    return found
