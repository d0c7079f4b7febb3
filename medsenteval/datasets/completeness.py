"""Is a data set all there? Its rows against the published counts, and the share of rows that could not be read."""

from __future__ import annotations

from typing import Final

from medsenteval.contracts import Dataset, Task
from medsenteval.datasets.manifest import manifests

#: A data set is ready if each part has between 90 % of the published rows and as many more, and at most 2 % were rejected.
_LEAST_ROWS: Final = 0.9
_MOST_REJECTED: Final = 0.02


def differences(task: Task, dataset: Dataset) -> list[str]:
    """Say where a split has another size than the publication gives, and how much is left of a set that shrinks by nature."""
    found = [f"these are the files of {dataset.edition}, not those of the publication"] if dataset.edition else []
    for name, (rows, published) in _counts(task, dataset).items():
        if rows != published:
            shrinks = _shrinks(task) if rows < published else ""
            left = f": {100 * rows / published:.0f} % are left ({shrinks})" if shrinks else ""
            found.append(f"{name} has {rows:,} rows, {published:,} are published{left}")
    return found


def shortages(task: Task, dataset: Dataset) -> list[str]:
    """Say what keeps a data set from being ready: a part of another size than published, or too many rejected rows.

    A split far from its size is another corpus or a part of one. Sets that shrink by nature, as their manifests say, are
    ready at any size.
    """
    found = [
        f"{name} has {rows:,} rows where {published:,} are published ({100 * rows / published:.1f} %)"
        for name, (rows, published) in _counts(task, dataset).items()
        if not _LEAST_ROWS <= rows / published <= 1 / _LEAST_ROWS and not _shrinks(task)
    ]
    n_rejected = len(dataset.rejected)
    if n_rejected > _MOST_REJECTED * (len(dataset) + n_rejected):
        share = 100 * n_rejected / (len(dataset) + n_rejected)
        found.append(f"{n_rejected:,} row(s) rejected ({share:.1f} %), the first: {dataset.rejected[0]}")
    return found


def _shrinks(task: Task) -> str:
    return next((each.shrinks for each in manifests().values() if task.name in each.task_names), "")


def _counts(task: Task, dataset: Dataset) -> dict[str, tuple[int, int]]:
    """Return rows read and published by split, as far as published counts hold under the options that were read."""
    if any(dataset.options.get(name, task.options[name][0]) != task.options[name][0] for name in task.row_options):
        return {}
    published = task.edition_counts.get(dataset.edition, {}) if dataset.edition else task.published_counts
    return {name: (len(split), published[name]) for name, split in dataset.splits.items() if published.get(name)}
