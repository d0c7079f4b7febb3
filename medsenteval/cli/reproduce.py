"""``medsenteval reproduce``: published tables as plans that run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from medsenteval import registry
from medsenteval.cli.commands import BAD_INPUT, DATA_ABSENT
from medsenteval.cli.shared import DATA, ONLY_TASKS, PATH, announcer, echo
from medsenteval.comparison.reproduce import TABLES, plan_table, run_plan
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import SettingsError
from medsenteval.report.answer_tables import render_plan, render_reproduction
from medsenteval.running.result_store import ResultStore


@click.command()
@click.argument("table", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would run and what is missing, and stop.")
@DATA
@click.option("-o", "--output", default="results", type=PATH, metavar="FOLDER", help="Where results are kept; default results.")
@click.option("-e", "--encoder", "encoders", multiple=True, metavar="ROW=SPEC",
              help="An encoder of yours that stands in for a printed row: GloVe_840B=vectors:glove.6B.300d.txt")  # fmt: skip
@click.option("--row", "rows", multiple=True, metavar="ROW", help="Only these printed rows.")
@ONLY_TASKS
@click.option("--probe", metavar="NAME", help="Another probe than the paper's.")
@click.option("--folds", type=int, metavar="K", help="Another number of folds than the paper's.")
@click.option("--limit", type=int, metavar="N", help="Use N rows of each split only, to try things out.")
@click.option("--quiet", is_flag=True, help="No progress.")
def reproduce(
    table: str | None,
    dry_run: bool,
    data: str | None,
    output: Path,
    encoders: tuple[str, ...],
    rows: tuple[str, ...],
    tasks: str | None,
    quiet: bool,
    **settings: str | int | None,
) -> None:
    """Run a published TABLE again, as far as data and weights are here, and print published, ours and the difference.

    Without TABLE, list the tables that have a plan.
    """
    if table is None:
        echo("\n".join(TABLES))
        return
    stand_ins: dict[str, str] = {}
    for encoder in encoders:
        row, equals, specification = encoder.partition("=")
        if not equals or not specification:
            raise SettingsError(f"--encoder is {encoder!r}; expected ROW=SPECIFICATION")
        if stand_ins.setdefault(row, specification) != specification:
            raise SettingsError(f"--encoder {row} is given twice, as {stand_ins[row]} and {specification}; give it once")
    changes = {name: value for name, value in settings.items() if value is not None}
    plan = plan_table(table, data, stand_ins, **changes)
    if rows:
        known = {cell.number.encoder for cell in plan.cells}
        if unknown := [row for row in rows if row not in known]:
            raise SettingsError(f"{table} has no row {unknown[0]!r}; it has {', '.join(sorted(known))}")
        plan = replace(plan, cells=tuple(cell for cell in plan.cells if cell.number.encoder in rows))
    if tasks is not None:
        chosen = {task.name for task in registry.select_tasks(tasks)}
        plan = replace(plan, cells=tuple(cell for cell in plan.cells if cell.task in chosen))
    if dry_run:
        echo(render_plan(plan))
        return
    outcome = run_plan(plan, data, store=ResultStore(output), cache=EmbeddingCache(), announce=announcer(quiet))
    echo(render_reproduction(outcome))
    if outcome.failures:
        sys.exit(BAD_INPUT)
    if any(cell.missing for cell in outcome.cells):
        sys.exit(DATA_ABSENT)
