"""ClinicalSTS: how similar are two sentences of clinical notes, from 0 to 5?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import read_sts_folder, tab_rows
from medsenteval.tasks.similarity import evaluate_similarity

OPTIONS = {"part": ("test", "train", "all")}


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read the organisers' files (two sentences and a score a line), or SentEval's STS.input / STS.gs pair.

    No published text says which part MedSentEval scored; ``part`` is "test" (318 pairs) by default.
    """
    part = options.get("part", "test")
    if find_sts := (folder / "STS.input.clinical-STS.txt").is_file():
        part = "all"
    builder = DatasetBuilder("ClinicalSTS", folder, pairs=True, options={"part": part})
    if find_sts:
        read_sts_folder(builder, "all", "clinical-STS")
        builder.notes.append("the STS.input layout does not say which pairs are test pairs: all are scored")
        return builder.build()
    for name in ("train", "test") if part == "all" else (part,):
        file = builder.require(f"clinicalSTS.{name}.txt", f"*{name}*.txt", f"*{name}*.tsv")
        split = builder.split(name)
        for number, (first, second, score) in tab_rows(builder, file, split, ("sentence 1", "sentence 2", "score")):
            split.add(file, number, first, second, score=score)
    return builder.build()


TASK = Task(
    name="ClinicalSTS",
    version="1",
    family="similarity",
    protocol="cosine",
    uses_probe=False,
    metrics=("pearson", "spearman"),
    folders=("ClinicalSTS",),
    read=read,
    evaluate=evaluate_similarity,
    published_counts={"train": 750, "test": 318, "all": 1_068},
    options=OPTIONS,
    senteval_name="clinical-STS",
    citation="Wang et al. 2018, Overview of the BioCreative/OHNLP Challenge 2018 Task 2: Clinical Semantic Textual Similarity",
    licence="by agreement with the organisers (Mayo Clinic)",
    access="on request",
    obtain="ask the organisers of the BioCreative/OHNLP 2018 challenge and put the files, lines 'sentence TAB sentence TAB "
    "score', as clinicalSTS.train.txt and clinicalSTS.test.txt into ClinicalSTS/",
)
