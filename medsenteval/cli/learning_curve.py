"""``medsenteval curve``: learning curves from stored results."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.contracts import Result
from medsenteval.report.learning_curve_table import curve_panels, curve_points, render_curves


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
