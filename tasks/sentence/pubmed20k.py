"""PubMed20K: which part of a randomised trial's abstract is a sentence from?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import read_abstracts

LABELS = ("BACKGROUND", "OBJECTIVE", "METHODS", "RESULTS", "CONCLUSIONS")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read train.txt, dev.txt and test.txt of PubMed_20k_RCT (digits kept, as MedSentEval used it)."""
    builder = DatasetBuilder("PubMed20K", folder, labels=LABELS)
    for name in ("train", "dev", "test"):
        file = builder.require(f"PubMed_20k_RCT/{name}.txt", f"{name}.txt")
        read_abstracts(builder, file, builder.split(name), separator="\t", fields=2)
    return builder.build()


TASK = Task(
    name="PubMed20K",
    version="1",
    family="classification",
    protocol="split",
    metrics=("acc",),
    folders=("PubMed20K", "PubMed_20k_RCT", "pubmed-rct"),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    published_counts={"train": 180_040, "dev": 30_212, "test": 30_135},
    training={"noreg": True, "max_epoch": 15, "epoch_size": 1},
    citation="Dernoncourt and Lee 2017, PubMed 200k RCT: a Dataset for Sequential Sentence Classification, IJCNLP",
    licence="none stated; abstracts from PubMed",
    access="open",
    obtain="take the folder PubMed_20k_RCT (train.txt, dev.txt, test.txt) of the GitHub repository "
    "Franck-Dernoncourt/pubmed-rct and put the three files into PubMed20K/",
    groups_are="abstract",
)
