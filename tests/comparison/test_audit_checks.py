"""Each check of the audit against scikit-learn: nearest neighbours, grouped folds, another seed, and what need not be done."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from medsenteval import evaluate
from medsenteval.comparison.audit import check_job, principal_axes
from medsenteval.contracts import Scores
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.probes import choose_backend
from medsenteval.probes.features import Features
from medsenteval.running.rescoring import StoredJob, reopen
from medsenteval.running.result_store import load_results
from medsenteval.tasks.classification import neighbour_shares

ROWS, DIMENSION, FOLDS = 160, 8, 4
GROUPS = np.arange(ROWS) // 4
#: In this order already, because rows are sorted by length and label before they are spread over folds.
LABELS = (GROUPS >= 20).astype(np.int64)
TRAIN, TEST = np.flatnonzero(GROUPS % 8 < 5), np.flatnonzero(GROUPS % 8 >= 5)


def _vectors() -> NDArray[np.float32]:
    """Return vectors that know a little of the label and much of the group."""
    rng = np.random.default_rng(1)
    groups = rng.standard_normal((ROWS // 4, DIMENSION))[GROUPS]
    rows: NDArray[np.float32] = (groups + 0.5 * rng.standard_normal((ROWS, DIMENSION))).astype(np.float32)
    rows[:, 0] += LABELS
    return rows + np.float32(2)


VECTORS = _vectors()


class Table:
    """Looks vectors up by the number in a text."""

    name, identity = "table", "table-1"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return VECTORS[[int(text.split()[1]) for text in texts]]


def _job(folder: Path, name: str, columns: dict[str, Sequence[Any]]) -> StoredJob:
    with (folder / name).open("w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDSENTEVAL_CACHE", str(folder / "cache"))
        evaluate(Table(), folder / name, output=folder / f"results-{name}", folds=FOLDS)
        (job,), left_out = reopen(load_results([str(folder / f"results-{name}")], folder), folder, EmbeddingCache())
    assert not left_out
    return job


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> StoredJob:
    """A user's rows with a column of patients, in nested folds, grouped because the file says so."""
    columns = {"text": [f"row {i}" for i in range(ROWS)], "label": LABELS.tolist(), "patient": [f"p{g:02}" for g in GROUPS]}
    return _job(tmp_path_factory.mktemp("grouped"), "notes.csv", columns)


@pytest.fixture(scope="module")
def plain(grouped: StoredJob) -> StoredJob:
    """The same rows in folds that do not heed the patients, as the toolkit's own tasks are run."""
    task = replace(grouped.task, always_grouped=False)
    return replace(grouped, task=task, settings=grouped.settings.with_changes(grouped=False))


def checks(job: StoredJob) -> dict[str, Scores | None]:
    return dict(check_job(job, principal_axes(np.asarray(job.embeddings.matrix)), DIMENSION))


def by_row(scores: Scores | None, what: str) -> NDArray[np.int64]:
    """Return a column of the items in the order of the rows; ids are the numbers of lines."""
    assert scores is not None
    order = np.argsort([int(str(each).rpartition(":")[2]) for each in scores.items["id"]])
    return np.array(scores.items[what])[order]


def neighbours(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.int64]:
    """Vote by scikit-learn, equal numbers of votes decided by the sum of the cosines."""
    voting = KNeighborsClassifier(10, metric="cosine", weights=lambda distances: 1 + 1e-4 * (1 - distances))
    found: NDArray[np.int64] = voting.fit(VECTORS[train], LABELS[train]).predict(VECTORS[test])
    return found


def test_neighbours_vote_as_in_scikit_learn(plain: StoredJob) -> None:
    expected = np.empty(ROWS, dtype=np.int64)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=1111).split(VECTORS, LABELS):
        expected[test] = neighbours(train, test)
    assert by_row(checks(plain)["nearest neighbours"], "predicted").tolist() == expected.tolist()


def test_neighbours_among_many_rows_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((1_000, 6)).astype(np.float32)
    labels = (rows[:, 0] + rng.standard_normal(1_000) > 0).astype(np.int64)
    train, test = np.arange(900), np.arange(900, 1_000)
    shares = neighbour_shares(Features(rows, np.arange(1_000)), labels, 2, train, test)
    expected = KNeighborsClassifier(10, metric="cosine").fit(rows[train], labels[train]).predict_proba(rows[test])
    assert shares == pytest.approx(expected, abs=1e-4)


def test_neighbours_of_grouped_rows_are_of_other_groups(grouped: StoredJob) -> None:
    expected = np.empty(ROWS, dtype=np.int64)
    for train, test in StratifiedGroupKFold(FOLDS, shuffle=True, random_state=1111).split(VECTORS, LABELS, GROUPS):
        expected[test] = neighbours(train, test)
    found = checks(grouped)
    assert by_row(found["nearest neighbours"], "predicted").tolist() == expected.tolist()
    assert "grouped folds" not in found  # they are what was run


def test_grouped_folds_are_those_of_a_grouped_run(plain: StoredJob, grouped: StoredJob) -> None:
    found = checks(plain)["grouped folds"]
    assert found is not None
    folds = np.empty(ROWS, dtype=np.int64)
    splitter = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=1111)
    for number, (_, test) in enumerate(splitter.split(VECTORS, LABELS, GROUPS)):
        folds[test] = number
    assert by_row(found, "fold").tolist() == folds.tolist()
    assert found.metrics == grouped.result.metrics
    assert found.items["predicted"] == grouped.result.items["predicted"]
    ungrouped = plain.score(plain.embeddings)
    assert ungrouped.metrics[0].value > found.metrics[0].value + 5  # a patient's other rows gave the answer away


def _fit(penalty: float, rows: NDArray[np.intp]) -> LogisticRegression:
    exact = LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-8)
    return exact.fit(VECTORS[rows].astype(np.float64), LABELS[rows])


def test_another_seed_chooses_the_penalty_by_other_folds(tmp_path: Path) -> None:
    split = np.where(GROUPS % 8 < 5, "train", "test").tolist()
    columns = {"text": [f"row {i}" for i in range(ROWS)], "label": LABELS.tolist(), "split": split}
    job = _job(tmp_path, "split.csv", columns)
    assert job.task.protocol == "kfold"
    found = checks(job)["other seed"]
    assert found is not None
    grid = choose_backend(job.settings, job.task.training).penalties("kfold")
    best = {}
    for seed in (1111, 1112):
        folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(TRAIN, LABELS[TRAIN]))
        means = [
            np.mean([_fit(penalty, TRAIN[a]).score(VECTORS[TRAIN[b]], LABELS[TRAIN[b]]) for a, b in folds]) for penalty in grid
        ]
        best[seed] = (grid[int(np.argmax(np.round(np.multiply(means, 100), 2)))], round(100 * max(means), 2))
    # The order of items is that of the split: by length and label, as in the file.
    assert found.items["predicted"] == _fit(best[1112][0], TRAIN).predict(VECTORS[TEST]).tolist()
    assert found.details["penalties"] == [best[1112][0]]
    assert found.details["dev_accuracy"] == pytest.approx(best[1112][1], abs=0.011)
    assert job.result.details["penalties"] == [best[1111][0]]
    assert best[1111][1] != best[1112][1]


def test_what_the_probe_cannot_see_is_not_computed_again(plain: StoredJob) -> None:
    found = checks(plain)
    assert found["projected"] is None  # as wide as the narrowest encoder already
    assert "centred" not in found
    moved = plain.score(replace(plain.embeddings, matrix=principal_axes(VECTORS)[0].astype(np.float32)))
    assert moved.items["predicted"] == plain.score(plain.embeddings).items["predicted"]
    assert moved.metrics == plain.score(plain.embeddings).metrics
