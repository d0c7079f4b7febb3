"""``medsenteval export``: stored results handed over to other tools."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli.shared import PATH, TO_FILE, echo, with_results, write_or_echo
from medsenteval.contracts import Result
from medsenteval.interop.model_card import model_card_block
from medsenteval.interop.mteb_results import export_results


@click.group()
def export() -> None:
    """Hand results over: to mteb, or to the card of a model."""


@export.command()
@with_results
@click.option("-o", "--output", required=True, type=PATH, metavar="FOLDER", help="Where to write MODEL/REVISION/TASK.json.")
def mteb(results: list[Result], output: Path) -> None:
    """Write results in the form and layout that mteb reads; `compare --with FOLDER` reads them back."""
    written = export_results(results, output)
    echo(f"{len(written)} result(s) written below {output}")


@export.command("model-card")
@with_results
@TO_FILE
def model_card(results: list[Result], output: Path | None) -> None:
    """Write one encoder's results as the YAML block that opens a model's README.md on the hub.

    Every metric has its interval and the signature that repeats it.
    """
    write_or_echo(model_card_block(results), output)
