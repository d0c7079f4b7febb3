"""``medsenteval figures``: the report's figures as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.errors import SettingsError
from medsenteval.report import loading
from medsenteval.report.figures import check_formats, write_figures
from medsenteval.report.page_content import PageOptions


@click.command()
@shared.results_named
@click.option("-o", "--output", default="figures", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Where to write the figures; default figures.")  # fmt: skip
@click.option("--format", "formats", default="svg", metavar="NAMES", help="svg (default), png, pdf, or several: svg,pdf")
@shared.ONLY_TASKS
@shared.SUBSETS_BY
@click.option("--width", metavar="column|page|INCHES",
              help="Width for a paper: column (3.3 inches), page (6.9) or a number; letters of 7 points or more.")  # fmt: skip
@shared.LEVEL
def figures(what: tuple[str, ...], output: Path, formats: str, width: str | None, level: float, **chosen: Any) -> None:
    """Write the heat map, the intervals of each task, the critical-difference diagram and the others as files."""
    kinds = tuple(dict.fromkeys(shared.names_in(formats.casefold())))
    inches = None if width is None else _inches(width)
    # Refused before anything is computed.
    check_formats(kinds)
    loading.ready_folder(output)
    written = write_figures(loading.page_of(what, **chosen, options=PageOptions(level=level)), output, kinds, inches)
    echo(f"{len(written)} file(s) in {output}")


def _inches(width: str) -> float:
    named = {"column": 3.3, "page": 6.9}
    try:
        inches = named[width] if width in named else float(width)
    except ValueError:
        inches = 0.0
    if not 2.5 <= inches <= 100:
        raise SettingsError(f"--width is {width!r}; it can be column, page, or a number of inches from 2.5 on")
    return inches
