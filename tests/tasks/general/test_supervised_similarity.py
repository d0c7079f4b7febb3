"""SICK-R and STSBenchmark as tasks: SentEval's keys, both regressions, and what a signature says of them."""

from __future__ import annotations

import pytest

from medsenteval import registry
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.engine import evaluate_task
from medsenteval.settings import Settings
from tests.conftest import CountingEncoder


def test_both_regressions_of_the_benchmark(counting: CountingEncoder) -> None:
    pytest.importorskip("torch")
    task = registry.task("STSB")
    results = {}
    for regression in ("senteval", "ridge"):
        settings = Settings(resamples=100, task_options={"STSBenchmark": {"regression": regression}})
        result = evaluate_task(task, load_dataset(task, sample_root(), settings), counting, settings)
        assert f"|regression={regression}|relatedness|none|" in result.signature
        assert set(result.senteval) == {"devpearson", "pearson", "spearman", "mse", "yhat", "ndev", "ntest",
                                        "train", "dev", "test", "all"}  # fmt: skip
        assert len(result.senteval["yhat"]) == result.n_test == 80
        assert result.n_train == 160
        results[regression] = result.metric("pearson").value
    assert results["senteval"] > 0.6
    assert results["ridge"] == pytest.approx(results["senteval"], abs=0.15)


def test_the_regression_does_not_depend_on_the_probe(counting: CountingEncoder) -> None:
    pytest.importorskip("torch")
    task = registry.task("STSB")
    values = []
    for probe in ("exact", "senteval"):
        settings = Settings(resamples=100, probe=probe)
        result = evaluate_task(task, load_dataset(task, sample_root(), settings), counting, settings)
        values.append(result.metric("pearson").value)
    assert values[0] == values[1]
