"""``medsenteval frontier``: how small can an encoder's vectors be before its score suffers?"""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.comparison.frontier import compression_frontier
from medsenteval.contracts import Result
from medsenteval.datasets.locate import data_root
from medsenteval.report.answer_tables import render_frontier
from medsenteval.report.charts.frontier_chart import frontier_panels


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
