"""Made-up results of many encoders on many tasks, with everything that a report can show."""

from __future__ import annotations

from typing import Any

import numpy as np

from medsenteval.contracts import Metric, Result
from medsenteval.registry import TASK_GROUPS
from medsenteval.statistics import share_interval
from tests.comparison.simulated import simulated_result

__all__ = ["HOSTILE", "analogy_result", "hostile_results", "many_results"]

#: What must be shown as text: mark-up, quotes, an end of script, marks that turn the direction of reading.
HOSTILE = (
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'`&\u202egnal\u2066 \u2028 \ud800 $x_1$"
)

_CLASSES = {"MedNLI": 3, "SNLI": 3, "PubMed20K": 5, "PICO": 7, "TREC": 6, "SST5": 5, "VaccineSA": 3, "CitationSA": 3}
_SIMILARITY = ("ClinicalSTS", "BIOSSES", "SICKRelatedness", "STSBenchmark", "STS12", "STS13", "STS14", "STS15", "STS16")


def many_results(n_encoders: int, n_tasks: int, n_items: int = 300, seed: int = 1111) -> list[Result]:
    """Return results of encoders of slightly different ability on real tasks, with plausible scores and costs."""
    rng = np.random.default_rng(seed)
    groups = ("sentence", "general", "word", "probing", "diagnostics")
    tasks = [task for group in groups for task in TASK_GROUPS[group]][:n_tasks]
    ability = np.linspace(0.9, -0.1, n_encoders)
    results = []
    for task in tasks:
        similarity = task in _SIMILARITY or task in TASK_GROUPS["word"]
        difficulty = rng.normal(size=n_items)
        n_classes = _CLASSES.get(task, 2)
        gold = rng.normal(size=n_items) if similarity else rng.integers(0, n_classes, n_items)
        level = rng.normal(0, 0.3)
        for number in range(n_encoders):
            noise = rng.normal(size=n_items)
            more = _costs(rng, number)
            name = f"encoder-{number:02d}-of-some-family"
            if similarity:
                predicted = gold + noise * (1.4 - ability[number] + abs(level))
                results.append(_similarity(task, name, gold, predicted, more))
            else:
                right = difficulty + noise < ability[number] + level
                wrong = (gold + rng.integers(1, n_classes, n_items)) % n_classes
                results.append(_classes(task, name, gold, np.where(right, gold, wrong), n_classes, more))
    return results


def _costs(rng: np.random.Generator, number: int) -> dict[str, Any]:
    texts, seconds = 1200, float(rng.uniform(1, 30)) * (1 + number % 4)
    return {
        "dimension": 64 * (1 + number % 12),
        "timings": {"read": 0.2, "encode": seconds, "fit": float(rng.uniform(0.5, 9))},
        "performance": {"texts": texts, "texts_encoded": texts, "texts_per_second": texts / seconds, "peak_memory_mb": 900.0},
        "coverage": {"zero_vectors": 0.0},
    }


def _classes(task: str, name: str, gold: Any, predicted: Any, n_classes: int, more: dict[str, Any]) -> Result:
    right = int(np.sum(gold == predicted))
    low, high = share_interval(right / len(gold), len(gold), confidence=0.95)
    baseline = 100 * float(np.bincount(gold).max()) / len(gold)
    metric = Metric("acc", 100 * right / len(gold), 100 * low, 100 * high, baseline, "percent", len(gold))
    items = {"id": [f"{task}-{i}" for i in range(len(gold))], "gold": gold.tolist(), "predicted": predicted.tolist()}
    labels = tuple(f"class {chr(65 + i)}" for i in range(n_classes))
    return simulated_result(task, name, [metric], items, label_names=labels, **more)


def _similarity(task: str, name: str, gold: Any, predicted: Any, more: dict[str, Any]) -> Result:
    metrics = []
    for kind in ("pearson", "spearman"):
        value = float(np.corrcoef(gold, predicted)[0, 1])
        half = 1.96 * (1 - value**2) / len(gold) ** 0.5
        metrics.append(Metric(kind, value, value - half, value + half, 0.0, "fraction", len(gold)))
    items = {"id": [f"{task}-{i}" for i in range(len(gold))], "gold": gold.tolist(), "predicted": predicted.tolist()}
    return simulated_result(task, name, metrics, items, **{"probe": "none", "protocol": "cosine"} | more)


def analogy_result(encoder: str, values: dict[str, float], task: str = "BMASS", **details: Any) -> Result:
    """Return a result that says how each relation of an analogy task went."""
    mean = sum(values.values()) / len(values)
    items = {"id": list(values), "relation": list(values), "acc": list(values.values())}
    conditions = {"setting": "multi-answer", "score": "3cosadd"} | details
    relations = {name: {"acc": value, "map": value, "mrr": value, "n": 10} for name, value in values.items()}
    metric = Metric("acc", mean, mean - 0.05, mean + 0.05, 0.01, "fraction", len(values))
    return simulated_result(task, encoder, [metric], items, details={**conditions, "relations": relations})


def hostile_results() -> list[Result]:
    """Return results whose names, labels, ids, notes and signatures all try to break out of the page."""
    gold = [0, 1, 0, 1, 0, 1]
    results = []
    for name, predicted in ((HOSTILE, [0, 1, 0, 1, 0, 0]), ("x" * 400, [1, 1, 0, 0, 0, 1]), ("plain", [0, 0, 0, 1, 1, 1])):
        value = 100 * sum(g == p for g, p in zip(gold, predicted, strict=True)) / 6
        metric = Metric("acc", value, value - 20, value + 20, 50.0, "percent", 6)
        for task in ("PICO", "RQE"):
            items = {"id": [f"{HOSTILE}{i}" for i in range(6)], "gold": gold, "predicted": predicted}
            results.append(simulated_result(task, name, [metric], items, label_names=(HOSTILE, "b"), notes=(HOSTILE,)))
    return results
