"""What encoders were trained on: yes or no for each task that a recipe or a user's file names, unknown for all others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medsenteval.errors import EncoderError
from medsenteval.registry import select_tasks
from medsenteval.support.toml_files import parse_toml


def declared_tasks(table: Any, where: str) -> dict[str, str]:
    """Read ``yes = ["SNLI"]`` and ``no = ["sentence"]`` into a word for each task; a task that has both is an error.

    Yes means that the training data held the task's texts, with labels or without. ``no = ["*"]`` is for encoders that were
    trained on nothing, or on nothing that any task has.
    """
    if not isinstance(table, Mapping) or set(table) - {"yes", "no"}:
        raise EncoderError(f"{where}: trained_on holds lists of tasks called yes and no, and nothing else")
    declared: dict[str, str] = {}
    for said, names in table.items():
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise EncoderError(f"{where}: trained_on: {said} is {names!r}; expected a list of names of tasks")
        for name in names:
            for task in [name] if name == "*" or ":" in name else [task.name for task in select_tasks(name)]:
                if declared.setdefault(task, said) != said:
                    raise EncoderError(f"{where}: trained_on says both yes and no of {task}")
    return declared


def read_declaration(file: str) -> dict[str, str]:
    """Read a TOML file of an encoder's own: ``yes`` and ``no``, each a list of tasks or groups of tasks."""
    try:
        table = parse_toml(Path(file).expanduser().read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(f"{file}: cannot be read: {error}; trained_on names a TOML file with lists yes and no") from error
    return declared_tasks(table, file)
