"""PICO: which element of the PICO scheme does a sentence of an abstract belong to?"""

from __future__ import annotations

from medsenteval.tasks.reading.layouts import read_abstracts
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

#: The seven labels of the files; the paper's table says eight, but no eighth is known, and what C stands for is not said.
LABELS = ("A", "P", "I", "O", "M", "R", "C")


def read(builder: DatasetBuilder) -> None:
    """Read PICO_train.txt, PICO_dev.txt and PICO_test.txt; only the first two bars of a line separate."""
    for name in ("train", "dev", "test"):
        # MedSentEval's download script saved the files without their prefix.
        file = builder.require(f"PICO_{name}.txt", f"{name}.txt")
        read_abstracts(builder, file, builder.split(name), separator="|", fields=3)


TASK = file_task("sentence", "PICO", read, labels=LABELS)
