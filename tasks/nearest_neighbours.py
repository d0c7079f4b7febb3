"""Classification by the votes of the nearest training rows instead of a trained probe: nothing is fitted, nothing is chosen."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.errors import SettingsError
from medsenteval.probes.backend import FitReport
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import NESTED_SEED, FoldOutcome, Outcome, stratified_folds
from medsenteval.settings import Settings
from medsenteval.support.arrays import Labels, Rows
from medsenteval.tasks.classification import classification_scores, group_numbers
from medsenteval.tasks.probe_rows import probe_splits, stack_splits, stacked_parts

#: So many nearest rows vote.
NEIGHBOURS: Final = 10
#: Tested rows whose cosines with all training rows are held at once.
_BLOCK: Final = 1_024


def evaluate_neighbours(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Score the task's test rows, or its outer folds, by the majority among the nearest training rows by cosine."""
    if task.protocol not in ("split", "kfold", "nested"):
        raise SettingsError(f"{task.name} is no classification task: it has no neighbours with labels")
    splits = probe_splits(task, dataset, settings)
    features, labels, rows = stack_splits(splits, embeddings, stacked_parts(task, settings))
    if task.protocol == "nested":
        groups = group_numbers(task, splits) if settings.grouped else None
        parts = stratified_folds(labels, settings.folds, NESTED_SEED, groups)
    else:
        parts = [(rows["train"], rows["test"])]
    folds = []
    for train, test in parts:
        shares = neighbour_shares(features, labels, len(dataset.label_names), train, test)
        folds.append(FoldOutcome(test, shares, shares.argmax(axis=1).astype(np.int64), float(NEIGHBOURS)))
    outcome = Outcome(tuple(folds), float("nan"), FitReport(0, 0, None, None))
    ids = [item for split in splits.values() for item in split.ids]
    return classification_scores(task, dataset, outcome, labels, ids, splits)


def neighbour_shares(features: Features, labels: Labels, n_classes: int, train: Rows, test: Rows) -> NDArray[np.float64]:
    """Return each class's share among the nearest rows; of classes with equal votes the nearer one has a little more."""
    known = _unit(features.take(train))
    k = min(NEIGHBOURS, len(train))
    shares = np.zeros((len(test), n_classes))
    for start in range(0, len(test), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(test)))
        cosines = _unit(features.take(test[block])) @ known.T
        nearest = np.argpartition(cosines, -k, axis=1)[:, -k:]
        near = np.take_along_axis(cosines, nearest, axis=1).astype(np.float64)
        # A vote counts 1, and less than a thousandth of its cosine decides between equal numbers of votes.
        votes = 1.0 + 1e-4 * near
        place = np.arange(len(nearest))[:, None]
        np.add.at(shares[block], (place, labels[train][nearest]), votes)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)
