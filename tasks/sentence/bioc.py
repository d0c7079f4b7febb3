"""BioC (Bio-Contradiction): does a claim from an abstract answer the review's question with yes or no?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval.contracts import Dataset, Task
from medsenteval.support.files import clean_text, read_xml
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.task_facts import task_facts

#: The corpus writes YS, not YES.
LABELS = ("NO", "YS")


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read corpus.xml (reviews holding claims), or MedSentEval's tab-separated train.txt."""
    builder = DatasetBuilder("BioC", folder, labels=LABELS, pairs=True)
    split = builder.split("all")
    corpus = builder.find("corpus.xml")
    if corpus is None:
        file = builder.require("train.txt", "corpus.xml")
        for number, (question, claim, assertion) in tab_rows(builder, file, split, ("question", "claim", "YS|NO")):
            split.add(file, number, question, claim, label=assertion, group=clean_text(question))
        return builder.build()
    for review in read_xml(builder.opened(corpus)).children:
        for claim_element in review.children:
            question_text, assertion_value = claim_element.get("QUESTION"), claim_element.get("ASSERTION")
            item = f"PMID {claim_element.get('PMID')} (line {claim_element.line})"
            if question_text is None or assertion_value is None:
                split.reject(corpus, claim_element.line, "a claim needs the attributes QUESTION and ASSERTION", item)
                continue
            question = clean_text(question_text)
            split.add(
                corpus, claim_element.line, question, claim_element.text, label=assertion_value, group=question, item=item
            )
    return builder.build()


TASK = Task(read=read, evaluate=evaluate_classification, labels=LABELS, **task_facts("sentence", "BioC"))
