"""Finding a task's files under a data folder and reading them into a Dataset that is checked against the publication."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from medsenteval.contracts import Dataset, Split, Task
from medsenteval.datasets.completeness import differences, shortages
from medsenteval.errors import DataError, DataMissingError, SettingsError
from medsenteval.settings import Settings

#: A folder that holds this file holds invented data, and everything scored on it says so.
SYNTHETIC_MARK: Final = "SYNTHETIC.txt"


def sample_root() -> Path:
    """Return the folder of the bundled synthetic sample data."""
    import medsenteval.sample

    return Path(next(iter(medsenteval.sample.__path__)))


def data_root(data: str | Path | None = None) -> Path:
    """Return the data folder: the one given, or that of MEDSENTEVAL_DATA, or the bundled sample."""
    chosen = data or os.environ.get("MEDSENTEVAL_DATA")
    if not chosen:
        return sample_root()
    root = Path(chosen).expanduser()
    if not root.is_dir():
        raise DataMissingError(
            f"the data folder {root} does not exist; name one with --data or MEDSENTEVAL_DATA, or let "
            "`medsenteval data fetch NAME` or `medsenteval data prepare NAME --from WHAT_YOU_HAVE` make it"
        )
    return root


def locate(task: Task, root: Path) -> Path:
    """Return the task's own folder below ``root``, whatever its case, or ``root`` itself if it has one of those names.

    A folder name may have several parts ("downstream/MR"); ``root`` may then be any folder on that way. A task without folders
    brings its items along and gets ``root``, where a user may have put others.
    """
    if not task.folders:
        return root
    above = [part.casefold() for part in root.resolve().parts]
    for name in task.folders:
        parts = name.casefold().split("/")
        for start in range(len(parts) + 1):
            if parts[:start] == above[len(above) - start :] and (found := _descend(root, parts[start:])) is not None:
                return found
    raise DataMissingError(f"{task.name}: no folder {' or '.join(task.folders)} in {root}. To get it: {task.obtain}")


def _descend(folder: Path, parts: list[str]) -> Path | None:
    """Follow folder names downwards in any case; of two that differ in case alone the first in order is taken."""
    for part in parts:
        try:
            below = sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name.casefold() == part)
        except OSError as error:
            raise DataMissingError(f"{folder}: cannot be read: {error.strerror}; check its permissions") from error
        if not below:
            return None
        folder = below[0]
    return folder


def load_dataset(task: Task, root: Path, settings: Settings) -> Dataset:
    """Read a task's data set with the reading options and the limit of the settings.

    One that is not ready (see ``shortages``) is an error, unless the settings allow it; synthetic data is exempt.
    """
    folder = root if task.own_data else locate(task, root)
    try:
        dataset = task.read(folder, _options(task, settings))
    except DataMissingError as error:
        raise DataMissingError(f"{error}. To get it: {task.obtain}") from error
    synthetic = not task.own_data and any((place / SYNTHETIC_MARK).is_file() for place in (folder, root))
    notes = list(dataset.notes)
    if dataset.rejected:
        notes.append(f"{len(dataset.rejected)} row(s) rejected; the first: {dataset.rejected[0]}")
    short = [] if synthetic else shortages(task, dataset)
    if short and not settings.allow_incomplete:
        remedy = f"Check that {folder} holds this data set, and all of it" if not task.own_data else "Mend or drop these rows"
        raise DataError(
            f"{task.name}: not ready: {'; '.join(short)}. {remedy}; "
            "--allow-incomplete (Settings(allow_incomplete=True)) scores it all the same and marks the result"
        )
    if not synthetic:
        notes.extend(differences(task, dataset))
    splits = dataset.splits
    if settings.limit is not None:
        splits = {name: limited(split, settings.limit, settings.seed) for name, split in splits.items()}
        notes.append(f"limited to {settings.limit} rows a split: no score for publication")
    return replace(dataset, splits=splits, notes=tuple(notes), synthetic=synthetic, incomplete=bool(short))


def _options(task: Task, settings: Settings) -> dict[str, str]:
    chosen = {name: allowed[0] for name, allowed in task.options.items()}
    for name, value in settings.task_options.get(task.name, {}).items():
        if name not in task.options:
            raise SettingsError(f"{task.name} has no reading option {name!r}; it has: {', '.join(task.options) or 'none'}")
        if value not in task.options[name]:
            raise SettingsError(f"{task.name}: {name} is {value!r}; it can be {', '.join(task.options[name])}")
        chosen[name] = value
    return chosen


def limited(split: Split, limit: int, seed: int) -> Split:
    """Keep ``limit`` rows at most, each class in its proportion and at least one row of each, in their old order."""
    if len(split) <= limit:
        return split
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(split))
    if split.labels is None:
        return split.take(np.sort(shuffled[:limit]))
    labels = split.labels[shuffled]
    # A row's rank within its class over the size of that class: taking the smallest keeps the proportions.
    rank = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        rank[members] = np.arange(len(members)) / len(members)
    return split.take(np.sort(shuffled[np.argsort(rank, kind="stable")[:limit]]))
