"""Results of made-up encoders with a known difference, for tests and benchmarks of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from medsenteval.contracts import Metric, Result

__all__ = ["accuracy_result", "correlation_result", "simulated_result"]


def simulated_result(
    task: str,
    encoder: str,
    metrics: list[Metric],
    items: dict[str, Any],
    *,
    how: str = "",
    headline: tuple[str, ...] = (),
    **changes: Any,
) -> Result:
    """Return a result as a run would store it; ``how`` is the part of the signature that makes results comparable."""
    fields: dict[str, Any] = {
        "task": task,
        "encoder": encoder,
        "encoder_identity": f"{encoder}-1",
        "dimension": 8,
        "metrics": tuple(metrics),
        "headline": headline or tuple(metric.name for metric in metrics),
        "n_train": 0,
        "n_test": len(items["id"]),
        "protocol": "split",
        "probe": "exact",
        "seed": 1111,
        "synthetic": False,
        "notes": (),
        "rejected": (),
        "files": (),
        "label_names": (),
        "coverage": {},
        "timings": {},
        "performance": {},
        "versions": {"medsenteval": "1"},
        "items": items,
        "details": {"positive_label": "true"} if "true" in changes.get("label_names", ()) else {},
        "senteval": {},
    } | changes
    how = how or f"{task}@1|{fields['protocol']}|{fields['probe']}|seed={fields['seed']}|data=abc"
    return Result(signature=f"{how}|encoder={encoder}-1|medsenteval=1", **fields)


def accuracy_result(task: str, encoder: str, gold: Any, predicted: Any, **changes: Any) -> Result:
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    value = 100 * float(np.mean(gold == predicted))
    metric = Metric("acc", value, value - 1, value + 1, 50.0, "percent", len(gold))
    items = {"id": [str(i) for i in range(len(gold))], "gold": gold.tolist(), "predicted": predicted.tolist()}
    return simulated_result(task, encoder, [metric], items, **changes)


def correlation_result(task: str, encoder: str, gold: Any, predicted: Any, **changes: Any) -> Result:
    value = float(np.corrcoef(gold, predicted)[0, 1])
    metric = Metric("pearson", value, value - 0.1, value + 0.1, 0.0, "fraction", len(gold))
    items = {
        "id": [str(i) for i in range(len(gold))],
        "gold": np.asarray(gold).tolist(),
        "predicted": np.asarray(predicted).tolist(),
    }
    return simulated_result(task, encoder, [metric], items, **{"probe": "none", "protocol": "cosine"} | changes)
