"""``medsenteval export``: stored results handed over to other tools."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli.shared_options import PATH, TO_FILE, results_named, stored_results, write_or_echo
from medsenteval.cli.terminal import echo
from medsenteval.interop.model_card import model_card_block
from medsenteval.interop.mteb_results import export_results


@click.group()
def export() -> None:
    """Hand results over: to mteb, or to the card of a model."""


@export.command()
@results_named
@click.option("-o", "--output", required=True, type=PATH, metavar="FOLDER", help="Where to write MODEL/REVISION/TASK.json.")
def mteb(what: tuple[str, ...], folder: Path, output: Path) -> None:
    """Write results in the form and layout that mteb reads; `compare --with FOLDER` reads them back."""
    written = export_results(stored_results(what, folder), output)
    echo(f"{len(written)} result(s) written below {output}")


@export.command("model-card")
@results_named
@TO_FILE
def model_card(what: tuple[str, ...], folder: Path, output: Path | None) -> None:
    """Write one encoder's results as the YAML block that opens a model's README.md on the hub.

    Every metric has its interval and the signature that repeats it.
    """
    write_or_echo(model_card_block(stored_results(what, folder)), output)
