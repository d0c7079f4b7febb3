"""Classification tasks: a probe trained on frozen vectors under the task's protocol, and the scores of its predictions.

The audit of rankings also classifies by the votes of the nearest training rows, where nothing is fitted or chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.errors import SettingsError
from medsenteval.probes import choose_backend, choose_penalties
from medsenteval.probes.backend import FitReport
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import NESTED_SEED, FoldOutcome, Outcome, run_kfold, run_nested, run_split, stratified_folds
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import f1_from_counts, f1_interval
from medsenteval.support.arrays import Floats, Labels, Rows
from medsenteval.tasks.learning_curve import evaluate_part_of_training
from medsenteval.tasks.probe_rows import Stacked, accuracy_metric, probe_splits, stack_splits, two_by_two, unseen_labels

#: So many nearest rows vote.
NEIGHBOURS: Final = 10


def evaluate_classification(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Train a probe on the frozen vectors under the task's protocol and score its predictions."""
    if settings.part_of_training:
        return evaluate_part_of_training(task, dataset, embeddings, settings)
    splits = probe_splits(task, dataset, settings)
    stacked = stack_splits(task, splits, embeddings, settings)
    rows, labels = stacked.rows, stacked.targets
    groups = _group_numbers(task, splits, settings)
    data = (choose_backend(settings, task.training), stacked.features, labels, len(dataset.label_names))
    penalties = choose_penalties(settings, task.training)
    if task.protocol == "split":
        if groups is not None:
            raise SettingsError(f"{task.name} has its own train, dev and test split: there are no folds to group")
        outcome = run_split(*data, train=rows["train"], dev=rows["dev"], test=rows["test"], penalties=penalties)
    elif task.protocol == "kfold":
        outcome = run_kfold(
            *data, train=rows["train"], test=rows["test"],
            n_folds=settings.folds, seed=settings.seed, groups=groups, penalties=penalties,
        )  # fmt: skip
    else:
        outcome = run_nested(*data, n_folds=settings.folds, groups=groups, penalties=penalties)
    notes = unseen_labels(labels, dataset.label_names, [fold.rows for fold in outcome.folds], rows.get("train"))
    return replace(classification_scores(task, dataset, outcome, stacked), notes=notes)


def predict_split(
    task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings, tested: Sequence[str]
) -> tuple[dict[str, Labels], dict[str, Any]]:
    """Train a probe on train and dev and return its answers to the rows of other splits, with how the fit went."""
    splits = {name: split for name, split in probe_splits(task, dataset, settings).items() if name in ("train", "dev")}
    splits |= {name: dataset.splits[name] for name in tested}
    stacked = stack_splits(task, splits, embeddings, settings)
    rows = stacked.rows
    outcome = run_split(
        choose_backend(settings, task.training), stacked.features, stacked.targets, len(dataset.label_names),
        train=rows["train"], dev=rows["dev"], test=np.concatenate([rows[name] for name in tested]),
        penalties=choose_penalties(settings, task.training),
    )  # fmt: skip
    (fold,) = outcome.folds
    answers = np.split(fold.predicted, np.cumsum([len(rows[name]) for name in tested])[:-1])
    details = {"dev_accuracy": outcome.dev_accuracy, "penalties": [fold.penalty], "fits": vars(outcome.report)}
    return dict(zip(tested, answers, strict=True)), details


def _group_numbers(task: Task, splits: dict[str, Split], settings: Settings) -> NDArray[np.intp] | None:
    """Return the number of each row's group, over all splits, if folds are to be grouped."""
    if not (settings.grouped or task.always_grouped):
        return None
    names = [name for split in splits.values() for name in split.groups or ()]
    if len(names) != sum(map(len, splits.values())):
        raise SettingsError(f"{task.name}: the files do not say which rows belong together, so folds cannot be grouped")
    _, numbers = np.unique(names, return_inverse=True)
    return numbers.astype(np.intp)


def classification_scores(task: Task, dataset: Dataset, outcome: Outcome, stacked: Stacked) -> Scores:
    labels, rows = stacked.targets, stacked.rows
    gold = [labels[fold.rows] for fold in outcome.folds]
    predicted = [fold.predicted for fold in outcome.folds]
    metrics = [accuracy_metric(gold, predicted)]
    fold_accuracies = [round(100 * float(np.mean(g == p)), 2) for g, p in zip(gold, predicted, strict=True)]
    tested = np.concatenate([fold.rows for fold in outcome.folds])
    n_test = len(tested)
    n_dev = len(rows["dev"]) if "dev" in rows else len(next(iter(rows.values())))
    legacy: dict[str, Any] = {"devacc": outcome.dev_accuracy, "acc": float(np.round(np.mean(fold_accuracies), 2))}
    details: dict[str, Any] = {
        "dev_accuracy": outcome.dev_accuracy,
        "fold_accuracies": fold_accuracies,
        "penalties": [fold.penalty for fold in outcome.folds],
        "fits": vars(outcome.report),
    }
    if task.positive_label is not None:
        positive = dataset.label_names.index(task.positive_label)
        f1, pooled, fold_f1s = _f1(gold, predicted, positive)
        metrics.append(f1)
        details |= {"fold_f1": fold_f1s, "pooled_f1": pooled, "positive_label": task.positive_label}
        legacy["f1"] = float(np.round(np.mean([round(value, 2) for value in fold_f1s]), 2))
        if task.protocol == "nested":
            legacy["F1score"] = legacy["f1"]  # MedSentEval's key for BioC
    n_train = n_test if task.protocol == "nested" else len(rows["train"])
    legacy |= {"ndev": n_dev, "ntest": n_test, "n_train": n_train, "n_rejected": len(dataset.rejected)}
    probabilities = np.concatenate([fold.probabilities for fold in outcome.folds])
    return Scores(
        metrics=tuple(metrics),
        n_train=n_train,
        n_test=n_test,
        items={
            "id": [stacked.ids[row] for row in tested],
            "gold": labels[tested].tolist(),
            "predicted": np.concatenate(predicted).tolist(),
            "probability": np.round(probabilities.max(axis=1), 6).tolist(),
            "fold": np.repeat(np.arange(len(gold)), list(map(len, gold))).tolist(),
        },
        senteval=legacy,
        details=details,
    )


def _f1(gold: list[Labels], predicted: list[Labels], positive: int) -> tuple[Metric, float, list[float]]:
    """Return F1 as the mean over folds with its interval, F1 of the pooled predictions, and each fold's."""
    counts = np.array([two_by_two(g == positive, p == positive) for g, p in zip(gold, predicted, strict=True)])
    always_yes = np.array([two_by_two(g == positive, np.ones(len(g), dtype=bool)) for g in gold])
    low, high = f1_interval(counts, confidence=CONFIDENCE)
    per_fold = 100 * f1_from_counts(counts)
    baseline = 100 * float(f1_from_counts(always_yes).mean())
    metric = Metric("f1", float(per_fold.mean()), 100 * low, 100 * high, baseline, "percent", int(counts.sum()))
    return metric, 100 * float(f1_from_counts(counts.sum(axis=0))), per_fold.tolist()


def evaluate_neighbours(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Score the task's test rows, or its outer folds, by the majority among the nearest training rows by cosine."""
    if task.protocol not in ("split", "kfold", "nested"):
        raise SettingsError(f"{task.name} is no classification task: it has no neighbours with labels")
    splits = probe_splits(task, dataset, settings)
    stacked = stack_splits(task, splits, embeddings, settings)
    features, labels, rows = stacked.features, stacked.targets, stacked.rows
    if task.protocol == "nested":
        groups = _group_numbers(task, splits, settings)
        parts = stratified_folds(labels, settings.folds, NESTED_SEED, groups)
    else:
        parts = [(rows["train"], rows["test"])]
    folds = tuple(
        FoldOutcome(test, neighbour_shares(features, labels, len(dataset.label_names), train, test), float(NEIGHBOURS))
        for train, test in parts
    )
    outcome = Outcome(folds, float("nan"), FitReport(0, 0, None, None))
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
