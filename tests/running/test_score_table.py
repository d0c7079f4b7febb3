"""Scores of an encoder that knows less than half of a task's words carry a mark and a note in every table."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import CUT_NOTE, LITTLE_KNOWN_NOTE, Result
from medsenteval.report.comparison_table import render_comparison
from medsenteval.report.page_content import Page
from medsenteval.report.page_html import render_page
from medsenteval.running.score_table import detail_table, score_table
from tests.comparison.simulated import accuracy_result

GOLD = np.arange(40) % 2


def scored(encoder: str, right: int, coverage: dict[str, float]) -> Result:
    result = accuracy_result("RQE", encoder, GOLD, np.where(np.arange(40) < right, GOLD, 1 - GOLD))
    return replace(result, coverage=coverage)


KNOWS_LITTLE = scored("little", 30, {"tokens": 0.49, "zero_vectors": 0.1})
OTHERS = [scored("half", 34, {"tokens": 0.5}), scored("whole", 38, {"zero_vectors": 0.9})]


def test_two_probes_are_two_columns_and_no_mean_over_seeds() -> None:
    other = scored("half", 38, {"tokens": 0.5})
    other = replace(other, probe="sklearn", signature=other.signature.replace("|exact", "|sklearn"))
    assert other.signature != OTHERS[0].signature
    table = score_table([OTHERS[0], other])
    assert "±" not in table
    header, _, row, *_ = table.splitlines()
    assert header.split("  ")[-2:] == ["RQE split, exact", "RQE split, sklearn"]
    assert row.split()[-2:] == ["85.00", "95.00"]
    limited = replace(other, signature=other.signature.replace("|seed=", "|limit=20|seed="))
    assert "RQE split, sklearn, limit=20" in score_table([other, limited])
    seeds = [replace(other, seed=2, signature=other.signature.replace("seed=1111", "seed=2")), other]
    assert "95.00±0.00" in score_table(seeds)


def test_the_mark_stands_behind_the_score_and_its_note_below() -> None:
    table = score_table([KNOWS_LITTLE, *OTHERS])
    assert "75.00‡" in table
    assert table.count("‡") == 2
    assert f"{LITTLE_KNOWN_NOTE}." in table
    lines = detail_table([KNOWS_LITTLE, *OTHERS]).splitlines()
    assert ["‡" in line for line in lines if "RQE" in line] == [True, False, False]
    assert f"{LITTLE_KNOWN_NOTE}." in lines
    assert "‡" not in score_table(OTHERS) + detail_table(OTHERS)


@pytest.mark.parametrize(("style", "mark"), [("text", "75.00‡"), ("markdown", "75.00‡"), ("latex", r"75.00\ddag{}")])
def test_comparisons_carry_it_too(style: str, mark: str) -> None:
    told = render_comparison(compare_results([KNOWS_LITTLE, *OTHERS], resamples=100), style)
    assert mark in told
    assert LITTLE_KNOWN_NOTE.replace("‡", "") in told
    assert "half of this task" not in render_comparison(compare_results(OTHERS, resamples=100), style)


@pytest.mark.parametrize(
    ("style", "mark"), [("text", "75.00§"), ("markdown", "75.00§"), ("latex", r"75.00\S{}"), ("csv", CUT_NOTE)]
)
def test_scores_of_cut_texts_are_marked_above_one_percent(style: str, mark: str) -> None:
    cut = replace(scored("cut", 30, {}), input={"texts_cut_share": 0.011})
    bearable = replace(scored("bearable", 30, {}), input={"texts_cut_share": 0.01})
    told = render_comparison(compare_results([cut, *OTHERS], resamples=100), style)
    assert mark in told
    assert CUT_NOTE.replace("§", "").replace("%", "")[:12] in told
    assert "§" not in render_comparison(compare_results([bearable, *OTHERS], resamples=100), style)
    assert "75.00§" in score_table([cut, bearable])
    assert (score_table([cut, bearable]) + detail_table([cut, bearable])).count("§") == 4
    page = Page([cut, *OTHERS])
    assert next(iter(page.cells.values()))["cut"].text == "75.0§"


def test_csv_says_it_in_words_and_keeps_numbers_numbers() -> None:
    told = render_comparison(compare_results([KNOWS_LITTLE, *OTHERS], resamples=100), "csv")
    for row in csv.DictReader(told.splitlines()):
        assert (LITTLE_KNOWN_NOTE in row["note"]) == (row["encoder"] == "little")
        assert float(row["value"]) > 0


def test_the_page_carries_it_in_its_tables() -> None:
    pytest.importorskip("jinja2")
    page = Page([KNOWS_LITTLE, *OTHERS])
    (cells,) = page.cells.values()
    assert {name: cell.text for name, cell in cells.items()} == {"little": "75.0‡", "half": "85.0", "whole": "95.0"}
    html = render_page(page)
    assert '<bdi class="name">little</bdi></th><td>acc</td><td class="num">75.00‡</td>' in html
    assert html.count("75.00‡") >= 2
    assert "knows less than half of the task" in html
