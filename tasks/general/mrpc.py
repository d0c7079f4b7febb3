"""MRPC: do two sentences of news paraphrase each other?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import tab_rows

LABELS = ("0", "1")
COLUMNS = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read the two files with their header; a quotation mark in them is text, not quoting."""
    builder = DatasetBuilder("MRPC", folder, labels=LABELS, pairs=True)
    for name in ("train", "test"):
        file, split = builder.require(f"msr_paraphrase_{name}.txt"), builder.split(name)
        for number, fields in tab_rows(builder, file, split, COLUMNS):
            if number == 1 and fields[0].strip() == COLUMNS[0]:
                continue
            label, _, _, first, second = fields
            split.add(file, number, first, second, label=label)
    return builder.build()


TASK = Task(
    name="MRPC",
    family="pair classification",
    protocol="kfold",
    metrics=("acc", "f1"),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    positive_label="1",
    pair_features="|u-v|,u*v",
    published_counts={"train": 4_076, "test": 1_725},
    citation="Dolan, Quirk and Brockett 2004, Unsupervised Construction of Large Paraphrase Corpora, COLING",
    **downstream("MRPC"),
)
