"""What terminologies call their concepts: one list of names from an OBO ontology, SNOMED CT or UMLS."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from medsenteval.errors import DataMissingError
from medsenteval.support.files import clean_text
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME, MODEL_COMPONENT_MODULE, SYNONYM, Release, read_release
from medsenteval.words.ontologies.umls import find_mrconso, read_mrconso
from medsenteval.words.terms.positives import clean_name


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
    path = find_mrconso(folder)
    names = (
        ConceptName(concept.cui, number, clean_text(name), "exact" if number else "preferred")
        for concept in read_mrconso(path)
        for number, name in enumerate((concept.preferred, *concept.others))
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
