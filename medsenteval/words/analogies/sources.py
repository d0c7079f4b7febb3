"""Where relations come from: a table of the user's own, an OBO ontology, or the UMLS of a licence holder."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from medsenteval.errors import DataError, DataMissingError
from medsenteval.words.analogies.generation import Concept
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.ontologies.umls import find_mrconso, find_umls_file, read_mrconso, umls_rows

Facts = Iterable[tuple[str, str, str]]

_COLUMNS: Final = ("subject", "relation", "object")


def read_relation_table(path: Path) -> tuple[Iterable[Concept], Facts]:
    """Read a table with the columns subject, relation and object, separated by tabs or (.csv) by commas.

    Without such a header the first three columns are taken in this order. A term is its own concept.
    """
    rows = list(_rows(path))
    if not rows:
        raise DataError(f"{path}: no row in it; expected subject, relation, object")
    header = [cell.strip().casefold() for cell in rows[0][1]]
    named = all(name in header for name in _COLUMNS)
    places = [header.index(name) for name in _COLUMNS] if named else [0, 1, 2]
    facts = []
    for number, row in rows[1:] if named else rows:
        cells = [row[place].strip() if place < len(row) else "" for place in places]
        if not all(cells):
            raise DataError(f"{path}:{number}: expected subject, relation and object, got {row!r}")
        facts.append((cells[0], cells[1], cells[2]))
    terms = dict.fromkeys(term for subject, _, object_ in facts for term in (subject, object_))
    return [Concept(term, (term,)) for term in terms], facts


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            if path.suffix.casefold() == ".csv":
                reader = csv.reader(stream)
                yield from ((reader.line_num, row) for row in reader if row)
            else:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield number, line.rstrip("\r\n").split("\t")
    except FileNotFoundError as error:
        raise DataMissingError(f"{path}: there is no such file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a UTF-8 table: {error}") from error


def read_obo_facts(path: Path, relations: Sequence[str] = ()) -> tuple[Iterable[Concept], Facts]:
    """Read an ontology's live terms (name and exact synonyms) and its relations, all or those named; is_a is one of them."""
    ontology = read_obo(path)
    live = ontology.named
    concepts = [Concept(term.id, (term.name, *(each.text for each in term.synonyms if each.scope == "EXACT"))) for term in live]
    facts = [(term.id, "is_a", parent) for term in live for parent in term.is_a]
    facts += [(term.id, ontology.relation_names.get(name, name), target) for term in live for name, target in term.relations]
    known = dict.fromkeys(relation for _, relation, _ in facts)
    unknown = [name for name in relations if name not in known]
    if unknown:
        raise DataError(f"{path}: no relation {', '.join(unknown)}; it has {', '.join(known)}")
    return concepts, [fact for fact in facts if not relations or fact[1] in relations]


def read_umls_facts(folder: Path) -> tuple[Iterable[Concept], Facts]:
    """Read MRCONSO's English names and MRREL's relations from a UMLS folder, both row by row.

    MRREL says how its second concept relates to its first one, so the second is the subject. A relation is the pair
    REL: RELA, as in the paper.
    """
    names = (Concept(each.cui, (each.preferred, *each.others)) for each in read_mrconso(find_mrconso(folder)))
    rows = umls_rows(find_umls_file(folder, "MRREL"), "MRREL")
    kept = (row for _, row in rows if row[14] == "N" and row[0] != row[4])
    return names, ((row[4], f"{row[3]}: {row[7] or 'Null'}", row[0]) for row in kept)


def read_frequencies(path: Path) -> dict[str, float]:
    """Read how often terms occur: ``term TAB count`` a line; case is ignored, counts of spellings that differ in it add up."""
    counts: dict[str, float] = {}
    for number, row in _rows(path):
        try:
            term, count = row[0].strip(), float(row[1])
        except (IndexError, ValueError) as error:
            raise DataError(f"{path}:{number}: expected 'term TAB count', got {row!r}") from error
        counts[term.casefold()] = counts.get(term.casefold(), 0.0) + count
    if not counts:
        raise DataError(f"{path}: no counts in it; expected 'term TAB count' a line")
    return counts
