"""Suites described in a TOML file: encoders, tasks, seeds, settings, where data and results are and where work runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import SettingsError
from medsenteval.executors import check_executor
from medsenteval.settings import Settings

__all__ = ["SuiteDescription", "read_suite"]

#: Settings that a file cannot hold: a function, and what has a table of its own.
_NOT_IN_FILES: Final = frozenset({"similarity", "task_options", "seed"})


@dataclass(frozen=True)
class SuiteDescription:
    """What a suite file says; a relative data or output folder is relative to the file."""

    encoders: tuple[str, ...] = ("lexical",)
    tasks: tuple[str, ...] = ("sentence",)
    seeds: tuple[int, ...] = (1111,)
    data: Path | None = None
    output: Path = Path("results")
    executor: str = "in-process"
    settings: Settings = field(default_factory=Settings)


def read_suite(path: Path) -> SuiteDescription:
    """Read and check a suite file; a key that does not exist is an error, because it would silently change nothing."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:  # TOML that is none, or a number or nesting that no reader can hold
        raise SettingsError(f"{path}: not TOML: {error}") from error
    _only(content, {"encoders", "tasks", "seeds", "data", "output", "executor", "settings", "task_options"}, path, "")
    settings = content.get("settings", {})
    known = {each.name for each in fields(Settings)} - _NOT_IN_FILES
    _only(settings, known, path, "settings.")
    described: dict[str, Any] = {"settings": Settings(**settings, task_options=_task_options(content, path))}
    for key, kind in (("encoders", str), ("tasks", str), ("seeds", int)):
        if key in content:
            values = content[key] if isinstance(content[key], list) else [content[key]]
            if not values or not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
                raise SettingsError(f"{path}: {key} must be a list of {kind.__name__}, not {content[key]!r}")
            described[key] = tuple(values)
    if "executor" in content:
        check_executor(str(content["executor"]))
        described["executor"] = str(content["executor"])
    for key in ("data", "output"):
        if key in content:
            described[key] = path.parent / Path(str(content[key])).expanduser()
    return SuiteDescription(**described)


def _task_options(content: Mapping[str, Any], path: Path) -> dict[str, dict[str, str]]:
    from medsenteval import registry

    options: dict[str, dict[str, str]] = {}
    for name, table in content.get("task_options", {}).items():
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: task_options.{name} must be a table, for example [task_options.BioASQ]")
        options[registry.task(name).name] = {key: str(value) for key, value in table.items()}
    return options


def _only(table: Mapping[str, Any], known: set[str], path: Path, prefix: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise SettingsError(f"{path}: unknown key {prefix}{unknown[0]}; known: {', '.join(sorted(known))}")
