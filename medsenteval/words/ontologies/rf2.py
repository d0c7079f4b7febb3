"""SNOMED CT in Release Format 2: the latest state of concepts, descriptions, associations and is-a relationships.

A Full release holds every version of every component, a Snapshot the latest of each; both are read the same way. Files are
tab-separated with a header and without quoting: a quotation mark is data, and so is "null".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medsenteval.errors import DataError, DataMissingError

MODEL_COMPONENT_MODULE: Final = "900000000000012004"
SYNONYM: Final = "900000000000013009"
FULLY_SPECIFIED_NAME: Final = "900000000000003001"
_IS_A: Final = "116680003"

#: Kind of file -> (pattern of its name with the form as group, an example of it, columns).
_FILES: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "concepts": (
        r"x?sct2_Concept_(?P<form>Full|Snapshot)_\w+\.txt",
        "sct2_Concept_{}_INT_20190131.txt",
        ("id", "effectiveTime", "active", "moduleId", "definitionStatusId"),
    ),
    "descriptions": (
        r"x?sct2_Description_(?P<form>Full|Snapshot)(-(?P<language>[A-Za-z-]+))?_\w+\.txt",
        "sct2_Description_{}-en_INT_20190131.txt",
        ("id", "effectiveTime", "active", "moduleId", "conceptId", "languageCode", "typeId", "term", "caseSignificanceId"),
    ),
    "associations": (
        r"x?der2_cRefset_Association(Reference)?_?(?P<form>Full|Snapshot)_\w+\.txt",
        "der2_cRefset_Association{}_INT_20190131.txt",
        ("id", "effectiveTime", "active", "moduleId", "refsetId", "referencedComponentId", "targetComponentId"),
    ),
    "relationships": (
        r"x?sct2_Relationship_(?P<form>Full|Snapshot)_\w+\.txt",
        "sct2_Relationship_{}_INT_20190131.txt",
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
    """One release: concepts by identifier in the order of their first row, and the rows of associations.

    ``active_names`` are those of a concept and kind of description.
    """

    folder: Path
    form: str
    files: Mapping[str, Path]
    concepts: Mapping[str, Concept]
    active_names: Mapping[tuple[str, str], list[str]]
    associations: tuple[Association, ...]

    def names(self, concept: str, kind: str) -> list[str]:
        """Return the active names of one kind of a concept, in the order of the file."""
        return self.active_names.get((concept, kind), [])

    def children(self) -> dict[str, list[str]]:
        """Return the concepts directly below each concept, from the relationships file, which only this needs."""
        path = _find(self.folder, "relationships", self.form)
        below: dict[str, list[str]] = defaultdict(list)
        for row in _latest(row for row in _rows(path, "relationships") if row[7] == _IS_A):
            if row[2] == "1":
                below[row[5]].append(row[4])
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
    concepts = {
        identifier: Concept(identifier, active == "1", module)
        for identifier, _, active, module, _ in _latest(_rows(files["concepts"], "concepts"))
    }
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, _, active, _, concept, _, kind, term, _ in _latest(_rows(files["descriptions"], "descriptions")):
        if active == "1":
            names[concept, kind].append(term)
    associations = tuple(
        Association(time, active == "1", module, kind, source, target)
        for _, time, active, module, kind, source, target in _rows(files["associations"], "associations")
    )
    return Release(folder, form, files, concepts, names, associations)


def _latest(rows: Iterable[list[str]]) -> Iterable[list[str]]:
    """Return the latest row of each component, in the order of their first ones; of two rows of one time the first."""
    latest: dict[str, list[str]] = {}
    for row in rows:
        if row[0] not in latest or row[1] > latest[row[0]][1]:
            latest[row[0]] = row
    return latest.values()


def _candidates(folder: Path, what: str, form: str, language: str = "") -> list[Path]:
    named = ((path, re.fullmatch(_FILES[what][0], path.name)) for path in sorted(folder.rglob("*.txt")))
    of_form = [(path, match) for path, match in named if match is not None and match["form"] == form]
    wanted = ("", language.casefold())
    return [path for path, match in of_form if not language or (match["language"] or "").casefold() in wanted]


def _find(folder: Path, what: str, form: str, language: str = "") -> Path:
    found = _candidates(folder, what, form, language)
    if not found:
        of = f" in language {language!r}" if language else ""
        raise DataMissingError(f"{folder}: no {form} file of {what}{of} (named like {_FILES[what][1].format(form)}) below it")
    if len(found) > 1:
        raise DataError(f"{folder}: several {form} files of {what}: {', '.join(map(str, found))}; name one release's folder")
    return found[0]


def _rows(path: Path, what: str) -> Iterator[list[str]]:
    """Yield the rows of a file; one that is not whole makes the release unusable, so it is an error and not left out."""
    columns = _FILES[what][2]
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
