"""Scores to be read with care, as those of an encoder that knows few of a task's words, have a mark and a note everywhere."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import CUT_NOTE, LITTLE_KNOWN_NOTE, TRAINED_NOTE, Result
from medsenteval.report.comparison_table import render_comparison
from medsenteval.report.page_content import Page
from medsenteval.report.page_html import render_page
from medsenteval.running.job_identity import comparability
from medsenteval.running.results import Results
from medsenteval.running.score_table import as_points, detail_table, score_table
from tests.comparison.simulated import accuracy_result, correlation_result

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
    folded = replace(other, protocol="kfold-5", signature=other.signature.replace("|split|", "|kfold-5|"))
    assert score_table([other, folded]).splitlines()[0].split("  ")[-2:] == ["RQE split", "RQE kfold-5"]
    assert score_table([other, replace(folded, task="MR")]).split()[2:4] == ["RQE", "MR"]
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


def answers(right: int, encoder: str = "one", **changes: object) -> Result:
    return accuracy_result("RQE", encoder, GOLD, np.where(np.arange(40) < right, GOLD, 1 - GOLD), **changes)


def test_tables_are_these_to_the_letter() -> None:
    first, low = answers(30), answers(20, "two")
    second = replace(answers(34), seed=2, signature=first.signature.replace("seed=1111", "seed=2"))
    cosine = correlation_result("BIOSSES", "one", np.arange(30.0), np.arange(30.0) % 7)
    relations = replace(
        cosine, task="BMASS", items={**cosine.items, "relation": ["a"] * 30}, signature=cosine.signature.replace("BIOSSES", "B")
    )
    results = [first, second, low, cosine, relations]
    notes = [
        "[low, high]: 95 % interval over items (analogies: over relations; concepts: over concepts). "
        "Baseline: the best constant answer.",
        "! not above the baseline    ? above it, but the interval reaches down to it",
        "Shows: the smallest difference to another encoder that these items would show in four of five experiments.",
        "Trained on the task's data: 0 score(s) yes, 0 no, 5 unknown, which does not mean no.",
    ]
    assert detail_table(results).splitlines() == [
        "Task     Encoder  Metric   Score       95 % interval  Baseline   n  Shows  Protocol",
        "-------  -------  -------  -----  -  ---------------  --------  --  -----  -----------------------",
        "RQE      one      acc      75.00      [74.00, 76.00]     50.00  40      -  split, exact, seed 1111",
        "RQE      one      acc      85.00      [84.00, 86.00]     50.00  40      -  split, exact, seed 2",
        "RQE      two      acc      50.00  !   [49.00, 51.00]     50.00  40   21.9  split, exact, seed 1111",
        "BIOSSES  one      pearson  0.080  ?  [-0.020, 0.180]     0.000  30  0.395  cosine, seed 1111",
        "BMASS    one      pearson  0.080  ?  [-0.020, 0.180]     0.000  30      -  cosine, seed 1111",
        *notes,
    ]
    assert score_table(results).splitlines() == [
        "Encoder          Size         RQE  BIOSSES  BMASS",
        "---------------  ----  ----------  -------  -----",
        "one                 8  80.00±7.07    0.080  0.080",
        "two                 8       50.00        -      -",
        "constant answer             50.00    0.000  0.000",
        notes[-1],
    ]
    assert score_table(results, with_notes=False).splitlines() == score_table(results).splitlines()[:-1]


def test_what_is_known_of_the_items_stands_in_place_of_what_is_expected_of_them() -> None:
    result = answers(20)
    shown = detail_table([result], {(comparability(result), "acc"): "7.7", (comparability(result), "f1"): "1.1"})
    assert shown.splitlines()[2].split()[-3:] == ["7.7", "split,", "exact"]
    drawn = replace(result, synthetic=True, protocol="split-shots-8-draws-10")
    assert detail_table([drawn]).splitlines()[2:] == [
        "RQE   one      acc     50.00    [49.00, 51.00]     50.00  40  split-shots-8-draws-10, exact",
        *detail_table([result]).splitlines()[3:5],
        "Protocols with draws: mean over draws of training rows; the interval is over draws and items.",
        "SYNTHETIC SAMPLE DATA: these scores show that the toolkit works and say nothing about biomedical text.",
    ]
    assert [as_points(*each) for each in ((None, "percent"), (1.26, "percent"), (0.1256, "fraction"))] == ["-", "1.3", "0.126"]


def test_results_show_themselves_as_tables_with_what_is_left_out() -> None:
    results = Results([answers(30), answers(20, "two")], {"MR": "MR: no folder"})
    assert repr(results) == f"2 results: 2 encoder(s), 1 task(s), 1 left out\n{score_table(results.values())}"
    assert str(results) == f"{detail_table(results.values())}\nLeft out: MR: no folder"
    assert repr(Results([], {"MR": "x"})) == "0 results: 0 encoder(s), 0 task(s), 1 left out"
    assert repr(Results(results.values())).startswith("2 results: 2 encoder(s), 1 task(s)\nEncoder")
    html = results._repr_html_()
    assert html.count('<th style="text-align:left">') == 1
    assert html.count('<th style="text-align:right">') == 2
    assert html.endswith("<p>Left out: MR: no folder</p>")
    assert results["rqe", "two"].metrics[0].value == 50.0
    with pytest.raises(KeyError, match="no result of the task 'MR'; MR: no folder"):
        results["MR"]


def declared(name: str, said: str | None) -> Result:
    told = {} if said is None else {"input": {"trained_on": said}}
    return accuracy_result("RQE", name, [0, 1] * 50, [0, 1] * 45 + [1, 0] * 5, **told)


def test_scores_on_declared_data_are_marked_everywhere_and_unknown_is_told() -> None:
    results = [declared("seen", "yes"), declared("unseen", "no"), declared("silent", None), declared("odd", "perhaps")]
    assert [result.trained_on for result in results] == ["yes", "no", "unknown", "unknown"]
    told = "1 score(s) yes, 1 no, 2 unknown, which does not mean no"
    comparison = compare_results(results, resamples=100)
    texts = [detail_table(results), score_table(results), render_comparison(comparison)]
    for text in texts:
        assert text.count("¶") >= 2
        assert f"{TRAINED_NOTE}." in text
        assert told in text
    assert r"90.00\P{}" in render_comparison(comparison, "latex")
    assert TRAINED_NOTE in render_comparison(comparison, "csv")
    page = render_page(Page(results))
    assert told in page
    assert "90.00¶" in page
    nobody = score_table([declared("silent", None)])
    assert "¶" not in nobody
    assert "0 no, 1 unknown, which does not mean no" in nobody
