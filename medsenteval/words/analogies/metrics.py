"""Relaxed accuracy, average precision and reciprocal rank of analogies, and their means over relations.

Accuracy asks whether the best candidate other than a, b and c is right; precision and reciprocal rank look at all candidates,
a, b and c included (Newman-Griffis, Lai and Fosler-Lussier 2017, Section 5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats, Rows
from medsenteval.words.analogies.candidate_scores import Score
from medsenteval.words.analogies.questions import Questions, Ragged
from medsenteval.words.analogies.ranks import rank_answers

#: Names of the metrics in the order of the paper's tables.
METRICS: Final = ("acc", "map", "mrr")


@dataclass(frozen=True, eq=False)
class Measures:
    """The three metrics of each question, and the rank of each of its answers."""

    acc: Floats
    map: Floats
    mrr: Floats
    ranks: NDArray[np.int64]

    def values(self, metric: str) -> Floats:
        found: Floats = getattr(self, metric)
        return found


@dataclass(frozen=True)
class Summary:
    """A metric's mean over relations with the sample standard deviation that the paper prints beside it."""

    mean: float
    deviation: float


def measure(score: Score, questions: Questions) -> Measures:
    """Rank every answer of every question and return the metrics; a question without answers is an error."""
    answers, owners = questions.answers, questions.answers.owners
    if (answers.lengths == 0).any():
        raise ValueError("a question has no right answer among the candidates; drop it before")
    exemplars, queries = questions.exemplars[owners], questions.queries[owners]
    # One exemplar, query and answer may occur in several questions (baselines leave the exemplar or the query out).
    keys = (exemplars * len(questions.query_terms) + queries) * len(score.candidates) + answers.values
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    ranks = rank_answers(score, exemplars[first], queries[first], answers.values[first])[where]

    def rivals_ahead(best: Rows) -> NDArray[np.int64]:
        """Count, for each question, excluded candidates that rank before its best answer that may be guessed."""
        excluded, asking = questions.excluded.values, questions.excluded.owners
        answered = best[asking]
        own = score.exact(questions.exemplars, questions.queries, best)[asking]
        theirs = score.exact(questions.exemplars[asking], questions.queries[asking], excluded)
        ahead = (theirs > own) | ((theirs == own) & (excluded < answered))
        return np.bincount(asking[ahead], minlength=len(questions)).astype(np.int64)

    return _from_ranks(questions, ranks, rivals_ahead)


def constant_measures(questions: Questions, n_candidates: int) -> Measures:
    """Return what one fixed ranking would score: candidates by how often they are right, relations counting alike.

    It has seen the answers and never looks at the question: the share of a score that needs no analogy at all.
    """
    owners = questions.answers.owners
    sizes = np.bincount(questions.relations)
    weights = 1.0 / sizes[questions.relations[owners]]
    rightness = np.bincount(questions.answers.values, weights=weights, minlength=n_candidates)
    rank_of = np.empty(n_candidates, dtype=np.int64)
    rank_of[np.argsort(-rightness, kind="stable")] = np.arange(1, n_candidates + 1)

    def rivals_ahead(best: Rows) -> NDArray[np.int64]:
        asking = questions.excluded.owners
        ahead = rank_of[questions.excluded.values] < rank_of[best[asking]]
        return np.bincount(asking[ahead], minlength=len(questions)).astype(np.int64)

    return _from_ranks(questions, rank_of[questions.answers.values], rivals_ahead)


def _from_ranks(questions: Questions, ranks: NDArray[np.int64], rivals_ahead: Callable[[Rows], NDArray[np.int64]]) -> Measures:
    answers = questions.answers
    owners, starts = answers.owners, answers.offsets[:-1]
    order = np.lexsort((ranks, owners))
    position = np.arange(len(ranks)) - np.repeat(starts, answers.lengths) + 1
    precision = np.add.reduceat(position / ranks[order], starts) / answers.lengths
    reciprocal = 1.0 / ranks[order][starts]
    # The best answer that may be guessed: excluded ones (an answer that is also a, b or c) cannot be right.
    barred = _contained(answers, questions.excluded)
    allowed_rank = np.where(barred, np.iinfo(np.int64).max, ranks)
    best_at = np.lexsort((allowed_rank, owners))[starts]
    best_rank = allowed_rank[best_at]
    guessable = best_rank < np.iinfo(np.int64).max
    correct = guessable & (best_rank - 1 - rivals_ahead(answers.values[best_at]) == 0)
    return Measures(correct.astype(np.float64), precision, reciprocal, ranks)


def _contained(lists: Ragged, others: Ragged) -> NDArray[np.bool_]:
    """Say of each value whether the other list of the same number holds it too."""
    span = int(max(lists.values.max(initial=0), others.values.max(initial=0))) + 1
    return np.isin(lists.owners * span + lists.values, others.owners * span + others.values)


def summarise(
    measures: Measures, relations: Rows, names: Sequence[str], categories: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, Summary]], dict[str, Summary]]:
    """Return means of each relation, then mean and deviation over the relations of each category, then over all relations."""
    counts = np.bincount(relations, minlength=len(names))
    present = [number for number in range(len(names)) if counts[number]]
    means = {
        metric: np.bincount(relations, weights=measures.values(metric), minlength=len(names)) / np.maximum(counts, 1)
        for metric in METRICS
    }
    by_relation = {
        names[number]: {"n": float(counts[number]), **{metric: float(means[metric][number]) for metric in METRICS}}
        for number in present
    }
    by_category: dict[str, dict[str, Summary]] = {}
    for category in dict.fromkeys(categories.get(names[number], "") for number in present):
        members = [number for number in present if categories.get(names[number], "") == category]
        by_category[category] = {metric: _spread(means[metric][members]) for metric in METRICS}
    return by_relation, by_category, {metric: _spread(means[metric][present]) for metric in METRICS}


def _spread(values: Floats) -> Summary:
    return Summary(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
