"""``medsenteval curve``: learning curves from stored results."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli.stored_results import settled
from medsenteval.cli.terminal import echo

__all__ = ["curve"]


@click.command()
@click.argument("what", nargs=-1, metavar="[RESULTS|ENCODER]...")
@click.option("-r", "--results", "folder", default="results", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where encoders named by their name have their results; default results.")  # fmt: skip
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf")
@click.option("--format", "style", default="text", metavar="NAME", help="text (default), markdown, latex or csv")
def curve(what: tuple[str, ...], folder: Path, figure: Path | None, style: str) -> None:
    """Show scores by the part of the training rows that was used.

    Make the points first: medsenteval run -t TASK -e ENCODER --train-fraction 0.01,0.1,0.5 (or --shots 1,4,16)
    """
    from medsenteval.errors import SettingsError
    from medsenteval.report.comparison_table import FORMATS
    from medsenteval.report.learning_curve_table import curve_points, draw_curves, render_curves
    from medsenteval.running.result_store import load_results
    from medsenteval.running.score_table import SYNTHETIC_WARNING

    if style not in FORMATS:
        raise SettingsError(f"--format is {style!r}; it can be {', '.join(FORMATS)}")
    results = settled(load_results(what, folder))
    points = curve_points(results)
    echo(render_curves(points, style))
    if any(result.synthetic for result in results):
        echo(SYNTHETIC_WARNING, err=style == "csv")
    if figure is not None:
        draw_curves(points, figure)
        echo(f"drawn: {figure}", err=True)
