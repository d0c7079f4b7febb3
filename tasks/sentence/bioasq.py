"""BioASQ: is the answer to a biomedical yes/no question yes, given what was retrieved for it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataError
from medsenteval.support.files import clean_text, read_json
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.reading.builder import DatasetBuilder, SplitBuilder
from medsenteval.tasks.reading.layouts import tab_rows

LABELS = ("no", "yes")
OPTIONS = {"snippets": ("first", "all", "concat")}


def read(folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read the 6b training file and the five golden test batches, or MedSentEval's tab-separated pairs.

    The paper does not say how snippets became pairs; its counts fit one pair a question (SPEC A.7), so ``snippets`` is
    "first" by default, with "all" for a pair a snippet and "concat" for all snippets of a question as one text.
    """
    snippets = options.get("snippets", "first")
    builder = DatasetBuilder("BioASQ", folder, labels=LABELS, pairs=True, options={"snippets": snippets})
    if builder.find("BioASQ_train.txt") and not builder.find("*trainingDataset6b.json"):
        for name in ("train", "test"):
            file, split = builder.require(f"BioASQ_{name}.txt"), builder.split(name)
            for number, (question, snippet, answer) in tab_rows(builder, file, split, ("question", "snippet", "yes|no")):
                split.add(file, number, question, snippet, label=answer, group=clean_text(question))
        return builder.build()
    _read_questions(builder, builder.require("*trainingDataset6b.json"), builder.split("train"), snippets)
    for batch in range(1, 6):
        _read_questions(builder, builder.require(f"*6B{batch}_golden.json"), builder.split("test"), snippets)
    return builder.build()


def _read_questions(builder: DatasetBuilder, file: Path, split: SplitBuilder, snippets: str) -> None:
    for question in _questions(file, read_json(builder.opened(file))):
        if question.get("type") != "yesno":
            continue
        item, body, answer = str(question.get("id", "")), question.get("body"), question.get("exact_answer")
        if isinstance(answer, list) and len(answer) == 1:
            answer = answer[0]
        if not isinstance(body, str) or not isinstance(answer, str):
            split.reject(file, None, "a yes/no question needs a body and an exact_answer", item)
            continue
        snippets_given = question.get("snippets")
        texts = [text for text in map(_snippet_text, snippets_given if isinstance(snippets_given, list) else ()) if text]
        if not texts:
            split.reject(file, None, "a question without snippets makes no pair", item)
            continue
        chosen = {"first": texts[:1], "all": texts, "concat": [" ".join(texts)]}[snippets]
        for position, text in enumerate(chosen, start=1):
            name = item if len(chosen) == 1 else f"{item} snippet {position}"
            split.add(file, None, body, text, label=answer, group=item, item=name)


def _snippet_text(snippet: Any) -> str:
    text = snippet.get("text") if isinstance(snippet, dict) else None
    return clean_text(text) if isinstance(text, str) else ""


def _questions(file: Path, parsed: Any) -> Iterator[dict[str, Any]]:
    questions = parsed.get("questions") if isinstance(parsed, dict) else None
    if not isinstance(questions, list) or not all(isinstance(question, dict) for question in questions):
        raise DataError(f'{file}: expected an object {{"questions": [{{...}}, ...]}}; is this a BioASQ task B file?')
    yield from questions


TASK = Task(
    name="BioASQ",
    version="1",
    family="pair classification",
    protocol="kfold",
    metrics=("acc", "f1"),
    folders=("BioASQ",),
    read=read,
    evaluate=evaluate_classification,
    labels=LABELS,
    positive_label="yes",
    published_counts={"train": 612, "test": 130},
    row_options=("snippets",),
    options=OPTIONS,
    # MedSentEval's own setting for this task: exactly 64 passes, no early stopping.
    training={"max_epoch": 1, "epoch_size": 64, "batch_size": 64},
    citation="Tsatsaronis et al. 2015, An overview of the BIOASQ large-scale biomedical semantic indexing and question "
    "answering competition, BMC Bioinformatics; task 6b",
    licence="CC BY 2.5, after registration",
    access="registration",
    obtain="register at participants-area.bioasq.org, fetch the 6b training set and the golden enriched 6b test set, and put "
    "BioASQ-trainingDataset6b.json and 6B1_golden.json to 6B5_golden.json into BioASQ/",
    groups_are="question",
    roles=("query", "document"),
)
