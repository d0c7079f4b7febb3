"""Diagnostic tests: what one change does to a sentence's vector, and what a probe says of inferences that need knowledge.

Changes are of function words, negation, drug, dose, side, order, typing and case. Cosines alone do not compare encoders, since
in some all sentences lie close together. A change is therefore measured as a share of the distance between unrelated sentences
of the same test: 0 if the vector stays where it is, 1 if the changed sentence is as far away as a different one. Where the
meaning changes, this share is the score (``sensitivity``); where it does not, what is left to 1 (``robustness``). The cosine of
the paper's first test (Tawfik and Spruit 2020, section 4.1) comes too.

The probe is trained on MedNLI for the paper's second and third test (Table 4): labels before and after an abbreviation is
written out, and labels of pairs that need an unstated relation, by kind of relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.similarity import paired_cosine
from medsenteval.statistics import Means, bootstrap
from medsenteval.tasks.classification import predict_split
from medsenteval.tasks.diagnostics.items import ABBREVIATION_ITEMS, CHANGES, KNOWLEDGE_ITEMS, Item, read_items
from medsenteval.tasks.probe_rows import accuracy_metric
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.tasks.sentence import mednli

#: A cosine from which the paper counts two sentences as the same.
_SAME: Final = 0.93


def evaluate_changes(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Measure how far each change moves a sentence's vector, as a share of the distance to unrelated sentences."""
    (split,) = dataset.splits.values()
    assert split.texts2 is not None
    left = embeddings.rows(split.texts)
    cosines, degenerate = paired_cosine(embeddings.matrix, left, embeddings.rows2(split.texts2))
    unrelated = _mean_unrelated_cosine(embeddings.matrix[np.unique(left)])
    if not unrelated < 1.0 - 1e-9:
        raise DataError(f"{task.name}: all sentences have the same direction, so no change can be measured against another")
    sensitivity = (1.0 - cosines) / (1.0 - unrelated)
    score = task.metrics[0]
    values = sensitivity if score == "sensitivity" else 1.0 - sensitivity
    resampled = bootstrap(
        Means.of(np.stack([values, cosines])), resamples=settings.resamples, rng=np.random.default_rng(settings.seed)
    )
    spans = [resampled.interval(i, confidence=CONFIDENCE) for i in (0, 1)]
    n = len(values)
    metrics = (
        Metric(score, float(values.mean()), spans[0].low, spans[0].high, 0.0, "fraction", n),
        Metric("cosine", float(cosines.mean()), spans[1].low, spans[1].high, unrelated, "fraction", n),
    )
    return Scores(
        metrics=metrics,
        n_train=0,
        n_test=n,
        items={"id": split.ids, score: values.tolist(), "cosine": cosines.tolist()},
        senteval={metric.name: metric.value for metric in metrics} | {"nsamples": n},
        details={
            "smallest_cosine": float(cosines.min()),
            "same": int((cosines >= _SAME).sum()),
            "same_from_cosine": _SAME,
            "cosine_of_unrelated": unrelated,
            "pairs_with_zero_vector": degenerate,
        },
    )


def _mean_unrelated_cosine(matrix: NDArray[np.float32]) -> float:
    """Return the mean cosine over all pairs of different rows, from the length of their sum instead of pair by pair."""
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    unit = np.divide(matrix, lengths, out=np.zeros(matrix.shape), where=lengths > 0)
    n = len(unit)
    if n < 2:
        raise DataError("at least two different sentences are needed, to know how far apart unrelated ones are")
    return float((np.sum(unit.sum(axis=0) ** 2) - np.sum(unit**2)) / (n * (n - 1)))


def _read_changes(builder: DatasetBuilder) -> Dataset:
    items, files = read_items(builder.folder, builder.name, CHANGES[builder.name])
    ids, texts, changed = (tuple(item[name] for item in items) for name in ("id", "text", "changed"))
    return Dataset(builder.name, {"all": Split(ids, texts, changed)}, files=files)


def _read_inferences(builder: DatasetBuilder) -> Dataset:
    """Return MedNLI's rows, on which the probe is trained, and the items, as often as there are kinds of premises.

    Items of the user lie beside MedNLI's folder.
    """
    bundled, premises = _ITEMS[builder.name]
    items, files = read_items(builder.folder.parent, builder.name, bundled, mednli.LABELS)
    trained_on = mednli.TASK.read(builder.folder, {})
    splits = {part: trained_on.splits[part] for part in ("train", "dev")}
    for part, premise in premises.items():
        splits[part] = Split(
            ids=tuple(item["id"] for item in items),
            texts=tuple(item[premise] for item in items),
            texts2=tuple(item["hypothesis"] for item in items),
            labels=np.array([mednli.LABELS.index(item["label"]) for item in items], dtype=np.int64),
            groups=tuple(item["relation"] for item in items) if "relation" in items[0] else None,
        )
    return replace(trained_on, name=builder.name, splits=splits, files=(*trained_on.files, *files))


def _evaluate_abbreviations(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    predicted, details = predict_split(task, dataset, embeddings, settings, ("before", "after"))
    gold = dataset.splits["before"].labels
    assert gold is not None
    right = {when: predicted[when] == gold for when in ("before", "after")}
    metrics = tuple(accuracy_metric([gold], [predicted[when]], f"acc_{when}") for when in ("before", "after"))
    details |= {
        "flips_to_gold": int((~right["before"] & right["after"]).sum()),
        "flips_from_gold": int((right["before"] & ~right["after"]).sum()),
        "other_flips": int((~right["before"] & ~right["after"] & (predicted["before"] != predicted["after"])).sum()),
    }
    items: dict[str, Any] = {
        "id": dataset.splits["before"].ids,
        "gold": gold.tolist(),
        "predicted": predicted["after"].tolist(),
    }
    # Right or wrong under the metrics' names, so that encoders can be compared item by item.
    items |= {f"acc_{when}": right[when].astype(int).tolist() for when in ("before", "after")}
    return _scores(dataset, metrics, {**items, "before": predicted["before"].tolist()}, details)


def _evaluate_knowledge(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    predicted, details = predict_split(task, dataset, embeddings, settings, ("test",))
    split = dataset.splits["test"]
    gold, answers = split.labels, predicted["test"]
    assert gold is not None
    metrics = [accuracy_metric([gold], [answers])]
    relations = np.array(split.groups)
    for relation in dict.fromkeys(split.groups or ()):
        rows = np.flatnonzero(relations == relation)
        metrics.append(accuracy_metric([gold[rows]], [answers[rows]], f"acc_{relation}"))
    items = {"id": split.ids, "gold": gold.tolist(), "predicted": answers.tolist(), "relation": list(split.groups or ())}
    return _scores(dataset, tuple(metrics), items, details)


def _scores(dataset: Dataset, metrics: tuple[Metric, ...], items: Mapping[str, Any], details: Mapping[str, Any]) -> Scores:
    n = metrics[0].n
    legacy = {metric.name: metric.value for metric in metrics} | {"ntest": n}
    return Scores(metrics, len(dataset.splits["train"]), n, items, legacy, details)


#: Task -> its bundled items, and which of their premises make which split.
_ITEMS: Final[Mapping[str, tuple[Sequence[Item], Mapping[str, str]]]] = {
    "Abbreviations": (ABBREVIATION_ITEMS, {"before": "premise", "after": "expanded"}),
    "MedicalKnowledge": (KNOWLEDGE_ITEMS, {"test": "premise"}),
}
_OF_MEDNLI: Final[dict[str, Any]] = {
    "folders": mednli.TASK.folders,
    "labels": mednli.LABELS,
    "training": mednli.TASK.training,
    "citation": f"Tawfik and Spruit 2020, section 4.1; the probe is trained on MedNLI: {mednli.TASK.citation}",
    "licence": f"the bundled items are part of this toolkit; MedNLI: {mednli.TASK.licence}",
    "access": mednli.TASK.access,
    "obtain": f"{mednli.TASK.obtain}; items of your own go to diagnostics/ beside it",
}
TASKS: Final = {
    **{name: file_task("diagnostics", name, _read_changes, evaluate_changes, folders=(), uses_probe=False) for name in CHANGES},
    "Abbreviations": file_task("diagnostics", "Abbreviations", _read_inferences, _evaluate_abbreviations, **_OF_MEDNLI),
    "MedicalKnowledge": file_task("diagnostics", "MedicalKnowledge", _read_inferences, _evaluate_knowledge, **_OF_MEDNLI),
}
