"""``medsenteval export-mteb``: stored results as mteb's result files."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["export_mteb"]


@click.command("export-mteb")
@click.argument("what", nargs=-1, metavar="[RESULTS|ENCODER]...")
@click.option("-r", "--results", "folder", default="results", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where encoders named by their name have their results; default results.")  # fmt: skip
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where to write MODEL/REVISION/TASK.json.")  # fmt: skip
def export_mteb(what: tuple[str, ...], folder: Path, output: Path) -> None:
    """Write results in the form and layout that mteb reads; `compare --with FOLDER` reads them back."""
    from medsenteval.interop.mteb_results import export_results
    from medsenteval.store import load_results

    written = export_results(load_results(what, folder), output)
    click.echo(f"{len(written)} result(s) written below {output}")
