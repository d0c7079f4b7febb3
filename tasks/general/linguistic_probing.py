"""The ten probing tasks: which linguistic properties of a sentence can be read off its vector?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataMissingError
from medsenteval.support.files import find_file, read_lines
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder

__all__ = [
    "BIGRAM_SHIFT",
    "COORDINATION_INVERSION",
    "DEPTH",
    "LENGTH",
    "OBJ_NUMBER",
    "ODD_MAN_OUT",
    "SUBJ_NUMBER",
    "TENSE",
    "TOP_CONSTITUENTS",
    "WORD_CONTENT",
]

_SPLITS: Final = {"tr": "train", "va": "dev", "te": "test"}


def _make_task(name: str, file_name: str, training: Mapping[str, Any] | None = None) -> Task:
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

    return Task(
        name=name,
        version="1",
        family="probing",
        protocol="split",
        metrics=("acc",),
        folders=("probing",),
        read=read,
        evaluate=evaluate_classification,
        published_counts={"train": 100_000, "dev": 10_000, "test": 10_000},
        training=training or {},
        citation="Conneau et al. 2018, What You Can Cram into a Single $&!#* Vector: Probing Sentence Embeddings for "
        "Linguistic Properties, ACL",
        licence="see the folder data/probing of facebookresearch/SentEval",
        access="open",
        obtain=f"take {file_name} from the folder data/probing of the GitHub repository facebookresearch/SentEval and put it "
        "into probing/",
    )


LENGTH = _make_task("Length", "sentence_length.txt")
# A thousand classes: SentEval trains this one without a hidden layer whatever it is told.
WORD_CONTENT = _make_task("WordContent", "word_content.txt", {"nhid": 0})
DEPTH = _make_task("Depth", "tree_depth.txt")
TOP_CONSTITUENTS = _make_task("TopConstituents", "top_constituents.txt")
BIGRAM_SHIFT = _make_task("BigramShift", "bigram_shift.txt")
TENSE = _make_task("Tense", "past_present.txt")
SUBJ_NUMBER = _make_task("SubjNumber", "subj_number.txt")
OBJ_NUMBER = _make_task("ObjNumber", "obj_number.txt")
ODD_MAN_OUT = _make_task("OddManOut", "odd_man_out.txt")
COORDINATION_INVERSION = _make_task("CoordinationInversion", "coordination_inversion.txt")
