"""The word similarity sets as Tasks: what all share; ``word_tasks.toml`` has each one's files, folders, size and source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.task_facts import group_facts
from medsenteval.tasks.word.word_evaluation import evaluate_word_pairs
from medsenteval.tasks.word.word_pairs import COSINE, MEASURE, MULTIWORD, OOV, read_pairs

#: Folders that hold several sets: our own name, and that of the Bio-SimVerb repository.
_SHARED_FOLDERS: Final = ("wordsim", "word-similarities")


def _word_task(name: str, folders: tuple[str, ...], files: Any, choice: str = "", **facts: Any) -> Task:
    """Return the task of a set; an option of the name ``choice`` selects among several lists of files."""
    lists = files if choice else {"": [{"names": files}]}
    choices = {choice: tuple(lists)} if choice else {}
    options = {"oov": OOV, "multiword": MULTIWORD, "case": ("exact", "lower"), **facts.pop("options", {}), **choices}

    def read(folder: Path, chosen: Mapping[str, str]) -> Dataset:
        read_as = {key: chosen.get(key, values[0]) for key, values in options.items()}
        selected = [(each["names"], each.get("scores", ())) for each in lists[read_as.get(choice, "")]]
        if (measure := chosen.get("measure", COSINE)) != COSINE:
            read_as["measure"] = measure
        return read_pairs(DatasetBuilder(name, folder, pairs=True, options=read_as), selected)

    return Task(
        name=name,
        folders=(*folders, *_SHARED_FOLDERS),
        read=read,
        evaluate=evaluate_word_pairs,
        options={**options, "measure": MEASURE},
        protocol_options=("measure",),
        row_options=("multiword", *choices),
        **facts,
    )


TASKS: Final = {name: _word_task(**facts) for name, facts in group_facts("word").items()}
