"""``medsenteval frontier``: how small can an encoder's vectors be before its score suffers?"""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli.stored_results import say_cautions, settled
from medsenteval.cli.terminal import echo

__all__ = ["frontier"]


@click.command()
@click.argument("what", nargs=-1, metavar="[RESULTS|ENCODER]...")
@click.option("-r", "--results", "folder", default="results", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where encoders named by their name have their results; default results.")  # fmt: skip
@click.option("-t", "--tasks", metavar="NAMES", help="Only these tasks or groups of tasks.")
@click.option("-d", "--data", metavar="FOLDER", help="Data folder of the runs; default MEDSENTEVAL_DATA, then the sample.")
@click.option("--dimensions", metavar="N,...", help="Leading coordinates to keep; default halves down to 16.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .svg, .png or .pdf")
@click.option("--format", "style", default="text", metavar="NAME", help="text (default), markdown, latex or csv")
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
    from medsenteval.comparison.frontier import compression_frontier
    from medsenteval.datasets.locate import data_root
    from medsenteval.errors import SettingsError
    from medsenteval.report.comparison_table import FORMATS
    from medsenteval.report.frontier_table import draw_frontiers, render_frontier
    from medsenteval.running.result_store import load_results, of_tasks
    from medsenteval.running.score_table import SYNTHETIC_WARNING

    if style not in FORMATS:
        raise SettingsError(f"--format is {style!r}; it can be {', '.join(FORMATS)}")
    parts = [part.strip() for part in (dimensions or "").split(",") if part.strip()]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise SettingsError(f"--dimensions is {dimensions!r}; expected whole numbers separated by commas")
    results = settled(of_tasks(load_results(what, folder), tasks))
    found, left_out = compression_frontier(results, data_root(data), dimensions=[int(part) for part in parts])
    echo("\n\n".join(render_frontier(each, style) for each in found))
    if style == "text":
        say_cautions(results)
    for reason in left_out:
        echo(f"Not scored: {reason}.", err=True)
    if any(result.synthetic for result in results):
        echo(SYNTHETIC_WARNING)
    if figure is not None:
        draw_frontiers(found, figure)
        echo(f"drawn: {figure}", err=True)
