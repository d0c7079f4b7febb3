"""Recipes: encoders by name, with their weights, how their authors use them, and on which tasks they were trained."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from medsenteval.embedding.cache import cache_folder
from medsenteval.errors import EncoderError
from medsenteval.registry import add_options, select_tasks
from medsenteval.support.toml_files import packaged_toml, parse_toml

_UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class PublishedRow:
    """A row of a published table, named as its CSV file names it.

    ``options`` are those of the row's paper where they differ from the recipe's; ``doubt`` says how it may still differ.
    """

    file: str
    row: str
    table: str = ""
    doubt: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.file}{' ' + self.table if self.table else ''}: {self.row}"


@dataclass(frozen=True)
class Recipe:
    """One encoder: a specification, and for weights that must be fetched by hand what to put where.

    ``shown`` is its name in tables; ``pooling`` and ``limit``, in tokens, are what the model's card says. ``files`` maps a
    placeholder of ``argument`` or ``options`` to the file's path below the models folder; several paths are alternatives, the
    first being what the error asks for. ``dimension`` is None where no source states it. ``trained_on`` says "yes" or "no" of
    tasks, see ``declared_tasks``.
    """

    name: str
    title: str
    kind: str
    argument: str
    dimension: int | None
    automatic: bool
    source: str
    licence: str
    rows: tuple[PublishedRow, ...] = ()
    aliases: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    obtain: str = ""
    note: str = ""
    trained_on: Mapping[str, str] = field(default_factory=dict)
    pooling: str = ""
    limit: str = ""
    shown: str = ""

    def resolve(self, overrides: Mapping[str, str] | None = None) -> tuple[str, str, dict[str, str]]:
        """Return kind, argument and options for the loader; ``overrides`` win over the recipe's options.

        Weights that are to be fetched by hand and are not there raise an EncoderError that says what to put where.
        """
        found = self._found()
        if missing := [placeholder for placeholder, path in found.items() if path is None]:
            wanted = "; ".join(self._wanted(placeholder) for placeholder in missing)
            raise EncoderError(
                f"the recipe {self.name!r} has no weights yet. Missing: {wanted}. How to get them: {self.obtain} "
                f"Source: {self.source}. (MEDSENTEVAL_MODELS can name another models folder than {models_folder()}.)"
            )
        argument, options = self._filled(found)
        return self.kind, argument, options | dict(overrides or {})

    @property
    def present(self) -> bool:
        """Whether all files that must be fetched by hand are there."""
        return None not in self._found().values()

    @property
    def specification(self) -> str:
        """What the recipe stands for, written as ``--encoder`` takes it, with paths below the models folder."""
        argument, options = self._filled({placeholder: alternatives[0] for placeholder, alternatives in self.files.items()})
        return add_options(f"{self.kind}:{argument}".removesuffix(":"), options)

    def _filled(self, paths: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """Return argument and options with these paths for the placeholders."""
        return self.argument.format_map(paths), {key: value.format_map(paths) for key, value in self.options.items()}

    def _found(self) -> dict[str, Path | None]:
        candidates = {key: [models_folder() / relative for relative in paths] for key, paths in self.files.items()}
        return {key: next(filter(Path.exists, paths), None) for key, paths in candidates.items()}

    def _wanted(self, placeholder: str) -> str:
        first, *others = self.files[placeholder]
        return f"{models_folder() / first}" + "".join(f" (or {Path(other).name})" for other in others)


def models_folder() -> Path:
    """Return the folder named by MEDSENTEVAL_MODELS, or ``models`` in the cache folder; it may not exist yet."""
    named = os.environ.get("MEDSENTEVAL_MODELS")
    return Path(named).expanduser() if named else cache_folder() / "models"


@cache
def recipes() -> Mapping[str, Recipe]:
    """Return every recipe by name, in the order of recipes.toml."""
    return {name: _recipe(name, **table) for name, table in packaged_toml("medsenteval.encoders", "recipes.toml").items()}


def _recipe(name: str, **table: Any) -> Recipe:
    """Make a recipe of its table, with tuples for lists and texts for numbers."""
    table["dimension"] = None if table["dimension"] == _UNKNOWN else table["dimension"]
    table["rows"] = tuple(PublishedRow(**row) for row in table.get("rows", ()))
    table["aliases"] = tuple(table.get("aliases", ()))
    table["options"] = {key: str(value) for key, value in table.get("options", {}).items()}
    files = table.get("files", {}).items()
    table["files"] = {key: (paths,) if isinstance(paths, str) else tuple(paths) for key, paths in files}
    table["trained_on"] = declared_tasks(table.get("trained_on", {}), f"recipes.toml: {name}")
    table["limit"] = str(table.get("limit", ""))
    return Recipe(name, **{"shown": name, **table})


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


def describe(recipe: Recipe) -> str:
    """Return everything about a recipe as lines of text: what it is, its weights, its options, and the rows it stands for."""
    lines = [
        ("Recipe", f"{recipe.name}: {recipe.title}"),
        ("Also", ", ".join(recipe.aliases)),
        ("In tables", recipe.shown if recipe.shown != recipe.name else ""),
        ("Stands for", recipe.specification),
        ("Dimension", str(recipe.dimension or _UNKNOWN)),
        ("Pooling", recipe.pooling),
        ("Limit", f"{recipe.limit} (tokens)" if recipe.limit else ""),
        ("Weights", "fetched on first use" if recipe.automatic else "fetched by hand"),
        ("Source", recipe.source),
        ("Licence", recipe.licence),
        ("To get it", recipe.obtain),
    ]
    for placeholder, path in recipe._found().items():
        lines.append(("File", f"{recipe._wanted(placeholder)}: {'present' if path else 'absent'}"))
    for row in recipe.rows:
        options = "".join(f", {key}={value}" for key, value in row.options.items())
        lines.append(("Published", f"{row}{options}{f' (but: {row.doubt})' if row.doubt else ''}"))
    lines.append(("Trained on", "; ".join(f"{task}: {said}" for task, said in recipe.trained_on.items())))
    lines.append(("Note", recipe.note))
    return "\n".join(f"{key + ':':<12}{value}" for key, value in lines if value)
