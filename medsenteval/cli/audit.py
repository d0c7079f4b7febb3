"""``medsenteval audit``: does the ranking survive other ways to prepare and test the same vectors?"""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli.stored_results import say_cautions
from medsenteval.cli.terminal import echo

__all__ = ["audit"]


@click.command()
@click.argument("what", nargs=-1, metavar="[RESULTS|ENCODER]...")
@click.option("-r", "--results", "folder", default="results", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where encoders named by their name have their results; default results.")  # fmt: skip
@click.option("-t", "--tasks", metavar="NAMES", help="Only these tasks or groups of tasks.")
@click.option("-d", "--data", metavar="FOLDER", help="Data folder of the runs; default MEDSENTEVAL_DATA.")
@click.option("--all", "every", is_flag=True, help="List every conclusion, also those that hold.")
@click.option("--format", "style", default="text", metavar="NAME", help="text (default), markdown, latex or csv")
@click.option("--level", default=0.05, metavar="P", help="Level of significance; default 0.05.")
@click.option("--quiet", is_flag=True, help="No progress.")
def audit(
    what: tuple[str, ...], folder: Path, tasks: str | None, data: str | None, every: bool, style: str, level: float, quiet: bool
) -> None:
    """Score stored results again from cached vectors and say which significant leads survive.

    Vectors are scaled to unit length, centred, whitened, freed of their top directions and projected to a common size;
    nearest neighbours replace the probe, folds are grouped, seeds changed. No encoder is called.
    """
    from medsenteval.comparison.audit import audit_results
    from medsenteval.datasets.locate import data_root
    from medsenteval.errors import SettingsError
    from medsenteval.report.audit_table import render_audit
    from medsenteval.report.comparison_table import FORMATS
    from medsenteval.running.result_store import load_results, of_tasks

    if style not in FORMATS:
        raise SettingsError(f"--format is {style!r}; it can be {', '.join(FORMATS)}")
    results = of_tasks(load_results(what, folder), tasks)
    told = audit_results(
        results, data_root(data), level=level, announce=lambda message: None if quiet else echo(message, err=True)
    )
    echo(render_audit(told, style, every))
    if style == "text":
        say_cautions(results)
