"""CitationSA: is a citation in a clinical paper's discussion positive, neutral or negative?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import tab_rows

LABELS = ("positive", "neutral", "negative")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read train.txt, a label and a citation context a line."""
    builder = DatasetBuilder("CitationSA", folder, labels=LABELS)
    split = builder.split("all")
    file = builder.require("train.txt")
    for number, (label, text) in tab_rows(builder, file, split, ("label", "text")):
        split.add(file, number, text, label=label)
    return builder.build()


TASK = Task(
    name="CitationSA",
    version="1",
    family="classification",
    protocol="nested",
    metrics=("acc",),
    # The second name is the misspelling of MedSentEval's download script.
    folders=("CitationSA", "CitaionSA"),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    published_counts={"all": 4_182},
    citation="Xu et al. 2015, Citation Sentiment Analysis in Clinical Trial Papers, AMIA",
    licence="by agreement with the authors",
    access="on request",
    obtain="ask the authors of Xu et al. 2015 for the corpus and put it into CitationSA/train.txt, lines 'label TAB text'",
)
