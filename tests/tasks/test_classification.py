"""What is made of a probe's predictions: each number against those of the stored items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval import Settings, own_task
from medsenteval.contracts import Result
from medsenteval.statistics import accuracy_interval, f1_interval
from tests.conftest import CountingEncoder

ROWS = [{"text": f"{'pain' if i % 3 else 'calm'} {i % 7} {i}", "label": ("no", "yes")[i % 5 < 2]} for i in range(70)]
PARTS = ("train",) * 40 + ("dev",) * 12 + ("test",) * 18


def run(counting: CountingEncoder, rows: list[dict[str, Any]], **options: str) -> Result:
    task = own_task(rows, **options)
    return medsenteval.evaluate(counting, task, settings=Settings(folds=3))[task.name]


@pytest.mark.parametrize("protocol", ["nested", "kfold", "split"])
def test_scores_and_intervals_follow_from_the_items(counting: CountingEncoder, protocol: str) -> None:
    rows = ROWS if protocol == "nested" else [{**row, "split": part} for row, part in zip(ROWS, PARTS, strict=True)]
    result = run(counting, rows, protocol=protocol)
    gold, predicted, fold = (np.array(result.items[name]) for name in ("gold", "predicted", "fold"))
    folds = [np.flatnonzero(fold == number) for number in range(3 if protocol == "nested" else 1)]
    assert sum(map(len, folds)) == len(gold) == result.n_test == (70 if protocol == "nested" else 18)
    right = np.array([np.sum(gold[rows] == predicted[rows]) for rows in folds])
    sizes = np.array(list(map(len, folds)))
    acc, f1 = result.metric("acc"), result.metric("f1")
    low, high = accuracy_interval(right, sizes, confidence=0.95)
    assert (acc.value, acc.low, acc.high) == pytest.approx((100 * np.mean(right / sizes), 100 * low, 100 * high))
    counts = np.array([
        [np.sum(gold[rows] & predicted[rows]), np.sum((1 - gold[rows]) & predicted[rows]),
         np.sum(gold[rows] & (1 - predicted[rows])), np.sum((1 - gold[rows]) & (1 - predicted[rows]))] for rows in folds
    ])  # fmt: skip
    low, high = f1_interval(counts, confidence=0.95)
    each = 200 * counts[:, 0] / (2 * counts[:, 0] + counts[:, 1] + counts[:, 2])
    assert (f1.value, f1.low, f1.high) == pytest.approx((each.mean(), 100 * low, 100 * high))
    always = [200 * np.mean(gold[rows]) / (1 + np.mean(gold[rows])) for rows in folds]
    share = np.mean(gold)
    assert (f1.baseline, acc.baseline) == pytest.approx((np.mean(always), 100 * max(share, 1 - share)))
    assert (f1.n, acc.n, f1.unit, acc.unit) == (len(gold), len(gold), "percent", "percent")
    assert result.details["fold_f1"] == pytest.approx(each.tolist())
    tp, fp, fn, _ = counts.sum(axis=0)
    assert result.details["pooled_f1"] == pytest.approx(200 * tp / (2 * tp + fp + fn))
    assert result.details["positive_label"] == "yes"
    assert len(result.details["penalties"]) == len(folds)
    assert result.details["fold_accuracies"] == np.round(100 * right / sizes, 2).tolist()
    n_dev = {"nested": 70, "kfold": 52, "split": 12}[protocol]
    n_train = {"nested": 70, "kfold": 52, "split": 40}[protocol]
    told = {"ndev": n_dev, "ntest": len(gold), "n_train": n_train, "n_rejected": 0}
    assert {name: result.senteval[name] for name in told} == told
    assert result.senteval["acc"] == round(float(np.mean(np.round(100 * right / sizes, 2))), 2)
    assert result.senteval["f1"] == round(float(np.mean(np.round(each, 2))), 2)
    assert ("F1score" in result.senteval) == (protocol == "nested")
    assert result.senteval["devacc"] == result.details["dev_accuracy"]
    assert all(0.5 <= share <= 1 and share == round(share, 6) for share in result.items["probability"])
