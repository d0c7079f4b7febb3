"""From what a user names to a page: results, failures and word values read from disk, and the folder that it goes to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from medsenteval import registry
from medsenteval.comparison.word_subsets import read_word_values
from medsenteval.contracts import Result
from medsenteval.errors import SettingsError
from medsenteval.report.page_content import Page, PageOptions
from medsenteval.running.record import note_on_the_record
from medsenteval.running.result_schema import Failure
from medsenteval.running.result_store import ResultStore, load_results, of_tasks


def page_of(
    places: Sequence[str], folder: Path, tasks: str | None, subsets_by: Path | None, options: PageOptions, *,
    reference: bool = False,
) -> Page:  # fmt: skip
    """Load what ``medsenteval compare`` would load, with the jobs that failed, and make a page of it."""
    loaded = load_results(places, folder, reference=reference)
    results, failures = of_tasks(loaded, tasks), load_failures(places, folder, loaded)
    if tasks is not None:
        chosen = registry.select_names(tasks, [result.task for result in loaded])
        failures = [failure for failure in failures if failure.task in chosen]
    values = () if subsets_by is None else (read_word_values(subsets_by), subsets_by.stem.replace("_", " "))
    page = Page(results, failures, options, *values)
    if reference:
        page.comparison = replace(page.comparison, notes=(*note_on_the_record(results), *page.comparison.notes))
    return page


def load_failures(places: Sequence[str], folder: Path, results: Sequence[Result] = ()) -> list[Failure]:
    """Return the failed jobs of folders, and those of encoders that are named, as ``load_results`` reads the names."""
    failures = [failure for place in places if Path(place).is_dir() for failure in ResultStore(Path(place)).failures()]
    named = [place for place in places if not Path(place).exists()]
    if named or not places:
        stored = ResultStore(folder).failures()
        known = {failure.encoder for failure in stored} | {result.encoder for result in results}
        wanted = {name for place in named for name in registry.same_names(place, known)}
        failures += [failure for failure in stored if not places or failure.encoder in wanted]
    return list(dict.fromkeys(failures))


def ready_folder(folder: Path) -> None:
    """Make a folder that can be written to; called before anything is computed, so that no work is lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{folder}: cannot be made: {error.strerror or error}; name another place with --output") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SettingsError(f"{folder}: cannot be written to; name another place with --output")
