"""What a probe trained on MedNLI says of inferences that need an abbreviation or a medical relation.

The paper's second and third test (Tawfik and Spruit 2020, section 4.1, Table 4): labels before and after an abbreviation is
written out, and labels of pairs that need an unstated relation, by kind of relation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.settings import Settings
from medsenteval.support.arrays import Labels
from medsenteval.tasks.classification import predict_split
from medsenteval.tasks.diagnostics.items import ABBREVIATION_ITEMS, KNOWLEDGE_ITEMS, Inference, read_inferences
from medsenteval.tasks.probe_rows import accuracy_metric
from medsenteval.tasks.sentence import mednli


def _read(folder: Path, name: str, items: tuple[Inference, ...], also: str) -> tuple[Dataset, list[Inference], tuple[str, ...]]:
    """Return MedNLI, on which the probe is trained, and the items; those of the user lie beside MedNLI's folder."""
    found, files = read_inferences(folder.parent, name, items, mednli.LABELS, also)
    return mednli.read(folder, {}), list(found), files


def _joined(name: str, trained_on: Dataset, tested: Mapping[str, Split], files: tuple[str, ...]) -> Dataset:
    splits = {part: trained_on.splits[part] for part in ("train", "dev")} | dict(tested)
    return Dataset(
        name, splits, mednli.LABELS, (*trained_on.files, *files), rejected=trained_on.rejected, notes=trained_on.notes
    )


def _split(items: list[Inference], premises: list[str], groups: list[str] | None = None) -> Split:
    return Split(
        ids=tuple(item.item for item in items),
        texts=tuple(premises),
        texts2=tuple(item.hypothesis for item in items),
        labels=np.array([mednli.LABELS.index(item.label) for item in items], dtype=np.int64),
        groups=None if groups is None else tuple(groups),
    )


def _read_abbreviations(folder: Path, options: Mapping[str, str]) -> Dataset:
    trained_on, items, files = _read(folder, "Abbreviations", ABBREVIATION_ITEMS, "expanded")
    tested = {
        "before": _split(items, [item.premise for item in items]),
        "after": _split(items, [item.expanded for item in items]),
    }
    return _joined("Abbreviations", trained_on, tested, files)


def _read_knowledge(folder: Path, options: Mapping[str, str]) -> Dataset:
    trained_on, items, files = _read(folder, "MedicalKnowledge", KNOWLEDGE_ITEMS, "relation")
    tested = {"test": _split(items, [item.premise for item in items], [item.relation for item in items])}
    return _joined("MedicalKnowledge", trained_on, tested, files)


def _evaluate_abbreviations(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Score the labels before and after the abbreviation is written out, and count what changed."""
    predicted, details = predict_split(task, dataset, embeddings, settings, ("before", "after"))
    gold = _gold(dataset.splits["before"])
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
    """Score the labels of inferences, and of each kind of relation by itself."""
    predicted, details = predict_split(task, dataset, embeddings, settings, ("test",))
    split = dataset.splits["test"]
    gold, answers = _gold(split), predicted["test"]
    metrics = [accuracy_metric([gold], [answers])]
    relations = np.array(split.groups)
    for relation in dict.fromkeys(split.groups or ()):
        rows = np.flatnonzero(relations == relation)
        metrics.append(accuracy_metric([gold[rows]], [answers[rows]], f"acc_{relation}"))
    items = {"id": split.ids, "gold": gold.tolist(), "predicted": answers.tolist(), "relation": list(split.groups or ())}
    return _scores(dataset, tuple(metrics), items, details)


def _gold(split: Split) -> Labels:
    assert split.labels is not None
    return split.labels


def _scores(dataset: Dataset, metrics: tuple[Metric, ...], items: Mapping[str, Any], details: Mapping[str, Any]) -> Scores:
    n = metrics[0].n
    legacy = {metric.name: metric.value for metric in metrics} | {"ntest": n}
    return Scores(metrics, len(dataset.splits["train"]), n, items, legacy, details)


_SHARED: Final[dict[str, Any]] = {
    "version": "1",
    "family": "diagnostic",
    "protocol": "split",
    "folders": mednli.TASK.folders,
    "labels": mednli.LABELS,
    "training": mednli.TASK.training,
    "citation": f"Tawfik and Spruit 2020, section 4.1; the probe is trained on MedNLI: {mednli.TASK.citation}",
    "licence": f"the bundled items are part of this toolkit; MedNLI: {mednli.TASK.licence}",
    "access": mednli.TASK.access,
    "obtain": f"{mednli.TASK.obtain}; items of your own go to diagnostics/ beside it",
}

_SCORED: Final = ("acc_before", "acc_after")
TASKS: Final = {
    task.name: task
    for task in (
        Task("Abbreviations", metrics=_SCORED, read=_read_abbreviations, evaluate=_evaluate_abbreviations, **_SHARED),
        Task("MedicalKnowledge", metrics=("acc",), read=_read_knowledge, evaluate=_evaluate_knowledge, **_SHARED),
    )
}
