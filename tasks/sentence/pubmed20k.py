"""PubMed20K: which part of a randomised trial's abstract is a sentence from?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medsenteval.tasks.reading.copies import Copy, read_copy
from medsenteval.tasks.reading.layouts import read_abstracts
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("BACKGROUND", "OBJECTIVE", "METHODS", "RESULTS", "CONCLUSIONS")
SPLITS = ("train", "dev", "test")
#: Labels from the most to the least frequent, in all three splits of both editions.
_BY_FREQUENCY = ("METHODS", "RESULTS", "CONCLUSIONS", "BACKGROUND", "OBJECTIVE")
#: The larger edition, of which this one is a part.
LARGE = "200k"


def _numbering(counts: Mapping[int, int]) -> Sequence[str] | None:
    """Return the order of labels, alphabetical or ours, under which the counts have the known order."""
    by_count = sorted(counts, key=lambda number: -counts[number])
    for names in (sorted(LABELS), LABELS):
        if [names[number] for number in by_count if number < len(names)] == list(_BY_FREQUENCY):
            return names
    return None


#: The model hub's copies: labels as names or numbers, with or without the abstract's id.
COPY = Copy(
    "classification",
    {"text": ("text", "sentence", "abstract_text"), "label": ("label", "labels", "target"), "group": ("abstract_id", "pmid")},
    splits=SPLITS,
    numbering=_numbering,
)


def read(builder: DatasetBuilder) -> None:
    """Read train.txt, dev.txt and test.txt of PubMed_20k_RCT (digits kept, as MedSentEval used it), or tables made of them.

    PubMed_200k_RCT, known by its size or its folder's name, is read as an edition of its own.
    """
    if builder.find(*(f"{place}{name}.txt" for place in ("PubMed_20k_RCT/", "") for name in SPLITS)):
        for name in SPLITS:
            file = builder.require(f"PubMed_20k_RCT/{name}.txt", f"{name}.txt")
            read_abstracts(builder, file, builder.split(name), separator="\t", fields=2)
    else:
        read_copy(builder, COPY, *(f"{name}.txt" for name in SPLITS))
    named = any(LARGE in str(file.relative_to(builder.folder.parent)).casefold() for file in builder.files)
    builder.edition = LARGE if named or len(builder.split("train")) > 1_000_000 else ""


TASK = file_task("sentence", "PubMed20K", read, labels=LABELS)
