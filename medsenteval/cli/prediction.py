"""``medsenteval correlate``: whether one kind of score predicts another, over encoders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click

from medsenteval.cli.shared import PATH, echo, level_of, names_in, say_cautions, settled
from medsenteval.comparison.prediction import Cell, columns_of_results, columns_of_table, correlate_columns, published_columns
from medsenteval.errors import SettingsError
from medsenteval.running.result_store import ResultStore
from medsenteval.running.score_table import SYNTHETIC_WARNING
from medsenteval.statistics import Correlation, correct
from medsenteval.support.text_table import text_table

#: What is correlated without being named: the intrinsic sets of the published tables with their extrinsic ones.
_EXTRINSIC = ("BC4CHEMD", "BC2GM", "AnatEM", "JNLPBA")


@click.command()
@click.argument("results", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--published", metavar="TABLE", help="A published table instead of RESULTS: biosim-5, medsenteval-3")
@click.option("--table", metavar="FILE", type=PATH, help="Your own table: encoders by columns of scores.")
@click.option("-x", "first", metavar="COLUMNS", help="Columns, separated by commas: Bio-SimLex,MayoSRS or Bio-SimLex.pearson")
@click.option("-y", "second", metavar="COLUMNS", help="Columns to correlate them with: AnatEM,BC2GM")
@click.option("--kind", type=click.Choice(["pearson", "spearman"]), default="pearson", show_default=True)
@click.option("--correct", "correction", default="none", show_default=True,
              type=click.Choice(["none", "bonferroni", "holm", "benjamini-hochberg"]),
              help="Correct p values for the number of tests before marking them.")  # fmt: skip
@click.option("--level", type=float, default=0.05, show_default=True, callback=level_of,
              help="p values below it are marked with *.")  # fmt: skip
def correlate(
    results: Path | None,
    published: str | None,
    table: Path | None,
    first: str | None,
    second: str | None,
    kind: Correlation,
    correction: str,
    level: float,
) -> None:
    """Correlate columns of scores over encoders: do intrinsic scores predict extrinsic ones?

    Every correlation is shown with n, its exact p values, interval, and the one encoder without which it changes most.
    """
    if sum(source is not None for source in (results, published, table)) != 1:
        raise SettingsError("name one source of scores: a folder of RESULTS, --published TABLE or --table FILE")
    stored = [] if results is None else settled(ResultStore(results).results())
    if published is not None:
        columns = published_columns(published)
    else:
        columns = columns_of_results(stored) if table is None else columns_of_table(table)
    extrinsic = [name for name in columns.shown if name in _EXTRINSIC]
    left = names_in(first) or [name for name in columns.shown if name not in extrinsic]
    right = names_in(second) or extrinsic or list(columns.shown)
    cells = correlate_columns(columns, left, right, kind)
    if columns.synthetic:
        echo(f"{SYNTHETIC_WARNING} No correlation is marked.", err=True)
        level = 0.0
    if not cells:
        raise SettingsError(f"nothing to correlate; name columns with -x and -y out of {', '.join(columns.shown)}")
    corrected = [float(p) for p in correct([cell.association.p_value for cell in cells], correction)]
    echo(_matrix(cells, corrected, kind, correction, level))
    echo()
    echo(_details(cells, corrected, correction, level))
    used = {name.split(".")[0].lower() for cell in cells for name in (cell.first, cell.second)}
    say_cautions([result for result in stored if result.task.lower() in used])


def _matrix(cells: Sequence[Cell], p_values: Sequence[float], kind: str, correction: str, level: float) -> str:
    """Lay the coefficients out as the paper's tables do, marked where p is below the level."""
    shown = {
        (cell.first, cell.second): f"{cell.association.coefficient:.2f}{'*' if p < level else ' '}"
        for cell, p in zip(cells, p_values, strict=True)
    }
    rows = list(dict.fromkeys(cell.first for cell in cells))
    heads = list(dict.fromkeys(cell.second for cell in cells))
    body = [[row, *(shown.get((row, head), "-") for head in heads)] for row in rows]
    table = text_table([kind, *heads], body, [False] + [True] * len(heads))
    corrected = "uncorrected" if correction == "none" else f"corrected by {correction} for {len(cells)} tests"
    return f"{table}\n* p < {level:g}, two-sided, {corrected}"


def _details(cells: Sequence[Cell], p_values: Sequence[float], correction: str, level: float) -> str:
    rows = []
    for cell, p in zip(cells, p_values, strict=True):
        found = cell.association
        interval = "-" if math.isnan(found.low) else f"[{found.low:.2f}, {found.high:.2f}]"
        which = found.most_influential
        without = "-" if math.isnan(found.leave_one_out[which]) else f"{found.leave_one_out[which]:.2f}"
        mark = "*" if p < level else ""
        permuted = f"{found.permutation_p:.4f}" + ("" if found.complete else "~")
        numbers = [f"{found.coefficient:.4f}", mark, str(found.n), f"{found.p_value:.4f}", permuted]
        extra = [f"{p:.4f}"] if correction != "none" else []
        rows.append([cell.first, cell.second, *numbers, *extra, interval, without, cell.encoders[which]])
    header = ["x", "y", "coefficient", "", "n", "p", "p (orders)", "95 % interval", "without one", "which one"]
    header[7:7] = [f"p ({correction})"] if correction != "none" else []
    right = [False, False, True, False, *[True] * (len(header) - 5), False]
    note = (
        "p: Student's t. p (orders): share of all orders of one column (~ of 100,000 random ones) that correlate as strongly.\n"
        "Without one: the correlation without the encoder whose removal changes it most."
    )
    return f"{text_table(header, rows, right)}\n{note}"
