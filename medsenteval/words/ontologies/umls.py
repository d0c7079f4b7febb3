"""The names of UMLS concepts and the rows of its files, from a licence holder's own release."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medsenteval.errors import DataError, DataMissingError

#: Columns of each file; each row also ends in a bar.
_FIELDS: Final = {"MRCONSO": 18, "MRREL": 16}


@dataclass(frozen=True)
class UmlsConcept:
    """A concept's preferred name and its other names, each once, in the order of the file."""

    cui: str
    preferred: str
    others: tuple[str, ...]


def find_umls_file(folder: Path, name: str) -> Path:
    """Return the one NAME.RRF (or .RRF.gz) below a UMLS folder."""
    found = sorted([*folder.rglob(f"{name}.RRF"), *folder.rglob(f"{name}.RRF.gz")])
    if not found:
        raise DataMissingError(f"{folder}: no {name}.RRF below it; name the META folder of a UMLS release (licence needed)")
    if len(found) > 1:
        raise DataError(f"{folder}: several {name} files: {', '.join(map(str, found))}; name the one that is meant")
    return found[0]


def find_mrconso(folder: Path) -> Path:
    """Return the MRCONSO.RRF (or .RRF.gz) below a UMLS folder, or the file itself if it is named."""
    return folder if folder.is_file() else find_umls_file(folder, "MRCONSO")


def umls_rows(path: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with their numbers, one after the other: it is some gigabytes."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="\n") as stream:
            for number, line in enumerate(stream, start=1):
                row = line.rstrip("\r\n").split("|")
                if len(row) != _FIELDS[name] + 1:
                    given = f"{len(row) - 1} fields where {name} has {_FIELDS[name]}"
                    raise DataError(f"{path}:{number}: {given}; is the file complete?")
                yield number, row
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}; fetch it again") from error


def read_mrconso(path: Path, *, language: str = "ENG", sources: frozenset[str] = frozenset()) -> Iterator[UmlsConcept]:
    """Yield the concepts with their names in one language, of all sources or of those given by their abbreviation (SAB).

    Suppressed and obsolete names are left out. The preferred name is the one with TS = P, STT = PF and ISPREF = Y, or the
    first name where the chosen sources do not have it.
    """
    cui, names, preferred = "", dict[str, None](), ""
    finished: set[str] = set()
    for number, row in umls_rows(path, "MRCONSO"):
        if row[1] != language or row[16] != "N" or (sources and row[11] not in sources):
            continue
        if row[0] != cui:
            if names:
                yield _concept(cui, names, preferred)
            if row[0] in finished:
                raise DataError(f"{path}:{number}: the rows of {row[0]} do not stand together; sort the file by CUI")
            finished.add(row[0])
            cui, names, preferred = row[0], {}, ""
        names.setdefault(row[14])
        if not preferred and (row[2], row[4], row[6]) == ("P", "PF", "Y"):
            preferred = row[14]
    if names:
        yield _concept(cui, names, preferred)


def _concept(cui: str, names: dict[str, None], preferred: str) -> UmlsConcept:
    chosen = preferred or next(iter(names))
    return UmlsConcept(cui, chosen, tuple(name for name in names if name != chosen))
