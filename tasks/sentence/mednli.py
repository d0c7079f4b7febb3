"""MedNLI: does a clinical premise entail, contradict or say nothing of a hypothesis?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.column_roles import PAIRS
from medsenteval.tasks.reading.copies import Copy, read_copy
from medsenteval.tasks.reading.layouts import read_parallel_nli

LABELS = ("entailment", "neutral", "contradiction")
SPLITS = ("train", "dev", "test")
#: Renamed files, and those with a premise, a hypothesis and a label, as the model hub and BLUE have them.
COPY = Copy(PAIRS, {"label": ("gold_label", "label"), "id": ("pairID",)}, splits=SPLITS, grouped_by_text=True)


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read PhysioNet's ``mli_*_v1.jsonl``, SNLI-style parallel files where a user already made them, or other tables."""
    builder = DatasetBuilder("MedNLI", folder, labels=LABELS, pairs=True)
    official = [f"mli_{name}_v1.jsonl" for name in SPLITS]
    if not builder.find(*official, *(f"labels.{name}" for name in SPLITS)):
        read_copy(builder, COPY, *official)
        return builder.build()
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
    return builder.build()


TASK = Task(
    name="MedNLI",
    version="1",
    family="pair classification",
    protocol="split",
    metrics=("acc",),
    folders=("MedNLI",),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    published_counts={"train": 11_232, "dev": 1_395, "test": 1_422},
    # MedSentEval trained this as SentEval trains SNLI: at most 16 passes and no search for a penalty.
    sorted_by_second=True,
    training={"noreg": True, "max_epoch": 15, "epoch_size": 1},
    citation="Romanov and Shivade 2018, Lessons from Natural Language Inference in the Clinical Domain, EMNLP",
    licence="PhysioNet Credentialed Health Data License 1.5.0",
    access="credentialed",
    obtain="sign the data use agreement of 'MedNLI' at physionet.org and put mli_train_v1.jsonl, mli_dev_v1.jsonl and "
    "mli_test_v1.jsonl into MedNLI/",
    groups_are="premise",
)
