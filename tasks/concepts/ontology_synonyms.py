"""Synonyms of a terminology as queries: each is left out of the dictionary in turn and has to be found by the other names.

Needs no annotated corpus and, with an open ontology, no licence. Names that differ in case only are one name, and a name of
several concepts means any of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataError, DataMissingError
from medsenteval.support.files import clean_text, find_file, read_lines
from medsenteval.support.grouping import grouped
from medsenteval.tasks.concepts.concept_evaluation import Query, concept_dataset, evaluate_concepts
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, finite_number
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME, MODEL_COMPONENT_MODULE, SYNONYM, Release, read_release
from medsenteval.words.ontologies.umls import find_umls_file, read_mrconso
from medsenteval.words.terms.positives import clean_name

OPTIONS: Final = {
    "synonyms": ("exact", "exact+related"),
    "dictionary": ("all", "preferred"),
    "wording": ("all", "lay", "professional"),
    "score": ("cosine", "dot"),
}
#: A table of identifiers and counts beside the ontology, by which rare and frequent concepts are told apart.
FREQUENCIES: Final = "frequencies.tsv"


@dataclass(frozen=True)
class ConceptName:
    """One name of a concept: ``scope`` is preferred, exact or related; ``wording`` lay, professional or "" if not told apart.

    ``number`` counts the names of the concept in the order of the file, from 0; with the concept it identifies a name.
    """

    concept: str
    number: int
    text: str
    scope: str
    wording: str = ""


@dataclass(frozen=True, eq=False)
class Terminology:
    """Every name of every live concept, and how far below a root each concept is where there is a hierarchy."""

    files: tuple[Path, ...]
    version: str
    names: tuple[ConceptName, ...]
    depths: Mapping[str, int] = field(default_factory=dict)


def names_of_obo(path: Path) -> Terminology:
    """Read an OBO file: exact synonyms are exact, all others related; HPO's type "layperson" marks lay wordings."""
    ontology = read_obo(path)
    told_apart = any(synonym.kind == "layperson" for term in ontology.named for synonym in term.synonyms)

    def names() -> Iterator[ConceptName]:
        for term in ontology.named:
            yield ConceptName(term.id, 0, clean_text(term.name), "preferred", "professional" if told_apart else "")
            for number, synonym in enumerate(term.synonyms, start=1):
                wording = "lay" if synonym.kind == "layperson" else "professional" if told_apart else ""
                scope = "exact" if synonym.scope == "EXACT" else "related"
                yield ConceptName(term.id, number, clean_text(synonym.text), scope, wording)

    roots = [term.id for term in ontology.terms.values() if not term.obsolete and not term.is_a]
    return Terminology((path,), ontology.version, tuple(names()), _depths(ontology.children, roots))


def names_of_snomed(folder: Path) -> Terminology:
    """Read a SNOMED CT release: the fully specified name without its category is preferred, active synonyms are exact."""
    release = read_release(folder)
    try:
        below = release.children()
    except DataMissingError:  # a release may be unpacked without its relationships: then there are no depths
        below = {}
    depths = _depths(below, set(below) - {child for children in below.values() for child in children})
    return Terminology(tuple(release.files.values()), release.form, tuple(_snomed_names(release)), depths)


def _snomed_names(release: Release) -> Iterator[ConceptName]:
    for concept in release.concepts.values():
        if not concept.active or concept.module == MODEL_COMPONENT_MODULE:
            continue
        scopes = {FULLY_SPECIFIED_NAME: "preferred", SYNONYM: "exact"}
        found = [(clean_name(name), scope) for kind, scope in scopes.items() for name in release.names(concept.id, kind)]
        for number, (name, scope) in enumerate(found):
            yield ConceptName(concept.id, number, clean_text(name), scope)


def names_of_umls(folder: Path) -> Terminology:
    """Read the English names of MRCONSO.RRF; it holds no hierarchy, so there are no depths."""
    path = find_umls_file(folder, "MRCONSO")
    names = (
        ConceptName(cui, number, clean_text(name), "exact" if number else "preferred")
        for cui, concept_names in read_mrconso(path)
        for number, name in enumerate(concept_names)
    )
    return Terminology((path,), "", tuple(names))


def _depths(children: Mapping[str, Iterable[str]], roots: Iterable[str]) -> dict[str, int]:
    """Return the length of the shortest way from a root to every concept."""
    depths = dict.fromkeys(roots, 0)
    waiting = deque(depths)
    while waiting:
        concept = waiting.popleft()
        for child in children.get(concept, ()):
            if child not in depths:
                depths[child] = depths[concept] + 1
                waiting.append(child)
    return depths


def _read_synonyms(builder: DatasetBuilder, terminology: Terminology, frequencies: Path | None = None) -> Dataset:
    """Return each synonym as a query for its concepts, among all other names or among preferred names only."""
    options = builder.options
    scopes = ("exact",) if options["synonyms"] == "exact" else ("exact", "related")
    used = [each for each in terminology.names if each.text and each.scope in ("preferred", *scopes)]
    meant = grouped((each.text.casefold(), each.concept) for each in used)
    listed = [each for each in used if options["dictionary"] == "all" or each.scope == "preferred"]
    spelling = {each.text.casefold(): each.text for each in reversed(listed)}  # the first one stands
    standing = grouped((spelling[each.text.casefold()], each.concept) for each in listed)
    dictionary = {text: tuple(dict.fromkeys(concepts)) for text, concepts in standing.items()}
    row_of = {text.casefold(): row for row, text in enumerate(dictionary)}
    names_of = Counter(concept for ids in dictionary.values() for concept in ids)
    preferred = {(each.concept, each.text.casefold()) for each in used if each.scope == "preferred"}
    counts = _frequencies(frequencies or builder.find(FREQUENCIES))
    queries: dict[str, Query] = {}
    asked: set[str] = set()
    repeated = 0
    for each in used:
        key = each.text.casefold()
        if each.scope == "preferred" or key in asked or options["wording"] not in ("all", each.wording):
            continue
        if (each.concept, key) in preferred:
            repeated += 1
            continue
        asked.add(key)
        traits: dict[str, str | int | float] = {"names": names_of[each.concept]}
        if each.wording:
            traits["wording"] = each.wording
        if terminology.depths:
            traits["depth"] = terminology.depths.get(each.concept, -1)
        if counts:
            traits["frequency"] = counts.get(each.concept, 0.0)
        ids = tuple(dict.fromkeys([each.concept, *meant[key]]))
        queries[f"{each.concept}#{each.number}"] = Query((each.text,), ids, row_of.get(key, -1), traits)
    if not queries and options["wording"] != "all" and not any(each.wording for each in used):
        raise DataError(
            f"{builder.name}: the terminology does not say which synonyms are {options['wording']}; leave out the option"
        )
    if repeated:
        builder.notes.append(f"{repeated:,} synonym(s) differ from the preferred name in case alone and are no query")
    if terminology.version:
        builder.notes.append(f"version {terminology.version}")
    builder.files += terminology.files
    return concept_dataset(builder, queries, dictionary)


def _frequencies(file: Path | None) -> dict[str, float]:
    if file is None:
        return {}
    if not file.is_file():
        raise DataMissingError(f"{file}: there is no such file; it should hold an identifier, a tab and a count on every line")
    counts: dict[str, float] = {}
    for number, line in enumerate(read_lines(file)[0], start=1):
        if line:
            row = line.split("\t")
            count = finite_number(row[1]) if len(row) > 1 else None
            if count is None or count < 0:
                raise DataError(f"{file}:{number}: {line!r}: an identifier, a tab and a count are expected")
            counts[row[0].strip()] = count
    return counts


def _synonym_task(facts: str, find: Callable[[Path], Terminology], frequencies: Path | None = None, **fields: Any) -> Task:
    """Return the task of one terminology; ``find`` reads it below a folder."""
    return file_task(
        "concepts",
        facts,
        lambda builder: _read_synonyms(builder, find(builder.folder), frequencies),
        evaluate_concepts,
        protocol="leave-one-synonym-out",
        options=OPTIONS,
        row_options=("synonyms", "wording"),
        **fields,
    )


def _only_obo(folder: Path) -> Terminology:
    found = find_file(folder, "hp.obo", "*.obo", "*.obo.gz")
    if found is None:
        raise DataMissingError(f"{folder} holds no file hp.obo")
    return names_of_obo(found)


TASKS: Final = {
    name: _synonym_task(name, find)
    for name, find in (("HPO", _only_obo), ("SNOMED-CT", names_of_snomed), ("UMLS", names_of_umls))
}
_READERS: Final = {"obo": names_of_obo, "snomed": names_of_snomed, "umls": names_of_umls}


def task_of_source(kind: str, place: Path, frequencies: Path | None = None) -> Task:
    """Return the task of any OBO file, SNOMED CT release or UMLS release, wherever it is.

    HPO, SNOMED CT and UMLS have the names of their tasks; any other ontology has that of its file.
    """
    stem = place.name.split(".")[0] if kind == "obo" else kind
    known = {"hp": "HPO", "snomed": "SNOMED-CT", "umls": "UMLS"}.get(stem.casefold())
    own = {"name": known or stem, "folders": (), "obtain": f"name another file than {place}"}
    return _synonym_task(known or "another ontology", lambda folder: _READERS[kind](place), frequencies, **own)
