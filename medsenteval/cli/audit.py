"""``medsenteval audit``: does the ranking survive changes of vectors, probe and seed?"""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.comparison.audit import audit_results
from medsenteval.datasets.locate import data_root
from medsenteval.report.answer_tables import render_audit
from medsenteval.running.result_store import load_results, of_tasks


@click.command()
@shared.results_named
@shared.ONLY_TASKS
@shared.DATA
@click.option("--all", "every", is_flag=True, help="List every conclusion, also those that hold.")
@shared.FORMAT
@shared.LEVEL
@click.option("--quiet", is_flag=True, help="No progress.")
def audit(
    what: tuple[str, ...], folder: Path, tasks: str | None, data: str | None, every: bool, style: str, level: float, quiet: bool
) -> None:
    """Score stored results again from cached vectors and say which significant leads survive.

    Vectors are scaled to unit length, centred, whitened, freed of their top directions and projected to a common size;
    nearest neighbours replace the probe, folds are grouped, seeds changed. No encoder is called.
    """
    results = of_tasks(load_results(what, folder), tasks)
    told = audit_results(results, data_root(data), level=level, announce=shared.announcer(quiet))
    echo(render_audit(told, style, every))
    if style == "text":
        shared.say_cautions(results)
