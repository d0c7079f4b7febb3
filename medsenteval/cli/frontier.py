"""``medsenteval frontier``: how small can an encoder's vectors be before its score suffers?"""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared_options as shared
from medsenteval.cli.terminal import echo
from medsenteval.comparison.frontier import compression_frontier
from medsenteval.datasets.locate import data_root
from medsenteval.report.answer_tables import render_frontier
from medsenteval.report.charts.frontier_chart import frontier_panels


@click.command()
@shared.results_named
@shared.ONLY_TASKS
@shared.DATA
@click.option("--dimensions", metavar="N,...", help="Leading coordinates to keep; default halves down to 16.")
@shared.FIGURE
@shared.FORMAT
def frontier(
    what: tuple[str, ...],
    folder: Path,
    tasks: str | None,
    data: str | None,
    dimensions: str | None,
    figure: Path | None,
    style: str,
) -> None:
    """Show bytes per vector against score: fewer dimensions in float32, int8 and one bit, from cached vectors alone.

    Losses are those against all dimensions in float32, with paired 95 % intervals.
    """
    sizes = shared.whole_numbers_in("--dimensions", dimensions)
    results = shared.stored_results(what, folder, tasks)
    found, left_out = compression_frontier(results, data_root(data), dimensions=sizes)
    echo("\n\n".join(render_frontier(each, style) for each in found))
    if style == "text":
        shared.say_cautions(results)
    for reason in left_out:
        echo(f"Not scored: {reason}.", err=True)
    shared.say_synthetic(results)
    shared.draw(figure, frontier_panels, found)
