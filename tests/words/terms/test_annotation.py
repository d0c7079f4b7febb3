"""The doctors' sheet: written, filled in, read back and scored by hand."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("openpyxl")

from openpyxl import load_workbook

from medsenteval.cli.main import main
from medsenteval.errors import DataError, SettingsError
from medsenteval.words.terms.annotation import majority, read_sheet, score_sheets, write_sheet
from medsenteval.words.terms.sets import SetName, TermSet

SETS = [
    TermSet(
        SetName("same_as", level, "random"),
        [(f"{level} térm {i}", f"={level} other {i}") for i in range(40)],
        [i % 2 == 0 for i in range(40)],
    )
    for level in ("easy", "hard")
]


def lines_of(sheet: Path) -> list[list[str]]:
    book = load_workbook(sheet)
    return [[str(cell or "") for cell in row] for row in book["pairs"].iter_rows(values_only=True)]


def fill(path: Path, answers: dict[int, str]) -> Path:
    """Write a copy of a sheet with answers by number, as a spreadsheet program would save it as CSV."""
    rows = lines_of(path)
    filled = path.with_name(f"{path.stem}-{len(list(path.parent.iterdir()))}.csv")
    with filled.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([rows[0], *([*row[:3], answers.get(int(row[0]), "")] for row in rows[1:])])
    return filled


def test_a_sheet_comes_back_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "new" / "place" / "sheet.xlsx"
    key_path = write_sheet(SETS, path, per_label=5, seed=1)
    key = json.loads(key_path.read_text("utf-8"))["pairs"]
    assert len(key) == 20
    assert sum(pair["similar"] for pair in key) == 10
    assert "hard térm" in key_path.read_text("utf-8"), "a person can read the key"
    assert read_sheet(path, key) == [None] * 20
    # The order says nothing about set or label.
    assert [pair["set"] for pair in key] != sorted(pair["set"] for pair in key)
    assert lines_of(path) == [
        ["number", "term 1", "term 2", "answer"],
        *([str(number), pair["term 1"], pair["term 2"], ""] for number, pair in enumerate(key, start=1)),
    ]
    for name, terms, labels in ((str(each.name), each.pairs, each.similar) for each in SETS):
        for pair in (pair for pair in key if pair["set"] == name):
            assert labels[terms.index((pair["term 1"], pair["term 2"]))] == pair["similar"]
    book = load_workbook(path)
    sheet, question = book.worksheets
    assert sheet["C2"].data_type == "s", "a term is no formula"
    assert [sheet.column_dimensions[column].width for column in "ABCD"] == [8, 60, 60, 14]
    assert sheet.freeze_panes == "A2", "the names of columns stay in sight"
    assert [(str(each.sqref), each.formula1) for each in sheet.data_validations.dataValidation] == [
        ("D2:D21", '"same,not same,don\'t know"')
    ]
    assert str(question["A1"].value).startswith("Could these terms be used interchangeably")
    sheet["D2"] = "Not same"
    sheet["E1"] = "remarks"
    sheet["E2"] = "a column that an annotator adds is left alone"
    book.save(path)
    assert read_sheet(path, key)[:2] == [False, None]
    again = write_sheet(SETS, tmp_path / "again.xlsx", per_label=5, seed=1)
    assert again.read_text("utf-8") == key_path.read_text("utf-8")
    assert write_sheet(SETS, tmp_path / "other.xlsx", per_label=5).read_text("utf-8") != key_path.read_text("utf-8")
    assert json.loads(write_sheet(SETS, tmp_path / "all.xlsx").read_text("utf-8"))["seed"] == 0
    assert len(lines_of(tmp_path / "all.xlsx")) == 1 + 2 * 2 * 20, "30 of each label are asked for, and all 20 taken"
    many = TermSet(SETS[0].name, [(f"a {i}", f"b {i}") for i in range(70)], [i < 35 for i in range(70)])
    labels = [pair["similar"] for pair in json.loads(write_sheet([many], path).read_text("utf-8"))["pairs"]]
    assert (len(labels), sum(labels)) == (60, 30)


def test_scores_worked_out_by_hand(tmp_path: Path) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    path = tmp_path / "sheet.xlsx"
    key_path = write_sheet(SETS[:1], path, per_label=2, seed=0)
    key = json.loads(key_path.read_text("utf-8"))["pairs"]
    similar = [i for i, pair in enumerate(key, start=1) if pair["similar"]]
    dissimilar = [i for i, pair in enumerate(key, start=1) if not pair["similar"]]
    first = {similar[0]: "same", similar[1]: "not same", dissimilar[0]: "same", dissimilar[1]: "not same"}
    second = {**first, dissimilar[1]: "same"}
    third = {**first, dissimilar[1]: "Don’t know"}
    sheets = [fill(path, answers) for answers in (first, second, third)]
    row, together = score_sheets(key_path, sheets)
    # Truth: same, not same, same, none. Labels: similar, similar, dissimilar.
    assert (row.name, row.n, row.no_majority) == ("same_as-easy-random", 4, 1)
    assert row.accuracy == pytest.approx(1 / 3)
    assert row.precision == pytest.approx(1 / 2)
    assert row.recall == pytest.approx(1 / 2)
    numbers = {"same": 1.0, "not same": 0.0}
    votes = [[numbers.get(each[i], np.nan) for i in range(1, 5)] for each in (first, second, third)]
    assert row.alpha == pytest.approx(krippendorff.alpha(reliability_data=votes, level_of_measurement="nominal"))
    assert replace(together, name=row.name) == row
    assert together.name == "all"
    both = write_sheet(SETS, tmp_path / "both.xlsx", per_label=1, seed=3)
    pairs = json.loads(both.read_text("utf-8"))["pairs"]
    answers = {i: "same" for i, pair in enumerate(pairs, start=1) if "easy" in pair["set"]}
    scores = score_sheets(both, [fill(tmp_path / "both.xlsx", answers)])
    # Nobody answered for the hard set; with one annotator there is no agreement to measure.
    found = {each.name: (each.n, each.no_majority, each.alpha, each.accuracy, each.precision, each.recall) for each in scores}
    assert found == {
        "same_as-easy-random": (2, 0, None, 0.5, 1.0, 0.5),
        "same_as-hard-random": (2, 2, None, None, None, None),
        "all": (4, 2, None, 0.5, 1.0, 0.5),
    }
    assert sorted(name for name in list(found)[:-1]) == sorted({pair["set"] for pair in pairs})
    assert list(found)[-1] == "all"
    run = CliRunner().invoke(main, ["terms", "score-sheet", str(key_path), *map(str, sheets)])
    assert run.exit_code == 0, run.output
    assert "25%" in run.output
    # Nothing but one answer: agreement beyond chance is undefined, and not a number.
    same = fill(path, dict.fromkeys(range(1, 5), "same"))
    assert score_sheets(key_path, [same, same])[0].alpha is None


def test_majority_needs_more_than_half() -> None:
    assert majority([True, True, False]) is True
    assert majority([True, False, None]) is None
    assert majority([None, None, True]) is None
    assert majority([True, False]) is None


def test_sheets_that_cannot_be_trusted(tmp_path: Path) -> None:
    key_path = write_sheet(SETS, tmp_path / "sheet.xlsx", per_label=2)
    key = json.loads(key_path.read_text("utf-8"))["pairs"]
    path = fill(tmp_path / "sheet.xlsx", {})
    whole = path.read_text("utf-8")
    lines = whole.splitlines()
    for text, message in [
        (whole.replace("number", "n"), ":1: the columns are"),
        ("\n".join(lines[:-1]), "1 of 8 pairs are missing"),
        (whole + lines[1] + "\n", "stands there twice"),
        (whole + lines[1].replace("1,", "9,", 1) + "\n", ":10: '9' is not the number of a pair"),
        (whole.replace("\n1,", "\n0,"), ":2: '0' is not the number of a pair"),
        (whole.replace(",=", ",=other ", 1), "key of another sheet"),
        (whole.replace(" térm ", " ", 1), "key of another sheet"),
        (whole.replace("\n", "\n\n", 1) + "9,a\n", r":11: 2 cell\(s\) where the header names 4"),
        ("\n".join([lines[0], lines[1] + "perhaps", *lines[2:]]), ":2: the answer is 'perhaps'"),
    ]:
        path.write_text(text, "utf-8")
        with pytest.raises(DataError, match=message):
            read_sheet(path, key)
    (tmp_path / "wrong.json").write_text("[]", "utf-8")
    with pytest.raises(DataError, match="not the key"):
        score_sheets(tmp_path / "wrong.json", [path])
    with pytest.raises(SettingsError, match="no sheet"):
        score_sheets(key_path, [])
    with pytest.raises(SettingsError, match=r"sheet\.csv: a sheet is written as \.xlsx"):
        write_sheet(SETS, tmp_path / "sheet.csv")
    (tmp_path / "bad.xlsx").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"bad\.xlsx: cannot be read"):
        read_sheet(tmp_path / "bad.xlsx", key)
