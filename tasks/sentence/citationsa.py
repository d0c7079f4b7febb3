"""CitationSA: is a citation in a clinical paper's discussion positive, neutral or negative?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder, SplitBuilder
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.task_facts import task_facts

LABELS = ("positive", "neutral", "negative")
AUTHORS_FILE = "rule_based_all_121818.txt"


#: A row of the authors' results: predicted | true | score | terms | paper_citation_[marker]_true_ text.
_AUTHORS_ROW = re.compile(r"([A-Z]+)\|([A-Z]+)\|[^|]*\|[^|]*\|(\d+)_(C\d+)_.*?_\2_\s*(\S.*)")
#: What stands below the rows: counts and scores of each class, accuracy and macro-F1.
_SUMMARY = re.compile(r"(POSITIVE|NEUTRAL|NEGATIVE)\t|(Accuracy|Macro-F1): ")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read train.txt, a label and a citation context a line, or the results that the authors published with their code."""
    builder = DatasetBuilder("CitationSA", folder, labels=LABELS)
    split = builder.split("all")
    if not builder.find("train.txt") and (authors := builder.find(AUTHORS_FILE)):
        _read_authors(builder, authors, split)
        return builder.build()
    file = builder.require("train.txt", AUTHORS_FILE)
    for number, (label, text) in tab_rows(builder, file, split, ("label", "text")):
        split.add(file, number, text, label=label)
    return builder.build()


def _read_authors(builder: DatasetBuilder, file: Path, split: SplitBuilder) -> None:
    """Read rows whose true label stands twice; papers are groups, because a sentence with several citations is several rows."""
    for number, line in builder.lines(file):
        if not line.strip() or _SUMMARY.match(line):
            continue
        found = _AUTHORS_ROW.fullmatch(line)
        if found is None:
            split.reject(file, number, "expected predicted|true|score|terms|paper_citation_marker_true_ text")
            continue
        _, label, paper, citation, text = found.groups()
        split.add(file, number, text, label=label, group=paper, item=f"{paper}_{citation}")
    builder.notes.append("citations keep their markers, such as [ 12], where MedSentEval's copy has [C]")


TASK = Task(read=read, evaluate=evaluate_classification, labels=LABELS, **task_facts("sentence", "CitationSA"))
