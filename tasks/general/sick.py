"""SICK: does one caption entail the other (SICK-E), and how related are they (SICK-R), by a regression or the cosine alone?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.general.supervised_similarity import REGRESSIONS, evaluate_relatedness
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.similarity import evaluate_similarity

__all__ = ["COSINE", "ENTAILMENT", "RELATEDNESS"]

_LABELS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
_FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_COLUMNS = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
_COUNTS = {"train": 4_500, "dev": 500, "test": 4_927}
_CITATION = "Marelli et al. 2014, A SICK Cure for the Evaluation of Compositional Distributional Semantic Models, LREC"


def _read(builder: DatasetBuilder) -> Dataset:
    """Read the three files with their header; only the test file ends its lines with CR LF."""
    for name, file_name in _FILES.items():
        file, split = builder.require(file_name), builder.split(name)
        for number, (pair, first, second, score, judgment) in tab_rows(builder, file, split, _COLUMNS):
            if number == 1 and pair.strip() == _COLUMNS[0]:
                continue
            if builder.labels:
                split.add(file, number, first, second, label=judgment, item=f"pair {pair}")
            else:
                split.add(file, number, first, second, score=score, item=f"pair {pair}")
    return builder.build()


def _read_entailment(folder: Path, options: Mapping[str, str]) -> Dataset:
    return _read(DatasetBuilder("SICKEntailment", folder, labels=_LABELS, pairs=True))


def _read_relatedness(folder: Path, options: Mapping[str, str]) -> Dataset:
    return _read(DatasetBuilder("SICKRelatedness", folder, pairs=True, options=options))


def _read_cosine(folder: Path, options: Mapping[str, str]) -> Dataset:
    return _read(DatasetBuilder("SICKRelatednessCosine", folder, pairs=True))


ENTAILMENT = Task(
    name="SICKEntailment",
    family="pair classification",
    protocol="split",
    metrics=("acc",),
    read=_read_entailment,
    evaluate=evaluate_classification,
    labels=_LABELS,
    pair_features="|u-v|,u*v",
    published_counts=_COUNTS,
    citation=_CITATION,
    **downstream("SICK"),
)
RELATEDNESS = Task(
    name="SICKRelatedness",
    family="relatedness",
    protocol="relatedness",
    uses_probe=False,
    metrics=("pearson", "spearman"),
    read=_read_relatedness,
    evaluate=evaluate_relatedness,
    pair_features="|u-v|,u*v",
    published_counts=_COUNTS,
    options=REGRESSIONS,
    citation=_CITATION,
    **downstream("SICK"),
)
#: All 9,927 pairs, as mteb scores its SICK-R: without training there is nothing to hold out.
COSINE = Task(
    name="SICKRelatednessCosine",
    family="similarity",
    protocol="cosine",
    uses_probe=False,
    metrics=("pearson", "spearman"),
    read=_read_cosine,
    evaluate=evaluate_similarity,
    published_counts=_COUNTS,
    citation=_CITATION,
    **downstream("SICK"),
)
