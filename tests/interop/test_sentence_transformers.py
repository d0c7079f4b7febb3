"""MedSentEvaluator: the same scores as ``evaluate``, under stable names, in a real training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import medsenteval
from medsenteval import Settings
from tests.conftest import lazily
from tests.encoders.contextual.test_sentence_transformer import save_model

lazily("sentence_transformers")
QUICK = Settings(resamples=100, allow_incomplete=True)


@pytest.fixture
def model(tmp_path: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(save_model(tmp_path / "tiny")), device="cpu")


@pytest.mark.slow  # importing the library takes several seconds
def test_metrics_are_those_of_evaluate_under_stable_names(model: Any, tmp_path: Path) -> None:
    from medsenteval.interop.sentence_transformers import MedSentEvaluator

    evaluator = MedSentEvaluator(["BIOSSES", "C-STS"], settings=QUICK)
    model.train()
    found = evaluator(model, str(tmp_path / "new" / "out"), epoch=1, steps=20)
    assert model.training
    expected = medsenteval.evaluate(model.eval(), ["BIOSSES", "C-STS"], settings=QUICK, cache=False)
    metrics = {f"medsenteval_{result.task}_{m.name}": m.value for result in expected.values() for m in result.metrics}
    pearson = [result.metric("pearson").value for result in expected.values()]
    assert found == pytest.approx({**metrics, "medsenteval_mean": sum(pearson) / 2}, abs=1e-9)
    assert evaluator.primary_metric in found
    evaluator.tasks = ["BIOSSES"]
    again = model.evaluate(evaluator, str(tmp_path / "new" / "out"))
    lines = (tmp_path / "new" / "out" / "medsenteval_results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"epoch": 1, "steps": 20, **found}, {"epoch": -1, "steps": -1, **again}]


@pytest.mark.slow
def test_a_training_of_two_steps_logs_the_metrics_and_they_move(model: Any, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    pytest.importorskip("accelerate")
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    from medsenteval.interop.sentence_transformers import MedSentEvaluator

    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    rows = {"a": ["fever", "pain", "cough", "chest"], "b": ["pain", "fever", "cough", "x"], "label": [0.0, 1.0, 1.0, 0.0]}
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path / "run"), max_steps=2, per_device_train_batch_size=2, learning_rate=0.05, eval_strategy="steps",
        eval_steps=1, logging_steps=1, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_dict(rows), loss=losses.CosineSimilarityLoss(model),
        evaluator=MedSentEvaluator("BIOSSES", settings=QUICK),
    )  # fmt: skip
    trainer.train()
    logged = [
        entry["eval_medsenteval_BIOSSES_pearson"] for entry in trainer.state.log_history if "eval_medsenteval_mean" in entry
    ]
    assert len(logged) == 2
    assert logged[0] != logged[1]
