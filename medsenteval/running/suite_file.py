"""Suites described in a TOML file: encoders, tasks, seeds, settings, where data and results are and where work runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from medsenteval import registry
from medsenteval.contracts import Task
from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.running.executors import check_executor
from medsenteval.settings import Settings
from medsenteval.support.toml_files import parse_toml

#: Settings that a file cannot hold: a function, and what has a table of its own.
_NOT_IN_FILES: Final = frozenset({"similarity", "task_options", "seed"})
#: Kinds of encoder that import code, that may run code which a model brings, or that send texts and a key to an address.
_TRUSTED: Final = frozenset({"python", "mteb", "endpoint"})


@dataclass(frozen=True)
class SuiteDescription:
    """What a suite file says; a relative data or output folder is relative to the file."""

    encoders: tuple[str, ...] = ("lexical",)
    tasks: tuple[str | Task, ...] = ("sentence",)
    seeds: tuple[int, ...] = (1111,)
    data: Path | None = None
    output: Path = Path("results")
    executor: str = "in-process"
    settings: Settings = field(default_factory=Settings)


def read_suite(path: Path) -> SuiteDescription:
    """Read and check a suite file; a key that does not exist is an error, because it would silently change nothing."""
    try:
        content = parse_toml(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:  # TOML that is none, or a number or nesting that no reader can hold
        raise SettingsError(f"{path}: not TOML: {error}") from error
    described: dict[str, Any] = {}
    try:
        _only(content, {*(each.name for each in fields(SuiteDescription)), "task_options"}, "")
        settings = _table(content, "settings")
        _only(settings, {each.name for each in fields(Settings)} - _NOT_IN_FILES, "settings.")
        described["settings"] = Settings(**settings, task_options=_task_options(content))
        for key, kind in (("encoders", str), ("tasks", str), ("seeds", int)):
            if key in content:
                values = content[key] if isinstance(content[key], list) else [content[key]]
                if key == "encoders":
                    values = [_specification(value) if isinstance(value, dict) else value for value in values]
                named = key == "tasks" and values is content[key] and all(isinstance(value, dict) for value in values)
                if not values or not (named or all(type(value) is kind for value in values)):
                    raise SettingsError(f"{key} must be a list of {kind.__name__}, not {content[key]!r}")
                described[key] = tuple(_named_task(value, path) for value in values) if named else tuple(values)
        for seed in described.get("seeds", ()):
            described["settings"].with_changes(seed=seed)
        for key in content.keys() & {"data", "output", "executor"}:
            if not isinstance(content[key], str) or "\0" in content[key]:
                raise SettingsError(f"{key} must be a text, not {content[key]!r}")
            described[key] = content[key] if key == "executor" else path.parent / Path(content[key]).expanduser()
        check_executor(described.get("executor", "in-process"))
    except (SettingsError, UnknownNameError, RuntimeError) as error:  # the last: ~user of nobody
        raise SettingsError(f"{path}: {error}") from error
    return SuiteDescription(**described)


def _specification(table: Mapping[str, Any]) -> str:
    """Return the specification that a table of [[encoders]] stands for: the key ``encoder``, and options under their names."""
    spec, options = table.get("encoder"), {key: value for key, value in table.items() if key != "encoder"}
    if not isinstance(spec, str):
        raise SettingsError(f"a table of encoders needs the key encoder, a specification such as 'lexical', got {spec!r}")
    for key, value in options.items():
        if isinstance(value, dict):
            options[key] = json.dumps(value)
        elif isinstance(value, bool):
            options[key] = "yes" if value else "no"
        elif not isinstance(value, (str, int, float)):
            raise SettingsError(f"encoders.{key} must be a text, a number or a table, not {value!r}")
    return registry.add_options(spec, {key: str(value) for key, value in options.items()})


def what_needs_trust(described: SuiteDescription) -> list[str]:
    """Return what in a suite file runs code, or hands texts and keys to other machines; only its reader can vouch for it.

    Kinds of encoder are compared as the registry resolves them, so that no spelling slips through.
    """
    found = [spec for spec in described.encoders if _needs_trust(spec)]
    return found + [described.executor] * (check_executor(described.executor)[0] == "dask")


def _needs_trust(spec: str) -> bool:
    kind, _, options = registry.parse_encoder_spec(spec)
    kind = registry.encoder_name(kind)[0]
    # Of two models as one encoder, under whatever name a recipe gives it.
    parts = [options[role] for role in ("query", "document") if role in options]
    return kind in _TRUSTED or any(map(_needs_trust, parts))


def _named_task(table: Mapping[str, Any], path: Path) -> str | Task:
    """Return what a table [[tasks]] names: ``task`` a known one, ``file`` or ``hf`` data of one's own, with options."""
    kinds = table.keys() & {"task", "file", "hf"}
    if len(kinds) != 1 or not all(isinstance(value, str) for value in table.values()):
        raise SettingsError("[[tasks]] must say one of task, file and hf, and its options as texts")
    options = dict(table)
    named: str = options.pop(kind := kinds.pop())
    if kind == "task":
        _only(options, set(), "tasks.")
        return named
    return registry.own_task(path.parent / Path(named).expanduser() if kind == "file" else f"hf:{named}", **options)


def _task_options(content: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    tables = _table(content, "task_options")
    read = {registry.task(name).name: _table(tables, name, "task_options.") for name in tables}
    return {name: {key: str(value) for key, value in table.items()} for name, table in read.items()}


def _table(content: Mapping[str, Any], key: str, prefix: str = "") -> dict[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{prefix}{key} must be a table, [{prefix}{key}], not {table!r}")
    return table


def _only(table: Mapping[str, Any], known: set[str], prefix: str) -> None:
    if unknown := sorted(set(table) - known):
        raise SettingsError(f"unknown key {prefix}{unknown[0]}; known: {', '.join(sorted(known))}")
