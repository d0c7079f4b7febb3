"""SNOMED CT in Release Format 2: the latest state of concepts, descriptions, associations and is-a relationships.

A Full release holds every version of every component, a Snapshot the latest of each; both are read the same way. Files are
tab-separated with a header and without quoting: a quotation mark is data, and so is "null".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medsenteval.errors import DataError, DataMissingError

MODEL_COMPONENT_MODULE: Final = "900000000000012004"
SYNONYM: Final = "900000000000013009"
FULLY_SPECIFIED_NAME: Final = "900000000000003001"
_IS_A: Final = "116680003"

#: Kind of file -> (pattern of its name with the form as group, columns).
_FILES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "concepts": (
        r"x?sct2_Concept_(?P<form>Full|Snapshot)_\w+\.txt",
        ("id", "effectiveTime", "active", "moduleId", "definitionStatusId"),
    ),
    "descriptions": (
        r"x?sct2_Description_(?P<form>Full|Snapshot)(-(?P<language>[A-Za-z-]+))?_\w+\.txt",
        ("id", "effectiveTime", "active", "moduleId", "conceptId", "languageCode", "typeId", "term", "caseSignificanceId"),
    ),
    "associations": (
        r"x?der2_cRefset_Association(Reference)?_?(?P<form>Full|Snapshot)_\w+\.txt",
        ("id", "effectiveTime", "active", "moduleId", "refsetId", "referencedComponentId", "targetComponentId"),
    ),
    "relationships": (
        r"x?sct2_Relationship_(?P<form>Full|Snapshot)_\w+\.txt",
        ("id", "effectiveTime", "active", "moduleId", "sourceId", "destinationId", "relationshipGroup", "typeId",
         "characteristicTypeId", "modifierId"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Concept:
    """The latest state of a concept."""

    id: str
    active: bool
    module: str


@dataclass(frozen=True)
class Description:
    """The latest state of a name of a concept."""

    id: str
    active: bool
    concept: str
    kind: str
    term: str


@dataclass(frozen=True)
class Association:
    """One row of the association reference set, as it stands in the file: every version is one row."""

    time: str
    active: bool
    module: str
    kind: str
    source: str
    target: str


@dataclass(frozen=True, eq=False)
class Release:
    """One release: components by identifier in the order of their first row, and the rows of associations."""

    folder: Path
    form: str
    files: Mapping[str, Path]
    concepts: Mapping[str, Concept]
    descriptions: Mapping[str, tuple[Description, ...]]
    associations: tuple[Association, ...]

    def names(self, concept: str, kind: str) -> list[str]:
        """Return the active names of one kind of a concept, in the order of the file."""
        return [found.term for found in self.descriptions.get(concept, ()) if found.active and found.kind == kind]

    def children(self) -> dict[str, list[str]]:
        """Return the concepts directly below each concept, from the relationships file, which only this needs."""
        path = _find(self.folder, "relationships", self.form)
        latest: dict[str, tuple[str, bool, str, str]] = {}
        for row in _rows(path, _FILES["relationships"][1]):
            if row[7] == _IS_A and (row[0] not in latest or row[1] > latest[row[0]][0]):
                latest[row[0]] = (row[1], row[2] == "1", row[4], row[5])
        below: dict[str, list[str]] = defaultdict(list)
        for _, active, source, destination in latest.values():
            if active:
                below[destination].append(source)
        return below


def read_release(folder: Path, *, form: str = "", language: str = "en") -> Release:
    """Read a release; ``form`` is Full or Snapshot, by default Full where it is there."""
    if not folder.is_dir():
        raise DataMissingError(f"{folder}: there is no such folder; name the folder of a SNOMED CT release (licence needed)")
    form = form or ("Full" if _candidates(folder, "concepts", "Full") else "Snapshot")
    files = {
        "concepts": _find(folder, "concepts", form),
        "descriptions": _find(folder, "descriptions", form, language),
        "associations": _find(folder, "associations", form),
    }
    concepts: dict[str, tuple[str, Concept]] = {}
    for identifier, time, active, module, _ in _rows(files["concepts"], _FILES["concepts"][1]):
        # A later row wins; of two rows of one time the first.
        if identifier not in concepts or time > concepts[identifier][0]:
            concepts[identifier] = (time, Concept(identifier, active == "1", module))
    latest: dict[str, tuple[str, Description]] = {}
    for identifier, time, active, _, concept, _, kind, term, _ in _rows(files["descriptions"], _FILES["descriptions"][1]):
        if identifier not in latest or time > latest[identifier][0]:
            latest[identifier] = (time, Description(identifier, active == "1", concept, kind, term))
    descriptions: dict[str, list[Description]] = defaultdict(list)
    for _, description in latest.values():
        descriptions[description.concept].append(description)
    associations = tuple(
        Association(time, active == "1", module, kind, source, target)
        for _, time, active, module, kind, source, target in _rows(files["associations"], _FILES["associations"][1])
    )
    return Release(
        folder,
        form,
        files,
        {identifier: concept for identifier, (_, concept) in concepts.items()},
        {concept: tuple(found) for concept, found in descriptions.items()},
        associations,
    )


def _candidates(folder: Path, what: str, form: str, language: str = "") -> list[Path]:
    pattern = re.compile(_FILES[what][0])
    found = []
    for path in sorted(folder.rglob("*.txt")):
        match = pattern.fullmatch(path.name)
        if match is None or match["form"] != form:
            continue
        if language and (match["language"] or language).casefold() != language.casefold():
            continue
        found.append(path)
    return found


def _find(folder: Path, what: str, form: str, language: str = "") -> Path:
    found = _candidates(folder, what, form, language)
    if not found:
        of = f" in language {language!r}" if language else ""
        raise DataMissingError(f"{folder}: no {form} file of {what}{of} (named like {_example(what, form)}) below it")
    if len(found) > 1:
        raise DataError(f"{folder}: several {form} files of {what}: {', '.join(map(str, found))}; name one release's folder")
    return found[0]


def _example(what: str, form: str) -> str:
    return {
        "concepts": f"sct2_Concept_{form}_INT_20190131.txt",
        "descriptions": f"sct2_Description_{form}-en_INT_20190131.txt",
        "associations": f"der2_cRefset_Association{form}_INT_20190131.txt",
        "relationships": f"sct2_Relationship_{form}_INT_20190131.txt",
    }[what]


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the rows of a file; one that is not whole makes the release unusable, so it is an error and not left out."""
    try:
        with path.open(encoding="utf-8", newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                row = line.rstrip("\r\n").split("\t")
                if number == 1:
                    if [name.lstrip("\ufeff") for name in row] != list(columns):
                        raise DataError(f"{path}:1: the columns are {row}; expected {list(columns)}")
                    continue
                if len(row) != len(columns):
                    raise DataError(f"{path}:{number}: {len(row)} fields where the header has {len(columns)}; unpack it again")
                if row[2] not in ("0", "1") or not (len(row[1]) == 8 and row[1].isdigit()):
                    raise DataError(f"{path}:{number}: effectiveTime {row[1]!r}, active {row[2]!r}: not a row of RF2")
                yield row
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}; unpack the release again") from error
