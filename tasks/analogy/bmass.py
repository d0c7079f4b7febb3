"""BMASS: 25 biomedical relations, terms of several words, several right answers (Newman-Griffis et al. 2017)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from medsenteval.contracts import Task
from medsenteval.support.files import clean_text
from medsenteval.tasks.analogy.analogy_dataset import CANDIDATES, SETTINGS, Analogy, AnalogyBuilder, AnalogyDataset
from medsenteval.tasks.analogy.analogy_evaluation import OPTIONS, PROTOCOL_OPTIONS, evaluate_analogies
from medsenteval.tasks.reading.task_facts import task_facts

#: One ``CUI:"string"``, the quotes absent in some copies; what is inside quotes does not separate.
_ENTRY: Final = re.compile(r'\s*[^\s:",]+:(?:"(.*?)"|([^",]+))\s*(?:,(?=\s*[^\s:",]+:)|$)')
_FACTS: Final = dict(task_facts("analogy", "BMASS"))
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = _FACTS.pop("categories")
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


def read(folder: Path, options: Mapping[str, str]) -> AnalogyDataset:
    """Read the file of the chosen setting and the candidate list; where only All-Info's file is there, it serves for all."""
    builder = AnalogyBuilder("BMASS", folder, options)
    unigrams = "unigrams_" if options["terms"] == "unigrams" else ""
    setting = options["setting"].replace("-", "_")
    wanted, complete = f"BMASS_{unigrams}{setting}.txt", f"BMASS_{unigrams}all_info.txt"
    if builder.find(wanted) is None and builder.find(complete) is not None:
        builder.notes.append(f"{wanted} is absent; {complete} was read, which holds all that {options['setting']} needs")
    file = builder.find(wanted) or builder.require(wanted, complete)
    relation = ""
    for number, line in builder.lines(file):
        if not line.strip():
            continue
        if line.startswith("#"):
            relation = clean_text(line[1:])
            builder.categories[relation] = category_of(relation)
            continue
        fields = line.split("\t")
        if len(fields) != 4:
            builder.reject(file, number, f"{len(fields)} tab-separated field(s) where a, b, c and d are expected")
            continue
        terms = [parse_terms(field) for field in fields]
        bad = [name for name, found in zip("abcd", terms, strict=True) if found is None]
        if not relation:
            builder.reject(file, number, "an analogy before the first '# relation' line")
        elif bad:
            builder.reject(file, number, f'field {", ".join(bad)} is not CUI:"string" or a comma-separated list of them')
        else:
            a, b, c, d = (found or () for found in terms)
            if len(a) > 1 or len(c) > 1:
                builder.reject(file, number, "a and c must be one term each")
            else:
                builder.add(f"{file.name}:{number}", Analogy(relation, a[0], b, c[0], d))
    builder.read_candidates(CANDIDATE_FILE)
    return builder.build()


def category_of(relation: str) -> str:
    """Return the paper's category (Lab/Rx, Clinical, ...) of a relation that its Table 2 names, else an empty string."""
    name = re.sub(r"[\W_]+", "-", relation.rpartition(":")[2].strip()).strip("-").casefold()
    return next((category for category, relations in _CATEGORIES.items() if name in relations), "")


TASK = Task(
    read=read,
    evaluate=evaluate_analogies,
    options={"setting": SETTINGS, **OPTIONS, "terms": ("all", "unigrams"), "candidates": CANDIDATES},
    row_options=("setting", "terms"),
    protocol_options=PROTOCOL_OPTIONS,
    **_FACTS,
)
