"""MRCONSO: preferred and other names of concepts, filters by language and source, strictness."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from medsenteval.errors import DataError, DataMissingError
from medsenteval.words.ontologies.umls import find_umls_file, read_mrconso


def row(cui: str, text: str, *, lat: str = "ENG", ts: str = "S", sab: str = "MSH", off: str = "N") -> str:
    return f"{cui}|{lat}|{ts}|L1|PF|S1|Y|A1||||{sab}|PT|D1|{text}|0|{off}||\n"


TEXT = (
    row("C1", "Carcinoma of skin")
    + row("C1", "Skin cancer", ts="P")
    + row("C1", "Hautkrebs", lat="GER")
    + row("C1", "Skin ca", off="O")
    + row("C1", "Carcinoma of skin", sab="NCI")
    + row("C2", "Fieber", lat="GER")
    + row("C3", "Fever", sab="NCI", ts="P")
    + row("C3", 'Raised "temperature"', sab="NCI")
)


def test_names_of_concepts(tmp_path: Path) -> None:
    folder = tmp_path / "2026AA" / "META"
    folder.mkdir(parents=True)
    (folder / "MRCONSO.RRF").write_text(TEXT, "utf-8")
    path = find_umls_file(tmp_path, "MRCONSO")
    assert list(read_mrconso(path)) == [
        ("C1", ("Skin cancer", "Carcinoma of skin")),
        ("C3", ("Fever", 'Raised "temperature"')),
    ]
    # Without its preferred row a concept is called by its first name.
    assert next(read_mrconso(path, sources=frozenset({"NCI"}))) == ("C1", ("Carcinoma of skin",))
    assert list(read_mrconso(path, language="GER")) == [("C1", ("Hautkrebs",)), ("C2", ("Fieber",))]
    assert list(read_mrconso(path, language="FRE")) == []


def test_reads_gzip_and_a_file_named_directly(tmp_path: Path) -> None:
    path = tmp_path / "MRCONSO.RRF.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert find_umls_file(path, "MRCONSO") == find_umls_file(tmp_path, "MRCONSO") == path
    assert len(list(read_mrconso(path))) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (row("C1", "a").encode() + b"C1|ENG|P|\n", r":2: 3 fields where MRCONSO has 18"),
        ((row("C1", "a") + row("C2", "b") + row("C1", "c")).encode(), r":3: the rows of C1 do not stand together"),
        (b"\xff\xfe", "cannot be read as UTF-8"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "MRCONSO.RRF"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(read_mrconso(path))


def test_missing_and_ambiguous_files(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"no MRCONSO\.RRF"):
        find_umls_file(tmp_path, "MRCONSO")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "MRCONSO.RRF").write_text(TEXT, "utf-8")
    with pytest.raises(DataError, match="several MRCONSO files"):
        find_umls_file(tmp_path, "MRCONSO")
