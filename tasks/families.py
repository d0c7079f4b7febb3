"""What a kind of task does with embeddings: adapters say which files and labels, families turn vectors into scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.errors import DataError, SettingsError
from medsenteval.features import Features
from medsenteval.probes import choose_backend, choose_penalties
from medsenteval.probes.protocols import Outcome, run_kfold, run_nested, run_split
from medsenteval.settings import Settings
from medsenteval.similarity import paired_cosine
from medsenteval.statistics import bootstrap_correlation, bootstrap_counts, correlation, f1_from_counts

__all__ = [
    "accuracy_metric",
    "concatenate_splits",
    "evaluate_classification",
    "evaluate_similarity",
    "predict_similarity",
    "predict_split",
    "senteval_order",
    "stack_splits",
]

Labels = NDArray[np.int64]


def evaluate_classification(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Train a probe on the frozen vectors under the task's protocol and score its predictions."""
    if settings.part_of_training:
        from medsenteval.tasks.learning import evaluate_part_of_training

        return evaluate_part_of_training(task, dataset, embeddings, settings)
    splits = {name: split.take(senteval_order(split)) for name, split in dataset.splits.items()}
    features, labels, rows = stack_splits(splits, embeddings, task.pair_features)
    groups = _group_numbers(task, splits) if settings.grouped else None
    backend = choose_backend(settings, task.training)
    n_classes, penalties = len(dataset.label_names), choose_penalties(settings, task.training)
    if task.protocol == "split":
        if settings.grouped:
            raise SettingsError(f"{task.name} has its own train, dev and test split: there are no folds to group")
        outcome = run_split(
            backend, features, labels, n_classes,
            train=rows["train"], dev=rows["dev"], test=rows["test"], penalties=penalties,
        )  # fmt: skip
    elif task.protocol == "kfold":
        outcome = run_kfold(
            backend, features, labels, n_classes, train=rows["train"], test=rows["test"],
            n_folds=settings.folds, seed=settings.seed, groups=groups, penalties=penalties,
        )  # fmt: skip
    else:
        outcome = run_nested(backend, features, labels, n_classes, n_folds=settings.folds, groups=groups, penalties=penalties)
    ids = [item for split in splits.values() for item in split.ids]
    return _classification_scores(task, dataset, settings, outcome, labels, ids, splits)


def evaluate_similarity(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Correlate the cosine of each pair's vectors, or the caller's own similarity, with the gold score; nothing is trained."""
    split = concatenate_splits(list(dataset.splits.values()))
    predicted, gold, degenerate = predict_similarity(task, split, embeddings, settings)
    metrics, pairs = [], {}
    for kind in ("pearson", "spearman"):
        value, p = correlation(kind, predicted, gold)
        rng = np.random.default_rng(settings.seed)
        low, high = bootstrap_correlation(
            kind, predicted, gold, resamples=settings.resamples, confidence=settings.confidence, rng=rng
        )
        # Any constant answer correlates with nothing: the baseline is 0.
        metrics.append(Metric(kind, value, low, high, 0.0, "fraction", len(gold)))
        pairs[kind] = (value, p)
    summary = {kind: {"mean": value, "wmean": value} for kind, (value, _) in pairs.items()}
    return Scores(
        metrics=tuple(metrics),
        n_train=0,
        n_test=len(gold),
        items={"id": split.ids, "gold": gold.tolist(), "predicted": predicted.tolist()},
        senteval={task.senteval_name or task.name: {**pairs, "nsamples": len(gold)}, "all": summary},
        details={"pairs_with_zero_vector": degenerate},
    )


def predict_split(
    task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings, tested: Sequence[str]
) -> tuple[dict[str, Labels], dict[str, Any]]:
    """Train a probe on train and dev and return its answers to the rows of other splits, with how the fit went."""
    splits = {name: split.take(senteval_order(split)) for name, split in dataset.splits.items() if name in ("train", "dev")}
    splits |= {name: dataset.splits[name] for name in tested}
    features, labels, rows = stack_splits(splits, embeddings, task.pair_features)
    outcome = run_split(
        choose_backend(settings, task.training), features, labels, len(dataset.label_names),
        train=rows["train"], dev=rows["dev"], test=np.concatenate([rows[name] for name in tested]),
        penalties=choose_penalties(settings, task.training),
    )  # fmt: skip
    (fold,) = outcome.folds
    answers = np.split(fold.predicted, np.cumsum([len(rows[name]) for name in tested])[:-1])
    details = {"dev_accuracy": outcome.dev_accuracy, "penalties": [fold.penalty], "fits": vars(outcome.report)}
    return dict(zip(tested, answers, strict=True)), details


def predict_similarity(
    task: Task, split: Split, embeddings: Embeddings, settings: Settings
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return each pair's similarity, its gold score, and how many pairs have a vector of zeros."""
    if split.texts2 is None or split.scores is None:
        raise DataError(f"{task.name}: a similarity task needs pairs of texts with scores")
    left, right = embeddings.rows(split.texts), embeddings.rows(split.texts2)
    if settings.similarity is None:
        predicted, degenerate = paired_cosine(embeddings.matrix, left, right)
    else:
        vectors = embeddings.matrix
        predicted = np.array([float(settings.similarity(vectors[i], vectors[j])) for i, j in zip(left, right, strict=True)])
        degenerate = int((~np.isfinite(predicted)).sum())
        if degenerate:
            raise DataError(f"{task.name}: the given similarity is not finite for {degenerate} of {len(predicted)} pairs")
    return predicted, split.scores, degenerate


def senteval_order(split: Split) -> NDArray[np.intp]:
    """Return the rows sorted as SentEval sorts them before it encodes: by numbers of tokens, then by label.

    Shuffled folds depend on positions, so the same folds as SentEval's need the same order first.
    """
    targets = split.labels if split.labels is not None else split.scores
    assert targets is not None
    columns = [column for column in (split.texts, split.texts2) if column is not None]
    lengths = [np.fromiter((len(text.split()) for text in column), dtype=np.int64, count=len(split)) for column in columns]
    # The last key decides first, and rows that are equal in all of them stay as they are.
    return np.lexsort((targets, *reversed(lengths)))


def concatenate_splits(splits: list[Split]) -> Split:
    """Lay splits one after the other; groups and labels are left behind."""
    if len(splits) == 1:
        return splits[0]

    def chain(name: str) -> Any:
        columns = [getattr(split, name) for split in splits]
        return None if any(column is None for column in columns) else tuple(x for column in columns for x in column)

    scores = chain("scores")
    return Split(
        ids=chain("ids"),
        texts=chain("texts"),
        texts2=chain("texts2"),
        scores=None if scores is None else np.array(scores, dtype=np.float64),
    )


def stack_splits(
    splits: dict[str, Split], embeddings: Embeddings, combination: str
) -> tuple[Features, Labels, dict[str, NDArray[np.intp]]]:
    """Lay the splits one after the other: features, labels, and which rows belong to which split."""
    parts = list(splits.values())
    left = np.concatenate([embeddings.rows(part.texts) for part in parts])
    pairs = all(part.texts2 is not None for part in parts)
    right = np.concatenate([embeddings.rows(part.texts2 or ()) for part in parts]) if pairs else None
    labels = np.concatenate([part.labels for part in parts if part.labels is not None])
    ends = np.cumsum([0, *map(len, parts)])
    rows = {name: np.arange(ends[i], ends[i + 1], dtype=np.intp) for i, name in enumerate(splits)}
    return Features(embeddings.matrix, left, right, combination), labels, rows


def _group_numbers(task: Task, splits: dict[str, Split]) -> NDArray[np.intp]:
    names = [name for split in splits.values() for name in split.groups or ()]
    if len(names) != sum(map(len, splits.values())):
        raise SettingsError(f"{task.name}: the files do not say which rows belong together, so folds cannot be grouped")
    _, numbers = np.unique(names, return_inverse=True)
    return numbers.astype(np.intp)


def _classification_scores(
    task: Task,
    dataset: Dataset,
    settings: Settings,
    outcome: Outcome,
    labels: Labels,
    ids: list[str],
    splits: dict[str, Split],
) -> Scores:
    gold = [labels[fold.rows] for fold in outcome.folds]
    predicted = [fold.predicted for fold in outcome.folds]
    metrics = [accuracy_metric(gold, predicted, settings)]
    fold_accuracies = [round(100 * float(np.mean(g == p)), 2) for g, p in zip(gold, predicted, strict=True)]
    tested = np.concatenate([fold.rows for fold in outcome.folds])
    n_test = len(tested)
    n_dev = len(splits["dev"]) if "dev" in splits else len(next(iter(splits.values())))
    legacy: dict[str, Any] = {"devacc": outcome.dev_accuracy, "acc": float(np.round(np.mean(fold_accuracies), 2))}
    details: dict[str, Any] = {
        "dev_accuracy": outcome.dev_accuracy,
        "fold_accuracies": fold_accuracies,
        "penalties": [fold.penalty for fold in outcome.folds],
        "fits": vars(outcome.report),
    }
    if task.positive_label is not None:
        positive = dataset.label_names.index(task.positive_label)
        f1, pooled, fold_f1s = _f1(gold, predicted, positive, settings)
        metrics.append(f1)
        details |= {"fold_f1": fold_f1s, "pooled_f1": pooled}
        legacy["f1"] = float(np.round(np.mean([round(value, 2) for value in fold_f1s]), 2))
        if task.protocol == "nested":
            legacy["F1score"] = legacy["f1"]  # MedSentEval's key for BioC
    legacy |= {"ndev": n_dev, "ntest": n_test}
    n_train = n_test if task.protocol == "nested" else len(splits["train"])
    legacy |= {"n_train": n_train, "n_rejected": len(dataset.rejected)}
    probabilities = np.concatenate([fold.probabilities for fold in outcome.folds])
    return Scores(
        metrics=tuple(metrics),
        n_train=n_train,
        n_test=n_test,
        items={
            "id": [ids[row] for row in tested],
            "gold": labels[tested].tolist(),
            "predicted": np.concatenate(predicted).tolist(),
            "probability": np.round(probabilities.max(axis=1), 6).tolist(),
            "fold": np.repeat(np.arange(len(gold)), list(map(len, gold))).tolist(),
        },
        senteval=legacy,
        details=details,
    )


def accuracy_metric(gold: list[Labels], predicted: list[Labels], settings: Settings, name: str = "acc") -> Metric:
    """Return the mean accuracy over folds with its interval, beside that of the best constant answer."""
    right = [int(np.sum(g == p)) for g, p in zip(gold, predicted, strict=True)]
    counts = np.array([[r, len(g) - r] for r, g in zip(right, gold, strict=True)], dtype=np.int64)
    low, high = bootstrap_counts(
        counts,
        lambda drawn: drawn[..., 0] / drawn.sum(axis=-1),
        resamples=settings.resamples,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
    )
    everything = np.concatenate(gold)
    # The best constant answer on the very items that are scored: a train majority can be a test minority (RQE).
    baseline = 100 * float(np.bincount(everything).max()) / len(everything)
    value = 100 * float(np.mean(counts[:, 0] / counts.sum(axis=1)))
    return Metric(name, value, 100 * low, 100 * high, baseline, "percent", len(everything))


def _f1(gold: list[Labels], predicted: list[Labels], positive: int, settings: Settings) -> tuple[Metric, float, list[float]]:
    """Return F1 as the mean over folds with its interval, F1 of the pooled predictions, and each fold's."""
    counts = np.array([_two_by_two(g == positive, p == positive) for g, p in zip(gold, predicted, strict=True)])
    always_yes = np.array([_two_by_two(g == positive, np.ones(len(g), dtype=bool)) for g in gold])
    low, high = bootstrap_counts(
        counts,
        f1_from_counts,
        resamples=settings.resamples,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
    )
    per_fold = 100 * f1_from_counts(counts)
    baseline = 100 * float(f1_from_counts(always_yes).mean())
    metric = Metric("f1", float(per_fold.mean()), 100 * low, 100 * high, baseline, "percent", int(counts.sum()))
    return metric, 100 * float(f1_from_counts(counts.sum(axis=0))), per_fold.tolist()


def _two_by_two(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> list[int]:
    return [
        int(np.sum(gold & predicted)),
        int(np.sum(~gold & predicted)),
        int(np.sum(gold & ~predicted)),
        int(np.sum(~gold & ~predicted)),
    ]
