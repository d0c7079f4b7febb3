"""TOML files: any text, and those that are installed with the package."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.resources import files
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a TOML text holds; a ValueError or RecursionError says what is wrong with it."""
    # tomli is the same reader for Python 3.10, which has none.
    found: dict[str, Any] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    return found


def packaged_toml(package: str, name: str) -> dict[str, Any]:
    """Read a TOML file of ours, its lists as tuples, because facts do not change; ``name`` is its path below the package."""
    found: dict[str, Any] = _frozen(parse_toml((files(package) / name).read_text("utf-8")))
    return found


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
