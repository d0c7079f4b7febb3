"""``medsenteval data``: from nothing to a verified data folder."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from medsenteval import registry
from medsenteval.cli.commands import BAD_INPUT, DATA_ABSENT
from medsenteval.cli.shared import DATA, PATH, announcer, echo, echo_facts, echo_json, for_machines, line_width, task_names
from medsenteval.datasets.bundle import export_bundle, import_bundle
from medsenteval.datasets.description import describe_dataset
from medsenteval.datasets.download import Patience, fetch_data_set
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.datasets.manifest import Manifest, manifest, select
from medsenteval.datasets.overlap import corpus_overlap, corpus_texts
from medsenteval.datasets.prepare import Prepared
from medsenteval.datasets.prepare import prepare as prepare_one
from medsenteval.datasets.quality import NEAR, quality_lines
from medsenteval.datasets.status import AS_IT_IS, INCOMPLETE, MISSING, UNREADABLE, SetStatus, examine, what_to_do, where_is
from medsenteval.errors import DataError, DataMissingError, SettingsError
from medsenteval.support.text_table import text_table

_target = click.option("-d", "--data", metavar="FOLDER", help="Data folder, made if absent; default MEDSENTEVAL_DATA.")
_replace = click.option("--replace", "replace_old", is_flag=True, help="Replace files that are there and differ.")
_rejected = click.option("--accept-rejected", is_flag=True, help="Leave out rows that cannot be read, and say how many.")
_incomplete = click.option("--allow-incomplete", is_flag=True,
                           help="Take a data set that is far from its published size or lost over 2 % of rows.")  # fmt: skip
_names = click.argument("names", nargs=-1, metavar="[NAME]...")
_some_names = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group()
def data() -> None:
    """The data sets: which are ready, how the others are had, fetching, preparing, checking, carrying them elsewhere.

    A NAME is a data set (RQE, Bio-SimLex, STS12), a group of them (sentence, word, ner, terms, general) or all.
    """


@data.command()
@_names
@DATA
@for_machines
def status(names: tuple[str, ...], data: str | None, wide: bool, as_json: bool) -> None:
    """Read every data set whole and say in a line: ready, ready with differences, incomplete, unreadable, or missing.

    For missing ones the line says exactly what to do. Incomplete ones have less than 90 % of the published rows, or lost more
    than 2 % in reading; `run` scores them only with --allow-incomplete. Exit code 2 if something is unreadable or incomplete.
    """
    root = data_root(data)
    found = [examine(manifest, root) for manifest in select(names or ("all",))]
    if as_json:
        named = ((each, each.manifest) for each in found)
        echo_json([{"name": of.name, "group": of.group, "state": each.state, "said": _said(each)} for each, of in named])
    else:
        _show_status(found, line_width(wide))
    tally = Counter(each.state for each in found)
    echo(f"\n{', '.join(f'{count} {state}' for state, count in tally.items())} in {root}", err=as_json)
    if any(each.state in (UNREADABLE, INCOMPLETE) for each in found):
        sys.exit(BAD_INPUT)


def _said(found: SetStatus) -> str:
    if found.state == MISSING:
        return "; ".join(filter(None, [what_to_do(found.manifest), found.problem]))
    return found.problem if found.state == UNREADABLE else "; ".join([_counts(found), *found.differences])


def _show_status(found: list[SetStatus], most: int | None) -> None:
    """Print a row for each; the last column is as long as it needs to be, or wrapped to the terminal, and not drawn as one."""
    cells = [[each.manifest.name, each.manifest.group, each.state] for each in found]
    lines = text_table(["Data set", "Group", "State"], cells, [False] * 3, most and max(20, most - 34)).splitlines()
    width = max(map(len, lines))
    for line, said in zip(lines, ["Rows, differences, or what to do", "-" * 32, *map(_said, found)], strict=True):
        parts = [said] if most is None else wrap(said, max(20, most - width - 2), break_on_hyphens=False) or [""]
        for number, part in enumerate(parts):
            echo(f"{'' if number else line:<{width}}  {part}")


@data.command()
@click.argument("name")
@DATA
def where(name: str, data: str | None) -> None:
    """Say where a data set is, where it comes from, under what terms, and which files it consists of."""
    found = manifest(name)
    here = where_is(found, data_root(data))
    about = found.tasks[0]
    facts = {
        "Data set": f"{found.name} ({found.group}; read by {', '.join(task.name for task in found.tasks)})",
        "Here": str(here) if here is not None else "not found",
        "Folder": f"{found.folder}/ below the data folder",
        "Page": found.page,
        "Access": about.access,
        "Licence": about.licence,
        "Cite": about.citation,
        "Published": ", ".join(f"{split} {count:,}" for split, count in about.published_counts.items()),
        "Shrinks": found.shrinks,
        "To get it": what_to_do(found),
        "By hand": about.obtain,
        "Note": found.note,
    }
    echo_facts(facts)
    for layout, files in found.layouts.items():
        echo(f"Files, {layout}:")
        for file in files:
            known = [f"{file.rows:,} rows" if file.rows else "", f"{file.size:,} bytes" if file.size else ""]
            echo("  ".join(["", str(file.path), *filter(None, known), *(f"SHA-256 {digest}" for digest in file.sha256)]))
    for download in found.downloads:
        known_hash = f"SHA-256 {download.sha256}" if download.sha256 else "(no hash known)"
        echo("\n  ".join([f"Download: {download.name}  {known_hash}", *download.urls]))


@data.command()
@_names
@DATA
@click.option("--examples", type=click.IntRange(0, 50), default=3, metavar="N", help="Examples of each split; default 3.")
def show(names: tuple[str, ...], data: str | None, examples: int) -> None:
    """Show data sets' splits, labels, lengths, examples, majority score, leaks and contradictions.

    These are duplicates, near ones too, within splits and across train and test, opposite labels, and what nobody can get
    right. Near duplicates have word sets with a Jaccard similarity of 0.8 or more, case ignored, on both sides of a pair.
    """
    root = data_root(data)
    tasks = [task for found in _chosen(names, root) for task in found.tasks]
    for number, task in enumerate(tasks):
        if number:
            echo()
        echo(describe_dataset(load_dataset(task, root, AS_IT_IS), examples))


@data.command()
@_names
@DATA
def quality(names: tuple[str, ...], data: str | None) -> None:
    """Report leaks and contradictions: duplicates, near ones too, across splits, opposite labels, what nobody can get right."""
    root = data_root(data)
    for task in (task for found in _chosen(names, root) for task in found.tasks):
        for line in quality_lines(load_dataset(task, root, AS_IT_IS)):
            echo(f"{task.name}: {line}")
    echo(f"\nNear duplicates: word sets with a Jaccard similarity of {NEAR} or more, case ignored, both sides of a pair.")


@data.command()
@click.argument("source", metavar="FILE")
@click.option("--examples", type=click.IntRange(0, 50), default=0, metavar="N", help="Show N texts of each split; default 0.")
def describe(source: str, examples: int) -> None:
    """Show what would be read from data of your own: which column is what, labels, lengths, duplicates, what was rejected.

    FILE is a file or folder, with options as `run --tasks file:FILE` takes them (notes.csv,label=severity), or hf:OWNER/NAME.
    """
    (task,) = registry.select_tasks(source if source.startswith(("file:", "hf:")) else f"file:{source}")
    dataset = load_dataset(task, Path(), AS_IT_IS)
    echo(f"{task.name}: {task.own_data}; {task.family}, {task.protocol_under(AS_IT_IS)}, data={dataset.fingerprint[:12]}")
    for row in dataset.rejected[:10]:
        echo(f"rejected: {row}")
    if len(dataset.rejected) > 10:
        echo(f"rejected: {len(dataset.rejected) - 10:,} more")
    echo(f"\n{describe_dataset(dataset, examples)}")


@data.command()
@click.argument("corpus", type=PATH)
@task_names("Tasks or groups of tasks; default sentence.", "sentence")
@DATA
@click.option("--column", default="", metavar="NAME", help="The column of a table that holds the texts; default text.")
@click.option("--examples", type=click.IntRange(0), default=3, metavar="N", help="Show N places of each task; default 3.")
def overlap(corpus: Path, tasks: str, data: str | None, column: str, examples: int) -> None:
    """Find tasks' texts in a training corpus, word for word or nearly: what an encoder has seen, it need not understand.

    CORPUS has a text on each line, or is a table (.csv, .jsonl, .parquet, ...); both may be gzipped. Exit code 3 if the data
    of a task is absent.
    """
    of_task: dict[str, list[str]] = {}
    absent = []
    for task in registry.select_tasks(tasks):
        try:
            dataset = load_dataset(task, data_root(data), AS_IT_IS)
        except DataMissingError:
            absent.append(task.name)
            continue
        of_task[task.name] = list(dict.fromkeys(dataset.all_texts()))
    everything = list(dict.fromkeys(text for texts in of_task.values() for text in texts))
    places = corpus_overlap(everything, corpus_texts(corpus, column)) if everything else {}
    for name, texts in of_task.items():
        seen = [(text, places[text]) for text in texts if text in places]
        same = sum(max(where.values()) == 1 for _, where in seen)
        echo(f"{name}: {len(seen):,} of {len(texts):,} texts occur in {corpus.name}, {same:,} of them with the same words")
        for text, where in seen[:examples]:
            line, share = max(where.items(), key=lambda place: place[1])
            more = f" and {len(where) - 1:,} more" if len(where) > 1 else ""
            echo(f"  line {line:,}{more} (similarity {share:.2f}): {text[:80]}{'…' if len(text) > 80 else ''}")
    echo(
        f"\nFound: word sets with a Jaccard similarity of {NEAR} or more, case ignored. A text that is not found may still "
        "have\nbeen seen in other words, or in other data: this says what is in the corpus, and never that an encoder is clean."
    )
    if absent:
        echo(f"Left out, data absent: {', '.join(absent)}", err=True)
        sys.exit(DATA_ABSENT)


@data.command()
@_some_names
@_target
@click.option("--offline", is_flag=True, help="Use what was downloaded before and nothing else.")
@click.option("--mirror", default="", metavar="URL", help="Ask this address first; it has files as URL/NAME/FILE.")
@click.option("--accept-changed", is_flag=True, help="Trust a file that differs from the one fetched first.")
@click.option("--attempts", type=click.IntRange(1, 100), default=4, help="Attempts at each address; default 4.")
@click.option("--timeout", type=click.FloatRange(0.1, 86_400), default=30.0, help="Seconds without a byte; default 30.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
@_replace
@_rejected
@_incomplete
def fetch(names: tuple[str, ...], data: str | None, attempts: int, timeout: float, **accepted: Any) -> None:
    """Download open data sets from their official addresses, verify them and prepare them.

    Interrupted downloads of known hash go on where they stopped. Where none is published, the first download is remembered in
    data.lock.json and a later change is refused.
    """
    root, patience = _root(data), Patience(attempts, timeout)
    _put_in_place(names, lambda found: fetch_data_set(found, root, announcer(quiet=False), patience=patience, **accepted))


@data.command()
@_some_names
@click.option("--from", "sources", multiple=True, required=True, metavar="PATH", type=PATH,
              help="What you have: zip, tar, gz, rar, a folder or a file; repeat for several.")  # fmt: skip
@_target
@_replace
@_rejected
@_incomplete
def prepare(names: tuple[str, ...], sources: tuple[Path, ...], data: str | None, **accepted: bool) -> None:
    """Find a data set's files in what you have, by content; convert, verify and put them in place, or say exactly why not."""
    root = _root(data)
    _put_in_place(names, lambda manifest: prepare_one(manifest, sources, root, **accepted))


def _put_in_place(names: tuple[str, ...], make: Callable[[Manifest], Prepared]) -> None:
    """Make one data set after the other and report them; one that cannot be made keeps none of the others from it."""
    failed = []
    for found in select(names):
        try:
            prepared = make(found)
        except DataError as error:
            failed.append(found.name)
            echo(f"Error: {error}", err=True)
            continue
        _report(prepared.status)
        for path, origin in prepared.origins:
            echo(f"  {path}: {origin}")
        for note in prepared.notes:
            echo(f"  note: {note}")
    if failed:
        echo(f"Not in place: {', '.join(failed)} (see the messages above)", err=True)
        sys.exit(BAD_INPUT)


@data.command(name="export")
@click.argument("bundle", metavar="BUNDLE.zip", type=PATH)
@_names
@DATA
@click.option("--restricted", is_flag=True, help="Include sets that are not open; their terms bind whoever opens the bundle.")
def export_(bundle: Path, names: tuple[str, ...], data: str | None, restricted: bool) -> None:
    """Write prepared data sets into one file, to carry to a machine without internet."""
    root = data_root(data)
    included, left_out = export_bundle(bundle, _chosen(names, root), root, restricted)
    for name, reason in left_out.items():
        if names or reason != MISSING:  # another set of its folder is there
            echo(f"left out {name}: {reason}", err=True)
    echo(f"{bundle}: {', '.join(included)} ({bundle.stat().st_size:,} bytes)")


@data.command(name="import")
@click.argument("bundle", metavar="BUNDLE.zip", type=PATH)
@_target
@_replace
def import_(bundle: Path, data: str | None, replace_old: bool) -> None:
    """Check a bundle that `data export` wrote and put its data sets in place."""
    for status_ in import_bundle(bundle, _root(data), replace_old):
        _report(status_)


def _root(data: str | None) -> Path:
    """Return the data folder to write into; the bundled sample is none."""
    chosen = data or os.environ.get("MEDSENTEVAL_DATA")
    if not chosen:
        raise SettingsError("no data folder to write into; name one with --data or MEDSENTEVAL_DATA")
    root = Path(chosen).expanduser()
    if root.exists() and not root.is_dir():
        raise SettingsError(f"{root} is not a folder; name another one with --data or MEDSENTEVAL_DATA")
    return root


def _chosen(names: tuple[str, ...], root: Path) -> list[Manifest]:
    """Return the data sets that were named, and without a name all that are here."""
    return list(select(names)) if names else [found for found in select(("all",)) if where_is(found, root) is not None]


def _counts(found: SetStatus) -> str:
    if len(found.counts) in (2, 3):
        return ", ".join(f"{name} {count:,}" for name, count in found.counts.items())
    return f"{sum(found.counts.values()):,} rows"


def _report(found: SetStatus) -> None:
    echo(f"{found.manifest.name}: {found.state}: {_counts(found)}" + (f" in {found.folder}" if found.folder else ""))
    for line in filter(None, (found.problem, *found.differences, *found.notes)):
        echo(f"  {line}")
