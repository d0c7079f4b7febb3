"""One word similarity set as a Task: what all sets share, so that a set says only its files, folder, size and source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.word.word_evaluation import evaluate_word_pairs
from medsenteval.tasks.word.word_pairs import COSINE, MEASURE, MULTIWORD, OOV, PairFile, read_pairs

__all__ = ["word_task"]

#: Folders that hold several sets: our own name, and that of the Bio-SimVerb repository.
_SHARED_FOLDERS = ("wordsim", "word-similarities")


def word_task(
    name: str,
    pairs: int,
    files: Sequence[PairFile] | Mapping[str, Sequence[PairFile]],
    *,
    folders: tuple[str, ...],
    citation: str,
    obtain: str,
    choice: str = "",
    licence: str = "not stated",
    access: str = "open",
    options: Mapping[str, tuple[str, ...]] | None = None,
) -> Task:
    """Return the task of a word similarity set; an option of the name ``choice`` selects among several lists of files."""
    own_options = {**(options or {})}
    if isinstance(files, Mapping):
        own_options[choice] = tuple(files)
    reading_options = {"oov": OOV, "multiword": MULTIWORD, "case": ("exact", "lower"), **own_options}

    def read(folder: Path, chosen: Mapping[str, str]) -> Dataset:
        selected = files if not isinstance(files, Mapping) else files[chosen.get(choice, next(iter(files)))]
        read_as = {key: chosen.get(key, values[0]) for key, values in reading_options.items()}
        if (measure := chosen.get("measure", COSINE)) != COSINE:
            read_as["measure"] = measure
        return read_pairs(name, folder, read_as, selected)

    return Task(
        name=name,
        version="1",
        family="word similarity",
        protocol="cosine",
        uses_probe=False,
        metrics=("spearman",),
        folders=(*folders, *_SHARED_FOLDERS),
        read=read,
        evaluate=evaluate_word_pairs,
        published_counts={"all": pairs},
        options={**reading_options, "measure": MEASURE},
        protocol_options=("measure",),
        row_options=("multiword", *([choice] if isinstance(files, Mapping) else [])),
        citation=citation,
        licence=licence,
        access=access,
        obtain=obtain,
    )
