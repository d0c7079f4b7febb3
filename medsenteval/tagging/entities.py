"""Entities in tagged sentences by the rules of conlleval, and how many of them a prediction finds.

seqeval counts the same entities (the tests compare both), but walks tokens one by one in Python and keeps no count for each
sentence, which intervals and paired tests need; here all sentences are counted as arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medsenteval.tagging.iobes import BEGIN, END, OUTSIDE, SINGLE, Tags

__all__ = [
    "Counts",
    "Entities",
    "bootstrap_runs",
    "count_matches",
    "find_entities",
    "precision_from_counts",
    "recall_from_counts",
]

#: (found, wrong, missed) along the last axis: true positives, false positives, false negatives.
Counts = NDArray[np.int64]
Offsets = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Entities:
    """First and last token, type and sentence of each entity, in reading order; tokens are counted over all sentences."""

    first: NDArray[np.intp]
    last: NDArray[np.intp]
    kind: NDArray[np.intp]
    sentence: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.first)

    def of_kind(self, kind: int) -> Entities:
        chosen = self.kind == kind
        return Entities(self.first[chosen], self.last[chosen], self.kind[chosen], self.sentence[chosen])


def find_entities(tags: Tags, offsets: Offsets) -> Entities:
    """Return the entities of IOB or IOBES tags as conlleval sees them, in sequences that break the scheme as well.

    An entity begins at B, at S, and at I or E after O, E, S, another type or the sentence's begin; it ends before the
    next one begins, before O, and with the sentence.
    """
    inside = tags != OUTSIDE
    kind, prefix = (tags - 1) // 4, (tags - 1) % 4
    opens = np.ones(len(tags), dtype=bool)
    opens[1:] = ~inside[:-1] | (prefix[:-1] == END) | (prefix[:-1] == SINGLE) | (kind[1:] != kind[:-1])
    opens[offsets[:-1]] = True
    begins = inside & (opens | (prefix == BEGIN) | (prefix == SINGLE))
    closes = np.ones(len(tags), dtype=bool)
    closes[:-1] = begins[1:] | ~inside[1:]
    closes[offsets[1:] - 1] = True
    first, last = np.flatnonzero(begins), np.flatnonzero(inside & closes)
    sentence = np.searchsorted(offsets, first, side="right") - 1
    return Entities(first, last, kind[first].astype(np.intp), sentence)


def count_matches(gold: Entities, predicted: Entities, n_sentences: int) -> Counts:
    """Return (found, wrong, missed) for each sentence; found are those with the same tokens and the same type."""
    _, in_gold, in_predicted = np.intersect1d(gold.first, predicted.first, assume_unique=True, return_indices=True)
    same = (gold.last[in_gold] == predicted.last[in_predicted]) & (gold.kind[in_gold] == predicted.kind[in_predicted])
    found, n_gold, n_predicted = (
        np.bincount(sentences, minlength=n_sentences)
        for sentences in (gold.sentence[in_gold[same]], gold.sentence, predicted.sentence)
    )
    return np.column_stack([found, n_predicted - found, n_gold - found]).astype(np.int64)


def precision_from_counts(counts: Counts) -> NDArray[np.float64]:
    """Return the share of predicted entities that are right; 0 where nothing was predicted."""
    return _share(counts[..., 0], counts[..., 1])


def recall_from_counts(counts: Counts) -> NDArray[np.float64]:
    """Return the share of gold entities that were found; 0 where there are none."""
    return _share(counts[..., 0], counts[..., 2])


def _share(found: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
    total = (found + other).astype(np.float64)
    return np.divide(found, total, out=np.zeros_like(total), where=total > 0)


def bootstrap_runs(
    counts: Counts,
    statistic: Callable[[Counts], NDArray[np.float64]],
    *,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the percentile interval of a statistic's mean over runs, sentences resampled for all runs together.

    ``counts`` is (runs, sentences, 3). Sentences with equal counts are alike to the statistic, so drawing sentences is
    drawing how often each kind of counts occurs: the same distribution, with hundreds of kinds instead of thousands of
    sentences.
    """
    n_runs, n_sentences, n_columns = counts.shape
    flat = counts.transpose(1, 0, 2).reshape(n_sentences, -1)
    kinds, occurrences = np.unique(flat, axis=0, return_counts=True)
    drawn = rng.multinomial(n_sentences, occurrences / n_sentences, size=resamples)
    means = statistic((drawn @ kinds).reshape(resamples, n_runs, n_columns)).mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
