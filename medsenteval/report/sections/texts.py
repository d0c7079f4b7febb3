"""The texts of items: results hold only their ids, so that texts are read from the data folder when a report is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medsenteval import registry
from medsenteval.contracts import Dataset, Result, Task
from medsenteval.datasets.locate import load_dataset
from medsenteval.errors import MedSentEvalError, UnknownNameError
from medsenteval.settings import Settings
from medsenteval.tasks.reading.columns import ROLES

__all__ = ["item_texts"]


def item_texts(result: Result, root: Path) -> dict[str, tuple[str, ...]] | str:
    """Return the one or two texts of each item of a result, or the reason why they cannot be had.

    The data set is read as the run read it and must be the same to the last byte: an id of other data may mean another text.
    """
    parts = dict(part.split("=", 1) for part in result.signature.split("|encoder=", 1)[0].split("|") if "=" in part)
    try:
        task = _task_of(result, parts, root)
    except UnknownNameError:
        return "its texts are not in the data folder"
    except MedSentEvalError as error:
        return f"the data cannot be read: {error}"
    options = {name: parts[name] for name in task.options if name in parts}
    limit = int(parts["limit"]) if "limit" in parts else None
    settings = Settings(seed=result.seed, limit=limit, allow_incomplete=True, task_options={task.name: options})
    try:
        dataset = load_dataset(task, root, settings)
    except MedSentEvalError as error:
        return f"the data cannot be read: {error}"
    if parts.get("synthetic" if dataset.synthetic else "data") != dataset.fingerprint[:12]:
        return f"the data in {root.name} is not that of the run"
    return _texts_by_id(dataset, task.protocol)


def _task_of(result: Result, parts: Mapping[str, str], root: Path) -> Task:
    """Return the task of a result; a user's own file is read again if it is in the data folder."""
    kind, _, name = result.task.partition(":")
    if kind == "file" and (root / name).exists():
        columns = {role: parts[role].replace("%7C", "|").replace("%25", "%") for role in ROLES if role in parts}
        protocol = result.protocol.partition("-")[0]
        return registry.own_task(root / name, **columns, **({"protocol": protocol} if result.probe != "none" else {}))
    return registry.task(registry.canonical_task_name(result.task))


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
