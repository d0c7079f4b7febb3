"""BioC (Bio-Contradiction): does a claim from an abstract answer the review's question with yes or no?"""

from __future__ import annotations

from medsenteval.support.files import clean_text, inner_text, read_xml
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

#: The corpus writes YS, not YES.
LABELS = ("NO", "YS")


def read(builder: DatasetBuilder) -> None:
    """Read corpus.xml (reviews holding claims), or MedSentEval's tab-separated train.txt."""
    split = builder.split("all")
    corpus = builder.find("corpus.xml")
    if corpus is None:
        file = builder.require("train.txt", "corpus.xml")
        for number, (question, claim, assertion) in tab_rows(builder, file, split, ("question", "claim", "YS|NO")):
            split.add(file, number, question, claim, label=assertion, group=clean_text(question))
        return
    root, line_of = read_xml(builder.opened(corpus))
    for element in (claim for review in root for claim in review):
        asked, answer = element.get("QUESTION"), element.get("ASSERTION")
        line = line_of[element]
        item = f"PMID {element.get('PMID')} (line {line})"
        if asked is None or answer is None:
            split.reject(corpus, line, "a claim needs the attributes QUESTION and ASSERTION", item)
        else:
            split.add(corpus, line, asked, inner_text(element), label=answer, group=clean_text(asked), item=item)


TASK = file_task("sentence", "BioC", read, labels=LABELS)
