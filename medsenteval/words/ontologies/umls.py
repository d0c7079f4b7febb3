"""The names of UMLS concepts and the rows of its files, from a licence holder's own release."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from medsenteval.errors import DataError, DataMissingError

#: Columns of each file; each row also ends in a bar.
_FIELDS: Final = {"MRCONSO": 18, "MRREL": 16}


def find_umls_file(folder: Path, name: str) -> Path:
    """Return the one NAME.RRF (or .RRF.gz) below a UMLS folder, or the file itself if it is named."""
    if folder.is_file():
        return folder
    found = sorted([*folder.rglob(f"{name}.RRF"), *folder.rglob(f"{name}.RRF.gz")])
    if not found:
        raise DataMissingError(f"{folder}: no {name}.RRF below it; name the META folder of a UMLS release (licence needed)")
    if len(found) > 1:
        raise DataError(f"{folder}: several {name} files: {', '.join(map(str, found))}; name the one that is meant")
    return found[0]


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


def read_mrconso(
    path: Path, *, language: str = "ENG", sources: frozenset[str] = frozenset()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield concepts with their names in one language, of all sources or of those given by their abbreviation (SAB).

    Names come once each, the preferred one (TS = P, STT = PF and ISPREF = Y) first where the chosen sources have it;
    suppressed and obsolete ones are left out.
    """
    wanted = (
        (number, row)
        for number, row in umls_rows(path, "MRCONSO")
        if row[1] == language and row[16] == "N" and (not sources or row[11] in sources)
    )
    finished: set[str] = set()
    for cui, numbered in groupby(wanted, key=lambda each: each[1][0]):
        (number, first), *others = numbered
        if cui in finished:
            raise DataError(f"{path}:{number}: the rows of {cui} do not stand together; sort the file by CUI")
        finished.add(cui)
        rows = [first, *(row for _, row in others)]
        preferred = [row[14] for row in rows if (row[2], row[4], row[6]) == ("P", "PF", "Y")]
        yield cui, tuple(dict.fromkeys([*preferred[:1], *(row[14] for row in rows)]))
