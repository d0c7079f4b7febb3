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

__all__ = ["BATS", "GOOGLE", "MSR", "read_bats", "read_google", "read_msr"]

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


def _task(
    name: str, read: Callable[[Path, Mapping[str, str]], AnalogyDataset], count: int, setting: str, citation: str, obtain: str
) -> Task:
    settings = (setting, *(other for other in SETTINGS if other != setting))
    # These words are single and were always compared at unit length; a vocabulary is not there for every encoder.
    scaled = {**OPTIONS, "scale": ("unit", "as-encoded")}
    return Task(
        name=name, version="1", family="analogy", protocol="analogy", uses_probe=False, metrics=("acc", "map", "mrr"),
        folders=(name,), read=read, evaluate=evaluate_analogies, published_counts={"all": count},
        options={"setting": settings, **scaled, "candidates": ("terms", *(c for c in CANDIDATES if c != "terms"))},
        citation=citation, licence="free for research; see its page", access="open", obtain=obtain, groups_are="relation",
        protocol_options=PROTOCOL_OPTIONS,
    )  # fmt: skip


GOOGLE = _task(
    "Google", read_google, 19_544, "single-answer",
    "Mikolov, Chen, Corrado and Dean 2013, Efficient estimation of word representations in vector space",
    "take questions-words.txt of the word2vec distribution and put it into Google/",
)  # fmt: skip
MSR = _task(
    "MSR", read_msr, 8_000, "single-answer",
    "Mikolov, Yih and Zweig 2013, Linguistic regularities in continuous space word representations, NAACL",
    "take word_relationship.questions and word_relationship.answers of the MSR Syntactic Test Set and put them into MSR/",
)  # fmt: skip
BATS = _task(
    "BATS", read_bats, 98_000, "multi-answer",
    "Gladkova, Drozd and Matsuoka 2016, Analogy-based detection of morphological and semantic relations with word embeddings, "
    "NAACL SRW",
    "take BATS 3.0 from vecto.space and put its four folders into BATS/",
)  # fmt: skip
