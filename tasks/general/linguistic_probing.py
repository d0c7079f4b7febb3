"""The ten probing tasks: which linguistic properties of a sentence can be read off its vector?"""

from __future__ import annotations

from typing import Final

from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task, group_facts

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


def _read(builder: DatasetBuilder) -> None:
    """Read lines of partition, class and, as last field, the sentence; the classes are those of the training rows."""
    file = builder.require(_FILES[builder.name])
    rows = [(number, line.rstrip().split("\t")) for number, line in builder.filled_lines(file)]
    # In sorted order, as SentEval numbers them.
    builder.labels = tuple(sorted({fields[1] for _, fields in rows if fields[0] == "tr" and len(fields) > 2}))
    splits = {part: builder.split(name) for part, name in _SPLITS.items()}
    for number, fields in rows:
        if fields[0] in splits and len(fields) > 2:
            splits[fields[0]].add(file, number, fields[-1], label=fields[1])
        else:
            builder.reject(file, number, "expected tr, va or te TAB class TAB ... TAB sentence")


_OBTAIN: Final = group_facts("general")["probing"]["obtain"]
#: A thousand classes: SentEval trains WordContent without a hidden layer whatever it is told.
_TRAINING: Final = {"WordContent": {"nhid": 0}}
TASKS: Final = {
    name: file_task("general", "probing", _read, name=name, obtain=_OBTAIN.format(file), training=_TRAINING.get(name, {}))
    for name, file in _FILES.items()
}
