"""Rows and pair features in the order in which the originals lay them before their classifiers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from medsenteval.contracts import Dataset, Split
from medsenteval.probes.features import Features
from medsenteval.registry import task
from medsenteval.settings import PROBES, Settings
from medsenteval.tasks.probe_rows import accuracy_metric, probe_splits, senteval_order, stacked_parts, unseen_labels

LABELS = ("entailment", "neutral", "contradiction")


def made_up_pairs(seed: int, n_rows: int = 60) -> Split:
    rng = np.random.default_rng(seed)
    first, second = (tuple(" ".join(["w"] * n) for n in rng.integers(1, 4, n_rows)) for _ in range(2))
    return Split(tuple(map(str, range(n_rows))), first, second, labels=rng.integers(0, 3, n_rows))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["SNLI", "MedNLI"])
def test_pairs_of_inference_are_sorted_by_hypothesis_premise_and_label_name(name: str, seed: int) -> None:
    split = made_up_pairs(seed)
    assert split.texts2 is not None
    assert split.labels is not None
    columns = zip(split.texts2, split.texts, (LABELS[number] for number in split.labels), split.ids, strict=True)
    expected = sorted(columns, key=lambda row: (len(row[0].split()), len(row[1].split()), row[2]))
    dataset = Dataset(name, {"train": split}, LABELS)
    for probe in ("sklearn", "senteval", "mlp"):
        ordered = probe_splits(task(name), dataset, Settings(probe=probe))["train"]
        assert list(ordered.ids) == [row[3] for row in expected]
    # The exact solver depends on no order; it keeps that of every other task.
    by_first = split.take(senteval_order(split)).ids
    assert probe_splits(task(name), dataset, Settings())["train"].ids == by_first != ordered.ids


def test_other_pairs_are_sorted_by_the_first_text_the_second_and_the_label_number() -> None:
    split = made_up_pairs(5)
    assert split.texts2 is not None
    assert split.labels is not None
    columns = zip(split.texts, split.texts2, split.labels.tolist(), split.ids, strict=True)
    expected = sorted(columns, key=lambda row: (len(row[0].split()), len(row[1].split()), row[2]))
    ordered = probe_splits(task("BioASQ"), Dataset("BioASQ", {"train": split}, LABELS), Settings(probe="sklearn"))["train"]
    assert list(ordered.ids) == [row[3] for row in expected]


def test_legacy_tokens_are_what_single_blanks_separate() -> None:
    split = Split(("a", "b"), ("x  y", "x y"), ("z", "z"), labels=np.array([0, 0]))
    dataset = Dataset("RQE", {"train": split}, ("false", "true"))
    assert probe_splits(task("RQE"), dataset, Settings())["train"].ids == ("a", "b")
    legacy = replace(dataset, options={"legacy": "yes"})
    assert probe_splits(task("RQE"), legacy, Settings())["train"].ids == ("b", "a")


def test_four_parts_are_stacked_as_the_originals_stack_them_where_a_fit_can_see_it() -> None:
    for name in ("SNLI", "MedNLI", "RQE", "BioASQ", "BioC"):
        found = {probe: stacked_parts(task(name), Settings(probe=probe)) for probe in PROBES}
        assert found == {probe: "u,v,|u-v|,u*v" if probe == "exact" else "u,v,u*v,|u-v|" for probe in PROBES}
    assert {stacked_parts(task("MRPC"), Settings(probe=probe)) for probe in PROBES} == {"|u-v|,u*v"}


def test_rows_of_pair_features_are_what_their_name_says() -> None:
    u, v = np.array([[1, -2]], dtype=np.float32), np.array([[3, 5]], dtype=np.float32)
    parts = {"u": u, "v": v, "u*v": u * v, "|u-v|": abs(u - v)}
    for combination in ("u,v,|u-v|,u*v", "u,v,u*v,|u-v|", "|u-v|,u*v"):
        features = Features(np.concatenate([u, v]), np.array([0]), np.array([1]), combination)
        expected = np.hstack([parts[name] for name in combination.split(",")])
        assert features.take(slice(None)).tolist() == expected.tolist()
        assert (features.n_parts, features.n_columns) == (len(combination.split(",")), expected.shape[1])


def test_labels_that_training_never_had_are_said() -> None:
    labels = np.array([0, 1, 0, 1, 2, 2, 3, 0])
    train, test = np.arange(4), np.arange(4, 8)
    (note,) = unseen_labels(labels, ("a", "b", "c", "d"), [test], train)
    assert note == "3 of 4 tested items have a label that training never had: c (2), d (1)"
    assert unseen_labels(labels, ("a", "b", "c", "d"), [np.array([7])], train) == ()
    # In folds: d has one row, which is tested without ever being trained on, and both rows of c are in one fold.
    folds = [np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7])]
    (note,) = unseen_labels(labels, ("a", "b", "c", "d"), folds, None)
    assert note == "3 of 8 tested items have a label that training never had: c (2), d (1)"
    assert unseen_labels(labels, ("a", "b", "c", "d"), [np.array([0, 1, 4]), np.array([2, 3, 5, 7])], None) == ()


def test_a_perfect_accuracy_has_an_interval() -> None:
    gold = [np.array([0, 1, 1]), np.array([1, 0, 1])]
    metric = accuracy_metric(gold, gold)
    assert (metric.value, metric.high, metric.n) == (100.0, 100.0, 6)
    assert metric.low == pytest.approx(100 * 0.025 ** (1 / 6))
    assert metric.baseline == pytest.approx(400 / 6)
