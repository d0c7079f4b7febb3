"""SNLI: does a premise entail, contradict or say nothing of a hypothesis?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import read_parallel_nli

LABELS = ("entailment", "neutral", "contradiction")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read ``s1.X``, ``s2.X`` and ``labels.X`` for X in train, dev and test."""
    builder = DatasetBuilder("SNLI", folder, labels=LABELS, pairs=True)
    for name in ("train", "dev", "test"):
        read_parallel_nli(builder, name)
    return builder.build()


TASK = Task(
    name="SNLI",
    family="pair classification",
    protocol="split",
    metrics=("acc",),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    published_counts={"train": 549_367, "dev": 9_842, "test": 9_824},
    # SentEval trains it for at most 16 passes and searches no penalty.
    sorted_by_second=True,
    training={"noreg": True, "max_epoch": 15, "epoch_size": 1},
    citation="Bowman et al. 2015, A Large Annotated Corpus for Learning Natural Language Inference, EMNLP",
    **downstream("SNLI"),
)
