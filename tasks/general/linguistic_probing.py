"""The ten probing tasks: which linguistic properties of a sentence can be read off its vector?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataMissingError
from medsenteval.support.files import find_file, read_lines
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.task_facts import task_facts

_SPLITS: Final = {"tr": "train", "va": "dev", "te": "test"}
_FILES: Final = {
    "Length": "sentence_length.txt",
    "WordContent": "word_content.txt",
    "Depth": "tree_depth.txt",
    "TopConstituents": "top_constituents.txt",
    "BigramShift": "bigram_shift.txt",
    "Tense": "past_present.txt",
    "SubjNumber": "subj_number.txt",
    "ObjNumber": "obj_number.txt",
    "OddManOut": "odd_man_out.txt",
    "CoordinationInversion": "coordination_inversion.txt",
}


def _make_task(name: str, file_name: str) -> Task:
    def read(folder: Path, options: Mapping[str, str]) -> Dataset:
        """Read lines of partition, class and, as last field, the sentence; the classes are those of the training rows."""
        file = find_file(folder, file_name)
        if file is None:
            raise DataMissingError(f"{name}: {folder} holds no file {file_name}")
        rows = [line.rstrip().split("\t") for line in read_lines(file)[0]]
        # In sorted order, as SentEval numbers them.
        classes = tuple(sorted({row[1] for row in rows if row[0] == "tr" and len(row) > 2}))
        builder = DatasetBuilder(name, folder, labels=classes)
        for split_name in _SPLITS.values():
            builder.split(split_name)
        for number, line in builder.lines(file):
            if not line.strip():
                continue
            fields = line.rstrip().split("\t")
            split = builder.split(_SPLITS.get(fields[0], "train"))
            if fields[0] not in _SPLITS or len(fields) < 3:
                split.reject(file, number, "expected tr, va or te TAB class TAB ... TAB sentence")
                continue
            split.add(file, number, fields[-1], label=fields[1])
        return builder.build()

    facts = task_facts("general", "probing")
    # A thousand classes: SentEval trains this one without a hidden layer whatever it is told.
    training = {"nhid": 0} if name == "WordContent" else {}
    obtain = facts["obtain"].format(file_name)
    return Task(read=read, evaluate=evaluate_classification, training=training, **facts | {"name": name, "obtain": obtain})


TASKS: Final = {name: _make_task(name, file_name) for name, file_name in _FILES.items()}
