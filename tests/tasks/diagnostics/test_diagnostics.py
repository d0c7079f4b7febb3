"""Diagnostics as tasks: what they measure, against vectors whose answer is known, and items that a user brings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import medsenteval
from medsenteval import registry
from medsenteval.cli.main import main
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.errors import DataError
from medsenteval.registry import TASK_GROUPS
from medsenteval.settings import Settings
from medsenteval.statistics import Means, bootstrap
from medsenteval.tasks.diagnostics.items import CHANGES

Write = Callable[..., Path]


def bag_of_words(texts: Sequence[str]) -> NDArray[np.float32]:
    rows = np.zeros((len(texts), 257), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().strip(".").split():
            row[sum(word.encode()) * len(word) % 257] += 1
    return rows


def test_a_bag_of_words_does_not_see_their_order_and_a_plain_reading_agrees() -> None:
    results = medsenteval.evaluate(bag_of_words, tasks=["WordOrder", "CaseNoise", "FunctionWords"])
    assert results["WordOrder"].metric("sensitivity").value == pytest.approx(0.0, abs=1e-12)
    assert results["CaseNoise"].metric("robustness").value == pytest.approx(1.0)
    # Pair by pair, as the definition has it.
    items = CHANGES["FunctionWords"]
    before, after = (bag_of_words([item[side] for item in items]).astype(float) for side in ("text", "changed"))

    def cosine(u: NDArray[Any], v: NDArray[Any]) -> float:
        return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))

    unrelated = np.mean([cosine(before[i], before[j]) for i in range(len(items)) for j in range(i)])
    moved = np.array([cosine(u, v) for u, v in zip(before, after, strict=True)])
    expected = 1 - np.mean((1 - moved) / (1 - unrelated))
    result = results["FunctionWords"]
    assert result.metric("robustness").value == pytest.approx(expected)
    assert result.metric("cosine").value == pytest.approx(moved.mean())
    assert result.metric("cosine").baseline == pytest.approx(unrelated)
    assert result.details["smallest_cosine"] == pytest.approx(moved.min())
    assert result.details["same"] == (moved >= 0.93).sum()
    assert result.metric("robustness").low < expected < result.metric("robustness").high
    assert result.items["robustness"][0] == pytest.approx(1 - (1 - moved[0]) / (1 - unrelated))
    assert result.items["cosine"] == pytest.approx(moved.tolist())
    assert (result.n_train, result.n_test) == (0, len(items))
    assert result.senteval == {
        "robustness": result.metric("robustness").value, "cosine": result.metric("cosine").value, "nsamples": len(items),
    }  # fmt: skip
    values = 1 - (1 - moved) / (1 - unrelated)
    drawn = bootstrap(
        Means.of(np.stack([values, moved])), resamples=Settings().resamples, rng=np.random.default_rng(Settings().seed)
    )
    for place, name in enumerate(("robustness", "cosine")):
        interval, metric = drawn.interval(place, confidence=0.95), result.metric(name)
        assert (metric.low, metric.high) == pytest.approx((interval.low, interval.high))
        assert (metric.unit, metric.n) == ("fraction", len(items))
    assert (result.details["same_from_cosine"], result.metric("robustness").baseline) == (0.93, 0.0)
    assert result.details["cosine_of_unrelated"] == pytest.approx(unrelated)


def test_an_encoder_that_says_the_same_of_everything_cannot_be_measured() -> None:
    with pytest.raises(DataError, match="same direction"):
        medsenteval.evaluate(lambda texts: np.ones((len(texts), 2), dtype=np.float32), tasks="Typos")


def test_zero_vectors_are_counted() -> None:
    def knows_nothing_in_capitals(texts: Sequence[str]) -> NDArray[np.float32]:
        return bag_of_words([text if text != text.upper() else "" for text in texts])

    result = medsenteval.evaluate(knows_nothing_in_capitals, tasks="CaseNoise")["CaseNoise"]
    assert result.details["pairs_with_zero_vector"] == result.n_test


def test_labels_before_and_after_expansion_and_by_relation_are_counted() -> None:
    results = medsenteval.evaluate("lexical", tasks=["Abbreviations", "MedicalKnowledge"])
    abbreviations, knowledge = results["Abbreviations"], results["MedicalKnowledge"]
    gold, before, after = (np.array(abbreviations.items[name]) for name in ("gold", "before", "predicted"))
    assert abbreviations.metric("acc_before").value == pytest.approx(100 * np.mean(gold == before))
    assert abbreviations.metric("acc_after").value == pytest.approx(100 * np.mean(gold == after))
    assert abbreviations.details["flips_to_gold"] == np.sum((gold != before) & (gold == after))
    assert abbreviations.details["flips_from_gold"] == np.sum((gold == before) & (gold != after))
    assert abbreviations.items["acc_before"] == (gold == before).astype(int).tolist()
    wrong_twice = (gold != before) & (gold != after) & (before != after)
    assert abbreviations.details["other_flips"] == wrong_twice.sum()
    assert abbreviations.metric("acc_after").value > abbreviations.metric("acc_before").value, "n-grams match when written out"
    relations = np.array(knowledge.items["relation"])
    right = np.array(knowledge.items["gold"]) == np.array(knowledge.items["predicted"])
    for relation in np.unique(relations):
        assert knowledge.metric(f"acc_{relation}").value == pytest.approx(100 * right[relations == relation].mean())
    assert knowledge.metric("acc").baseline == pytest.approx(100 / 3)
    for result in (abbreviations, knowledge):
        n = len(result.items["id"])
        assert (result.senteval["ntest"], result.n_test, result.n_train) == (n, n, 600)
        assert {name: result.senteval[name] for name in result.senteval if name != "ntest"} == {
            metric.name: metric.value for metric in result.metrics
        }


def test_items_of_the_user_replace_the_bundled_ones(write: Write, tmp_path: Path) -> None:
    items = [{"id": "mine", "text": "left  leg", "changed": "right leg"}, {"text": "no pain", "changed": "pain"}]
    root = write({"diagnostics/LateralitySwap.json": json.dumps(items)})
    task = registry.task("LateralitySwap")
    dataset = load_dataset(task, root, Settings())
    (split,) = dataset.splits.values()
    assert split.ids == ("mine", "item 2")
    assert split.texts == ("left leg", "no pain")
    assert dataset.files == ("diagnostics/LateralitySwap.json",)
    outcome = CliRunner().invoke(main, ["run", "-t", "LateralitySwap", "-d", str(root), "-o", str(tmp_path / "o"), "--quiet"])
    assert outcome.exit_code == 0
    assert re.search(r" 2 +change: left and right", outcome.stdout)


def test_inferences_of_the_user_replace_the_bundled_ones(write: Write) -> None:
    mednli = {f"MedNLI/{file.name}": file.read_bytes() for file in (sample_root() / "MedNLI").iterdir()}
    items = [{"premise": "SOB.", "expanded": "Short of breath.", "hypothesis": "Cannot breathe.", "label": "entailment"}]
    root = write({**mednli, "diagnostics/Abbreviations.json": json.dumps(items)})
    dataset = load_dataset(registry.task("Abbreviations"), root, Settings())
    assert dataset.splits["before"].texts == ("SOB.",)
    assert dataset.splits["after"].texts == ("Short of breath.",)
    assert dataset.files[-1] == "diagnostics/Abbreviations.json"


@pytest.mark.parametrize(
    ("task", "content", "said"),
    [
        ("Typos", "{", "not JSON"),
        ("Typos", "{}", "expected a list of objects"),
        ("Typos", "[]", "at least one"),
        ("Typos", '[{"text": "a", "changed": "b"}, {"text": "a"}]', "item 2: changed must be texts"),
        ("Typos", '[{"text": 3, "changed": " "}]', "item 1: text, changed must be texts"),
        ("Abbreviations", '[{"premise": "a", "hypothesis": "b", "label": "maybe", "expanded": "c"}]', "unknown label 'maybe'"),
        ("MedicalKnowledge", '[{"premise": "a", "hypothesis": "b", "label": "neutral"}]', "relation must be texts"),
    ],
)
def test_wrong_items_are_refused_by_file_and_item(write: Write, task: str, content: str, said: str) -> None:
    mednli = {f"MedNLI/{file.name}": file.read_bytes() for file in (sample_root() / "MedNLI").iterdir()}
    root = write({**mednli, f"diagnostics/{task}.json": content})
    with pytest.raises(DataError, match=said) as error:
        load_dataset(registry.task(task), root, Settings())
    assert f"{task}.json" in str(error.value)


def test_one_sentence_is_not_enough(write: Write) -> None:
    root = write({"diagnostics/Typos.json": '[{"text": "a b", "changed": "b a"}]'})
    with pytest.raises(DataError, match="two different sentences"):
        medsenteval.evaluate(bag_of_words, tasks="Typos", data=root)


def test_the_group_runs_on_the_sample(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["run", "-t", "diagnostics", "-o", str(tmp_path), "--quiet"])
    assert outcome.exit_code == 0, outcome.stderr
    assert all(name in outcome.stdout for name in TASK_GROUPS["diagnostics"])
