"""``medsenteval audit | frontier | gap | curve``: questions that stored results answer."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.comparison.audit import audit_results
from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.comparison.frontier import compression_frontier
from medsenteval.contracts import Result
from medsenteval.datasets.locate import data_root
from medsenteval.errors import SettingsError
from medsenteval.report.answer_tables import render_audit, render_frontier, render_gaps, render_paired_gaps
from medsenteval.report.charts.line_chart import frontier_panels
from medsenteval.report.charts.row_charts import gap_panels
from medsenteval.report.learning_curve_table import curve_panels, curve_points, render_curves
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


@click.command()
@shared.with_results
@shared.ONLY_TASKS
@shared.DATA
@click.option("--dimensions", metavar="N,...", callback=shared.whole_numbers,
              help="Leading coordinates to keep; default halves down to 16.")  # fmt: skip
@shared.FIGURE
@shared.FORMAT
def frontier(results: list[Result], data: str | None, dimensions: tuple[int, ...], figure: Path | None, style: str) -> None:
    """Show bytes per vector against score: fewer dimensions in float32, int8 and one bit, from cached vectors alone.

    Losses are those against all dimensions in float32, with paired 95 % intervals.
    """
    found, left_out = compression_frontier(results, data_root(data), dimensions=dimensions)
    echo("\n\n".join(render_frontier(each, style) for each in found))
    if style == "text":
        shared.say_cautions(results)
    for reason in left_out:
        echo(f"Not scored: {reason}.", err=True)
    shared.say_synthetic(results)
    shared.draw(figure, frontier_panels, found)


@click.command()
@shared.with_results
@click.option("--pair", "pairs", multiple=True, metavar="GENERAL,INDOMAIN",
              help="Two encoders: how much of the first one's gap the second closes.")  # fmt: skip
@shared.FIGURE
@shared.FORMAT
def gap(results: list[Result], pairs: tuple[str, ...], figure: Path | None, style: str) -> None:
    """Set each biomedical task beside its general counterparts, normalised by each task's best constant answer.

    Run both halves first: medsenteval run -t sentence,general -e ENCODER
    """
    gaps = domain_gaps(results)
    echo(render_gaps(gaps, style))
    for pair in pairs:
        general, comma, in_domain = pair.partition(",")
        if not comma:
            raise SettingsError(f"--pair is {pair!r}; expected GENERAL,INDOMAIN")
        echo(f"\n{render_paired_gaps(gaps, general.strip(), in_domain.strip(), style)}")
    shared.say_synthetic(results, err=style == "csv")
    shared.draw(figure, gap_panels, gaps)


@click.command()
@shared.with_results
@shared.FIGURE
@shared.FORMAT
def curve(results: list[Result], figure: Path | None, style: str) -> None:
    """Show scores by the part of the training rows that was used.

    Make the points first: medsenteval run -t TASK -e ENCODER --train-fraction 0.01,0.1,0.5 (or --shots 1,4,16)
    """
    points = curve_points(results)
    echo(render_curves(points, style))
    shared.say_synthetic(results, err=style == "csv")
    shared.draw(figure, curve_panels, points)
