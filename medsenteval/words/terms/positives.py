"""Pairs of similar terms, of five kinds, from SNOMED CT, an OBO ontology or UMLS: see the table in docs/terms.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from medsenteval.contracts import RejectedRow
from medsenteval.errors import DataError, import_extra
from medsenteval.support.files import clean_text
from medsenteval.words.ontologies.obo import Ontology, OntologyTerm
from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME, MODEL_COMPONENT_MODULE, SYNONYM, Association, Release

Pair = tuple[str, str]
#: In the order in which negatives are made, which matters: a negative is not made twice.
KINDS: Final = ("possibly_equivalent_to", "replaced_by", "same_as", "FSN_SYN", "SYN_SYN")
DIFFICULTIES: Final = ("easy", "hard")
_ASSOCIATIONS: Final = {
    "900000000000523009": "possibly_equivalent_to",
    "900000000000526001": "replaced_by",
    "900000000000527005": "same_as",
}
_OBSOLETE: Final = re.compile(r"^\s*\(?obsolete\)?[:\s]\s*", re.IGNORECASE)


@dataclass
class Positives:
    """Similar pairs by kind, in the order found, repetitions included; what could not be used, and where it all came from."""

    source: str
    pairs: dict[str, list[Pair]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    rejected: list[RejectedRow] = field(default_factory=list)
    rights: tuple[str, ...] = ()

    def add_names(self, names: list[str]) -> None:
        """Pair the first name with each other one, and all with all; names that differ in case only are one name."""
        preferred = names[0]
        others = [name for name in names[1:] if name.lower() != preferred.lower()]
        self.pairs["FSN_SYN"].extend((preferred, name) for name in others)
        self.pairs["SYN_SYN"].extend((a, b) for a, b in combinations([preferred, *others], 2) if a.lower() != b.lower())

    def add_substitutions(self, found: Iterable[tuple[str, str, str]]) -> None:
        """Add (kind, old term, new term) unless both are one or are known as names of one concept."""
        known = {pair for first, second in self.pairs["SYN_SYN"] for pair in ((first, second), (second, first))}
        for kind, written_old, written_new in found:
            # Tabs and line ends would break the files that are written.
            old, new = clean_text(written_old), clean_text(written_new)
            if old.lower() != new.lower() and (old, new) not in known:
                self.pairs[kind].append((old, new))


def without_category(name: str) -> str:
    """Return a fully specified name without the category in parentheses at its end.

    The parenthesis stays where it is part of the name: after "or" or "&", or when it begins with "&".
    """
    if not name.endswith(")"):
        return name
    before, separator, inside = name.rpartition(" (")
    if not separator or before.endswith((" or", "&")) or inside.startswith("&"):
        return name
    return before


def clean_name(name: str) -> str:
    """Return a fully specified name without its category and without the mark "[D]" of deprecated names at either end."""
    name = without_category(name)
    if name.startswith("[D]"):
        name = name.removeprefix("[D]").strip()
    return name.removesuffix("[D]").strip() if name.endswith("[D]") else name


def positives_from_snomed(release: Release, *, legacy: bool = False) -> Positives:
    """Return the five kinds of pairs of a SNOMED CT release.

    ``legacy`` keeps to the reference code: of several associations between two concepts only the first row's kind counts,
    the module is that of the association and not of the concepts, and a concept without exactly one fully specified name is an
    error. Without it such a concept is left out and reported, and each kind of association counts.
    """
    positives = Positives(f"SNOMED CT {release.form} release {release.files['concepts'].name}")

    def full_name(concept: str) -> str | None:
        names = release.names(concept, FULLY_SPECIFIED_NAME)
        if len(names) == 1:
            return names[0]
        reason = f"{len(names)} active fully specified names where there must be one"
        if legacy:
            raise DataError(f"{release.files['descriptions']}: concept {concept}: {reason}; the reference code stops here too")
        row = RejectedRow(release.files["descriptions"].name, None, f"concept {concept}", reason)
        if row not in positives.rejected:
            positives.rejected.append(row)
        return None

    for concept in release.concepts.values():
        if not concept.active or concept.module == MODEL_COMPONENT_MODULE:
            continue
        name = full_name(concept.id)
        if name is not None:
            positives.add_names([without_category(name), *release.names(concept.id, SYNONYM)])

    def substitutions() -> Iterable[tuple[str, str, str]]:
        for row in _current_associations(release, legacy):
            old, new = full_name(row.source), full_name(row.target)
            # Namespace concepts say to whom a concept was moved, not what it means.
            if old is not None and new is not None and "namespace" not in new:
                yield _ASSOCIATIONS[row.kind], clean_name(old), clean_name(new)

    positives.add_substitutions(substitutions())
    return positives


def _current_associations(release: Release, legacy: bool) -> list[Association]:
    """Return one row for each association that is in force, in the order of the file."""
    rows = [row for row in release.associations if row.module != MODEL_COMPONENT_MODULE]
    latest: dict[tuple[str, str, str], Association] = {}
    for row in rows:
        key = (row.source, row.target, row.kind)
        if key not in latest or row.time > latest[key].time:
            latest[key] = row
    if legacy:
        first: dict[Pair, Association] = {}
        for row in rows:
            first.setdefault((row.source, row.target), row)
        chosen = [latest[row.source, row.target, row.kind] for row in first.values()]
    else:
        model = {concept.id for concept in release.concepts.values() if concept.module == MODEL_COMPONENT_MODULE}
        chosen = [row for row in latest.values() if row.source not in model and row.target not in model]
    return [row for row in chosen if row.active and row.kind in _ASSOCIATIONS]


def positives_from_obo(ontology: Ontology) -> Positives:
    """Return the five kinds of pairs of an ontology; names of obsolete terms lose the word "obsolete" at their beginning."""
    version = f", version {ontology.version}" if ontology.version else ""
    positives = Positives(f"{ontology.file}{version}", rights=ontology.rights)
    for term in ontology.named:
        exact = [synonym.text for synonym in term.synonyms if synonym.scope == "EXACT"]
        positives.add_names([clean_text(name) for name in (term.name, *exact)])

    def target(identifier: str, of: OntologyTerm) -> str | None:
        found = ontology.find(identifier)
        if found is not None and found.name and not found.obsolete:
            return found.name
        reason = f"it points to {identifier}, which is {'obsolete or nameless' if found else 'not in the file'}"
        positives.rejected.append(RejectedRow(ontology.file, None, f"term {of.id}", reason))
        return None

    def substitutions() -> Iterable[tuple[str, str, str]]:
        for term in ontology.named:
            for synonym in term.synonyms:
                if synonym.scope != "EXACT":
                    yield "possibly_equivalent_to", synonym.text, term.name
            for identifier in term.alt_ids:
                merged = ontology.terms.get(identifier)
                if merged is not None and merged.obsolete and merged.name:
                    yield "same_as", _OBSOLETE.sub("", merged.name), term.name
        for term in ontology.terms.values():
            if term.obsolete and term.name:
                old = _OBSOLETE.sub("", term.name)
                for kind, identifiers in (("replaced_by", term.replaced_by), ("possibly_equivalent_to", term.consider)):
                    for identifier in identifiers:
                        if (new := target(identifier, term)) is not None:
                            yield kind, old, new

    positives.add_substitutions(substitutions())
    return positives


def positives_from_umls(concepts: Iterable[tuple[str, Sequence[str]]], source: str) -> Positives:
    """Return the two kinds of pairs that names alone give; the preferred name of a concept is its first."""
    positives = Positives(source)
    for _, names in concepts:
        positives.add_names([clean_text(name) for name in names])
    return positives


def split_by_distance(positives: Positives, threshold: int = 5) -> Mapping[tuple[str, str], list[Pair]]:
    """Return the pairs of each (kind, difficulty): easy up to ``threshold`` edits ignoring case, hard above.

    A pair stays once, in the order in which it came first.
    """
    levenshtein = import_extra("rapidfuzz.distance", "building term sets", "terms", "rapidfuzz").Levenshtein
    split: dict[tuple[str, str], dict[Pair, None]] = {(kind, level): {} for kind in KINDS for level in DIFFICULTIES}
    for kind in KINDS:
        for first, second in positives.pairs[kind]:
            distance = levenshtein.distance(first.lower(), second.lower(), score_cutoff=threshold)
            chosen = split[kind, "easy" if distance <= threshold else "hard"]
            if (second, first) not in chosen:
                chosen.setdefault((first, second))
    return {key: list(pairs) for key, pairs in split.items()}
