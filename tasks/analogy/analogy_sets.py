"""The sets of analogies: BMASS's relations of biomedical terms, Google's question-words, MSR's syntax, BATS's lists of pairs.

BMASS (Newman-Griffis et al. 2017) has 25 relations, terms of several words, and several right answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from medsenteval.contracts import Task
from medsenteval.errors import DataMissingError
from medsenteval.support.files import clean_text
from medsenteval.tasks.analogy.analogy_dataset import CANDIDATES, SETTINGS, Analogy, AnalogyDataset, read_analogies
from medsenteval.tasks.analogy.analogy_evaluation import OPTIONS, PROTOCOL_OPTIONS, evaluate_analogies
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task, group_facts

_PARTS_OF_SPEECH: Final = {"J": "adjectives", "N": "nouns", "V": "verbs"}
#: One ``CUI:"string"``, the quotes absent in some copies; what is inside quotes does not separate.
_ENTRY: Final = re.compile(r'\s*[^\s:",]+:(?:"(.*?)"|([^",]+))\s*(?:,(?=\s*[^\s:",]+:)|$)')
#: Taken out, because it is no field of a Task.
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = group_facts("analogy")["BMASS"].pop("categories")


def parse_terms(field: str) -> tuple[str, ...] | None:
    """Return the strings of a field ``CUI:"string",CUI:"string"``, or None where it is something else.

    Strings may hold colons, commas and quotes: an entry ends only at a quote before the next entry or the field's end.
    """
    found, at = [], 0
    while at < len(field):
        match = _ENTRY.match(field, at)
        text = "" if match is None else clean_text(match[1] if match[1] is not None else match[2])
        if match is None or not text:
            return None
        found.append(text)
        at = match.end()
    return tuple(found) or None


def category_of(relation: str) -> str:
    """Return the paper's category (Lab/Rx, Clinical, ...) of a relation that its Table 2 names, else an empty string."""
    name = re.sub(r"[\W_]+", "-", relation.rpartition(":")[2].strip()).strip("-").casefold()
    return next((category for category, relations in _CATEGORIES.items() if name in relations), "")


def _bmass(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read BMASS's file of the chosen setting; where only All-Info's is there, it serves for all."""
    unigrams = "unigrams_" if builder.options["terms"] == "unigrams" else ""
    setting = builder.options["setting"]
    wanted, complete = f"BMASS_{unigrams}{setting.replace('-', '_')}.txt", f"BMASS_{unigrams}all_info.txt"
    if builder.find(wanted) is None and builder.find(complete) is not None:
        builder.notes.append(f"{wanted} is absent; {complete} was read, which holds all that {setting} needs")
    file = builder.require(wanted, complete)
    relation = ""
    for number, line in builder.filled_lines(file):
        if line.startswith("#"):
            relation = clean_text(line[1:])
            categories[relation] = category_of(relation)
            continue
        fields = line.split("\t")
        terms = [parse_terms(field) or () for field in fields]
        bad = [name for name, parsed in zip("abcd", terms, strict=False) if not parsed]
        if len(fields) != 4:
            builder.reject(file, number, f"{len(fields)} tab-separated field(s) where a, b, c and d are expected")
        elif not relation:
            builder.reject(file, number, "an analogy before the first '# relation' line")
        elif bad:
            builder.reject(file, number, f'field {", ".join(bad)} is not CUI:"string" or a comma-separated list of them')
        elif len(terms[0]) > 1 or len(terms[2]) > 1:
            builder.reject(file, number, "a and c must be one term each")
        else:
            (a,), b, (c,), d = terms
            yield f"{file.name}:{number}", Analogy(relation, a, b, c, d)


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
    """Read MSR's files: ``a b c`` a line, and on the same line of the other file ``RELATION d``."""
    file = builder.require("*.questions")
    answers = [line for _, line in builder.lines(builder.require("*.answers"))]
    for number, line in builder.filled_lines(file):
        if number > len(answers):
            builder.reject(file, number, "no line of that number in the file of answers")
            continue
        words = [*line.split(), *answers[number - 1].split()]
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


def _task(
    name: str,
    found: Callable[[DatasetBuilder, dict[str, str]], Iterator[tuple[str, Analogy]]],
    options: Mapping[str, tuple[str, ...]],
    candidate_file: str = "candidates.txt",
    **fields: Any,
) -> Task:
    def read(builder: DatasetBuilder) -> AnalogyDataset:
        categories: dict[str, str] = {}
        return read_analogies(builder, found(builder, categories), categories, candidate_file)

    return file_task("analogy", name, read, evaluate_analogies, options=options, protocol_options=PROTOCOL_OPTIONS, **fields)


def _of_words(setting: str) -> dict[str, tuple[str, ...]]:
    """Return the options of sets of single words, which were always compared at unit length."""
    settings = (setting, *(other for other in SETTINGS if other != setting))
    # A vocabulary is not there for every encoder.
    candidates = ("terms", *(other for other in CANDIDATES if other != "terms"))
    return {"setting": settings, **OPTIONS, "scale": ("unit", "as-encoded"), "candidates": candidates}


_OF_TERMS: Final = {"setting": SETTINGS, **OPTIONS, "terms": ("all", "unigrams"), "candidates": CANDIDATES}
TASKS: Final = {
    "BMASS": _task("BMASS", _bmass, _OF_TERMS, "PubMed_frequent_terms.txt", row_options=("setting", "terms")),
    "Google": _task("Google", _google, _of_words("single-answer")),
    "MSR": _task("MSR", _msr, _of_words("single-answer")),
    "BATS": _task("BATS", _bats, _of_words("multi-answer")),
}
