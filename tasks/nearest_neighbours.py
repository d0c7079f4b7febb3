"""Classification by the votes of the nearest training rows instead of a trained probe: nothing is fitted, nothing is chosen."""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.errors import SettingsError
from medsenteval.probes.backend import FitReport
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import NESTED_SEED, FoldOutcome, Outcome, stratified_folds
from medsenteval.settings import Settings
from medsenteval.support.arrays import Floats, Labels, Rows
from medsenteval.tasks.classification import classification_scores, group_numbers
from medsenteval.tasks.probe_rows import probe_splits, stack_splits, stacked_parts

#: So many nearest rows vote.
NEIGHBOURS: Final = 10


def evaluate_neighbours(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Score the task's test rows, or its outer folds, by the majority among the nearest training rows by cosine."""
    if task.protocol not in ("split", "kfold", "nested"):
        raise SettingsError(f"{task.name} is no classification task: it has no neighbours with labels")
    splits = probe_splits(task, dataset, settings)
    stacked = stack_splits(splits, embeddings, stacked_parts(task, settings))
    features, labels, rows = stacked.features, stacked.targets, stacked.rows
    if task.protocol == "nested":
        groups = group_numbers(task, splits) if settings.grouped else None
        parts = stratified_folds(labels, settings.folds, NESTED_SEED, groups)
    else:
        parts = [(rows["train"], rows["test"])]
    folds = []
    for train, test in parts:
        shares = neighbour_shares(features, labels, len(dataset.label_names), train, test)
        folds.append(FoldOutcome(test, shares, float(NEIGHBOURS)))
    outcome = Outcome(tuple(folds), float("nan"), FitReport(0, 0, None, None))
    return classification_scores(task, dataset, outcome, stacked)


def neighbour_shares(features: Features, labels: Labels, n_classes: int, train: Rows, test: Rows) -> Floats:
    """Return each class's share among the nearest rows; of classes with equal votes the nearer one has a little more."""
    from sklearn.neighbors import KNeighborsClassifier

    def votes(distances: Floats) -> Floats:
        # A vote counts 1, and less than a thousandth of its cosine decides between equal numbers of votes.
        return 1.0 + 1e-4 * (1.0 - distances)

    model = KNeighborsClassifier(min(NEIGHBOURS, len(train)), weights=votes, algorithm="brute", metric="cosine")
    model.fit(features.take(train), labels[train])
    shares = np.zeros((len(test), n_classes))
    shares[:, model.classes_] = model.predict_proba(features.take(test))
    return shares
