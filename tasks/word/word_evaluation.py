"""Scoring word similarity: correlation of cosines with human scores, and what to do about words that an encoder does not know.

A vector of all zeros means that the encoder knows nothing of a word. ``oov=skip`` leaves such pairs out, as the published
numbers do, so that encoders with different vocabularies are scored on different pairs; ``oov=zero`` gives them similarity 0;
``medsenteval.comparison.common_pairs`` scores several encoders again on the pairs that all of them know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import Correlation, correlation, correlation_interval
from medsenteval.tasks.similarity import evaluate_similarity

__all__ = ["FEWEST_PAIRS", "evaluate_word_pairs"]

#: Correlations of fewer pairs say nothing.
FEWEST_PAIRS: Final = 5


def evaluate_word_pairs(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Correlate cosines with the gold scores under the data set's options ``oov`` and ``multiword``; show the coverage."""
    (split,) = dataset.splits.values()
    terms = list(dict.fromkeys(split.all_texts()))
    words = list(dict.fromkeys(word for term in terms for word in term.split()))
    unknown = set(_zero(words, embeddings))
    if dataset.options.get("multiword") == "complete":
        embeddings = _without(embeddings, [term for term in terms if unknown & set(term.split())])
    unknown_terms = set(_zero(terms, embeddings))
    pairs = list(zip(split.texts, split.texts2 or (), strict=True))
    known = np.array([first not in unknown_terms and second not in unknown_terms for first, second in pairs])
    kept = np.arange(len(split)) if dataset.options.get("oov") == "zero" else np.flatnonzero(known)
    if known.sum() < FEWEST_PAIRS:
        raise DataError(
            f"{task.name}: the encoder knows both words of {known.sum()} of {len(split)} pairs; at least {FEWEST_PAIRS} are "
            "needed. Does its vocabulary fit, also in case (the vectors' option case, or the task's option case=lower)?"
        )
    scored = replace(dataset, splits={"all": split.take(kept)})
    scores = evaluate_similarity(task, scored, embeddings, settings)
    gold, predicted = (np.array(scores.items[name], dtype=np.float64) for name in ("gold", "predicted"))
    kendall = _metric("kendall", predicted, gold, settings)
    coverage = f"{known.sum():,} of {len(split):,} pairs and {len(words) - len(unknown):,} of {len(words):,} words are known"
    treated = "; the others have similarity 0" if len(kept) == len(split) else "; the others are left out"
    return replace(
        scores,
        metrics=(*scores.metrics, kendall),
        items={**scores.items, "first": [pairs[i][0] for i in kept], "second": [pairs[i][1] for i in kept]},
        details={
            **scores.details,
            "pairs": len(split),
            "pairs_known": int(known.sum()),
            "pairs_scored": len(kept),
            "words": len(words),
            "words_known": len(words) - len(unknown),
            "unknown_words": sorted(unknown),
            "unknown_pairs": [split.ids[i] for i in np.flatnonzero(~known)],
        },
        notes=(coverage if known.all() else coverage + treated,),
    )


def _metric(kind: Correlation, predicted: NDArray[np.float64], gold: NDArray[np.float64], settings: Settings) -> Metric:
    rng = np.random.default_rng(settings.seed)
    low, high = correlation_interval(kind, predicted, gold, resamples=settings.resamples, confidence=CONFIDENCE, rng=rng)
    value, _ = correlation(kind, predicted, gold)
    return Metric(kind, value, low, high, 0.0, "fraction", len(gold))


def _zero(texts: Sequence[str], embeddings: Embeddings) -> list[str]:
    zero = embeddings.zero_rows
    return [text for text, row in zip(texts, embeddings.rows(texts), strict=True) if zero[row]]


def _without(embeddings: Embeddings, texts: Iterable[str]) -> Embeddings:
    """Forget the vectors of these texts."""
    matrix = embeddings.matrix.copy()
    matrix[embeddings.rows(list(texts))] = 0.0
    return replace(embeddings, matrix=matrix)
