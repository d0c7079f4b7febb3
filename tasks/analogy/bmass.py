"""BMASS: 25 biomedical relations, terms of several words, several right answers (Newman-Griffis et al. 2017)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from medsenteval.support.files import clean_text
from medsenteval.tasks.analogy.analogy_dataset import CANDIDATES, SETTINGS, Analogy, AnalogyDataset, read_analogies
from medsenteval.tasks.analogy.analogy_evaluation import OPTIONS, PROTOCOL_OPTIONS, evaluate_analogies
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task, group_facts

#: One ``CUI:"string"``, the quotes absent in some copies; what is inside quotes does not separate.
_ENTRY: Final = re.compile(r'\s*[^\s:",]+:(?:"(.*?)"|([^",]+))\s*(?:,(?=\s*[^\s:",]+:)|$)')
#: Taken out, because it is no field of a Task.
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = group_facts("analogy")["BMASS"].pop("categories")
CANDIDATE_FILE: Final = "PubMed_frequent_terms.txt"


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


def read(builder: DatasetBuilder) -> AnalogyDataset:
    """Read the file of the chosen setting and the candidate list; where only All-Info's file is there, it serves for all."""
    unigrams = "unigrams_" if builder.options["terms"] == "unigrams" else ""
    setting = builder.options["setting"]
    wanted, complete = f"BMASS_{unigrams}{setting.replace('-', '_')}.txt", f"BMASS_{unigrams}all_info.txt"
    if builder.find(wanted) is None and builder.find(complete) is not None:
        builder.notes.append(f"{wanted} is absent; {complete} was read, which holds all that {setting} needs")
    file = builder.require(wanted, complete)
    categories: dict[str, str] = {}

    def found() -> Iterator[tuple[str, Analogy]]:
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

    return read_analogies(builder, found(), categories, CANDIDATE_FILE)


def category_of(relation: str) -> str:
    """Return the paper's category (Lab/Rx, Clinical, ...) of a relation that its Table 2 names, else an empty string."""
    name = re.sub(r"[\W_]+", "-", relation.rpartition(":")[2].strip()).strip("-").casefold()
    return next((category for category, relations in _CATEGORIES.items() if name in relations), "")


TASK = file_task(
    "analogy",
    "BMASS",
    read,
    evaluate_analogies,
    options={"setting": SETTINGS, **OPTIONS, "terms": ("all", "unigrams"), "candidates": CANDIDATES},
    row_options=("setting", "terms"),
    protocol_options=PROTOCOL_OPTIONS,
)
