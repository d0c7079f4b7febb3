"""``medsenteval data``: from nothing to a verified data folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from medsenteval.commands import BAD_INPUT

if TYPE_CHECKING:
    from medsenteval.acquisition.fetching import Progress
    from medsenteval.acquisition.preparing import Prepared
    from medsenteval.acquisition.status import SetStatus

__all__ = ["data"]

_folder = click.option(
    "-d", "--data", "folder", metavar="FOLDER", help="Data folder; default MEDSENTEVAL_DATA, then the bundled sample."
)
_target = click.option(
    "-d", "--data", "folder", metavar="FOLDER", help="Data folder, made if absent; default MEDSENTEVAL_DATA."
)
_replace = click.option("--replace", "replace_old", is_flag=True, help="Replace files that are there and differ.")
_rejected = click.option("--accept-rejected", is_flag=True, help="Leave out rows that cannot be read, and say how many.")
_names = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.group()
def data() -> None:
    """The data sets: which are ready, how the others are had, fetching, preparing, checking, carrying them elsewhere.

    A NAME is a data set (RQE, Bio-SimLex, STS12), a group of them (sentence, word, ner, terms, general) or all.
    """


@data.command()
@_names
@_folder
def status(names: tuple[str, ...], folder: str | None) -> None:
    """Read every data set whole and say in a line: ready, ready with differences, found but unreadable, or missing.

    For missing ones the line says exactly what to do. Exit code 2 if something is unreadable.
    """
    from medsenteval.acquisition.manifest import select
    from medsenteval.acquisition.status import MISSING, UNREADABLE, examine, what_to_do
    from medsenteval.datasets import data_root
    from medsenteval.report.table import text_table

    root = data_root(folder)
    found = [examine(manifest, root) for manifest in select(names or ("all",))]
    rows, texts = [], []
    for each in found:
        if each.state == MISSING:
            said = what_to_do(each.manifest)
        elif each.state == UNREADABLE:
            said = each.problem
        else:
            said = "; ".join([_counts(each), *each.differences])
        rows.append([each.manifest.name, each.manifest.group, each.state])
        texts.append(said)
    # The last column is as long as it needs to be and is not drawn as one.
    lines = text_table(["Data set", "Group", "State"], rows, [False] * 3).splitlines()
    width = max(map(len, lines))
    for line, said in zip(lines, ["Rows, differences, or what to do", "-" * 32, *texts], strict=True):
        click.echo(f"{line:<{width}}  {said}")
    tally = {state: sum(1 for each in found if each.state == state) for state in dict.fromkeys(each.state for each in found)}
    click.echo(f"\n{', '.join(f'{count} {state}' for state, count in tally.items())} in {root}")
    if any(each.state == UNREADABLE for each in found):
        sys.exit(BAD_INPUT)


@data.command()
@click.argument("name")
@_folder
def where(name: str, folder: str | None) -> None:
    """Say where a data set is, where it comes from, under what terms, and which files it consists of."""
    from medsenteval.acquisition.manifest import manifest
    from medsenteval.acquisition.status import what_to_do, where_is
    from medsenteval.datasets import data_root

    found = manifest(name)
    here = where_is(found, data_root(folder))
    counts = ", ".join(f"{split} {count:,}" for split, count in found.counts.items())
    lines = {
        "Data set": f"{found.name} ({found.group}; read by {', '.join(task.name for task in found.tasks) or 'no task yet'})",
        "Here": str(here) if here is not None else "not found",
        "Folder": f"{found.folder}/ below the data folder",
        "Page": found.page,
        "Access": found.access,
        "Licence": found.licence,
        "Cite": found.citation,
        "Published": counts,
        "To get it": what_to_do(found),
        "By hand": found.obtain,
        "Note": found.note,
    }
    for key, value in lines.items():
        if value:
            click.echo(f"{key + ':':<11}{value}")
    for layout, files in found.layouts.items():
        click.echo(f"Files, {layout}:")
        for file in files:
            known = [f"{file.rows:,} rows" if file.rows else "", f"{file.size:,} bytes" if file.size else ""]
            known += [f"SHA-256 {digest}" for digest in file.sha256]
            click.echo(f"  {file.path}" + "".join(f"  {each}" for each in known if each))
    for download in found.downloads:
        click.echo(f"Download: {download.name}" + (f"  SHA-256 {download.sha256}" if download.sha256 else "  (no hash known)"))
        for url in download.urls:
            click.echo(f"  {url}")


@data.command()
@click.argument("name")
@_folder
@click.option("--examples", type=click.IntRange(0, 50), default=3, metavar="N", help="Examples of each split; default 3.")
def show(name: str, folder: str | None, examples: int) -> None:
    """Show a data set's splits, labels, lengths, examples, duplicates, overlap of train and test, and the majority score."""
    from medsenteval.acquisition.describing import describe_dataset
    from medsenteval.acquisition.manifest import manifest
    from medsenteval.datasets import data_root, load_dataset
    from medsenteval.settings import Settings

    found = manifest(name)
    root = data_root(folder)
    if not found.tasks:
        from medsenteval.acquisition.status import examine

        _report(examine(found, root))
        return
    for task in found.tasks:
        click.echo(describe_dataset(load_dataset(task, root, Settings()), examples))


@data.command()
@_names
@_folder
def quality(names: tuple[str, ...], folder: str | None) -> None:
    """Report leaks and contradictions: duplicates, near ones too, across splits, opposite labels, what nobody can get right."""
    from medsenteval.acquisition.manifest import select
    from medsenteval.acquisition.status import where_is
    from medsenteval.datasets import data_root, load_dataset
    from medsenteval.quality import NEAR, describe_quality, examine_quality
    from medsenteval.settings import Settings

    root = data_root(folder)
    tasks = [task for found in select(names or ("all",)) if names or where_is(found, root) is not None for task in found.tasks]
    for task in tasks:
        dataset = load_dataset(task, root, Settings())
        for line in describe_quality(examine_quality(dataset)):
            click.echo(f"{task.name}: {line}")
    click.echo(f"\nNear duplicates: word sets with a Jaccard similarity of {NEAR} or more, case ignored, both sides of a pair.")


@data.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_target
@click.option("--offline", is_flag=True, help="Use what was downloaded before and nothing else.")
@click.option("--mirror", default="", metavar="URL", help="Ask this address first; it has files as URL/NAME/FILE.")
@click.option("--accept-changed", is_flag=True, help="Trust a file that differs from the one fetched first.")
@click.option("--attempts", type=click.IntRange(1, 100), default=4, help="Attempts at each address; default 4.")
@click.option("--timeout", type=click.FloatRange(0.1), default=30.0, help="Seconds without a byte; default 30.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
@_replace
@_rejected
def fetch(
    names: tuple[str, ...],
    folder: str | None,
    offline: bool,
    mirror: str,
    accept_changed: bool,
    attempts: int,
    timeout: float,
    quiet: bool,
    replace_old: bool,
    accept_rejected: bool,
) -> None:
    """Download open data sets from their official addresses, verify them and prepare them.

    Interrupted downloads go on where they stopped. Where no hash is published, the first download is remembered in
    data.lock.json and a later change is refused.
    """
    from medsenteval.acquisition.fetching import FetchSettings
    from medsenteval.acquisition.getting import FetchOptions, fetch_data_set
    from medsenteval.acquisition.manifest import select
    from medsenteval.errors import DataError

    root = _root(folder)
    options = FetchOptions(
        mirror=mirror,
        offline=offline,
        accept_changed=accept_changed,
        replace_old=replace_old,
        accept_rejected=accept_rejected,
        settings=FetchSettings(timeout=timeout, attempts=attempts),
    )
    failed = []
    for manifest in select(names):
        try:
            prepared = fetch_data_set(
                manifest, root, options, None if quiet else _progress_bar, lambda message: click.echo(message, err=True)
            )
        except DataError as error:  # noqa: PERF203
            failed.append(manifest.name)
            click.echo(f"Error: {error}", err=True)
        else:
            _report_prepared(prepared)
    if failed:
        click.echo(f"Not fetched: {', '.join(failed)} (the reasons stand above)", err=True)
        sys.exit(BAD_INPUT)


@data.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--from", "sources", multiple=True, required=True, metavar="PATH", type=click.Path(path_type=Path),
              help="What you have: zip, tar, gz, rar, a folder or a file; repeat for several.")  # fmt: skip
@_target
@_replace
@_rejected
def prepare(
    names: tuple[str, ...], sources: tuple[Path, ...], folder: str | None, replace_old: bool, accept_rejected: bool
) -> None:
    """Find a data set's files in what you have, by content; convert, verify and put them in place, or say exactly why not."""
    from medsenteval.acquisition.manifest import select
    from medsenteval.acquisition.preparing import prepare as prepare_one
    from medsenteval.errors import DataError

    root = _root(folder)
    failed = []
    for manifest in select(names):
        try:
            prepared = prepare_one(manifest, sources, root, replace_old=replace_old, accept_rejected=accept_rejected)
        except DataError as error:  # noqa: PERF203
            failed.append(manifest.name)
            click.echo(f"Error: {error}", err=True)
        else:
            _report_prepared(prepared)
    if failed:
        sys.exit(BAD_INPUT)


@data.command(name="export")
@click.argument("bundle", metavar="BUNDLE.zip", type=click.Path(path_type=Path))
@_names
@_folder
@click.option("--restricted", is_flag=True, help="Include sets that are not open; their terms bind whoever opens the bundle.")
def export_(bundle: Path, names: tuple[str, ...], folder: str | None, restricted: bool) -> None:
    """Write prepared data sets into one file, to carry to a machine without internet."""
    from medsenteval.acquisition.bundles import export_bundle
    from medsenteval.acquisition.manifest import select
    from medsenteval.acquisition.status import MISSING, where_is
    from medsenteval.datasets import data_root

    root = data_root(folder)
    chosen = [found for found in select(names or ("all",)) if names or where_is(found, root) is not None]
    exported = export_bundle(bundle, chosen, root, restricted)
    for name, reason in exported.left_out:
        if reason == MISSING and not names:
            continue  # another set of its folder is there
        click.echo(f"left out {name}: {reason}", err=True)
    click.echo(f"{bundle}: {', '.join(exported.included)} ({exported.size:,} bytes)")


@data.command(name="import")
@click.argument("bundle", metavar="BUNDLE.zip", type=click.Path(path_type=Path))
@_target
@_replace
def import_(bundle: Path, folder: str | None, replace_old: bool) -> None:
    """Check a bundle that `data export` wrote and put its data sets in place."""
    from medsenteval.acquisition.bundles import import_bundle

    for status_ in import_bundle(bundle, _root(folder), replace_old):
        _report(status_)


def _root(folder: str | None) -> Path:
    """Return the data folder to write into; the bundled sample is none."""
    import os

    from medsenteval.errors import SettingsError

    chosen = folder or os.environ.get("MEDSENTEVAL_DATA")
    if not chosen:
        raise SettingsError("no data folder to write into; name one with --data or MEDSENTEVAL_DATA")
    root = Path(chosen).expanduser()
    if root.exists() and not root.is_dir():
        raise SettingsError(f"{root} is not a folder; name another one with --data or MEDSENTEVAL_DATA")
    return root


def _counts(found: SetStatus) -> str:
    total = f"{sum(found.counts.values()):,} rows"
    if len(found.counts) in (0, 1) or len(found.counts) > 3:
        return total
    return ", ".join(f"{name} {count:,}" for name, count in found.counts.items())


def _report(found: SetStatus) -> None:
    click.echo(f"{found.manifest.name}: {found.state}: {_counts(found)}" + (f" in {found.folder}" if found.folder else ""))
    for line in (*([found.problem] if found.problem else []), *found.differences, *found.notes):
        click.echo(f"  {line}")


def _report_prepared(prepared: Prepared) -> None:
    _report(prepared.status)
    for path, origin in prepared.origins:
        click.echo(f"  {path}: {origin}")
    for note in prepared.notes:
        click.echo(f"  note: {note}")


def _progress_bar(name: str) -> Progress:
    from tqdm import tqdm

    bar = tqdm(desc=name, unit="B", unit_scale=True, unit_divisor=1024, leave=False, disable=None)

    def advance(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return advance
