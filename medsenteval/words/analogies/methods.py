"""From questions and vectors to a score: the paper's three, two that learn from a whole relation, two that ignore a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Floats, Ragged, Rows
from medsenteval.words.analogies.candidate_scores import (
    AdditiveScore,
    Candidates,
    DistanceScore,
    LogisticScore,
    RatioScore,
    directions,
)
from medsenteval.words.analogies.metrics import Measures, measure
from medsenteval.words.analogies.questions import Questions, joined_by_query

METHODS: Final = ("3cosadd", "pairwise-distance", "3cosmul", "3cosavg", "lrcos", "only-b", "only-c")


def solve(
    method: str,
    questions: Questions,
    candidates: Candidates,
    terms: NDArray[np.float32],
    *,
    shifted: bool = True,
    own_rows: Sequence[int] = (),
    rng: np.random.Generator | None = None,
) -> tuple[Questions, Measures, Rows]:
    """Score questions with a method; returns what was asked, its measures, and for each given question the one asked.

    ``shifted`` False takes the released code's 3CosMul: raw cosines and epsilon 1e-6. 3CosAvg and LRCos ask once for each
    query of a relation and need ``own_rows``, the queries' own candidate rows; LRCos draws its negatives with ``rng``.
    """
    if method not in METHODS:
        raise SettingsError(f"no analogy method is called {method!r}; known: {', '.join(METHODS)}")
    where = np.arange(len(questions), dtype=np.intp)
    a = terms[questions.exemplar_a].astype(np.float64)
    b = mean_vectors(terms, questions.exemplar_b)
    c = terms[questions.query_terms].astype(np.float64)
    asked, nothing = questions, np.zeros((1, c.shape[1]))
    score = AdditiveScore(candidates, b - a, c)
    if method == "pairwise-distance":
        score = DistanceScore(candidates, b - a, c)
    elif method == "3cosmul":
        score = RatioScore(candidates, a, b, c, shifted=shifted)
    elif method == "only-b":
        score, asked = AdditiveScore(candidates, b, nothing), replace(questions, queries=np.zeros_like(where))
    elif method == "only-c":
        score, asked = AdditiveScore(candidates, nothing, c), replace(questions, exemplars=np.zeros_like(where))
    elif method in ("3cosavg", "lrcos"):
        asked, members, where = joined_by_query(questions, own_rows)
        if method == "3cosavg":
            offsets = b - a
            # One set after the other: every exemplar stands in the sets of nearly all queries of its relation.
            means = np.stack([offsets[members[i]].mean(axis=0) for i in range(len(members))])
            score = AdditiveScore(candidates, means, c)
        else:
            weights, intercepts = _train_logistic(a, b, members, candidates, rng or np.random.default_rng(0))
            score = LogisticScore(candidates, weights, intercepts, c)
    return asked, measure(score, asked), where


def mean_vectors(terms: NDArray[np.float32], lists: Ragged) -> Floats:
    """Average the vectors of each list; lists are never empty."""
    means: Floats = np.add.reduceat(terms[lists.values].astype(np.float64), lists.offsets[:-1], axis=0)
    return means / lists.lengths[:, None]


def _train_logistic(
    a: Floats, b: Floats, members: Ragged, candidates: Candidates, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Fit, for each query, what the objects of its exemplars have in common (Drozd, Gladkova and Matsuoka 2016).

    Positive are the exemplars' objects; negative are their subjects and as many candidates drawn at random.
    """
    from sklearn.linear_model import LogisticRegression

    weights = np.empty((len(members), a.shape[1]))
    intercepts = np.empty(len(members))
    for i in range(len(members)):
        chosen = members[i]
        # In float32 like the encoder's vectors.
        drawn = candidates.unit(rng.integers(0, len(candidates), len(chosen))).astype(np.float32)
        rows = np.concatenate([directions(b[chosen]), directions(a[chosen]), drawn])
        labels = np.repeat([1, 0], [len(chosen), 2 * len(chosen)])
        fitted = LogisticRegression(C=1.0, max_iter=1000).fit(rows, labels)
        weights[i], intercepts[i] = fitted.coef_[0], fitted.intercept_[0]
    return weights, intercepts
