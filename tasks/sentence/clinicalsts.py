"""ClinicalSTS: how similar are two sentences of clinical notes, from 0 to 5?"""

from __future__ import annotations

from pathlib import Path

from medsenteval.tasks.reading.layouts import read_scored_pairs, read_sts_folder, tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.tasks.similarity import evaluate_similarity

OPTIONS = {"part": ("test", "train", "all")}
#: The later challenge, with pairs and scores of test in files of their own, whose names hold one of these words.
N2C2 = "n2c2-2019"
_COUNTS_2019 = {"train": 1_642, "test": 412}
_GOLD = ("gs", "gold", "label", "score")


def read(builder: DatasetBuilder) -> None:
    """Read the organisers' files (two sentences and a score a line, or scores in a file of their own), or SentEval's pair.

    No published text says which part MedSentEval scored; ``part`` is "test" (318 pairs) by default.
    """
    if (builder.folder / "STS.input.clinical-STS.txt").is_file():
        builder.options["part"] = "all"
        builder.notes.append("the STS.input layout does not say which pairs are test pairs: all are scored")
        return read_sts_folder(builder, "all", "clinical-STS")
    part = builder.options["part"]
    for name in ("train", "test") if part == "all" else (part,):
        gold = builder.find(*(f"*{name}*{kind}*.txt" for kind in _GOLD))
        file, split = _pairs_file(builder, name, gold), builder.split(name)
        if gold is not None:
            read_scored_pairs(builder, split, file, gold)
        else:
            for number, (first, second, score) in tab_rows(builder, file, split, ("sentence 1", "sentence 2", "score")):
                split.add(file, number, first, second, score=score)
        if "2019" in file.name or 0.9 <= len(split) / _COUNTS_2019[name] <= 1 / 0.9:
            builder.edition = N2C2


def _pairs_file(builder: DatasetBuilder, name: str, gold: Path | None) -> Path:
    """Return the file of a part's pairs; beside one of scores alone it is the other one of the part's name."""
    names = (f"clinicalSTS.{name}.txt", f"clinicalSTS2019.{name}.txt")
    if gold is not None and not builder.find(*names):
        others = [file for file in sorted(gold.parent.glob(f"*{name}*")) if file != gold and file.suffix in (".txt", ".tsv")]
        if len(others) == 1:
            return others[0]
    return builder.require(*names, f"*{name}*.txt", f"*{name}*.tsv")


TASK = file_task("sentence", "ClinicalSTS", read, evaluate_similarity, options=OPTIONS, edition_counts={N2C2: _COUNTS_2019})
