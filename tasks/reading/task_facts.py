"""What is known of each data set, from ``GROUP/GROUP_tasks.toml`` beside the tasks of a group: a table for each task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from medsenteval.support.toml_files import packaged_toml


@cache
def group_facts(group: str) -> Mapping[str, dict[str, Any]]:
    """Return the facts of a group's tasks by name; what the table ``shared`` says holds for all that say nothing else."""
    tables = {name: _frozen(table) for name, table in packaged_toml("medsenteval.tasks", f"{group}/{group}_tasks.toml").items()}
    shared = tables.pop("shared", {})
    return {name: {"name": name, "version": "1", **shared, **table} for name, table in tables.items()}


def task_facts(group: str, name: str) -> dict[str, Any]:
    """Return the fields of a Task that its group's file states."""
    return group_facts(group)[name]


def _frozen(value: Any) -> Any:
    """Make tuples of lists, because a Task is a frozen value."""
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
