"""An encoder's results as the YAML block of a model card, in the form that the Hugging Face hub reads (``model-index``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from medsenteval import __version__
from medsenteval.contracts import Metric, Result
from medsenteval.errors import SettingsError
from medsenteval.support.escaping import for_terminal

#: The hub shows a source only with an address.
_HOME: Final = "https://pypi.org/project/medsenteval"
#: Our metric -> the hub's name of it; others keep theirs.
_METRICS: Final = {"acc": "accuracy", "pearson": "pearsonr", "spearman": "spearmanr"}


def model_card_block(results: Sequence[Result]) -> str:
    """Return the block between ``---`` lines: every metric with interval, baseline, n and signature."""
    encoders = list(dict.fromkeys(result.encoder for result in results))
    if len(encoders) != 1:
        raise SettingsError(f"a model card is that of one encoder; name one of {', '.join(encoders)}")
    if any(result.synthetic for result in results):
        raise SettingsError("scores on synthetic sample data say nothing of a model; a card needs results on real data")
    if parts := [result.task for result in results if result.on_a_part]:
        raise SettingsError(f"{', '.join(parts)}: scored on a part of the data; a card needs results on whole data sets")
    entries = [f"  {line}" for result in results for line in _entry(result)]
    return "\n".join(["---", "model-index:", f"- name: {_text(encoders[0])}", "  results:", *entries, "---", ""])


def _entry(result: Result) -> Iterator[str]:
    data = re.search(r"\|data=(\w+)", result.signature)
    yield f"- task: {{type: {_kind(result)}}}"
    revision = _text(data[1] if data else "unknown")
    yield f"  dataset: {{type: {_text(result.task.casefold())}, name: {_text(result.task)}, split: test, revision: {revision}}}"
    how = result.protocol if result.probe == "none" else f"{result.protocol}, {result.probe}"
    yield "  metrics:"
    for metric in result.metrics:
        yield f"  - type: {_text(_METRICS.get(metric.name, metric.name))}"
        yield f"    name: {_text(f'{metric.name}, {how}')}"
        yield f"    value: {metric.value!r}"
        yield f"    args: {_how(result, metric)}"
    yield f"  source: {{name: {_text(f'MedSentEval {__version__}')}, url: {_text(_HOME)}}}"


def _how(result: Result, metric: Metric) -> str:
    """Return what stands behind a value; JSON is YAML."""
    known = {"low": metric.low, "high": metric.high, "baseline": metric.baseline, "n": metric.n, "seed": result.seed}
    caution = {"caution": "; ".join(result.cautions)} if result.cautions else {}
    return json.dumps({**known, **caution, "signature": for_terminal(result.signature)}, ensure_ascii=False)


def _kind(result: Result) -> str:
    if result.protocol.startswith("window-tagger"):
        return "token-classification"
    return "text-classification" if result.label_names else "sentence-similarity"


def _text(text: str) -> str:
    return json.dumps(for_terminal(text), ensure_ascii=False)
