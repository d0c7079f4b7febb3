"""The names of UMLS concepts, from the MRCONSO.RRF of a licence holder's own release."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from medsenteval.errors import DataError, DataMissingError

__all__ = ["UmlsConcept", "find_mrconso", "read_mrconso"]

#: MRCONSO's columns in their order; each row also ends in a bar.
_COLUMNS: Final = (
    "CUI", "LAT", "TS", "LUI", "STT", "SUI", "ISPREF", "AUI", "SAUI", "SCUI", "SDUI", "SAB", "TTY", "CODE", "STR", "SRL",
    "SUPPRESS", "CVF",
)  # fmt: skip


@dataclass(frozen=True)
class UmlsConcept:
    """A concept's preferred name and its other names, each once, in the order of the file."""

    cui: str
    preferred: str
    others: tuple[str, ...]


def find_mrconso(folder: Path) -> Path:
    """Return the MRCONSO.RRF (or .RRF.gz) below a UMLS folder, or the file itself if it is named."""
    if folder.is_file():
        return folder
    found = sorted([*folder.rglob("MRCONSO.RRF"), *folder.rglob("MRCONSO.RRF.gz")])
    if not found:
        raise DataMissingError(f"{folder}: no MRCONSO.RRF below it; name the META folder of a UMLS release (licence needed)")
    if len(found) > 1:
        raise DataError(f"{folder}: several MRCONSO files: {', '.join(map(str, found))}; name the one that is meant")
    return found[0]


def read_mrconso(path: Path, *, language: str = "ENG", sources: frozenset[str] = frozenset()) -> Iterator[UmlsConcept]:
    """Yield the concepts with their names in one language, of all sources or of those given by their abbreviation (SAB).

    Suppressed and obsolete names are left out. The preferred name is the one with TS = P, STT = PF and ISPREF = Y, or the
    first name where the chosen sources do not have it. The file is read row by row: it is some gigabytes.
    """
    cui, names, preferred = "", dict[str, None](), ""
    finished: set[str] = set()
    with _opened(path) as stream:
        try:
            for number, line in enumerate(stream, start=1):
                row = line.rstrip("\r\n").split("|")
                if len(row) != len(_COLUMNS) + 1:
                    raise DataError(
                        f"{path}:{number}: {len(row) - 1} fields where MRCONSO has {len(_COLUMNS)}; is the file complete?"
                    )
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
        except (UnicodeDecodeError, EOFError, OSError) as error:
            raise DataError(f"{path}: cannot be read as UTF-8 text: {error}; fetch it again") from error
    if names:
        yield _concept(cui, names, preferred)


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


def _concept(cui: str, names: dict[str, None], preferred: str) -> UmlsConcept:
    chosen = preferred or next(iter(names))
    return UmlsConcept(cui, chosen, tuple(name for name in names if name != chosen))
