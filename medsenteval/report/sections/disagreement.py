"""What encoders answered: which classes are taken for which, and the items on which they disagree most, with their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval.comparison.pairing import align_items
from medsenteval.contracts import Dataset, Result
from medsenteval.running.rescoring import read_again
from medsenteval.support.grouping import grouped


@dataclass(frozen=True)
class DisputedItem:
    """An item, its gold answer, and each other answer with the encoders that gave it.

    Whether it is right stands beside it, None where answers are only nearer or further.
    """

    id: str
    gold: str
    answers: tuple[tuple[str, tuple[str, ...], bool | None], ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Disagreement:
    """How often encoders agree on a task, and the items on which they agree least."""

    n: int
    items: tuple[DisputedItem, ...]
    # Items; None where answers are not right or wrong.
    all_right: int | None = None
    all_wrong: int | None = None
    split: int | None = None
    withheld: str = ""


def find_disagreements(results: Mapping[str, Result], metric: str, most: int = 10) -> Disagreement | None:
    """Return the most disputed items that all encoders were scored on, or None where there is nothing to compare."""
    aligned = align_items(results) if len(results) > 1 else "nothing to compare"
    if isinstance(aligned, str):
        return None
    columns, _ = aligned
    names = list(results)
    labels = dict(enumerate(next(iter(results.values())).label_names))
    common = set.intersection(*map(set, columns))
    if {"gold", "predicted"} <= common and not labels:
        return _of_numbers(names, columns, "predicted", most)
    for field in ("predicted", "predicted_1"):
        if {"gold", field} <= common:
            return _of_labels(names, columns, field, labels, most)
    return _of_numbers(names, columns, metric, most) if metric in common else None


def _of_labels(
    names: Sequence[str], columns: Sequence[Mapping[str, Sequence[Any]]], field: str, labels: Mapping[int, str], most: int
) -> Disagreement:  # fmt: skip
    gold = columns[0]["gold"]
    answers = [column[field] for column in columns]

    def label(value: Any) -> str:
        return labels.get(value, str(value) or "none")

    right = np.array([sum(answer[i] == gold[i] for answer in answers) for i in range(len(gold))])
    distinct = np.array([len({answer[i] for answer in answers}) for i in range(len(gold))])
    # Most even split first, then most different answers, then the order of the data.
    order = np.lexsort((-distinct, -right * (len(names) - right)))
    items = []
    for i in (int(i) for i in order[:most] if distinct[i] > 1):
        given = grouped((answer[i], name) for name, answer in zip(names, answers, strict=True))
        said = [(label(value), tuple(who), bool(value == gold[i])) for value, who in given.items()]
        said.sort(key=lambda answer: (not answer[2], -len(answer[1])))
        items.append(DisputedItem(str(columns[0]["id"][i]), label(gold[i]), tuple(said)))
    all_right, all_wrong = int((right == len(names)).sum()), int((right == 0).sum())
    return Disagreement(len(gold), tuple(items), all_right, all_wrong, len(gold) - all_right - all_wrong)


def _of_numbers(names: Sequence[str], columns: Sequence[Mapping[str, Sequence[Any]]], field: str, most: int) -> Disagreement:
    """Name the encoders with the lowest and the highest value."""
    from scipy.stats import rankdata

    gold = columns[0]["gold"] if field == "predicted" else None
    values = np.array([column[field] for column in columns], dtype=np.float64)
    # Ranks among the items: similarities of different encoders have no common scale.
    values = values if gold is None else rankdata(values, axis=1)
    n = values.shape[1]
    spread = values.max(axis=0) - values.min(axis=0)
    items = []
    for i in (int(i) for i in np.argsort(-spread, kind="stable")[:most] if spread[i] > 0):
        answers = []
        for end, j in (("lowest", int(values[:, i].argmin())), ("highest", int(values[:, i].argmax()))):
            shown = f"{values[j, i]:.3f}" if gold is None else f"rank {values[j, i]:g} of {n:,}"
            answers.append((f"{end}: {shown}", (names[j],), None))
        items.append(DisputedItem(str(columns[0]["id"][i]), "" if gold is None else f"{gold[i]:g}", tuple(answers)))
    return Disagreement(n, tuple(items))


#: With more classes than this nobody reads a matrix.
MOST_CLASSES: Final = 30


def confusion_matrix(result: Result) -> list[list[int]] | None:
    """Count items by gold class (rows) and predicted class (columns); None where a task has no or too many classes."""
    n = len(result.label_names)
    if not 2 <= n <= MOST_CLASSES or not {"gold", "predicted"} <= result.items.keys():
        return None
    counts = np.zeros((n, n), dtype=np.int64)
    np.add.at(counts, (np.asarray(result.items["gold"]), np.asarray(result.items["predicted"])), 1)
    return [[int(count) for count in row] for row in counts]


def item_texts(result: Result, root: Path) -> dict[str, tuple[str, ...]] | str:
    """Return the one or two texts of each item of a result, or the reason why they cannot be had."""
    again = read_again(result, root)
    return again if isinstance(again, str) else _texts_by_id(again[1], again[0].protocol)


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
