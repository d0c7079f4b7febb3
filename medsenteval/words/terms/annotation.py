"""A sheet of term pairs for doctors, and what their judgement says about the automatic labels.

As in Schulz and Juric 2020: 30 similar and 30 dissimilar pairs of each set, shuffled, without saying which set or label they
come from; "same", "not same" or "don't know"; majority vote; agreement by Krippendorff's alpha. The labels are kept in a file
of their own, so that annotators do not see them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval.errors import DataError, SettingsError, import_extra
from medsenteval.statistics import krippendorff_alpha
from medsenteval.support.atomic_files import write_atomically, writing
from medsenteval.support.escaping import for_terminal
from medsenteval.support.files import clean_text, read_json
from medsenteval.support.tables import BLANK, read_table
from medsenteval.words.terms.sets import TermSet

#: What an annotator may write, in any case -> similar, dissimilar, or no answer.
ANSWERS: Final[dict[str, bool | None]] = {"same": True, "not same": False, "don't know": None}
#: Of the pairs, in a workbook with the question in another sheet.
_SHEET: Final = "pairs"
_COLUMNS: Final = ("number", "term 1", "term 2", "answer")
_QUESTION: Final = (
    "Could these terms be used interchangeably in consultation notes? Answer same, not same or don't know in the last "
    "column. You may look terms up. Do not change the other columns."
)


@dataclass(frozen=True)
class SheetScore:
    """One row of the paper's Table 3; shares of pairs with a ground truth, None where there is nothing to divide by."""

    name: str
    n: int
    no_majority: int
    alpha: float | None
    accuracy: float | None
    precision: float | None
    recall: float | None


def write_sheet(sets: Sequence[TermSet], path: Path, *, per_label: int = 30, seed: int = 0) -> Path:
    """Write a sheet of ``per_label`` pairs of each label and set, and return the key file beside it."""
    if path.suffix != ".xlsx":
        raise SettingsError(f"{path}: a sheet is written as .xlsx")
    rng = np.random.default_rng(seed)
    drawn: list[dict[str, Any]] = []
    for term_set in sets:
        for label in (True, False):
            pairs = term_set.of(similar=label)
            for first, second in (pairs[i] for i in sorted(rng.permutation(len(pairs))[:per_label])):
                drawn.append({"set": str(term_set.name), "similar": label, "term 1": first, "term 2": second})
    key = [drawn[i] for i in rng.permutation(len(drawn))]
    path.parent.mkdir(parents=True, exist_ok=True)
    openpyxl = import_extra("openpyxl", "writing an .xlsx sheet", "terms")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = _SHEET
    sheet.append(list(_COLUMNS))
    for number, pair in enumerate(key, start=1):
        sheet.append([str(number), for_terminal(pair["term 1"]), for_terminal(pair["term 2"]), ""])
        for cell in sheet[sheet.max_row]:
            # A term such as "=..." is a term, not a formula.
            cell.data_type = "s"
    choice = openpyxl.worksheet.datavalidation.DataValidation(type="list", formula1=f'"{",".join(ANSWERS)}"')
    sheet.add_data_validation(choice)
    choice.add(f"D2:D{len(key) + 1}")
    for column, width in zip("ABCD", (8, 60, 60, 14), strict=True):
        sheet.column_dimensions[column].width = width
    sheet.freeze_panes = "A2"
    book.create_sheet("question").append([_QUESTION])
    with writing(path) as stream:
        book.save(stream)
    key_path = path.with_suffix(".key.json")
    write_atomically(key_path, json.dumps({"seed": seed, "pairs": key}, ensure_ascii=False, indent=1))
    return key_path


def read_sheet(path: Path, key: Sequence[dict[str, Any]]) -> list[bool | None]:
    """Return an annotator's answers in the order of the key; None where the answer is "don't know" or empty."""
    table = read_table(path, _SHEET if path.suffix == ".xlsx" else "")
    if table.columns[:4] != _COLUMNS:
        raise DataError(f"{path}:1: the columns are {list(table.columns)}; expected {list(_COLUMNS)}")
    answers: dict[int, bool | None] = {}
    for line, cells in table.pick(_COLUMNS):
        if isinstance(cells, str):
            if cells != BLANK:
                raise DataError(f"{path}:{line}: {cells}")
            continue
        number, first, second, answer = ("" if cell is None else str(cell).strip() for cell in cells)
        if not number.isdigit() or not 1 <= int(number) <= len(key) or int(number) in answers:
            raise DataError(f"{path}:{line}: {number!r} is not the number of a pair of this sheet, or stands there twice")
        expected = key[int(number) - 1]
        terms = (expected["term 1"], expected["term 2"])
        written = [{clean_text(term), clean_text(for_terminal(term))} for term in terms]
        if clean_text(first) not in written[0] or clean_text(second) not in written[1]:
            raise DataError(f"{path}:{line}: pair {number} is {first!r}, {second!r}; the key has {expected['term 1']!r}, "
                            f"{expected['term 2']!r}; is it the key of another sheet?")  # fmt: skip
        word = answer.casefold().replace("’", "'")
        if word and word not in ANSWERS:
            raise DataError(f"{path}:{line}: the answer is {answer!r}; it can be {', '.join(ANSWERS)}")
        answers[int(number)] = ANSWERS[word] if word else None
    missing = len(key) - len(answers)
    if missing:
        raise DataError(f"{path}: {missing} of {len(key)} pairs are missing; every row of the sheet must stay")
    return [answers[number] for number in range(1, len(key) + 1)]


def majority(answers: Sequence[bool | None]) -> bool | None:
    """Return what more than half of all annotators say, or None."""
    value, count = Counter(answers).most_common(1)[0]
    return value if 2 * count > len(answers) else None


def score_sheets(key_path: Path, sheets: Sequence[Path]) -> list[SheetScore]:
    """Score the automatic labels against the majority of the annotators, for each set and for all together (last)."""
    if not sheets:
        raise SettingsError("no sheet was given; name one for each annotator")
    stored = read_json(key_path)
    if not isinstance(stored, dict) or not isinstance(stored.get("pairs"), list):
        raise DataError(f"{key_path}: not the key of a sheet; it is written beside the sheet as NAME.key.json")
    key = stored["pairs"]
    answers = [read_sheet(path, key) for path in sheets]
    names = list(dict.fromkeys(pair["set"] for pair in key))
    rows = []
    for name in [*names, "all"]:
        places = [i for i, pair in enumerate(key) if name in ("all", pair["set"])]
        rows.append(_score(name, [key[i]["similar"] for i in places], [[each[i] for i in places] for each in answers]))
    return rows


def _score(name: str, labels: Sequence[bool], answers: Sequence[Sequence[bool | None]]) -> SheetScore:
    truth = [majority(votes) for votes in zip(*answers, strict=True)]
    judged = [(label, true) for label, true in zip(labels, truth, strict=True) if true is not None]
    both = sum(label and true for label, true in judged)
    called, are = sum(label for label, _ in judged), sum(true for _, true in judged)
    ratings = np.array([[np.nan if vote is None else float(vote) for vote in each] for each in answers])
    try:
        alpha: float | None = krippendorff_alpha(ratings)
    except SettingsError:
        # All judged alike, or nobody judged twice: agreement beyond chance has no value, and none is invented.
        alpha = None
    right = sum(label == true for label, true in judged)
    shares = [part / whole if whole else None for part, whole in ((right, len(judged)), (both, called), (both, are))]
    return SheetScore(name, len(labels), len(labels) - len(judged), alpha, *shares)
