"""MedNLI: does a clinical premise entail, contradict or say nothing of a hypothesis?"""

from __future__ import annotations

from medsenteval.tasks.reading.copies import Copy, read_copy
from medsenteval.tasks.reading.layouts import read_parallel_nli
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("entailment", "neutral", "contradiction")
SPLITS = ("train", "dev", "test")
#: PhysioNet's files under any name, and those with a premise, a hypothesis and a label, as the model hub and BLUE have them.
COPY = Copy("pair classification", {"label": ("gold_label", "label"), "id": ("pairID",)}, splits=SPLITS, grouped_by_text=True)


def read(builder: DatasetBuilder) -> None:
    """Read tables, PhysioNet's ``mli_*_v1.jsonl`` or others, or SNLI-style parallel files where a user already made them."""
    official = [f"mli_{name}_v1.jsonl" for name in SPLITS]
    if builder.find(*official) or not builder.find(*(f"labels.{name}" for name in SPLITS)):
        return read_copy(builder, COPY, *official)
    for name in SPLITS:
        read_parallel_nli(builder, name)


TASK = file_task("sentence", "MedNLI", read, labels=LABELS)
