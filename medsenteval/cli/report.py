"""``medsenteval report``: results as one page to read and to send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.report import loading
from medsenteval.report.page_content import PageOptions
from medsenteval.report.page_html import render_page
from medsenteval.support.atomic_files import write_atomically


@click.command()
@shared.results_named
@click.option("-o", "--output", default="report.html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Where to write the page; default report.html.")  # fmt: skip
@shared.ONLY_TASKS
@click.option("--with", "beside", type=click.Choice(["reference"]), help="Add the reference encoders' results.")
@click.option("--title", default="How good are these encoders on biomedical text?", metavar="TEXT", help="The page's title.")
@click.option("--examples", type=click.IntRange(1), is_flag=False, flag_value=10, metavar="[N]",
              help="Show the texts of N items (default 10) on which encoders disagree, read from the data folder.")  # fmt: skip
@click.option("-d", "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER",
              help="Data folder of the run; default MEDSENTEVAL_DATA, then the bundled sample.")  # fmt: skip
@click.option(
    "--include-restricted", is_flag=True, help="Show items of data sets that are not open, to those who may see them."
)
@shared.SUBSETS_BY
@click.option("--rope", default=1.0, metavar="POINTS",
              help="The largest difference that does not matter, in points (correlations: hundredths); default 1.")  # fmt: skip
@shared.RESAMPLES
@shared.LEVEL
@shared.CORRECTION
def report(
    what: tuple[str, ...],
    output: Path,
    folder: Path,
    tasks: str | None,
    beside: str | None,
    subsets_by: Path | None,
    **options: Any,
) -> None:
    """Make one page of results that opens offline: scores, figures, cost, and every task in detail.

    RESULTS are folders or files that `medsenteval run` stored; ENCODER is the name of an encoder in the results folder. Texts
    are on the page only with --examples, and those of restricted data sets only with --include-restricted.
    """
    loading.ready_folder(output.parent)
    page = loading.page_of(what, folder, tasks, subsets_by, PageOptions(**options), reference=beside is not None)
    write_atomically(output, render_page(page))
    echo(f"{output}: {len(page.comparison.encoders)} encoder(s), {len(page.views)} task(s)")
    if page.options.include_restricted and any(view.access != "open" for view in page.views):
        echo("Items of restricted data sets are on this page: share it only with those who may see them.", err=True)
