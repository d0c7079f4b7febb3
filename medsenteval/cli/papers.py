"""``medsenteval published`` and ``medsenteval reproduce``: the literature's numbers, and its tables as plans that run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from medsenteval import registry
from medsenteval.cli.commands import BAD_INPUT, DATA_ABSENT
from medsenteval.cli.shared import DATA, ONLY_TASKS, PATH, announcer, echo
from medsenteval.comparison.published.numbers import select_numbers
from medsenteval.comparison.reproduce import TABLES, plan_table, run_plan
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import SettingsError
from medsenteval.report.answer_tables import render_plan, render_reproduction
from medsenteval.running.result_store import ResultStore
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table


@click.command()
@click.option("-t", "--task", default="", metavar="NAME", help="Only this task.")
@click.option("-e", "--encoder", default="", metavar="NAME", help="Only encoders whose name holds this.")
@click.option("--table", default="", metavar="NAME", help="Only this table (medsenteval-3) or paper (medisim).")
@click.option("--suspect", is_flag=True, help="Only numbers that cannot or need not be right, with the reason.")
def published(task: str, encoder: str, table: str, suspect: bool) -> None:
    """Show published numbers; without options, list the tables."""
    chosen = select_numbers(table=table, task=task, encoder=encoder, suspect=suspect)
    if not (task or encoder or table or suspect):
        rows = []
        for name, inside in grouped((number.table, number) for number in chosen).items():
            doubtful = sum(bool(number.suspect) for number in inside)
            rows.append([name, str(len(inside)), str(doubtful or ""), inside[0].source])
        echo(text_table(["Table", "Numbers", "Suspect", "Source"], rows, [False, True, True, False]))
        return
    if not chosen:
        echo("No published number matches.")
        return
    suspects = dict.fromkeys(number.suspect for number in chosen if number.suspect)
    marks = {reason: f"?{place}" for place, reason in enumerate(suspects, start=1)}
    rows = [[n.table, n.encoder, n.task, n.setting, n.metric, n.printed, marks.get(n.suspect, ""), n.protocol] for n in chosen]
    header = ["Table", "Encoder", "Task", "Setting", "Metric", "Printed", "", "Protocol"]
    echo(text_table(header, rows, [False, False, False, False, False, True, False, False]))
    for reason, mark in marks.items():
        echo(f"{mark} suspect: {reason}")
    for name, inside in grouped((number.table, number) for number in chosen).items():
        echo(f"{name}: {inside[0].source}. {inside[0].how}.")
    for difference, tasks in grouped((number.differs, number.task) for number in chosen if number.differs).items():
        echo(f"Differs from a run of this toolkit, {', '.join(dict.fromkeys(tasks))}: {difference}.")


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
