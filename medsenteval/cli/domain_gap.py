"""``medsenteval gap``: what encoders lose between general and biomedical text."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared_options as shared
from medsenteval.cli.terminal import echo
from medsenteval.comparison.domain_gap import domain_gaps, paired_gaps
from medsenteval.errors import SettingsError
from medsenteval.report.answer_tables import render_gaps, render_paired_gaps
from medsenteval.report.charts.domain_gap_chart import gap_panels


@click.command()
@shared.results_named
@click.option("--pair", "pairs", multiple=True, metavar="GENERAL,INDOMAIN",
              help="Two encoders: how much of the first one's gap the second closes.")  # fmt: skip
@shared.FIGURE
@shared.FORMAT
def gap(what: tuple[str, ...], folder: Path, pairs: tuple[str, ...], figure: Path | None, style: str) -> None:
    """Set each biomedical task beside its general counterparts, normalised by each task's best constant answer.

    Run both halves first: medsenteval run -t sentence,general -e ENCODER
    """
    results = shared.stored_results(what, folder)
    gaps = domain_gaps(results)
    echo(render_gaps(gaps, style))
    for pair in pairs:
        general, comma, in_domain = pair.partition(",")
        if not comma:
            raise SettingsError(f"--pair is {pair!r}; expected GENERAL,INDOMAIN")
        echo(f"\n{render_paired_gaps(paired_gaps(gaps, general.strip(), in_domain.strip()), style)}")
    shared.say_synthetic(results, err=style == "csv")
    shared.draw(figure, gap_panels, gaps)
