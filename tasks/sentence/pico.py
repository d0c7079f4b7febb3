"""PICO: which element of the PICO scheme does a sentence of an abstract belong to?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import read_abstracts

#: The seven labels of the files; the paper's table says eight, but no eighth is known, and what C stands for is not said.
LABELS = ("A", "P", "I", "O", "M", "R", "C")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read PICO_train.txt, PICO_dev.txt and PICO_test.txt; only the first two bars of a line separate."""
    builder = DatasetBuilder("PICO", folder, labels=LABELS)
    for name in ("train", "dev", "test"):
        # MedSentEval's download script saved the files without their prefix.
        file = builder.require(f"PICO_{name}.txt", f"{name}.txt")
        read_abstracts(builder, file, builder.split(name), separator="|", fields=3)
    return builder.build()


TASK = Task(
    name="PICO",
    version="1",
    family="classification",
    protocol="split",
    metrics=("acc",),
    folders=("PICO", "PubMed-PICO-Detection"),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    training={"noreg": True, "max_epoch": 15, "epoch_size": 1},
    citation="Jin and Szolovits 2018, PICO Element Detection in Medical Text via Long Short-Term Memory Neural Networks, "
    "BioNLP",
    licence="none stated; abstracts from PubMed",
    access="open",
    obtain="take PICO_train.txt, PICO_dev.txt and PICO_test.txt from the folder splitted/ of the GitHub repository "
    "jind11/PubMed-PICO-Detection and put them into PICO/",
    groups_are="abstract",
)
