"""The general-domain analogy formats: Google's question-words, MSR's syntactic analogies, BATS's lists of pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from medsenteval.contracts import Task
from medsenteval.errors import DataMissingError
from medsenteval.tasks.analogy.analogy_dataset import CANDIDATES, SETTINGS, Analogy, AnalogyDataset, read_analogies
from medsenteval.tasks.analogy.analogy_evaluation import OPTIONS, PROTOCOL_OPTIONS, evaluate_analogies
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

_PARTS_OF_SPEECH: Final = {"J": "adjectives", "N": "nouns", "V": "verbs"}


def _google(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read ``: section`` lines followed by four words a line; sections named gram... are syntactic, the others semantic."""
    file = builder.require("questions-words.txt", "*questions-words*.txt")
    section = ""
    for number, line in builder.filled_lines(file):
        words = line.split()
        if words[0].startswith(":"):
            section = line.strip().lstrip(":").strip()
            categories[section] = "syntactic" if section.startswith("gram") else "semantic"
        elif len(words) != 4:
            builder.reject(file, number, f"{len(words)} word(s) where four are expected")
        elif not section:
            builder.reject(file, number, "an analogy before the first ': section' line")
        else:
            a, b, c, d = words
            yield f"{file.name}:{number}", Analogy(section, a, (b,), c, (d,))


def _msr(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read MSR's analogies: ``a b c RELATION d`` a line, or the released pair of ``.questions`` and ``.answers`` files."""
    questions = builder.find("*.questions")
    file = questions or builder.require("*.questions", "*analog*.txt")
    answers = [line for _, line in builder.lines(builder.require("*.answers"))] if questions else None
    for number, line in builder.filled_lines(file):
        if answers is not None and number > len(answers):
            builder.reject(file, number, "no line of that number in the file of answers")
            continue
        # The answer file repeats the relation before the word.
        words = [*line.split(), *(answers[number - 1].split() if answers is not None else ())]
        if len(words) != 5:
            builder.reject(file, number, f"{len(words)} word(s) where a b c RELATION d are expected: {line.strip()[:60]!r}")
            continue
        a, b, c, relation, d = words
        categories[relation] = _PARTS_OF_SPEECH.get(relation[:1], "")
        yield f"{file.name}:{number}", Analogy(relation, a, (b,), c, (d,))


def _bats(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read BATS: a folder a category, a file a relation, ``word TAB answer/...`` a line; every two lines of a file combine."""
    files = sorted(path for path in builder.folder.rglob("*.txt") if re.match(r"[A-Z]\d+ ", path.name))
    if not files:
        raise DataMissingError(
            f"BATS: {builder.folder} holds no relation file such as '1_Inflectional_morphology/I01 [noun - plural_reg].txt'"
        )
    for file in files:
        folder = "" if file.parent == builder.folder else file.parent.name
        categories[file.stem] = re.sub(r"^\d+_", "", folder).replace("_", " ")
        pairs = []
        for number, line in builder.filled_lines(file):
            fields = [field.strip() for field in (line.split("\t") if "\t" in line else line.split())]
            listed = fields[1].split("/") if len(fields) == 2 else []
            objects = tuple(dict.fromkeys(word.strip() for word in listed if word.strip()))
            if fields[0] and objects:
                pairs.append((number, fields[0], objects))
            else:
                builder.reject(file, number, f"expected 'word TAB answer/answer/...', got {line.strip()[:60]!r}")
        for i, a, b in pairs:
            for j, c, d in pairs:
                if i != j:
                    yield f"{file.name}:{i}:{j}", Analogy(file.stem, a, b, c, d)


def _task(name: str, found: Callable[[DatasetBuilder, dict[str, str]], Iterator[tuple[str, Analogy]]], setting: str) -> Task:
    def read(builder: DatasetBuilder) -> AnalogyDataset:
        categories: dict[str, str] = {}
        return read_analogies(builder, found(builder, categories), categories, "candidates.txt")

    settings = (setting, *(other for other in SETTINGS if other != setting))
    candidates = ("terms", *(other for other in CANDIDATES if other != "terms"))
    # These words are single and were always compared at unit length; a vocabulary is not there for every encoder.
    options = {"setting": settings, **OPTIONS, "scale": ("unit", "as-encoded"), "candidates": candidates}
    return file_task("analogy", name, read, evaluate_analogies, options=options, protocol_options=PROTOCOL_OPTIONS)


TASKS: Final = {
    "Google": _task("Google", _google, "single-answer"),
    "MSR": _task("MSR", _msr, "single-answer"),
    "BATS": _task("BATS", _bats, "multi-answer"),
}
