"""MR, CR, SUBJ and MPQA: two classes, one file each, nested cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.general.source import downstream
from medsenteval.tasks.reading.builder import DatasetBuilder

__all__ = ["CR", "MPQA", "MR", "SUBJ"]

#: Names of class 0 and class 1.
Classes = tuple[str, str]


def _make_task(name: str, classes: Classes, files: tuple[str, str], count: int, citation: str) -> Task:
    """Make a task whose two files hold one text a line; ``files`` has that of class 1 first, which SentEval reads first."""

    def read(folder: Path, options: Mapping[str, str]) -> Dataset:
        builder = DatasetBuilder(name, folder, labels=classes)
        split = builder.split("all")
        for label, file_name in zip(reversed(classes), files, strict=True):
            file = builder.require(file_name)
            for number, line in builder.lines(file):
                # A blank line is an item of SentEval's too (CR has four, MPQA three): kept, and noted as an empty text.
                split.add(file, number, line, label=label)
        return builder.build()

    return Task(
        name=name,
        family="classification",
        protocol="nested",
        metrics=("acc",),
        read=read,
        evaluate=evaluate_classification,
        labels=classes,
        published_counts={"all": count},
        citation=citation,
        **downstream(name),
    )


MR = _make_task(
    "MR",
    ("negative", "positive"),
    ("rt-polarity.pos", "rt-polarity.neg"),
    10_662,
    "Pang and Lee 2005, Seeing Stars: Exploiting Class Relationships for Sentiment Categorization, ACL",
)
CR = _make_task(
    "CR",
    ("negative", "positive"),
    ("custrev.pos", "custrev.neg"),
    3_775,
    "Hu and Liu 2004, Mining and Summarizing Customer Reviews, KDD",
)
SUBJ = _make_task(
    "SUBJ",
    ("subjective", "objective"),
    ("subj.objective", "subj.subjective"),
    10_000,
    "Pang and Lee 2004, A Sentimental Education: Sentiment Analysis Using Subjectivity Summarization, ACL",
)
MPQA = _make_task(
    "MPQA",
    ("negative", "positive"),
    ("mpqa.pos", "mpqa.neg"),
    10_606,
    "Wiebe, Wilson and Cardie 2005, Annotating Expressions of Opinions and Emotions in Language, LRE 39",
)
