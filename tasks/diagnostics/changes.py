"""What one change to a sentence does to its vector: function words, negation, drug, dose, side, order, typing, case.

Cosines alone do not compare encoders, since in some all sentences lie close together. A change is therefore measured
as a share of the distance between unrelated sentences of the same test: 0 if the vector stays where it is, 1 if the changed
sentence is as far away as a different one. Where the meaning changes, this share is the score (``sensitivity``); where it does
not, what is left to 1 (``robustness``). The cosine of the paper's first test (Tawfik and Spruit 2020, section 4.1) comes too.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Split, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.similarity import paired_cosine
from medsenteval.statistics import Means, bootstrap
from medsenteval.tasks.diagnostics.items import CHANGES, read_items
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task

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


def _read(builder: DatasetBuilder) -> Dataset:
    items, files = read_items(builder.folder, builder.name, CHANGES[builder.name])
    ids, texts, changed = (tuple(item[name] for item in items) for name in ("id", "text", "changed"))
    return Dataset(builder.name, {"all": Split(ids, texts, changed)}, files=files)


TASKS: Final = {name: file_task("diagnostics", name, _read, evaluate_changes, folders=(), uses_probe=False) for name in CHANGES}
