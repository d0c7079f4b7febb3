"""Small results of word similarity runs for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medsenteval.contracts import Metric, Result


def word_result(
    task: str,
    encoder: str,
    rows: Sequence[tuple[str, str, str, float, float]],
    *,
    unknown: Sequence[str] = (),
    value: float = 0.5,
    identity: str = "",
    seed: int = 1111,
    items: Mapping[str, Any] | None = None,
) -> Result:
    """Return a result whose rows are (id, first word, second word, gold, predicted)."""
    names = ("id", "first", "second", "gold", "predicted")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return Result(
        task=task,
        encoder=encoder,
        encoder_identity=identity or encoder,
        dimension=2,
        metrics=(Metric("spearman", value, 0.0, 1.0, 0.0, "fraction", len(rows)),
                 Metric("pearson", value / 2, 0.0, 1.0, 0.0, "fraction", len(rows))),
        headline=("spearman",),
        n_train=0,
        n_test=len(rows),
        protocol="cosine",
        probe="none",
        seed=seed,
        signature=f"{task}@1|cosine|none|seed={seed}|data=abc|encoder={identity or encoder}|medsenteval=1",
        synthetic=False,
        notes=(),
        rejected=(),
        files=(),
        label_names=(),
        coverage={},
        timings={},
        performance={},
        versions={},
        items=columns if items is None else items,
        details={"pairs": len(rows) + len(unknown), "unknown_pairs": list(unknown)},
        senteval={},
    )  # fmt: skip
