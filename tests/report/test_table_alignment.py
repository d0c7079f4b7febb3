"""Tables in columns: numbers stand at the right, words at the left, so that both can be read down."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise, takewhile

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import Decision
from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.comparison.frontier import Frontier, FrontierPoint
from medsenteval.comparison.published.differences import Cell, Reproduction
from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.contracts import Metric, Result
from medsenteval.report.answer_tables import (
    render_decisions,
    render_frontier,
    render_gaps,
    render_paired_gaps,
    render_plan,
    render_reproduction,
)
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.report.learning_curve_table import CurvePoint, render_curves
from medsenteval.report.term_tables import (
    measure_table,
    outcome_table,
    separation_table,
    sheet_table,
    strata_table,
)
from medsenteval.running.score_table import detail_table, score_table
from medsenteval.running.term_evaluation import EncoderSeparation
from medsenteval.settings import Settings
from medsenteval.statistics.outcomes import Interval
from medsenteval.statistics.verdicts import RankInterval
from medsenteval.words.terms.annotation import SheetScore
from medsenteval.words.terms.category_overlap import Separation
from tests.comparison.simulated import accuracy_result, simulated_result


def misaligned(text: str) -> list[str]:
    """Return the columns of the tables in a text whose numbers stand at the left or whose words stand at the right."""
    lines = text.splitlines()
    rules = [number for number, line in enumerate(lines) if re.fullmatch(r"-+(  -+)* *", line)]
    assert rules
    wrong = []
    for rule in rules:
        columns = list(re.finditer("-+", lines[rule]))
        gaps = [slice(one.end(), other.start()) for one, other in pairwise(columns)]
        # The table ends where a line is empty, or a sentence that minds no columns.
        below = [(line, any(line[gap].strip() for gap in gaps)) for line in lines[rule + 1 :]]
        rows = [line for line, _ in takewhile(lambda each: each[0].strip() and not each[1], below)]
        for column in columns:
            cells = [line[column.start() : column.end()].ljust(column.end() - column.start()) for line in rows]
            cells = [cell for cell in cells if cell.strip(" -")]
            numbers = all(re.match(r"[\[+−-]?\.?\d", cell.strip()) for cell in cells)
            words = all(cell.strip()[0].isalpha() for cell in cells)
            if any((numbers and cell[-1] == " ") or (words and cell[0] == " ") for cell in cells):
                wrong.append(lines[rule - 1][column.start() : column.end()].strip())
    return wrong


def test_what_is_checked() -> None:
    table = "Name   Score\n-----  -----\na         10\nlong     9.5\n\n----\nnext\n"
    assert misaligned(table) == []
    assert misaligned(table.replace("   10", "10   ")) == ["Score"]
    assert misaligned(table.replace("a    ", "    a")) == ["Name"]


def results() -> list[Result]:
    gold = [0, 1] * 20
    made = []
    for shift, encoder in enumerate(("one", "another encoder")):
        for task, right in (("MedNLI", 25), ("SNLI", 35), ("RQE", 40 - shift), ("MRPC", 20)):
            made.append(accuracy_result(task, encoder, gold, [g if i < right + shift else 1 - g for i, g in enumerate(gold)]))
    return made


def test_scores_and_comparisons() -> None:
    assert misaligned(score_table(results())) == []
    assert misaligned(detail_table(results())) == []
    comparison = compare_results(results(), resamples=100)
    for options in (TableOptions(), TableOptions(transpose=True), TableOptions(differences=True)):
        assert misaligned(render_comparison(comparison, "text", options)) == []


def test_gaps_and_decisions() -> None:
    notes = ("synthetic beside real data", "without SNLI", "without SNLI", "without MRPC")
    gaps = [replace(gap, notes=(note,)) for gap, note in zip(domain_gaps(results()), notes, strict=True)]
    assert misaligned(render_gaps(gaps)) == []
    assert misaligned(render_paired_gaps(gaps, "one", "another encoder")) == []
    decisions = [
        Decision("RQE", "acc", "percent", "a", "b", Interval(1.0, -20.0, 2.0, 0.95, "", 9), "undecided", 12.0, 1200),
        Decision("MedNLI", "acc", "percent", "longer", "b", Interval(10.0, 9.0, 12.0, 0.95, "", 9), "better", 3.0, None),
    ]
    ranks = {"a": RankInterval(1.0, 1.0, 2.0, 1.0), "longer": RankInterval(10.0, 9.5, 11.0, 0.05)}
    assert misaligned(render_decisions(decisions, ranks, 1.0, 0.05, "text")) == []


def scored(task: str, encoder: str, metric: Metric, n_train: int) -> Result:
    return simulated_result(task, encoder, [metric], {"id": ["1"]}, n_train=n_train)


def test_curves_and_frontiers() -> None:
    points = [
        CurvePoint(scored("RQE", "a", Metric("acc", 9.0, 8.0, 10.0, 50.0, "percent", 9), 16), "split", "shots 8"),
        CurvePoint(scored("MedNLI", "longer", Metric("acc", 70.0, 60.0, 80.0, 5.0, "percent", 900), 1600), "kfold-10", "all"),
    ]
    assert misaligned(render_curves(points)) == []
    sizes = [FrontierPoint(64, "float32", 256, 80.0, 0.0, 0.0, 0.0, True), FrontierPoint(8, "int8", 8, 9.0, 71.0, 60.0, 80.0)]
    assert misaligned(render_frontier(Frontier("RQE", "a", "acc", "percent", 9, tuple(sizes)))) == []


def test_tables_of_terms() -> None:
    means = {f"{a} / {b}": value for a, b, value in (("x", "x", 0.9), ("x", "y", -0.5), ("y", "z", 0.25))}
    rows = [
        EncoderSeparation(encoder, measure, Separation(overlap, 3, (7, 10, 1200), means), unknown)
        for encoder, measure, overlap, unknown in (("a", "cosine", 0.5, 3), ("longer", "jaccard", 0.06, 1200))
    ]
    assert misaligned(separation_table(rows, ["x", "y", "z"])) == []
    sheet = [SheetScore("a", 9, 1, 0.5, 0.25, None, 1.0), SheetScore("longer", 1200, 600, -0.25, 1.0, 0.5, 0.5)]
    assert misaligned(sheet_table(sheet)) == []
    scored = {"acc@1": [0.5, 0.4, 0.6], "acc@5": [1.0, 0.9, 1.0], "mrr": [0.5, 0.4, 0.6]}
    worse = {name: [value / 9 for value in values] for name, values in scored.items()}
    strata = {"wording": {"lay": {"queries": 9, **scored}, "professional": {"queries": 1200, **worse}}}
    linked = [
        simulated_result("HPO", name, [Metric("acc", 1, 0, 2, 0, "percent", 9)], {"id": ["1"]}, details={"strata": strata})
        for name in ("a", "longer")
    ]
    assert misaligned(strata_table(linked)) == []


def test_marks_stand_at_the_left() -> None:
    """Marks are neither numbers nor words, so these tables are written out."""
    metrics = [
        Metric(name, value, 0, 100, 50.0, "percent", 9) for name, value in (("acc", 90.0), ("cv_acc", 8.5), ("auc", 0.9))
    ]
    measured = {"acc": 9.0, "cv_acc": 80.0, "auc": 0.5}
    measures = {"cosine": {**measured, "better": 1, "worse": 0}, "max_jaccard": {**measured, "better": 1, "worse": 2}}
    of_set = {"n_pairs": 20, "n_common": 10, "measures": measures}
    sets = [
        simulated_result("terms-same_as-hard-random", name, metrics, {"id": []}, details=of_set | {
            "measure": measure, "better": 1, "worse": worse, "better_holm": holm, "worse_holm": worse_holm,
        })
        for name, measure, worse, holm, worse_holm in (("a", "cosine", 0, 0, 9), ("longer", "max_jaccard", 2, 10, 3))
    ]  # fmt: skip
    assert outcome_table(sets).splitlines()[:4] == [
        "Set                  Encoder  Measure        AUC  Accuracy  Bonf.  Holm   CV acc.  Majority  Pairs  Known",
        "-------------------  -------  -----------  -----  --------  -----  -----  -------  --------  -----  -----",
        "same_as-hard-random  a        cosine       0.900     90.00  1      -9        8.50     50.00     10  50.0%",
        "same_as-hard-random  longer   max_jaccard  0.900     90.00  1/-2   10/-3     8.50     50.00     10  50.0%",
    ]
    assert measure_table(sets).splitlines()[2:6] == [
        "same_as-hard-random  a        cosine       0.500      9.00  1        80.00",
        "same_as-hard-random  a        max_jaccard  0.500      9.00  1/-2     80.00",
        "same_as-hard-random  longer   cosine       0.500      9.00  1        80.00",
        "same_as-hard-random  longer   max_jaccard  0.500      9.00  1/-2     80.00",
    ]
    unsure = replace(results()[0], metrics=(Metric("acc", 55.0, 45.0, 65.0, 50.0, "percent", 40),))
    unclear = replace(results()[0], metrics=(Metric("acc", 40.0, 30.0, 50.0, 50.0, "percent", 40),), coverage={"tokens": 0.1})
    assert [line[23:53] for line in detail_table([unsure, unclear]).splitlines()[:4]] == [
        "  Score       95 % interval  B",
        "  -----  --  --------------  -",
        "  55.00  ?   [45.00, 65.00]   ",
        "  40.00  !‡  [30.00, 50.00]   ",
    ]
    published = PublishedNumber("t", "GloVe", "RQE", "acc", 70.0, "70", "percent", "", "", "")
    short = Cell(published, "RQE", "acc", ours=70.5, tolerance=1.25, n=20)
    long = Cell(
        replace(published, setting="easy, random", suspect="odd"), "RQE", "acc", ours=90.0, tolerance=10.5, made="cosine"
    )
    cells = (short, long, replace(long, tolerance=None, made=""))
    assert render_reproduction(Reproduction("t", Settings(), cells)).splitlines()[:5] == [
        "Row    Task  Setting       Metric  Published   Ours  Difference  Allowance",
        "-----  ----  ------------  ------  ---------  -----  ----------  ---------  ----------------------------------",
        "GloVe  RQE                 acc         70.00  70.50       +0.50      ±1.25  cannot be told apart with 20 items",
        "GloVe  RQE   easy, random  acc         70.00  90.00      +20.00     ±10.50  differs?; cosine",
        "GloVe  RQE   easy, random  acc         70.00  90.00      +20.00             ?",
    ]
    other = Cell(replace(published, encoder="b"), "BIOSSES", "acc")
    assert render_plan(Reproduction("t", Settings(), (short, other))).splitlines()[:4] == [
        "Row    Encoder    Cells to run  Tasks to run",
        "-----  ---------  ------------  ------------",
        "GloVe  no recipe        1 of 1  RQE",
        "b      no recipe        1 of 1  BIOSSES",
    ]


@pytest.mark.parametrize("command", ["tasks", "encoders", "published", "published --task BIOSSES"])
def test_commands_that_list(command: str) -> None:
    shown = CliRunner().invoke(main, command.split())
    assert shown.exit_code == 0, shown.output
    assert misaligned(shown.output) == []
