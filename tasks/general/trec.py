"""TREC: what kind of answer does a question ask for?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.reading.builder import DatasetBuilder

LABELS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read lines ``COARSE:fine question``; the training file is Latin-1."""
    builder = DatasetBuilder("TREC", folder, labels=LABELS)
    for name, file_name in (("train", "train_5500.label"), ("test", "TREC_10.label")):
        file, split = builder.require(file_name), builder.split(name)
        for number, line in builder.lines(file):
            if not line.strip():
                continue
            label, colon, rest = line.strip().partition(":")
            _, blank, question = rest.partition(" ")
            if colon and blank:
                split.add(file, number, question, label=label)
            else:
                split.reject(file, number, "not of the form COARSE:fine question")
    return builder.build()


TASK = Task(
    name="TREC",
    family="classification",
    protocol="kfold",
    metrics=("acc",),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    published_counts={"train": 5_452, "test": 500},
    citation="Li and Roth 2002, Learning Question Classifiers, COLING",
    **downstream("TREC"),
)
