"""The protocols give exactly what SentEval's scikit-learn mode gives: upstream's record, and a literal loop in scikit-learn."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from medsenteval.errors import ProbeError
from medsenteval.probes.backend import FitReport
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import Outcome, _grouped_assignment, run_kfold, run_nested, run_split, stratified_folds
from medsenteval.probes.scikit import ScikitBackend

Matrix = NDArray[np.float32]
Labels = NDArray[np.int64]

RECIPES = {"binary": (1, 240, 20, 2), "four": (2, 400, 30, 4)}


def recorded_input(name: str) -> tuple[Matrix, Labels, int]:
    """The deterministic inputs on which upstream's outputs were recorded."""
    seed, n, d, k = RECIPES[name]
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    centres = rng.standard_normal((k, d))
    rows = 0.6 * centres[labels] / np.sqrt(d) * 4 + rng.standard_normal((n, d))
    return rows.astype(np.float32), labels, k


def mean_accuracy(outcome: Outcome, labels: Labels) -> float:
    folds = [round(100 * float(np.mean(fold.predicted == labels[fold.rows])), 2) for fold in outcome.folds]
    return float(np.round(np.mean(folds), 2))


def thirds(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    rows = np.arange(n)
    return rows[: n // 2], rows[n // 2 : n * 3 // 4], rows[n * 3 // 4 :]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dev", "test"), [("binary", 93.75, 93.33), ("four", 91.78, 90.75)])
def test_nested_equals_upstreams_record(name: str, dev: float, test: float) -> None:
    rows, labels, k = recorded_input(name)
    outcome = run_nested(ScikitBackend(), Features.from_array(rows), labels, k, n_folds=10)
    assert (outcome.dev_accuracy, mean_accuracy(outcome, labels)) == (dev, test)


@pytest.mark.parametrize(
    ("name", "dev", "test", "first"),
    [("binary", 95.56, 88.33, "0 1 1 0 1 0 1 0 1 0 1 0"), ("four", 91.0, 90.0, "0 3 2 0 1 2 2 1 1 2 2 0")],
)
def test_kfold_equals_upstreams_record(name: str, dev: float, test: float, first: str) -> None:
    rows, labels, k = recorded_input(name)
    cut = len(rows) * 3 // 4
    everything = np.arange(len(rows))
    outcome = run_kfold(
        ScikitBackend(), Features.from_array(rows), labels, k,
        train=everything[:cut], test=everything[cut:], n_folds=10, seed=1111,
    )  # fmt: skip
    assert (outcome.dev_accuracy, mean_accuracy(outcome, labels)) == (dev, test)
    assert outcome.folds[0].predicted[:12].tolist() == list(map(int, first.split()))


@pytest.mark.parametrize(("name", "dev", "test"), [("binary", 96.67, 93.33), ("four", 91.0, 90.0)])
def test_split_equals_upstreams_record(name: str, dev: float, test: float) -> None:
    rows, labels, k = recorded_input(name)
    train, dev_rows, test_rows = thirds(len(rows))
    outcome = run_split(ScikitBackend(), Features.from_array(rows), labels, k, train=train, dev=dev_rows, test=test_rows)
    assert (outcome.dev_accuracy, mean_accuracy(outcome, labels)) == (dev, test)


def literal_nested(rows: Matrix, labels: Labels, k: int, seed: int) -> tuple[float, float, float]:
    """Nested cross-validation written out as SPEC B.3 describes it, one scikit-learn call after the other."""
    grid = [2.0**t for t in range(-2, 4)]
    splitter = StratifiedKFold(k, shuffle=True, random_state=1111)
    devs, tests, f1s = [], [], []
    for train, held_out in splitter.split(rows, labels):
        scores = []
        for c in grid:
            inner = []
            for fitted, scored in splitter.split(rows[train], labels[train]):
                model = LogisticRegression(C=c, random_state=seed).fit(rows[train][fitted], labels[train][fitted])
                inner.append(model.score(rows[train][scored], labels[train][scored]))
            scores.append(round(100 * np.mean(inner), 2))
        model = LogisticRegression(C=grid[int(np.argmax(scores))], random_state=seed).fit(rows[train], labels[train])
        devs.append(np.max(scores))
        tests.append(round(100 * model.score(rows[held_out], labels[held_out]), 2))
        f1s.append(f1_score(labels[held_out], model.predict(rows[held_out])))
    return round(np.mean(devs), 2), round(np.mean(tests), 2), float(100 * np.mean(f1s))


def test_nested_equals_a_literal_loop_for_other_seeds_and_sizes() -> None:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 90)
    rows = (labels[:, None] * 0.8 + rng.standard_normal((90, 6))).astype(np.float32)
    outcome = run_nested(ScikitBackend(seed=5), Features.from_array(rows), labels, 2, n_folds=4)
    dev, test, _ = literal_nested(rows, labels, 4, seed=5)
    assert (outcome.dev_accuracy, mean_accuracy(outcome, labels)) == (dev, test)


def test_ties_go_to_the_first_penalty_and_every_row_is_predicted_once() -> None:
    # Perfectly separable, so that every C scores 100 and the tie rule decides.
    labels = np.repeat([0, 1], 20)
    rows = np.where(labels, 5.0, -5.0)[:, None].astype(np.float32)
    outcome = run_nested(ScikitBackend(), Features.from_array(rows), labels, 2, n_folds=5)
    assert {fold.penalty for fold in outcome.folds} == {0.25}
    assert sorted(np.concatenate([fold.rows for fold in outcome.folds]).tolist()) == list(range(40))


def test_grouped_folds_never_part_a_group() -> None:
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(0, 2, 120), rng.integers(0, 24, 120)
    for train, held_out in stratified_folds(labels, 5, 1111, groups):
        assert not set(groups[train]) & set(groups[held_out])
        assert sorted([*train, *held_out]) == list(range(120))


def test_a_class_missing_from_training_rows_gets_probability_zero() -> None:
    rng = np.random.default_rng(1)
    labels = np.array([0] * 15 + [1] * 14 + [2])
    features = Features.from_array(rng.standard_normal((30, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = run_nested(ScikitBackend(), features, labels, 3, n_folds=3)
    fold = next(fold for fold in outcome.folds if 29 in fold.rows)
    assert fold.probabilities.shape[1] == 3
    assert not fold.probabilities[:, 2].any()
    assert np.allclose(fold.probabilities.sum(axis=1), 1)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 60), n_classes=st.integers(2, 6), n_folds=st.integers(2, 6))
def test_stratified_folds_are_scikit_learns(seed: int, n: int, n_classes: int, n_folds: int) -> None:
    labels = np.random.default_rng(seed).integers(0, n_classes, n)
    assume(len(np.unique(labels)) > 1 and np.bincount(labels).max() >= n_folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(n), labels))
    found = stratified_folds(labels, n_folds, seed)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for rows, wanted in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(rows, wanted)


def test_scikit_learn_is_imported_only_by_what_needs_it() -> None:
    code = (
        "import sys, numpy, medsenteval\n"
        "rows = lambda texts: numpy.array([[len(text), text.count(' ')] for text in texts], numpy.float32)\n"
        "settings = medsenteval.Settings(resamples=100, allow_incomplete=True)\n"
        "found = medsenteval.evaluate(rows, ['RQE', 'BIOSSES'], settings=settings, cache=False)\n"
        "print(*found, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "RQE BIOSSES False\n", done.stderr


def test_reports_of_fits_add_up() -> None:
    first, second, third = FitReport(10, 1, 0.5, None), FitReport(5, 3, 0.25, 1e-3), FitReport(2, 0, None, 1e-5)
    assert first + second + third == FitReport(17, 4, 0.5, 1e-3)
    assert third + first == FitReport(12, 1, 0.5, 1e-5)
    assert FitReport(1, 1, None, None) + FitReport(1, 0, None, None) == FitReport(2, 1, None, None)


def test_impossible_folds_are_explained() -> None:
    with pytest.raises(ProbeError, match="same label"):
        stratified_folds(np.zeros(10, dtype=np.int64), 5, 1)
    with pytest.raises(ProbeError, match="use fewer folds"):
        stratified_folds(np.array([0, 0, 1, 1]), 5, 1)
    with pytest.raises(ProbeError, match="5 groups or more, there are 2"):
        stratified_folds(np.arange(20) % 2, 5, 1, np.arange(20) % 2)


def test_an_assignment_that_is_kept_cannot_be_changed() -> None:
    labels, groups = np.arange(24) % 2, np.arange(24) // 2
    kept = _grouped_assignment(labels.astype(np.int64).tobytes(), groups.astype(np.intp).tobytes(), 3, 1)
    assert kept.flags.writeable is False
    folds = stratified_folds(labels, 3, 1, groups)
    assert [np.flatnonzero(kept == fold).tolist() for fold in range(3)] == [rows.tolist() for _, rows in folds]
