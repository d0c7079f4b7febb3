"""``medsenteval gap``: what encoders lose between general and biomedical text."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.contracts import Result
from medsenteval.errors import SettingsError
from medsenteval.report.answer_tables import render_gaps, render_paired_gaps
from medsenteval.report.charts.domain_gap_chart import gap_panels


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
