"""Leaks and contradictions in a data set: duplicates within and across splits, opposite labels, the score nobody can beat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Split
from medsenteval.datasets.near_duplicates import near_duplicates, word_set
from medsenteval.support.grouping import grouped

#: Jaccard similarity of word sets from which two items are called near duplicates.
NEAR: Final = 0.8


@dataclass(frozen=True)
class SplitQuality:
    """One split by itself.

    ``n_repeated`` rows repeat an earlier one's text; ``n_contradicted`` rows share their text with a row of another label or
    score; ``n_impossible`` of them no function of the text can get right; ``ceiling`` is the best possible accuracy (percent)
    or Pearson correlation; ``n_near`` rows have a near duplicate, ``n_near_opposed`` one with another label.
    """

    name: str
    n: int
    n_empty: int
    n_equal_sides: int
    n_repeated: int
    n_contradicted: int
    n_impossible: int
    ceiling: float | None
    n_near: int
    n_near_opposed: int
    example: str = ""


@dataclass(frozen=True)
class CrossQuality:
    """Rows of ``other`` that training has seen: word for word, nearly, and with another label."""

    other: str
    n: int
    n_exact: int
    n_exact_opposed: int
    n_near: int


@dataclass(frozen=True)
class QualityReport:
    """All of a data set's leaks and contradictions."""

    splits: tuple[SplitQuality, ...]
    across: tuple[CrossQuality, ...]


#: For each split which distinct text each of its rows is; and for each of these its near duplicates.
_Numbers = dict[str, NDArray[np.intp]]
_Near = dict[int, list[int]]


def examine_quality(dataset: Dataset, near: bool = True) -> QualityReport:
    """Compare every row with every other; texts are equal if they agree without case, words likewise.

    Without ``near`` only equal texts are looked for, which is quick for any number of rows.
    """
    numbers, twins = _number_items(dataset, near)
    splits = tuple(_examine_split(name, split, numbers[name], twins) for name, split in dataset.splits.items())
    first, *others = dataset.splits
    # Subsets of a similarity task are trained on nothing.
    across = tuple(_compare(dataset, numbers, twins, other) for other in others) if first == "train" else ()
    return QualityReport(splits, across)


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


def _examine_split(name: str, split: Split, numbers: NDArray[np.intp], near: _Near) -> SplitQuality:
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
    texts2 = split.texts2
    return SplitQuality(
        name=name,
        n=len(split),
        n_empty=list(split.all_texts()).count(""),
        n_equal_sides=0 if texts2 is None else sum(map(lambda a, b: a.casefold() == b.casefold(), split.texts, texts2)),
        n_repeated=len(split) - len(rows_of),
        n_contradicted=sum(map(len, contradicted)),
        n_impossible=impossible,
        ceiling=_ceiling(split, numbers, impossible),
        n_near=near_rows,
        n_near_opposed=near_opposed if split.labels is not None else 0,
        example=" and ".join(split.ids[row] for row in contradicted[0][:2]) if contradicted else "",
    )


def _ceiling(split: Split, numbers: NDArray[np.intp], impossible: int) -> float | None:
    """Return the best score that a function of the text can have: it must answer equal texts equally."""
    if split.labels is not None:
        return 100.0 * (len(split) - impossible) / len(split) if len(split) else None
    if split.scores is None or len(split) < 2 or np.ptp(split.scores) == 0:
        return None
    # The mean score of each text is the function of it that correlates best (least squares).
    means = np.bincount(numbers, weights=split.scores) / np.maximum(np.bincount(numbers), 1)
    return float(np.std(means[numbers]) / np.std(split.scores))


def _compare(dataset: Dataset, numbers: _Numbers, near: _Near, other: str) -> CrossQuality:
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
    return CrossQuality(other, len(dataset.splits[other]), exact, opposed, alike)


def describe_quality(report: QualityReport) -> list[str]:
    """Say in a line each what is worth knowing; what a data set does not have is not mentioned."""
    lines = []
    for split in report.splits:
        facts = {
            "empty text(s)": split.n_empty,
            "pair(s) of twice the same text": split.n_equal_sides,
            "row(s) repeat an earlier one": split.n_repeated,
            "row(s) have a near duplicate": split.n_near,
            "of them with another label": split.n_near_opposed,
            f"row(s) have the same text and another label or score (first: {split.example})": split.n_contradicted,
            f"of them no encoder can get right: the best possible accuracy is {split.ceiling or 0:.2f}": split.n_impossible,
        }
        said = [f"{count:,} {what}" for what, count in facts.items() if count]
        if split.n_contradicted and not split.n_impossible and split.ceiling is not None:
            said.append(f"the best possible Pearson correlation is {split.ceiling:.4f}")
        lines.append(f"{split.name}: {split.n:,} rows; {'; '.join(said) or 'no duplicates, no contradictions'}")
    for cross in report.across:
        said = []
        if cross.n_exact:
            wrong = f", {cross.n_exact_opposed:,} of them with another label or score" if cross.n_exact_opposed else ""
            said.append(f"{cross.n_exact:,} row(s) ({cross.n_exact / cross.n:.2%}) are in train word for word{wrong}")
        if cross.n_near:
            said.append(f"{cross.n_near:,} ({cross.n_near / cross.n:.2%}) nearly")
        lines.append(f"{cross.other} against train: {'; '.join(said) or 'no row of it is in training'}")
    return lines
