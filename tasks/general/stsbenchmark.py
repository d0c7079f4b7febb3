"""STSBenchmark: how similar are two sentences, by a trained regression (SentEval's) or by the cosine alone?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.general.supervised_similarity import REGRESSIONS, evaluate_relatedness
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.similarity import evaluate_similarity

__all__ = ["COSINE", "SUPERVISED"]

_COUNTS = {"train": 5_749, "dev": 1_500, "test": 1_379}
_CITATION = "Cer et al. 2017, SemEval-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation"


def _read(builder: DatasetBuilder, names: tuple[str, ...]) -> Dataset:
    """Read files of tab columns genre, file, year, id, score, two sentences; the original text adds one or two for sources."""
    for name in names:
        file, split = builder.require(f"sts-{name}.csv"), builder.split(name)
        for number, line in builder.lines(file):
            if not line.strip():
                continue
            fields = line.split("\t")
            if len(fields) < 7:
                split.reject(file, number, f"{len(fields)} tab-separated field(s) where 7 or more are expected")
                continue
            split.add(file, number, fields[5], fields[6], score=fields[4])
    return builder.build()


def _read_supervised(folder: Path, options: Mapping[str, str]) -> Dataset:
    return _read(DatasetBuilder("STSBenchmark", folder, pairs=True, options=options), ("train", "dev", "test"))


def _read_cosine(folder: Path, options: Mapping[str, str]) -> Dataset:
    return _read(DatasetBuilder("STSBenchmarkCosine", folder, pairs=True), ("test",))


SUPERVISED = Task(
    name="STSBenchmark",
    family="relatedness",
    protocol="relatedness",
    uses_probe=False,
    metrics=("pearson", "spearman"),
    read=_read_supervised,
    evaluate=evaluate_relatedness,
    pair_features="|u-v|,u*v",
    published_counts=_COUNTS,
    options=REGRESSIONS,
    citation=_CITATION,
    **downstream("STS/STSBenchmark"),
)
COSINE = Task(
    name="STSBenchmarkCosine",
    family="similarity",
    protocol="cosine",
    uses_probe=False,
    metrics=("pearson", "spearman"),
    read=_read_cosine,
    evaluate=evaluate_similarity,
    published_counts=_COUNTS,
    citation=_CITATION,
    **downstream("STS/STSBenchmark"),
)
