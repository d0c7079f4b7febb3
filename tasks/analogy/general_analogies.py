"""The general-domain analogy formats: Google's question-words, MSR's syntactic analogies, BATS's lists of pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from medsenteval.contracts import Task
from medsenteval.errors import DataMissingError
from medsenteval.tasks.analogy.analogy_dataset import CANDIDATES, SETTINGS, Analogy, AnalogyBuilder, AnalogyDataset
from medsenteval.tasks.analogy.analogy_evaluation import OPTIONS, PROTOCOL_OPTIONS, evaluate_analogies
from medsenteval.tasks.reading.task_facts import task_facts

_PARTS_OF_SPEECH: Final = {"J": "adjectives", "N": "nouns", "V": "verbs"}


def read_google(folder: Path, options: Mapping[str, str]) -> AnalogyDataset:
    """Read ``: section`` lines followed by four words a line; sections named gram... are syntactic, the others semantic."""
    builder = AnalogyBuilder("Google", folder, options)
    file = builder.require("questions-words.txt", "*questions-words*.txt")
    section = ""
    for number, line in builder.lines(file):
        words = line.split()
        if not words:
            continue
        if words[0].startswith(":"):
            section = line.strip().lstrip(":").strip()
            builder.categories[section] = "syntactic" if section.startswith("gram") else "semantic"
        elif len(words) != 4:
            builder.reject(file, number, f"{len(words)} word(s) where four are expected")
        elif not section:
            builder.reject(file, number, "an analogy before the first ': section' line")
        else:
            a, b, c, d = words
            builder.add(f"{file.name}:{number}", Analogy(section, a, (b,), c, (d,)))
    builder.read_candidates("candidates.txt")
    return builder.build()


def read_msr(folder: Path, options: Mapping[str, str]) -> AnalogyDataset:
    """Read MSR's analogies: ``a b c RELATION d`` a line, or the released pair of ``.questions`` and ``.answers`` files."""
    builder = AnalogyBuilder("MSR", folder, options)
    questions = builder.find("*.questions")
    file = questions or builder.require("*.questions", "*analog*.txt")
    answers = [line for _, line in builder.lines(builder.require("*.answers"))] if questions else None
    for number, line in builder.lines(file):
        words = line.split()
        if not words:
            continue
        if answers is not None:
            if number > len(answers):
                builder.reject(file, number, "no line of that number in the file of answers")
                continue
            # The answer file repeats the relation before the word.
            words = [*words, *answers[number - 1].split()]
        if len(words) != 5:
            builder.reject(file, number, f"{len(words)} word(s) where a b c RELATION d are expected: {line.strip()[:60]!r}")
            continue
        a, b, c, relation, d = words
        builder.categories[relation] = _PARTS_OF_SPEECH.get(relation[:1], "")
        builder.add(f"{file.name}:{number}", Analogy(relation, a, (b,), c, (d,)))
    builder.read_candidates("candidates.txt")
    return builder.build()


def read_bats(folder: Path, options: Mapping[str, str]) -> AnalogyDataset:
    """Read BATS: a folder a category, a file a relation, ``word TAB answer/...`` a line; every two lines of a file combine."""
    builder = AnalogyBuilder("BATS", folder, options)
    files = sorted(path for path in folder.rglob("*.txt") if re.match(r"[A-Z]\d+ ", path.name))
    if not files:
        raise DataMissingError(
            f"BATS: {folder} holds no relation file such as '1_Inflectional_morphology/I01 [noun - plural_reg].txt'"
        )
    for file in files:
        relation = file.stem
        builder.categories[relation] = "" if file.parent == folder else re.sub(r"^\d+_", "", file.parent.name).replace("_", " ")
        pairs = []
        for number, line in builder.lines(file):
            if not line.strip():
                continue
            fields = line.split("\t") if "\t" in line else line.split()
            objects = (
                tuple(dict.fromkeys(word.strip() for word in fields[1].split("/") if word.strip())) if len(fields) == 2 else ()
            )
            if not fields[0].strip() or not objects:
                builder.reject(file, number, f"expected 'word TAB answer/answer/...', got {line.strip()[:60]!r}")
                continue
            pairs.append((number, fields[0].strip(), objects))
        for i, a, b in pairs:
            for j, c, d in pairs:
                if i != j:
                    builder.add(f"{file.name}:{i}:{j}", Analogy(relation, a, b, c, d))
    builder.read_candidates("candidates.txt")
    return builder.build()


def _task(name: str, read: Callable[[Path, Mapping[str, str]], AnalogyDataset], setting: str) -> Task:
    settings = (setting, *(other for other in SETTINGS if other != setting))
    candidates = ("terms", *(other for other in CANDIDATES if other != "terms"))
    return Task(
        read=read,
        evaluate=evaluate_analogies,
        # These words are single and were always compared at unit length; a vocabulary is not there for every encoder.
        options={"setting": settings, **OPTIONS, "scale": ("unit", "as-encoded"), "candidates": candidates},
        protocol_options=PROTOCOL_OPTIONS,
        **task_facts("analogy", name),
    )


TASKS: Final = {
    "Google": _task("Google", read_google, "single-answer"),
    "MSR": _task("MSR", read_msr, "single-answer"),
    "BATS": _task("BATS", read_bats, "multi-answer"),
}
