"""CitationSA: is a citation in a clinical paper's discussion positive, neutral or negative?"""

from __future__ import annotations

import re
from pathlib import Path

from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, SplitBuilder
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("positive", "neutral", "negative")
AUTHORS_FILE = "rule_based_all_121818.txt"
#: A row of the authors' results: predicted | true | score | terms | paper_citation_[marker]_true_ text.
_AUTHORS_ROW = re.compile(r"([A-Z]+)\|([A-Z]+)\|[^|]*\|[^|]*\|(\d+)_(C\d+)_.*?_\2_\s*(\S.*)")
#: What stands below the rows: counts and scores of each class, accuracy and macro-F1.
_SUMMARY = re.compile(r"(POSITIVE|NEUTRAL|NEGATIVE)\t|(Accuracy|Macro-F1): ")


def read(builder: DatasetBuilder) -> None:
    """Read train.txt, a label and a citation context a line, or the results that the authors published with their code."""
    split = builder.split("all")
    if not builder.find("train.txt") and (authors := builder.find(AUTHORS_FILE)):
        return _read_authors(builder, authors, split)
    file = builder.require("train.txt", AUTHORS_FILE)
    for number, (label, text) in tab_rows(builder, file, split, ("label", "text")):
        split.add(file, number, text, label=label)


def _read_authors(builder: DatasetBuilder, file: Path, split: SplitBuilder) -> None:
    """Read rows whose true label stands twice; papers are groups, because a sentence with several citations is several rows."""
    for number, line in builder.filled_lines(file):
        if found := _AUTHORS_ROW.fullmatch(line):
            _, label, paper, citation, text = found.groups()
            split.add(file, number, text, label=label, group=paper, item=f"{paper}_{citation}")
        elif not _SUMMARY.match(line):
            split.reject(file, number, "expected predicted|true|score|terms|paper_citation_marker_true_ text")
    builder.notes.append("citations keep their markers, such as [ 12], where MedSentEval's copy has [C]")


TASK = file_task("sentence", "CitationSA", read, labels=LABELS)
