"""The word similarity sets as Tasks: what all share; ``word_tasks.toml`` has each one's files, folders, size and source."""

from __future__ import annotations

from typing import Final

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task, group_facts
from medsenteval.tasks.word.word_evaluation import evaluate_word_pairs
from medsenteval.tasks.word.word_pairs import COSINE, MEASURE, MULTIWORD, OOV, read_pairs

#: Folders that hold several sets: our own name, and that of the Bio-SimVerb repository.
_SHARED_FOLDERS: Final = ("wordsim", "word-similarities")


def _word_task(name: str) -> Task:
    facts = group_facts("word")[name]
    # Taken out, because they are no fields of a Task: an option of the name ``choice`` selects among several lists of files.
    files, choice = facts.pop("files"), facts.pop("choice", "")
    lists = files if choice else {"": ({"names": files},)}
    choices = {choice: tuple(lists)} if choice else {}
    own = facts.get("options", {})

    def read(builder: DatasetBuilder) -> Dataset:
        if builder.options["measure"] == COSINE:
            del builder.options["measure"]
        return read_pairs(builder, lists[builder.options.get(choice, "")])

    return file_task(
        "word",
        name,
        read,
        evaluate_word_pairs,
        folders=(*facts["folders"], *_SHARED_FOLDERS),
        options={"oov": OOV, "multiword": MULTIWORD, "case": ("exact", "lower"), **own, **choices, "measure": MEASURE},
        protocol_options=("measure",),
        row_options=("multiword", *choices),
    )


TASKS: Final = {name: _word_task(name) for name in group_facts("word")}
