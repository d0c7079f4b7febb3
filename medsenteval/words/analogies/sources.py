"""Where relations come from: a table of the user's own, an OBO ontology, or the UMLS of a licence holder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import inf, nan
from pathlib import Path
from typing import Final

from medsenteval.errors import DataError
from medsenteval.support.files import clean_text, read_lines
from medsenteval.support.tables import BLANK, ending_of, read_table
from medsenteval.words.analogies.generation import Concept, Fact
from medsenteval.words.ontologies.obo import read_obo
from medsenteval.words.ontologies.umls import find_umls_file, read_mrconso, umls_rows

Source = tuple[Iterable[Concept], Iterable[Fact]]

#: What the columns of a table may be called, without case.
_COLUMNS: Final = (("subject",), ("relation", "predicate"), ("object",))
#: How columns without a name are called.
_UNNAMED: Final = frozenset(f"column {place}" for place in range(1, len(_COLUMNS) + 1))


def read_relation_table(path: Path) -> Source:
    """Read a table of subjects, relations and objects, named by a header or in this order; a term is its own concept."""
    table = read_table(path)
    found = [[column for column in table.columns if column.casefold() in names] for names in _COLUMNS]
    if all(len(columns) == 1 for columns in found):
        rows = table.pick([column for [column] in found])
    elif (
        len(table.columns) == len(_COLUMNS)
        and not any(found)
        and not _UNNAMED & set(table.columns)
        and ending_of(path) in ("csv", "tsv", "xlsx")
    ):
        rows = chain([(1, table.columns)], table.pick(table.columns))
    else:
        raise DataError(
            f"{path}: the columns are {', '.join(table.columns)}; name one of each subject, relation (or predicate) and object "
            "in the first row, or leave only these three, in this order and without a header"
        )
    if any("Latin-1" in note for note in table.notes):
        raise DataError(f"{path}: not UTF-8; save it as UTF-8")
    facts = []
    for number, row in rows:
        if row == BLANK:
            continue
        texts = [cell for cell in row if isinstance(cell, (str, int, float))] if isinstance(row, tuple) else []
        # Line ends would break the files that are written.
        cells = [clean_text(str(text)) for text in texts]
        if len(cells) < len(_COLUMNS):
            raise DataError(f"{path}:{number}: expected subject, relation and object, got {row!r}")
        facts.append((cells[0], cells[1], cells[2]))
    terms = dict.fromkeys(term for subject, _, object_ in facts for term in (subject, object_))
    return [(term, (term,)) for term in terms], facts


def read_obo_facts(path: Path, relations: Sequence[str] = ()) -> Source:
    """Read an ontology's live terms (name and exact synonyms) and its relations, all or those named; is_a is one of them."""
    ontology = read_obo(path)
    live = ontology.named
    concepts = [(term.id, (term.name, *(each.text for each in term.synonyms if each.scope == "EXACT"))) for term in live]
    facts = [(term.id, "is_a", parent) for term in live for parent in term.is_a]
    facts += [(term.id, ontology.relation_names.get(name, name), target) for term in live for name, target in term.relations]
    known = dict.fromkeys(relation for _, relation, _ in facts)
    unknown = [name for name in relations if name not in known]
    if unknown:
        raise DataError(f"{path}: no relation {', '.join(unknown)}; it has {', '.join(known)}")
    return concepts, [fact for fact in facts if not relations or fact[1] in relations]


def read_umls_facts(folder: Path) -> Source:
    """Read MRCONSO's English names and MRREL's relations from a UMLS folder, both row by row.

    MRREL says how its second concept relates to its first one, so the second is the subject. A relation is the pair
    REL: RELA, as in the paper.
    """
    rows = umls_rows(find_umls_file(folder, "MRREL"), "MRREL")
    kept = (row for _, row in rows if row[14] == "N" and row[0] != row[4])
    return read_mrconso(find_umls_file(folder, "MRCONSO")), ((row[4], f"{row[3]}: {row[7] or 'Null'}", row[0]) for row in kept)


def read_frequencies(path: Path) -> dict[str, float]:
    """Read how often terms occur: ``term TAB count`` a line; case is ignored, counts of spellings that differ in it add up."""
    lines, latin1 = read_lines(path)
    if latin1:
        raise DataError(f"{path}: not UTF-8; save it as UTF-8")
    counts: dict[str, float] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        term, _, count = line.partition("\t")
        try:
            # Python alone reads 1_000 as a number; in a file it is a slip.
            value = nan if "_" in count else float(count)
        except ValueError:
            value = nan
        if not 0 <= value < inf:
            raise DataError(f"{path}:{number}: expected 'term TAB count', got {line!r}")
        key = term.strip().casefold()
        counts[key] = counts.get(key, 0.0) + value
    if not counts:
        raise DataError(f"{path}: no counts in it; expected 'term TAB count' a line")
    return counts
