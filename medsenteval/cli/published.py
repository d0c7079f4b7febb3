"""``medsenteval published``: the literature's numbers, with their doubts."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict, fields

import click

from medsenteval.cli.shared import echo
from medsenteval.comparison.published.numbers import PublishedNumber, select_numbers
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table


@click.command()
@click.option("-t", "--task", default="", metavar="NAME", help="Only this task.")
@click.option("-e", "--encoder", default="", metavar="NAME", help="Only encoders whose name holds this.")
@click.option("--table", default="", metavar="NAME", help="Only this table (medsenteval-3) or paper (medisim).")
@click.option("--suspect", is_flag=True, help="Only numbers that cannot or need not be right, with the reason.")
@click.option("--csv", "as_csv", is_flag=True, help="All columns, as comma-separated values.")
def published(task: str, encoder: str, table: str, suspect: bool, as_csv: bool) -> None:
    """Show published numbers; without options, list the tables."""
    chosen = select_numbers(table=table, task=task, encoder=encoder, suspect=suspect)
    if as_csv:
        writer = csv.DictWriter(sys.stdout, [field.name for field in fields(PublishedNumber)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, chosen))
        return
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
