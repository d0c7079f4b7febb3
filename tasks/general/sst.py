"""SST2 and SST5: the sentiment of film reviews in two classes (trained on phrases) or five (on sentences)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import tab_rows

__all__ = ["SST2", "SST5"]

_CITATION = "Socher et al. 2013, Recursive Deep Models for Semantic Compositionality over a Sentiment Treebank, EMNLP"


def _read_binary(folder: Path, options: Mapping[str, str]) -> Dataset:
    builder = DatasetBuilder("SST2", folder, labels=("0", "1"))
    for name in ("train", "dev", "test"):
        file, split = builder.require(f"sentiment-{name}"), builder.split(name)
        for number, (text, label) in tab_rows(builder, file, split, ("sentence", "label")):
            split.add(file, number, text, label=label)
    return builder.build()


def _read_fine(folder: Path, options: Mapping[str, str]) -> Dataset:
    builder = DatasetBuilder("SST5", folder, labels=("0", "1", "2", "3", "4"))
    for name in ("train", "dev", "test"):
        file, split = builder.require(f"sentiment-{name}"), builder.split(name)
        for number, line in builder.lines(file):
            label, blank, text = line.strip().partition(" ")
            if blank:
                split.add(file, number, text, label=label)
            elif label:
                split.reject(file, number, "no blank between label and sentence")
    return builder.build()


SST2 = Task(
    name="SST2",
    family="classification",
    protocol="split",
    metrics=("acc",),
    read=_read_binary,
    evaluate=evaluate_classification,
    labels=("0", "1"),
    published_counts={"train": 67_349, "dev": 872, "test": 1_821},
    citation=_CITATION,
    **downstream("SST/binary"),
)
SST5 = Task(
    name="SST5",
    family="classification",
    protocol="split",
    metrics=("acc",),
    read=_read_fine,
    evaluate=evaluate_classification,
    labels=("0", "1", "2", "3", "4"),
    published_counts={"train": 8_544, "dev": 1_101, "test": 2_210},
    citation=_CITATION,
    **downstream("SST/fine"),
)
