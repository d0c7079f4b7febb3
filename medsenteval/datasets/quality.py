"""Leaks and contradictions in a data set: duplicates within and across splits, opposite labels, the score nobody can beat."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Split
from medsenteval.datasets.near_duplicates import near_duplicates, word_set
from medsenteval.support.grouping import grouped

#: Jaccard similarity of word sets from which two items are called near duplicates.
NEAR: Final = 0.8
REPEATED: Final = "row(s) repeat an earlier one"


#: For each split which distinct text each of its rows is; and for each of these its near duplicates.
_Numbers = dict[str, NDArray[np.intp]]
_Near = dict[int, list[int]]


def quality_lines(dataset: Dataset, near: bool = True) -> list[str]:
    """Compare every row with every other and say in a line each what is worth knowing of a split, and of one against train.

    Texts are equal if they agree without case, words likewise. Without ``near`` only equal texts are looked for, which is quick
    for any number of rows.
    """
    numbers, twins = _number_items(dataset, near)
    lines = [_within(name, split, numbers[name], twins) for name, split in dataset.splits.items()]
    first, *others = dataset.splits
    # Subsets of a similarity task are trained on nothing.
    return lines + [_against_train(dataset, numbers, twins, other) for other in others if first == "train"]


def _number_items(dataset: Dataset, with_near: bool) -> tuple[_Numbers, _Near]:
    number_of: dict[tuple[str, str | None], int] = {}
    numbers: _Numbers = {}
    for name, split in dataset.splits.items():
        seconds: Iterable[str | None] = repeat(None) if split.texts2 is None else map(str.casefold, split.texts2)
        items = zip(map(str.casefold, split.texts), seconds, strict=False)
        numbers[name] = np.array([number_of.setdefault(item, len(number_of)) for item in items], dtype=np.intp)
    if not with_near:
        return numbers, {}
    sides = list(number_of)
    pairs = near_duplicates([word_set(*item) if any(item) else set() for item in sides], NEAR).tolist()
    # Both sides must be alike: a long first text must not hide that the second one is another.
    alike = [(one, other) for one, other in pairs if sides[one][1] is None or all(map(_alike, sides[one], sides[other]))]
    return numbers, grouped([*alike, *((other, one) for one, other in alike)])


def _alike(one: str | None, other: str | None) -> bool:
    first, second = word_set(one or ""), word_set(other or "")
    return len(first & second) >= NEAR * len(first | second)


def _targets(split: Split) -> NDArray[Any]:
    return next((column for column in (split.labels, split.scores) if column is not None), np.zeros(len(split)))


def _within(name: str, split: Split, numbers: NDArray[np.intp], near: _Near) -> str:
    targets = _targets(split)
    rows_of = grouped(zip(numbers.tolist(), range(len(split)), strict=True))
    contradicted = [rows for rows in rows_of.values() if len(set(targets[rows].tolist())) > 1]
    impossible = 0
    if split.labels is not None:
        impossible = sum(len(rows) - int(np.bincount(split.labels[rows]).max()) for rows in contradicted)
    near_rows = near_opposed = 0
    for number in near.keys() & rows_of.keys():
        rows, twins = rows_of[number], [row for other in near[number] for row in rows_of.get(other, ())]
        near_rows += len(rows) if twins else 0
        seen = set(targets[twins].tolist())
        near_opposed += sum(1 for row in rows if seen - {targets[row].item()})
    example = " and ".join(split.ids[row] for row in contradicted[0][:2]) if contradicted else ""
    # The most frequent label of each text is the best that a function of the text can answer.
    best = 100 - 100 * impossible / max(len(split), 1)
    facts = {
        "empty text(s)": list(split.all_texts()).count(""),
        "pair(s) of twice the same text": sum(
            first.casefold() == second.casefold() for first, second in zip(split.texts, split.texts2 or (), strict=False)
        ),
        REPEATED: len(split) - len(rows_of),
        "row(s) have a near duplicate": near_rows,
        "of them with another label": near_opposed if split.labels is not None else 0,
        f"row(s) have the same text and another label or score (first: {example})": sum(map(len, contradicted)),
        f"of them no encoder can get right: the best possible accuracy is {best:.2f}": impossible,
    }
    said = [f"{count:,} {what}" for what, count in facts.items() if count]
    if split.labels is None and split.scores is not None and contradicted:
        # The mean score of each text is the function of it that correlates best (least squares).
        means = np.bincount(numbers, weights=split.scores) / np.maximum(np.bincount(numbers), 1)
        said.append(f"the best possible Pearson correlation is {np.std(means[numbers]) / np.std(split.scores):.4f}")
    return f"{name}: {len(split):,} rows; {'; '.join(said) or 'no duplicates, no contradictions'}"


def _against_train(dataset: Dataset, numbers: _Numbers, near: _Near, other: str) -> str:
    """Say how many rows of a split training has seen: word for word, with another label, and nearly."""

    def items(name: str) -> Iterable[tuple[int, Any]]:
        return zip(numbers[name].tolist(), _targets(dataset.splits[name]).tolist(), strict=True)

    trained = grouped(items("train"))
    exact = opposed = alike = 0
    for number, target in items(other):
        if number in trained:
            exact += 1
            opposed += set(trained[number]) != {target}
        else:
            alike += any(each in trained for each in near.get(number, ()))
    said, n = [], len(dataset.splits[other])
    if exact:
        wrong = f", {opposed:,} of them with another label or score" if opposed else ""
        said.append(f"{exact:,} row(s) ({exact / n:.2%}) are in train word for word{wrong}")
    if alike:
        said.append(f"{alike:,} ({alike / n:.2%}) nearly")
    return f"{other} against train: {'; '.join(said) or 'no row of it is in training'}"
