"""Tasks of a reader and of what is known of a data set: ``GROUP/GROUP_tasks.toml`` has a table for each task of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.settings import Settings
from medsenteval.support.toml_files import packaged_toml
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder


@cache
def group_facts(group: str) -> Mapping[str, dict[str, Any]]:
    """Return the facts of a group's tasks by name; what the table ``shared`` says holds for all that say nothing else."""
    tables = packaged_toml("medsenteval.tasks", f"{group}/{group}_tasks.toml")
    shared = tables.pop("shared", {})
    return {name: {"name": name, "version": "1", **shared, **table} for name, table in tables.items()}


def file_task(
    group: str,
    name: str,
    read_files: Callable[[DatasetBuilder], Dataset | None],
    evaluate: Callable[[Task, Dataset, Embeddings, Settings], Scores] = evaluate_classification,
    /,
    **fields: Any,
) -> Task:
    """Return the task of the facts that a group's file states under a name, and of further ``fields``.

    ``read_files`` fills a builder, which has the value of every option, or returns a data set of its own kind.
    """
    facts = {**group_facts(group)[name], **fields}

    def read(folder: Path, chosen: Mapping[str, str]) -> Dataset:
        pairs = facts["family"] not in ("classification", "probing")
        builder = DatasetBuilder(facts["name"], folder, labels=facts.get("labels", ()), pairs=pairs)
        builder.options = {key: chosen.get(key, values[0]) for key, values in facts.get("options", {}).items()}
        found = read_files(builder)
        return builder.build() if found is None else found

    return Task(read=read, evaluate=evaluate, **facts)
