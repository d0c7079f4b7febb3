"""Ontologies in OBO format: terms with their names, synonyms, parents, relations and what became of obsolete ones.

The one OBO reader of the toolkit. It rests on fastobo, the parser of the OBO 1.4 grammar that pronto is built on too: strict,
in Rust, and with the line of an error.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError, DataMissingError, MedSentEvalWarning, import_extra

#: A definition or synonym, its list of references, and what follows; and such a list with single blanks as OBO allows it.
_REFERENCES: Final = re.compile(rb'((?:def|synonym):\s*"(?:[^"\\]|\\.)*"[^"\[]*)\[(.*)\]([^\]]*)')
_REFERENCE: Final = rb' ?(?:[^ ",\\]|\\.)*(?: "(?:[^"\\]|\\.)*")? ?'
_ALLOWED: Final = re.compile(_REFERENCE + rb"(?:," + _REFERENCE + rb")*")


@dataclass(frozen=True)
class Synonym:
    """Another wording of a term; ``scope`` is EXACT, RELATED, BROAD or NARROW, ``kind`` the ontology's own type or ""."""

    text: str
    scope: str
    kind: str = ""


@dataclass(frozen=True)
class OntologyTerm:
    """One term: ``relations`` are (relation, target) pairs other than is_a; identifiers stand as the file writes them."""

    id: str
    name: str
    synonyms: tuple[Synonym, ...] = ()
    is_a: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    alt_ids: tuple[str, ...] = ()
    obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Ontology:
    """The terms of one file by identifier, in its order, with what its header says of version and rights.

    ``relation_names`` gives the readable name of each relation that the file declares.
    """

    file: str
    version: str
    rights: tuple[str, ...]
    terms: Mapping[str, OntologyTerm]
    relation_names: Mapping[str, str]

    @cached_property
    def primary_id(self) -> Mapping[str, str]:
        """The identifier of the term that an alternative identifier was merged into; a term's own one wins."""
        live = {term.id: term for term in self.terms.values() if not term.obsolete}
        return {other: term.id for term in live.values() for other in term.alt_ids if other not in live}

    @cached_property
    def named(self) -> tuple[OntologyTerm, ...]:
        """The live terms that have a name, in the order of the file."""
        return tuple(term for term in self.terms.values() if not term.obsolete and term.name)

    def find(self, identifier: str) -> OntologyTerm | None:
        """Return the live term of this identifier, also of an alternative one; failing that the obsolete term or None."""
        return self.terms.get(self.primary_id.get(identifier, identifier))

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The live terms directly below each term."""
        below: dict[str, list[str]] = defaultdict(list)
        for term in self.terms.values():
            if not term.obsolete:
                for parent in term.is_a:
                    below[parent].append(term.id)
        return {parent: tuple(dict.fromkeys(found)) for parent, found in below.items()}

    def descendants(self, root: str) -> tuple[str, ...]:
        """Return the live terms below ``root`` along is_a, without ``root`` itself, each once, in the order of the file."""
        if root not in self.terms:
            raise DataError(f"{self.file}: no term {root!r}; give an identifier as the file writes it")
        return descendants_along(self.children, root, self.terms)


def descendants_along(children: Mapping[str, Iterable[str]], root: str, order: Iterable[str]) -> tuple[str, ...]:
    """Return everything below ``root``, without it, in the order given; a circle in the hierarchy is walked once."""
    seen, waiting = {root}, [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    return tuple(identifier for identifier in order if identifier in seen and identifier != root)


def read_obo(path: Path) -> Ontology:
    """Read an OBO file, also one compressed with gzip; a syntax error is reported with its line.

    References behind a definition or synonym that the grammar does not allow are left out, with a warning that counts them.
    """
    fastobo = import_extra("fastobo", "reading OBO ontologies", "obo")
    try:
        content = _content(path)
        try:
            return _collect(path, fastobo.iter(io.BytesIO(content), ordered=True))
        except SyntaxError:
            lenient, lines = _without_odd_references(content)
            if not lines:
                raise
            found = _collect(path, fastobo.iter(io.BytesIO(lenient), ordered=True))
            warnings.warn(
                f"{path}: {len(lines):,} definition(s) or synonym(s) have references that OBO does not allow, the first in "
                f"line {lines[0]}; the references are left out",
                MedSentEvalWarning,
                stacklevel=2,
            )
            return found
    except FileNotFoundError as error:
        raise DataMissingError(f"{path}: there is no such file; name an ontology in OBO format") from error
    except SyntaxError as error:
        # fastobo's own words name the token that it expected.
        raise DataError(f"{path}:{error.lineno}: not OBO: {error.msg}; is the download complete?") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read as OBO: {error}; is it UTF-8 text?") from error


def _content(path: Path) -> bytes:
    raw = path.read_bytes()
    if raw.startswith(b"\x1f\x8b"):
        raw = gzip.decompress(raw)
    raw.decode("utf-8")  # fastobo says nothing of where a file is not UTF-8
    return raw


def _without_odd_references(content: bytes) -> tuple[bytes, list[int]]:
    """Empty the lists of references that hold blanks, as in [Pathbase: Curation]; say in which lines they stood."""
    lines = content.split(b"\n")
    odd = []
    for number, line in enumerate(lines, start=1):
        found = _REFERENCES.fullmatch(line)
        if found is not None and not _ALLOWED.fullmatch(b" ".join(found[2].split())):
            lines[number - 1] = found[1] + b"[]" + found[3]
            odd.append(number)
    return b"\n".join(lines), odd


def _collect(path: Path, reader: Any) -> Ontology:
    version, rights = "", []
    for clause in reader.header():
        tag = clause.raw_tag()
        if tag == "data-version":
            version = clause.raw_value()
        elif tag == "remark" or (tag == "property_value" and ("license" in str(clause) or ":rights" in str(clause))):
            rights.append(str(clause))
    # A term's clauses may stand in several frames, which belong together.
    frames: dict[str, list[Any]] = {}
    relation_names: dict[str, str] = {}
    for frame in reader:
        kind = type(frame).__name__
        if kind == "TermFrame":
            frames.setdefault(str(frame.id), []).extend(frame)
        elif kind == "TypedefFrame":
            names = [clause.name for clause in frame if clause.raw_tag() == "name"]
            relation_names[str(frame.id)] = names[0] if names else str(frame.id)
    if not frames:
        raise DataError(f"{path}: an OBO file without a single [Term]")
    terms = {identifier: _term(path, identifier, clauses) for identifier, clauses in frames.items()}
    return Ontology(path.name, version, tuple(rights), terms, relation_names)


def _term(path: Path, identifier: str, clauses: Iterable[Any]) -> OntologyTerm:
    by_tag: dict[str, list[Any]] = defaultdict(list)
    for clause in clauses:
        by_tag[clause.raw_tag()].append(clause)
    names = list(dict.fromkeys(clause.name for clause in by_tag["name"]))
    if len(names) > 1:
        raise DataError(f"{path}: the term {identifier} has several names: {names}; keep one of them")
    return OntologyTerm(
        id=identifier,
        # Terms of other ontologies may be mentioned by frames without a name.
        name=names[0] if names else "",
        synonyms=tuple(Synonym(each.desc, each.scope, str(each.type or "")) for each in (c.synonym for c in by_tag["synonym"])),
        is_a=tuple(str(clause.term) for clause in by_tag["is_a"]),
        relations=tuple((str(clause.typedef), str(clause.term)) for clause in by_tag["relationship"]),
        alt_ids=tuple(str(clause.alt_id) for clause in by_tag["alt_id"]),
        obsolete=any(clause.obsolete for clause in by_tag["is_obsolete"]),
        replaced_by=tuple(str(clause.term) for clause in by_tag["replaced_by"]),
        consider=tuple(str(clause.term) for clause in by_tag["consider"]),
    )
