"""Learning curves and few-shot scores: the probe trained on a part of the training rows, several times, and the mean of draws.

A part is drawn from the training rows only: all of the test rows (under nested cross-validation: all held-out rows of every
outer fold) are scored in every draw. ``train_fraction`` keeps the proportions of the classes and at least one row of each,
``shots`` takes as many rows of every class. The penalty is chosen as the task's protocol has it, with as many inner folds as
the rarest class has rows; with one row of a class nothing can be chosen and C is 1.

mteb's few-shot protocol is a fixed one: the rows in file order, shuffled anew from seed 42 for every experiment on top of the
last shuffle, the first ``shots`` of each class, scikit-learn's logistic regression as it comes. It chooses no penalty.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.errors import ProbeError, SettingsError
from medsenteval.probes import choose_backend, choose_penalties
from medsenteval.probes.backend import Backend, Fold
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import NESTED_SEED, FoldOutcome, run_kfold, run_split, stratified_folds
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import f1_from_counts, f1_share_interval, share_interval
from medsenteval.support.arrays import Floats, Labels, Rows
from medsenteval.tasks.probe_rows import Stacked, senteval_order, stack_splits, two_by_two, unseen_labels

#: The seed that mteb gives its tasks.
MTEB_SEED: Final = 42
#: The probe, the features and labels of all rows, and the number of classes.
_Data = tuple[Backend, Features, Labels, int]


def evaluate_part_of_training(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Score the task as often as there are draws; the metric is the mean, with its interval."""
    if settings.grouped or task.always_grouped:
        remedy = "; group= with nothing after it reads the rows without their groups" if task.always_grouped else ""
        raise SettingsError(f"{task.name}: grouped folds and a part of the training rows exclude each other{remedy}")
    mteb = settings.few_shot == "mteb"
    splits = {name: split if mteb else split.take(senteval_order(split)) for name, split in dataset.splits.items()}
    stacked = stack_splits(task, splits, embeddings, settings)
    features, labels, rows = stacked.features, stacked.targets, stacked.rows
    n_classes = len(dataset.label_names)
    if mteb:
        from medsenteval.probes.scikit import ScikitBackend

        if "train" not in rows or "test" not in rows or features.right is not None:
            raise SettingsError(f"{task.name}: mteb's few-shot protocol is for single texts with a training and a test split")
        data: _Data = (ScikitBackend(), features, labels, n_classes)
        parts = [rows["train"][part] for part in mteb_experiments(labels[rows["train"]], settings.shots or 0, settings.draws)]
        outcomes = [([_without_choice(data, part, rows["test"])], len(part)) for part in parts]
    else:
        data = (choose_backend(settings, task.training), features, labels, n_classes)
        seeds = ([settings.seed, draw] for draw in range(settings.draws))
        outcomes = [_one_draw(task, data, rows, settings, np.random.default_rng(seed)) for seed in seeds]
    # Every part has a row of each label that the training rows have.
    notes = unseen_labels(labels, dataset.label_names, [rows["test"]], rows["train"]) if "train" in rows else ()
    return _scores(task, dataset, stacked, outcomes, notes)


def part_of_rows(labels: Labels, rows: Rows, settings: Settings, rng: np.random.Generator) -> Rows:
    """Draw the training rows of one draw: a fraction of each class, or as many shots of each."""
    chosen = []
    for label in np.unique(labels[rows]):
        members = rng.permutation(rows[labels[rows] == label])
        if settings.shots is not None:
            size = min(settings.shots, len(members))
        else:
            size = max(1, round((settings.train_fraction or 1.0) * len(members)))
        chosen.append(members[:size])
    part: Rows = np.sort(np.concatenate(chosen))
    return part


def _one_draw(
    task: Task, data: _Data, rows: dict[str, Rows], settings: Settings, rng: np.random.Generator
) -> tuple[list[FoldOutcome], int]:
    """Train on one draw; return what was predicted for each fold, and on how many rows on average it was trained."""
    backend, _, labels, _ = data
    penalties = choose_penalties(settings, task.training)
    grid = penalties if penalties is not None else backend.penalties(task.protocol)
    nested = task.protocol == "nested"
    parts = stratified_folds(labels, settings.folds, NESTED_SEED) if nested else [(rows["train"], rows["test"])]
    seed = NESTED_SEED if nested else settings.seed
    found: list[FoldOutcome] = []
    used: list[int] = []
    for source, test in parts:
        train = part_of_rows(labels, source, settings, rng)
        used.append(len(train))
        n_folds = min(settings.folds, int(np.unique(labels[train], return_counts=True)[1].min()))
        if task.protocol == "split":
            found += run_split(*data, train=train, dev=rows["dev"], test=test, penalties=penalties).folds
        elif n_folds < 2:
            found.append(_without_choice(data, train, test))
        else:
            found += run_kfold(*data, train=train, test=test, n_folds=n_folds, seed=seed, penalties=grid).folds
    return found, round(float(np.mean(used)))


def _without_choice(data: _Data, train: Rows, test: Rows) -> FoldOutcome:
    """Fit where nothing can be held out: a penalty in the middle of scikit-learn's and SentEval's grids, said in the docs."""
    backend, features, labels, n_classes = data
    if backend.name not in ("exact", "sklearn"):
        raise ProbeError(
            f"the probe {backend.name!r} cannot be trained on one row a class; take more shots, or the probe exact"
        )
    (probabilities,), _ = backend.predict(features, labels, n_classes, [Fold(train, test)], [1.0])
    return FoldOutcome(test, probabilities, 1.0)


def mteb_experiments(labels: Labels, shots: int, draws: int) -> list[Rows]:
    """Return the training rows of mteb's experiments, in its order: it reshuffles the last order from the same seed."""
    order = np.arange(len(labels))
    experiments = []
    for _ in range(draws):
        np.random.RandomState(MTEB_SEED).shuffle(order)
        first = [np.flatnonzero(labels[order] == label)[:shots] for label in np.unique(labels)]
        experiments.append(order[np.sort(np.concatenate(first))])
    return experiments


def _scores(
    task: Task, dataset: Dataset, stacked: Stacked, draws: list[tuple[list[FoldOutcome], int]], notes: tuple[str, ...]
) -> Scores:
    labels, used = stacked.targets, [n_train for _, n_train in draws]
    tested = np.concatenate([fold.rows for fold in draws[0][0]])
    predicted = np.stack([np.concatenate([fold.predicted for fold in folds]) for folds, _ in draws])
    gold = labels[tested]
    right = predicted == gold
    accuracies = right.mean(axis=1)
    baseline = 100 * float(np.bincount(gold).max()) / len(gold)
    metrics = [_mean_of_draws("acc", accuracies, len(gold), baseline, len(gold))]
    details: dict[str, Any] = {"draw_accuracies": (100 * accuracies).tolist(), "training_rows": used}
    if task.positive_label is not None:
        positive = dataset.label_names.index(task.positive_label)
        counts = np.array([two_by_two(gold == positive, each == positive)[:3] for each in predicted])
        always = np.array(two_by_two(gold == positive, np.ones(len(gold), dtype=bool)))
        values = f1_from_counts(counts)
        baseline = 100 * float(f1_from_counts(always))
        metrics.append(_mean_of_draws("f1", values, float(counts.sum(axis=1).mean()), baseline, len(gold)))
        details["draw_f1"] = (100 * values).tolist()
    legacy = {metric.name: round(metric.value, 2) for metric in metrics}
    return Scores(
        metrics=tuple(metrics),
        n_train=round(float(np.mean(used))),
        n_test=len(gold),
        # For comparisons: in which share of the draws each item was right.
        items={"id": [stacked.ids[row] for row in tested], "gold": gold.tolist(), "acc": right.mean(axis=0).tolist()},
        senteval={**legacy, "ntest": len(gold), "n_train": round(float(np.mean(used)))},
        details=details,
        notes=notes,
    )


def _mean_of_draws(name: str, values: Floats, trials: float, baseline: float, n: int) -> Metric:
    """Return a mean over draws; its interval is for other draws of training rows and other test items.

    ``trials`` are the items, for F1 those that are positive in gold or prediction, on average over draws.
    """
    from scipy.special import ndtri, stdtrit

    if name not in ("acc", "f1"):
        raise SettingsError(f"the metric is {name!r}; intervals of a mean over draws are known for acc and f1")
    mean, level = float(values.mean()), (1 + CONFIDENCE) / 2
    # The variance of a mean over draws, larger where few draws estimate it, as Student's quantiles are.
    variance = float(values.var(ddof=1) / len(values) * (stdtrit(len(values) - 1, level) / ndtri(level)) ** 2)
    # The error of F1 is by the delta method, as in ``f1_share_interval``.
    variance += mean * (1 - mean) / max(trials, 1) * (1.0 if name == "acc" else (2 - mean) ** 2 / 2)
    interval = share_interval if name == "acc" else f1_share_interval
    low, high = interval(mean, trials, confidence=CONFIDENCE, variance=variance)
    return Metric(name, 100 * mean, 100 * low, 100 * high, baseline, "percent", n)
