"""``medsenteval export``: stored results handed over to other tools."""

from __future__ import annotations

from pathlib import Path

import click

from medsenteval.cli.shared_options import TO_FILE, results_named, settled, write_or_echo
from medsenteval.cli.terminal import echo
from medsenteval.running.result_store import load_results


@click.group()
def export() -> None:
    """Hand results over: to mteb, or to the card of a model."""


@export.command()
@results_named
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where to write MODEL/REVISION/TASK.json.")  # fmt: skip
def mteb(what: tuple[str, ...], folder: Path, output: Path) -> None:
    """Write results in the form and layout that mteb reads; `compare --with FOLDER` reads them back."""
    from medsenteval.interop.mteb_results import export_results

    written = export_results(settled(load_results(what, folder)), output)
    echo(f"{len(written)} result(s) written below {output}")


@export.command("model-card")
@results_named
@TO_FILE
def model_card(what: tuple[str, ...], folder: Path, output: Path | None) -> None:
    """Write one encoder's results as the YAML block that opens a model's README.md on the hub.

    Every metric has its interval and the signature that repeats it.
    """
    from medsenteval.interop.model_card import model_card_block

    write_or_echo(model_card_block(settled(load_results(what, folder))), output)
