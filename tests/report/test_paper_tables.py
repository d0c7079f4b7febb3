"""Tables for papers: alone in their file, compiled by a real LaTeX; what keeps a number from being misread stays."""

from __future__ import annotations

import csv
import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.published.numbers import select_numbers
from medsenteval.comparison.significance import Comparison
from medsenteval.errors import SettingsError
from medsenteval.report.comparison_table import Markup, TableOptions, render_comparison, render_table
from tests.report.latex import find_latex
from tests.report.made_up import many_results

HOSTILE = r"a_b%$#&~^\{}[x] 100 % <best>"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    results = [result for result in many_results(5, 10, n_items=150) if result.task in ("MedNLI", "RQE", "BIOSSES")]
    renamed = [replace(r, encoder=HOSTILE) if r.encoder.startswith("encoder-00") else r for r in results]
    return compare_results(renamed, resamples=300, all_metrics=True)


def document(table: str) -> str:
    return "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + table + "\n\\end{document}\n"


@pytest.mark.parametrize(
    "options",
    [
        TableOptions(),
        TableOptions(caption="Accuracy & more, 100 %", notes=True, digits=1),
        TableOptions(transpose=True, metrics=("acc", "pearson")),
        TableOptions(differences=True, caption="All pairs"),
        TableOptions(against=HOSTILE, notes=True),
    ],
    ids=["plain", "notes", "transposed", "differences", "against"],
)
def test_the_latex_table_compiles_as_it_is(comparison: Comparison, tmp_path: Path, options: TableOptions) -> None:
    table = render_comparison(comparison, "latex", options)
    assert table.count(r"\begin{tabular}") == table.count(r"\end{tabular}") == table.count(r"\toprule") == 1
    if not (options.caption or options.notes):
        outside = [line for line in table.split(r"\begin{tabular}")[0].splitlines() if not line.startswith("%")]
        assert outside == []
        assert table.endswith(r"\end{tabular}")
    if (compiler := find_latex()) is None:
        pytest.skip("NO LATEX HERE: the table was not compiled; install texlive-latex-base and texlive-latex-recommended")
    (tmp_path / "paper.tex").write_text(document(table), "utf-8")
    command = [compiler, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000


def test_cells_are_the_scores_bold_and_superscripts(comparison: Comparison) -> None:
    table = render_comparison(comparison, "latex", TableOptions(metrics=("acc",), digits=1))
    rqe = next(column for column in comparison.columns if column.task == "RQE" and column.metric == "acc")
    rows = [line.split(" & ") for line in table.splitlines() if line.endswith(r"\\")][1:-1]
    assert len(rows) == 5
    *_, rule, last, bottom, _ = table.splitlines()
    assert (rule, last.split(" & ")[1], bottom) == (r"\midrule", "constant answer", r"\bottomrule")
    for encoder, row in zip(comparison.encoders, rows, strict=True):
        cell = row[-1]
        assert re.findall(r"[\d.]+", cell)[0] == f"{rqe.scores[encoder].value:.1f}"
        assert (r"\textbf" in cell) == (encoder in rqe.best())
        assert (r"\textsuperscript" in cell) == bool(rqe.beaten_by(encoder, comparison.level))


def test_letters_in_a_cell_are_of_those_that_are_worse(comparison: Comparison) -> None:
    rqe = next(column for column in comparison.columns if column.task == "RQE" and column.metric == "acc")
    letters = comparison.letters()
    table = render_comparison(comparison, "text", TableOptions(metrics=("acc",))).split("\n\n")[0].splitlines()
    at = table[0].index("RQE") + 3
    said = {row[0]: row[:at].split("  ")[-1].split() for row in table[2:7]}
    beaten = {letters[name]: rqe.beaten_by(name, comparison.level) for name in comparison.encoders}
    assert {letter: cell[1:] for letter, cell in said.items()} == {
        letter: sorted(letters[name] for name in names) for letter, names in beaten.items()
    }
    assert any(beaten.values())
    assert [cell[0].endswith("*") for cell in said.values()] == [name in rqe.best() for name in comparison.encoders]


def test_published_numbers_as_csv_have_their_doubts_in_the_last_column() -> None:
    results = [result for result in many_results(2, 2, n_items=60) if result.task == "RQE"]
    numbers = [each for each in select_numbers(table="medsenteval-3", task="RQE") if each.metric == "acc"]
    doubted = replace(numbers[0], suspect="no such share of 302")
    comparison = compare_results(results, resamples=100, published=[doubted, *numbers[1:3]])
    rows = list(csv.DictReader(io.StringIO(render_comparison(comparison, "csv"))))
    assert {len(row) for row in rows} == {15}
    ours, theirs = rows[:2], rows[2:]
    assert [row["origin"] for row in ours] == ["this toolkit"] * 2
    assert [(row["encoder"], row["origin"], float(row["value"]), row["n"], row["best"]) for row in theirs] == [
        (each.encoder, "medsenteval-3", each.value, "", "") for each in numbers[:3]
    ]
    assert [row["note"] for row in theirs] == ["no such share of 302", *(each.suspect or each.differs for each in numbers[1:3])]
    first, second = ours
    assert (first["tested"], second["tested"]) == (second["encoder"], first["encoder"])
    assert first["n"] == "60"


@pytest.mark.parametrize(("n_encoders", "shown"), [(2, 1), (3, 3), (4, 0)])
def test_text_shows_every_difference_of_up_to_three_encoders(n_encoders: int, shown: int) -> None:
    results = [result for result in many_results(n_encoders, 2, n_items=60) if result.task == "RQE"]
    comparison = compare_results(results, resamples=100)
    text = render_comparison(comparison)
    assert ("To decide: how many items" in text) == ("95 % interval" in text) == (shown > 0)
    assert "They show: the smallest difference" in text
    assert sum(line.count("McNemar") for line in text.splitlines() if line.startswith("RQE")) == shown
    asked = render_comparison(comparison, options=TableOptions(differences=True))
    assert sum(line.startswith("RQE") for line in asked.splitlines()) == n_encoders * (n_encoders - 1) / 2
    first, *others = comparison.encoders
    against = render_comparison(comparison, "csv", TableOptions(against=first))
    pairs = [(row["First"], row["Second"]) for row in csv.DictReader(io.StringIO(against))]
    assert pairs == [(other, first) for other in others]


def test_a_hyphen_before_a_number_is_a_minus_in_latex() -> None:
    rows = [["bge-3", r"-0.02", r"[-0.10, 0.06]"], ["e5-2", r"\textbf{-0.01}\textsuperscript{a-c}", "[0.00, 0.10]"]]
    table = render_table(
        ["Encoder", "BIOSSES", "interval"], [[Markup(cell) for cell in row] for row in rows], [False, True, True], "latex"
    )
    assert r"bge-3 & $-$0.02 & [$-$0.10, 0.06] \\" in table
    assert r"e5-2 & \textbf{$-$0.01}\textsuperscript{a-c} & [0.00, 0.10] \\" in table


def test_transposing_moves_every_number(comparison: Comparison) -> None:
    def numbers(transpose: bool) -> list[str]:
        text = render_comparison(comparison, "markdown", TableOptions(transpose=transpose))
        body = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")][2:]
        cells = [row[1:] if transpose else row[3:] for row in body]
        return [cell.strip() for column in (zip(*cells, strict=True) if transpose else cells) for cell in column]

    assert numbers(True) == numbers(False)


def test_differences_of_every_pair_as_csv(comparison: Comparison) -> None:
    text = render_comparison(comparison, "csv", TableOptions(differences=True, metrics=("acc",)))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 2 * 10
    found = comparison.columns[0].difference(rows[0]["First"], rows[0]["Second"])
    assert found is not None
    assert float(rows[0]["Difference"]) == pytest.approx(found.interval.estimate, abs=0.005)


def test_synthetic_scores_say_so_in_every_format() -> None:
    results = [replace(result, synthetic=True) for result in many_results(2, 2, n_items=60)]
    for style in ("markdown", "latex"):
        text = render_comparison(compare_results(results, resamples=100), style)
        shown = [line for line in text.splitlines() if not line.startswith(("%", "<!--"))]
        assert "SYNTHETIC SAMPLE DATA" in "".join(shown)


def test_numbers_of_differences_stand_at_the_right(comparison: Comparison) -> None:
    table = render_comparison(comparison, "markdown", TableOptions(differences=True))
    header, rule = [line for line in table.splitlines() if line.startswith("|")][:2]
    right = [cell for cell, dashes in zip(header.split("|"), rule.split("|"), strict=True) if dashes.strip() == "---:"]
    assert [cell.strip() for cell in right] == ["Difference", "95 % interval", "p", "corrected", "n", "To decide"]


def test_what_cannot_be_shown_is_said(comparison: Comparison) -> None:
    with pytest.raises(SettingsError, match="no task has the metric 'mrr'; there are acc, pearson, spearman"):
        render_comparison(comparison, "latex", TableOptions(metrics=("mrr",)))
    alone = compare_results(many_results(1, 2, n_items=60))
    for style in ("latex", "markdown", "csv"):
        with pytest.raises(SettingsError, match="no pair of encoders was tested"):
            render_comparison(alone, style, TableOptions(differences=True))
