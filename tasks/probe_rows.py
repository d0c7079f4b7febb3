"""Splits as the rows of one probe: in SentEval's order, one after the other, and the accuracy of what is predicted for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Split, Task
from medsenteval.probes.features import Features
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import accuracy_interval
from medsenteval.support.arrays import Labels, Rows

#: What a note says of labels that only tested items have; comparisons repeat such notes.
UNSEEN: Final = "have a label that training never had"


def stacked_parts(task: Task, settings: Settings) -> str:
    """Name the parts of a pair's row in the order in which the probe sees them: the originals' order where it follows them."""
    four_parts = task.pair_features == "u,v,|u-v|,u*v"
    return "u,v,u*v,|u-v|" if four_parts and settings.probe != "exact" else task.pair_features


def probe_splits(task: Task, dataset: Dataset, settings: Settings) -> dict[str, Split]:
    """Return the splits in the order in which SentEval lays their rows before its classifier."""
    names = dataset.label_names if task.sorted_by_second and settings.probe != "exact" else ()
    return {name: split.take(senteval_order(split, dataset.separator, names)) for name, split in dataset.splits.items()}


def senteval_order(split: Split, separator: str | None = None, label_names: Sequence[str] = ()) -> NDArray[np.intp]:
    """Return the rows sorted as SentEval sorts them before it encodes: by numbers of tokens, then by label.

    With ``label_names`` as it sorts SNLI: by the second text's tokens, the first's, and the label's name.
    Shuffled folds and mini-batches depend on positions, so the same ones as SentEval's need the same order first.
    """
    targets = split.labels if split.labels is not None else split.scores
    assert targets is not None
    columns = [column for column in (split.texts, split.texts2) if column is not None]
    if label_names:
        columns, targets = columns[::-1], np.argsort(np.argsort(label_names))[targets]
    lengths = [
        np.fromiter((len(text.split(separator)) for text in column), dtype=np.int64, count=len(split)) for column in columns
    ]
    # The last key decides first, and rows that are equal in all of them stay as they are.
    return np.lexsort((targets, *reversed(lengths)))


@dataclass(frozen=True, eq=False)
class Stacked:
    """The rows of all splits one after the other, their labels or scores, and which of them are those of each split."""

    features: Features
    targets: NDArray[Any]
    ids: list[str]
    rows: dict[str, Rows]


def stack_splits(task: Task, splits: dict[str, Split], embeddings: Embeddings, settings: Settings) -> Stacked:
    """Lay the splits one after the other, and the parts of pairs in the order in which the probe sees them."""
    parts = list(splits.values())
    left = np.concatenate([embeddings.rows(part.texts) for part in parts])
    pairs = all(part.texts2 is not None for part in parts)
    right = np.concatenate([embeddings.rows2(part.texts2 or ()) for part in parts]) if pairs else None
    targets: list[Any] = [part.scores if part.labels is None else part.labels for part in parts]
    ends = np.cumsum([0, *map(len, parts)])
    rows = {name: np.arange(ends[i], ends[i + 1], dtype=np.intp) for i, name in enumerate(splits)}
    ids = [item for part in parts for item in part.ids]
    return Stacked(Features(embeddings.matrix, left, right, stacked_parts(task, settings)), np.concatenate(targets), ids, rows)


def accuracy_metric(gold: list[Labels], predicted: list[Labels], name: str = "acc") -> Metric:
    """Return the mean accuracy over folds with its interval, beside that of the best constant answer."""
    right = np.array([np.sum(g == p) for g, p in zip(gold, predicted, strict=True)])
    sizes = np.array([len(part) for part in gold])
    low, high = accuracy_interval(right, sizes, confidence=CONFIDENCE)
    everything = np.concatenate(gold)
    # The best constant answer on the very items that are scored: a train majority can be a test minority (RQE).
    baseline = 100 * float(np.bincount(everything).max()) / len(everything)
    value = 100 * float(np.mean(right / sizes))
    return Metric(name, value, 100 * low, 100 * high, baseline, "percent", len(everything))


def two_by_two(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> list[int]:
    """Return true positives, false positives, false negatives and true negatives."""
    cells = (gold & predicted, ~gold & predicted, gold & ~predicted, ~gold & ~predicted)
    return [int(np.sum(cell)) for cell in cells]


def unseen_labels(labels: Labels, names: Sequence[str], tests: Sequence[Rows], train: Rows | None) -> tuple[str, ...]:
    """Say which tested items have a label that no row has which was trained on: none of them can be right.

    ``tests`` are the rows of each fold; without ``train`` a fold is trained on the rows of the others.
    """
    everything = np.concatenate(tests)
    trained = np.bincount(labels[everything if train is None else train], minlength=len(names))
    counts = np.zeros(len(names), dtype=np.int64)
    for rows in tests:
        inside = np.bincount(labels[rows], minlength=len(names))
        counts += np.where(trained - (inside if train is None else 0) == 0, inside, 0)
    if not counts.any():
        return ()
    listed = ", ".join(f"{names[label]} ({counts[label]:,})" for label in np.flatnonzero(counts).tolist())
    return (f"{counts.sum():,} of {len(everything):,} tested items {UNSEEN}: {listed}",)
