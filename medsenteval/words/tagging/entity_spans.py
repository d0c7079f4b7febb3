"""Entities in tagged sentences by the rules of conlleval, and how many of them a prediction finds.

seqeval counts the same entities (the tests compare both), but walks tokens one by one in Python and keeps no count for each
sentence, which intervals and paired tests need; here all sentences are counted as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from medsenteval.statistics import f1_share_interval, share_interval
from medsenteval.support.arrays import Counts, Floats, Rows
from medsenteval.words.tagging.tag_schemes import BEGIN, END, OUTSIDE, SINGLE, Tags

Rate = Literal["f1", "precision", "recall"]
#: How often each rate counts entities found, wrong and missed; it is the share of the found ones.
RATES: Final[dict[Rate, tuple[int, int, int]]] = {"f1": (2, 1, 1), "precision": (1, 1, 0), "recall": (1, 0, 1)}


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


def find_entities(tags: Tags, offsets: Rows) -> Entities:
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


def rate_of(counts: Counts, rate: Rate) -> Floats:
    """Return a rate given counts of found, wrong and missed along the last axis; 0 where there is nothing to count."""
    above, below = _parts(counts, rate)
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def _parts(counts: Counts, rate: Rate) -> tuple[Floats, Floats]:
    weights = np.array(RATES[rate], dtype=np.float64)
    return weights[0] * counts[..., 0], counts @ weights


def rate_interval(counts: Counts, rate: Rate, *, confidence: float) -> tuple[float, float]:
    """Return the interval of a rate's mean over runs, given (runs, sentences, 3) counts of found, wrong and missed.

    Entities of a sentence are not independent, so the variance is that of a ratio of sums over sentences. A rate of 0 or 1 has
    none: every sentence with an entity is then one trial.
    """
    above, below = _parts(counts, rate)
    totals, rates = below.sum(axis=1, keepdims=True), rate_of(counts.sum(axis=1, keepdims=True), rate)
    influence = np.divide(above - rates * below, totals, out=np.zeros_like(above), where=totals > 0).mean(axis=0)
    value, n = float(rates.mean()), len(influence)
    if value in (0.0, 1.0):
        trials, variance = float(below.any(axis=0).sum()), 0.0
    else:
        n_entities = below - above + counts[..., 0]
        trials, variance = float(n_entities.sum(axis=1).mean()), float(np.sum(influence**2)) * n / max(n - 1, 1)
    interval = f1_share_interval if rate == "f1" else share_interval
    return interval(value, trials, confidence=confidence, variance=variance)
