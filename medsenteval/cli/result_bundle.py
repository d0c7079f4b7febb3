"""``medsenteval results``: results in one file that others can check and compare with."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from medsenteval.cli.shared import ONLY_TASKS, PATH, echo, results_named
from medsenteval.comparison.bundle_verification import conflicts, verify_bundle
from medsenteval.errors import DataError, SettingsError
from medsenteval.running.result_bundle import SUFFIX, pack_results
from medsenteval.running.result_store import ResultStore, load_results, of_tasks


@click.group()
def results() -> None:
    """Bundles of results: pack them, verify somebody else's, add them to a folder that compare and report read."""


@results.command()
@results_named
@ONLY_TASKS
@click.option("-o", "--output", required=True, type=PATH, metavar="FILE", help="The bundle; its name ends in .results.zip.")
def pack(what: tuple[str, ...], folder: Path, tasks: str | None, output: Path) -> None:
    """Pack results into one file: scores, ids and answers with their hashes, no texts."""
    if not output.name.endswith(SUFFIX):
        raise SettingsError(f"--output is {str(output)!r}; a bundle's name ends in {SUFFIX}, by which it is found again")
    found = of_tasks(load_results(what, folder), tasks)
    pack_results(found, output)
    echo(f"{output}: {len(found)} result(s), {output.stat().st_size:,} bytes; `medsenteval results verify` checks it")


@results.command()
@click.argument("bundles", nargs=-1, required=True, type=PATH, metavar="BUNDLE...")
def verify(bundles: tuple[Path, ...]) -> None:
    """Check every hash of bundles and compute every score again from the items; a changed byte is refused."""
    for path in bundles:
        found, beyond = verify_bundle(path)
        recomputed = sum(len(result.metrics) for result in found) - len(beyond)
        echo(f"{path}: unchanged; {len(found)} result(s), {recomputed} score(s) computed again from the items")
        for place in beyond:
            echo(f"  not computed again, the items do not give it: {place}")


@results.command()
@click.argument("bundle", type=PATH)
@click.argument("folder", type=PATH)
def add(bundle: Path, folder: Path) -> None:
    """Verify BUNDLE and copy it into FOLDER, which `compare` and `report` then read whole."""
    found, _ = verify_bundle(bundle)
    folder.mkdir(parents=True, exist_ok=True)
    if different := conflicts(found, ResultStore(folder).results()):
        raise DataError(f"{bundle}: {folder} has other scores of the same job: {'; '.join(different)}; find out which is right")
    target = folder / (bundle.name if bundle.name.endswith(SUFFIX) else bundle.name + SUFFIX)
    if target.exists() and target.read_bytes() != bundle.read_bytes():
        raise DataError(f"{target}: another bundle of this name is there; rename one of them")
    if not target.exists():
        shutil.copyfile(bundle, target)
    echo(f"{target}: {len(found)} result(s) added; `medsenteval compare {folder}` reads them")
