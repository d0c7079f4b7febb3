"""Tables read from every kind of file: the same rows, whatever the encoding, the line ends, the quotes and the compression."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from medsenteval.errors import DataError, DataMissingError
from medsenteval.support import tables
from medsenteval.support.tables import BLANK, read_table, table_of_columns

ROWS = [("1", "chest pain, acute"), ("2", 'said "no"\nand left'), ("3", "Übelkeit"), ("4", None)]
CSV = '"id",note\n1,"chest pain, acute"\n2,"said ""no""\nand left"\n3,Übelkeit\n4,\n'


def _rows(path: Path, *columns: str, sheet: str = "") -> list[Any]:
    table = read_table(path, sheet)
    return [cells for _, cells in table.pick(columns or table.columns)]


@pytest.mark.parametrize(
    "write",
    [
        lambda text: text.encode("utf-8"),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.encode("utf-32"),
        lambda text: text.replace(",note\n", ",note\r\n").replace("acute\"\n", "acute\"\r\n").encode(),
        lambda text: gzip.compress(text.encode()),
        lambda text: re.sub(r'(?m)(^\d|"id"),', r"\1;", text).encode(),
    ],
    ids=["utf-8", "bom", "utf-16", "utf-16-be", "utf-32", "crlf", "gz", "semicolons"],
)  # fmt: skip
def test_csv_is_read_in_every_encoding_and_with_quoted_line_ends(write: Callable[[str], bytes], tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_bytes(write(CSV))
    table = read_table(file)
    assert table.columns == ("id", "note")
    assert list(table.pick(["id", "note"])) == [(n, row) for n, row in zip((2, 3, 5, 6), ROWS, strict=True)]
    assert [cells for _, cells in table.pick(["note"])] == [(text,) for _, text in ROWS]


def test_other_formats_hold_the_same_rows(tmp_path: Path) -> None:
    import openpyxl
    import pyarrow
    from pyarrow import parquet

    objects = [{"id": number, "note": text} for number, text in ROWS]
    (tmp_path / "a.jsonl").write_text("\n\n".join(map(json.dumps, objects)))
    (tmp_path / "b.json").write_text(json.dumps(objects))
    (tmp_path / "c.json").write_text(json.dumps({"version": 1, "data": objects}))
    columns: dict[str, list[Any]] = {"id": [row[0] for row in ROWS], "note": [row[1] for row in ROWS]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
    (tmp_path / "e.parquet.gz").write_bytes(gzip.compress((tmp_path / "d.parquet").read_bytes()))
    book = openpyxl.Workbook()
    for row in [("id", "note"), *ROWS]:
        book.active.append(row)
    book.save(tmp_path / "f.xlsx")
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    for file in sorted(tmp_path.iterdir()):
        assert _rows(file) == ROWS, file.name
    assert [number for number, _ in read_table(tmp_path / "f.xlsx").pick(["id"])] == [2, 3, 4, 5]
    assert [cells for _, cells in table_of_columns("t", columns).pick(["id", "note"])] == ROWS


def test_cells_of_all_types_become_a_few(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd

    cells = [True, 2, 2.5, float("nan"), "", "  ", None, np.int64(3), np.float64("nan"), pd.NA, pd.NaT, date(2020, 1, 2), ["a"]]
    found = [row[0] for _, row in table_of_columns("t", {"x": cells}).pick(["x"])]
    assert found == [True, 2, 2.5, None, None, None, None, 3, None, None, None, "2020-01-02", ["a"]]
    assert type(found[0]) is bool
    assert type(found[7]) is int
    with pytest.raises(DataError, match="columns of different lengths: x 1, y 2"):
        table_of_columns("t", {"x": [1], "y": [1, 2]})


def test_a_lone_quote_in_a_tsv_file_is_a_letter_and_swallows_no_line(tmp_path: Path) -> None:
    file = tmp_path / "n.tsv"
    file.write_text('text\tlabel\n"a lone quote\t1\nb\t0\nends so"\t1\n"quoted ""whole"""\t0\n"x" y\t1\nshort\n\nz\t0\n')
    table = read_table(file)
    rows = dict(table.pick(["text", "label"]))
    assert rows[2] == ('"a lone quote', "1")
    assert rows[4] == ('ends so"', "1")
    assert rows[5] == ('quoted "whole"', "0")
    assert rows[6] == ('"x" y', "1")
    assert str(rows[7]).startswith("1 cell(s) where the header names 2")
    assert rows[8] == BLANK
    assert rows[9] == ("z", "0")


def test_rows_that_cannot_be_read_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,b,c\nx,y\n,\n")
    assert [(n, c if isinstance(c, tuple) else c[:9]) for n, c in read_table(tmp_path / "a.csv").pick(["label"])] == [
        (2, "3 cell(s)"), (3, ("y",)), (4, BLANK),
    ]  # fmt: skip
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n{"a": 1, "a": 2}\nnot json\n[1]\n"not JSON at all"\n{"b": 2}\n')
    rows = dict(read_table(tmp_path / "b.jsonl").pick(["a", "b"]))
    assert rows[1] == (1, None)
    assert "a key stands twice" in rows[2]
    assert str(rows[3]).startswith("not JSON: Expecting value")
    assert rows[4] == rows[5] == "no JSON object"
    assert rows[6] == (None, 2)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "no header row"),
        ("a.csv", b",,\n1,2,3\n", "no header row"),
        ("a.csv", b"text,label,text\na,b,c\n", "columns 1 and 3 are both called 'text'"),
        ("a.csv", b'text,label\n"never closed,1\nx,2\n', r"a\.csv:2: the quotes of the row that begins here do not match"),
        ("a.csv", b'text,label\nx,1\n"a" b,2\n', r"a\.csv:3: the quotes"),
        ("a.csv", b"PK\3\4rest", r"packed \(zip\), not text"),
        ("a.csv", b"<html><body>", "a web page"),
        ("a.csv", b"t\0e\0", "NUL byte"),
        ("a.csv", b"\xff\xfet\0e\0x", "begins as utf-16 and is not"),
        ("a.csv.gz", gzip.compress(b"text,label\nx,1\n" * 99)[:-20], "cannot be read"),
        ("a.json", b'{"a": 1}', "a JSON dict where a list of objects is expected"),
        ("a.json", b'{"a": 1}\n{"a": 2}', "for an object a line name it .jsonl"),
        ("a.jsonl", b"1\n2\n", "not one JSON object"),
        ("a.parquet", b"PAR1 nothing", "cannot be read"),
        ("a.xlsx", b"PK\3\4 nothing", "cannot be read"),
        ("a.docx", b"", "no table ends so; it can be .csv, .tsv"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        _rows(tmp_path / name)


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet.gz"])
def test_what_unpacks_to_more_than_the_memory_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import openpyxl
    import pyarrow
    from pyarrow import parquet

    book = openpyxl.Workbook()
    book.active.append(["text"])
    book.save(tmp_path / "a.xlsx")
    parquet.write_table(pyarrow.table({"text": ["x" * 2000]}), tmp_path / "a.parquet", compression="none")
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    assert read_table(tmp_path / name).columns == ("text",)
    monkeypatch.setattr(tables, "_LARGEST_UNPACKED", 1000)
    with pytest.raises(DataError, match="unpacks to more than 1,000 bytes"):
        _rows(tmp_path / name)


def test_damage_behind_a_whole_description_is_refused(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": [f"text {i}" for i in range(500)]}), tmp_path / "a.parquet")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[4:400] = bytes(396)
    (tmp_path / "a.parquet").write_bytes(content)
    table = read_table(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: cannot be read"):
        list(table.pick(["text"]))


def test_absent_files_sheets_and_latin1(tmp_path: Path) -> None:
    import openpyxl

    with pytest.raises(DataMissingError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "l.csv").write_bytes("text,label\nÜbel,1\n".encode("latin-1"))
    table = read_table(tmp_path / "l.csv")
    assert table.notes == ("l.csv is not UTF-8 and was read as Latin-1",)
    assert list(table.pick(["text"])) == [(2, ("Übel",))]
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.create_sheet("Second").append(["b", None, "d"])
    book["Second"].append([1, 2, 3, 4])
    book["Second"].append([None, None, None, 5])
    book.create_sheet("Third").append([None, "e", None])
    book["Third"]["D1"].number_format = "0.00"
    book["Third"].append([None, None, "f"])
    book.save(tmp_path / "two.xlsx")
    with pytest.raises(DataError, match="name one of its sheets with sheet=: Sheet, Second, Third"):
        read_table(tmp_path / "two.xlsx")
    second = read_table(tmp_path / "two.xlsx", "Second")
    assert second.columns == ("b", "column 2", "d")
    assert list(second.pick(["d", "b"])) == [(2, (3, 1)), (3, (None, None))]
    # What a format or an emptied cell leaves behind the names is no column.
    assert read_table(tmp_path / "two.xlsx", "Third").columns == ("column 1", "e")


def test_one_token_a_line(tmp_path: Path) -> None:
    file = tmp_path / "x.conll"
    file.write_text("-DOCSTART- -X- O O\n\nLung NN B-NP B-Anatomy\ncancer NN I-NP O\n\nalone\na\tO\n")
    assert list(read_table(file).pick(["tag", "token"])) == [
        (1, BLANK), (2, BLANK), (3, ("B-Anatomy", "Lung")), (4, ("O", "cancer")), (5, BLANK),
        (6, "one column where a token and its tag are expected"), (7, ("O", "a")),
    ]  # fmt: skip


def test_a_cell_beyond_any_text_is_refused_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    file, limit = tmp_path / "a.csv", csv.field_size_limit()
    file.write_text(f"text,label\n{'x' * 10_000_001},1\n")
    with pytest.raises(DataError, match=r"a\.csv:2: .*field larger than field limit \(10000000\)"):
        _rows(file)
    assert csv.field_size_limit() == limit


def test_a_file_may_be_as_large_as_the_largest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("text\none\n", "utf-8")
    monkeypatch.setattr(tables, "LARGEST_FILE", 9)
    assert list(read_table(tmp_path / "a.csv").pick(["text"])) == [(2, ("one",))]
    monkeypatch.setattr(tables, "LARGEST_FILE", 8)
    with pytest.raises(DataError, match=r"a\.csv: more than 8 bytes; split it into parts"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("described", "classes"),
    [
        (
            {"info": {"features": {"label": {"names": ["no", "yes"]}, "tags": {"feature": {"names": ["O", "B"]}},
                                   "text": {"dtype": "string"}, "odd": [1], "bad": {"names": ["x", 1]}}}},
            {"label": ("no", "yes"), "tags": ("O", "B")},
        ),
        ({"info": {"features": []}}, {}),
        ({"info": None}, {}),
        ([1], {}),
    ],
)  # fmt: skip
def test_names_of_classes_stand_beside_the_columns_of_a_parquet_file(
    described: object, classes: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"label": [1, 0]}).replace_schema_metadata({"huggingface": json.dumps(described)})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").classes == classes
    parquet.write_table(table.replace_schema_metadata({"huggingface": b"{"}), tmp_path / "b.parquet")
    assert read_table(tmp_path / "b.parquet").classes == {}
