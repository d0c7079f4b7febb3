"""A data set of one's own: which lesions are malignant? One file says where its rows are and how it is scored.

    python examples/custom_task/lesions.py

writes invented rows into a temporary folder and scores the embedded encoder on them. Installed as a plug-in (see setup.py), the
task is known to every command.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

import medsenteval
from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder

LABELS = ("benign", "malignant")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read lesions.tsv: label, tab, text."""
    builder = DatasetBuilder("Lesions", folder, labels=LABELS)
    file, split = builder.require("lesions.tsv"), builder.split("all")
    for number, (label, text) in tab_rows(builder, file, split, ("label", "text")):
        split.add(file, number, text, label=label)  # whole, or rejected with file and line
    return builder.build()


TASK = Task(
    name="Lesions",
    version="1",
    family="classification",
    protocol="nested",
    metrics=("acc", "f1"),
    folders=("Lesions",),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    positive_label="malignant",
    citation="invented for this example",
    licence="MIT",
    access="open",
    obtain="run examples/custom_task/lesions.py, which writes it",
)


def invent_rows(folder: Path, rows: int = 120) -> None:
    """Write rows in the format that ``read`` reads."""
    rng = random.Random(1)
    words = {
        "malignant": ["irregular border", "rapid growth", "ulceration", "several colours"],
        "benign": ["smooth border", "no change in years", "one colour", "soft and mobile"],
    }
    (folder / "Lesions").mkdir(parents=True)
    with (folder / "Lesions" / "lesions.tsv").open("w", encoding="utf-8") as file:
        for number in range(rows):
            label = LABELS[number % 2]
            # One sign in five is that of the other label, so that the task is not trivial.
            signs = [rng.choice(words[label if rng.random() < 0.8 else LABELS[number % 2 - 1]]) for _ in range(2)]
            file.write(f"{label}\tA lesion of {rng.randint(2, 30)} mm with {signs[0]} and {signs[1]}.\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        invent_rows(Path(folder))
        print(medsenteval.evaluate("lexical", tasks=[TASK], data=folder))
