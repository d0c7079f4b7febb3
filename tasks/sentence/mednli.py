"""MedNLI: does a clinical premise entail, contradict or say nothing of a hypothesis?"""

from __future__ import annotations

from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.column_roles import PAIRS
from medsenteval.tasks.reading.copies import Copy, read_copy
from medsenteval.tasks.reading.layouts import read_parallel_nli
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("entailment", "neutral", "contradiction")
SPLITS = ("train", "dev", "test")
#: Renamed files, and those with a premise, a hypothesis and a label, as the model hub and BLUE have them.
COPY = Copy(PAIRS, {"label": ("gold_label", "label"), "id": ("pairID",)}, splits=SPLITS, grouped_by_text=True)


def read(builder: DatasetBuilder) -> None:
    """Read PhysioNet's ``mli_*_v1.jsonl``, SNLI-style parallel files where a user already made them, or other tables."""
    official = [f"mli_{name}_v1.jsonl" for name in SPLITS]
    if not builder.find(*official, *(f"labels.{name}" for name in SPLITS)):
        return read_copy(builder, COPY, *official)
    for name in SPLITS:
        if builder.find(f"labels.{name}") and not builder.find(f"mli_{name}_v1.jsonl"):
            read_parallel_nli(builder, name)
            continue
        file = builder.require(f"mli_{name}_v1.jsonl")
        split = builder.split(name)
        for number, row in builder.json_lines(file, split):
            premise, hypothesis, label = (row.get(key) for key in ("sentence1", "sentence2", "gold_label"))
            item = str(row.get("pairID", ""))
            if isinstance(premise, str) and isinstance(hypothesis, str) and isinstance(label, str):
                split.add(file, number, premise, hypothesis, label=label, group=premise, item=item)
            else:
                split.reject(file, number, "sentence1, sentence2 and gold_label must be texts", item)


TASK = file_task("sentence", "MedNLI", read, labels=LABELS)
