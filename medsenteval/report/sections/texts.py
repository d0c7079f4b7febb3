"""The texts of items: results hold only their ids, so that texts are read from the data folder when a report is made."""

from __future__ import annotations

from pathlib import Path

from medsenteval.contracts import Dataset, Result
from medsenteval.running.stored_jobs import read_again


def item_texts(result: Result, root: Path) -> dict[str, tuple[str, ...]] | str:
    """Return the one or two texts of each item of a result, or the reason why they cannot be had.

    The data set is read as the run read it and must be the same to the last byte: an id of other data may mean another text.
    """
    again = read_again(result, root)
    if isinstance(again, str):
        return again
    task, dataset, _ = again
    return _texts_by_id(dataset, task.protocol)


def _texts_by_id(dataset: Dataset, protocol: str) -> dict[str, tuple[str, ...]]:
    """Map ids to texts; an id that stands for several texts is left out."""
    scored = [dataset.splits["test"]] if protocol == "split" and "test" in dataset.splits else list(dataset.splits.values())
    texts: dict[str, tuple[str, ...]] = {}
    doubtful = set()
    for split in scored:
        for row, item in enumerate(split.ids):
            found = (split.texts[row],) if split.texts2 is None else (split.texts[row], split.texts2[row])
            if texts.setdefault(item, found) != found:
                doubtful.add(item)
    return {item: found for item, found in texts.items() if item not in doubtful}
