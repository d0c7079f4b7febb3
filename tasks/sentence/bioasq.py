"""BioASQ: is the answer to a biomedical yes/no question yes, given what was retrieved for it?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from medsenteval.errors import DataError
from medsenteval.support.files import clean_text, read_json
from medsenteval.tasks.reading.layouts import tab_rows
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, SplitBuilder
from medsenteval.tasks.reading.task_facts import file_task

LABELS = ("no", "yes")
OPTIONS = {"snippets": ("first", "all", "concat")}
#: The year of the paper, and how many test batches a year has where it is not five.
PAPER = 6
_BATCHES = {10: 6, 11: 4, 12: 4, 13: 4}
#: BioASQ-trainingDataset6b.json, trainining7b.json, training12b_new.json; 6B1_golden.json.
_TRAINING = re.compile(r".*train\D*(\d{1,2})b(?:[\W_].*)?\.json", re.IGNORECASE)
_GOLDEN = re.compile(r"(?:.*\D)?(\d{1,2})b(\d)_golden\.json", re.IGNORECASE)


def read(builder: DatasetBuilder) -> None:
    """Read the training file and the golden test batches of one year, or MedSentEval's tab-separated pairs.

    The paper does not say how snippets became pairs; its counts fit one pair a question (SPEC A.7), so ``snippets`` is
    "first" by default, with "all" for a pair a snippet and "concat" for all snippets of a question as one text. Of several
    years the paper's, 6b, is taken; any other one is an edition of its own.
    """
    training, golden = _files_by_year(builder)
    if builder.find("BioASQ_train.txt") and PAPER not in training:
        for name in ("train", "test"):
            file, split = builder.require(f"BioASQ_{name}.txt"), builder.split(name)
            for number, (question, snippet, answer) in tab_rows(builder, file, split, ("question", "snippet", "yes|no")):
                split.add(file, number, question, snippet, label=answer, group=clean_text(question))
        return
    year = _chosen_year(builder, training, golden)
    builder.edition = "" if year == PAPER else f"{year}b"
    _read_questions(builder, training[year], builder.split("train"))
    for _, file in sorted(golden[year].items()):
        _read_questions(builder, file, builder.split("test"))


def _files_by_year(builder: DatasetBuilder) -> tuple[dict[int, Path], dict[int, dict[int, Path]]]:
    """Return the training file and the test batches of each year; a file's name is all that says its year."""
    training: dict[int, Path] = {}
    golden: dict[int, dict[int, Path]] = {}
    for file in sorted(builder.folder.rglob("*.json")):
        if found := _GOLDEN.fullmatch(file.name):
            place, key = golden.setdefault(int(found[1]), {}), int(found[2])
        elif found := _TRAINING.fullmatch(file.name):
            place, key = training, int(found[1])
        else:
            continue
        if place.setdefault(key, file) != file:
            raise DataError(f"{builder.folder}: two files are called {file.name}; keep one")
    return training, golden


def _chosen_year(builder: DatasetBuilder, training: Mapping[int, Path], golden: Mapping[int, Mapping[int, Path]]) -> int:
    """Return the year of which all files are there, the paper's if it is one of several."""
    complete: list[int] = []
    reasons: list[str] = []
    for year in sorted({*training, *golden}):
        wanted = range(1, 1 + max(_BATCHES.get(year, 5), *golden.get(year, {}), 0))
        lacking = [f"{year}B{batch}_golden.json" for batch in wanted if batch not in golden.get(year, {})]
        if year not in training:
            lacking.insert(0, "its training file")
        if lacking:
            reasons.append(f"{year}b lacks {', '.join(lacking)}")
        else:
            complete.append(year)
    if not complete:
        raise builder.missing("BioASQ-trainingDataset6b.json", "6B1_golden.json to 6B5_golden.json", reasons=reasons)
    if PAPER not in complete and len(complete) > 1:
        raise DataError(f"{builder.folder}: files of {', '.join(f'{year}b' for year in complete)}; keep those of one year")
    return PAPER if PAPER in complete else complete[0]


def _read_questions(builder: DatasetBuilder, file: Path, split: SplitBuilder) -> None:
    parsed = read_json(builder.opened(file))
    questions = parsed.get("questions") if isinstance(parsed, dict) else None
    if not isinstance(questions, list) or not all(isinstance(question, dict) for question in questions):
        raise DataError(f'{file}: expected an object {{"questions": [{{...}}, ...]}}; is this a BioASQ task B file?')
    for question in questions:
        if question.get("type") != "yesno":
            continue
        item, body, answer = str(question.get("id", "")), question.get("body"), question.get("exact_answer")
        if isinstance(answer, list) and len(answer) == 1:
            answer = answer[0]
        if not isinstance(body, str) or not isinstance(answer, str):
            split.reject(file, None, "a yes/no question needs a body and an exact_answer", item)
            continue
        snippets = question.get("snippets")
        given = [each.get("text") for each in snippets if isinstance(each, dict)] if isinstance(snippets, list) else []
        texts = [text for text in (clean_text(each) for each in given if isinstance(each, str)) if text]
        if not texts:
            split.reject(file, None, "a question without snippets makes no pair", item)
            continue
        chosen = {"first": texts[:1], "all": texts, "concat": [" ".join(texts)]}[builder.options["snippets"]]
        for position, text in enumerate(chosen, start=1):
            name = item if len(chosen) == 1 else f"{item} snippet {position}"
            split.add(file, None, body, text, label=answer, group=item, item=name)


TASK = file_task("sentence", "BioASQ", read, labels=LABELS, options=OPTIONS)
