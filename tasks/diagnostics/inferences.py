"""What a probe trained on MedNLI says of inferences that need an abbreviation or a medical relation.

The paper's second and third test (Tawfik and Spruit 2020, section 4.1, Table 4): labels before and after an abbreviation is
written out, and labels of pairs that need an unstated relation, by kind of relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.settings import Settings
from medsenteval.tasks.classification import predict_split
from medsenteval.tasks.diagnostics.items import ABBREVIATION_ITEMS, KNOWLEDGE_ITEMS, Item, read_items
from medsenteval.tasks.probe_rows import accuracy_metric
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.tasks.sentence import mednli


def _read(builder: DatasetBuilder) -> Dataset:
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
    "Abbreviations": file_task("diagnostics", "Abbreviations", _read, _evaluate_abbreviations, **_OF_MEDNLI),
    "MedicalKnowledge": file_task("diagnostics", "MedicalKnowledge", _read, _evaluate_knowledge, **_OF_MEDNLI),
}
