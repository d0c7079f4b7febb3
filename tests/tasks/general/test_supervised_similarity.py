"""SICK-R and STSBenchmark as tasks: SentEval's keys, both regressions, and what a signature says of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

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
        gold, predicted = np.array(result.items["gold"]), np.array(result.items["predicted"])
        assert list(result.senteval["yhat"]) == predicted.tolist()
        assert result.metric("pearson").value == pytest.approx(stats.pearsonr(predicted, gold)[0])
        assert result.senteval["spearman"] == result.metric("spearman").value
        mse = np.mean((predicted - gold) ** 2)
        assert result.senteval["mse"] == result.details["mse"] == pytest.approx(mse)
        assert result.senteval["devpearson"] == result.details["dev_pearson"]
        assert (result.senteval["ndev"], result.senteval["ntest"]) == (60, 80)
        results[regression] = result.metric("pearson").value
    # SimCSE's keys: the cosines of each split.
    cosine = registry.task("STSBenchmarkCosine")
    scored = evaluate_task(cosine, load_dataset(cosine, sample_root(), Settings()), counting, Settings(resamples=100))
    assert result.senteval["test"]["spearman"][0] == pytest.approx(scored.metric("spearman").value)
    assert [result.senteval[split]["nsamples"] for split in ("train", "dev", "test")] == [160, 60, 80]
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
