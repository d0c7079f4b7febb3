"""Relaxed accuracy, average precision and reciprocal rank of analogies, and their means over relations.

Accuracy asks whether the best candidate other than a, b and c is right; precision and reciprocal rank look at all candidates,
a, b and c included (Newman-Griffis, Lai and Fosler-Lussier 2017, Section 5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from medsenteval.support.arrays import Bools, Counts, Floats, Ragged, Rows
from medsenteval.support.grouping import grouped
from medsenteval.words.analogies.candidate_scores import AdditiveScore
from medsenteval.words.analogies.questions import Questions
from medsenteval.words.analogies.ranks import rank_answers

#: Names of the metrics in the order of the paper's tables.
METRICS: Final = ("acc", "map", "mrr")
#: For each metric its mean over relations, and the sample standard deviation that the paper prints beside it.
Summary = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Measures:
    """The three metrics of each question."""

    acc: Floats
    map: Floats
    mrr: Floats

    def values(self, metric: str) -> Floats:
        found: Floats = getattr(self, metric)
        return found


def measure(score: AdditiveScore, questions: Questions) -> Measures:
    """Rank every answer of every question and return the metrics; a question without answers is an error."""
    answers, owners = questions.answers, questions.answers.owners
    if (answers.lengths == 0).any():
        raise ValueError("a question has no right answer among the candidates; drop it before")
    exemplars, queries = questions.exemplars[owners], questions.queries[owners]
    # One exemplar, query and answer may occur in several questions (baselines leave the exemplar or the query out).
    keys = (exemplars * len(questions.query_terms) + queries) * len(score.candidates) + answers.values
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    ranks = rank_answers(score, exemplars[first], queries[first], answers.values[first])[where]

    def ahead(asking: Rows, excluded: Rows, best: Rows) -> Bools:
        theirs, own = (score.exact(questions.exemplars[asking], questions.queries[asking], rows) for rows in (excluded, best))
        before: Bools = (theirs > own) | ((theirs == own) & (excluded < best))
        return before

    return _from_ranks(questions, ranks, ahead)


def constant_measures(questions: Questions, n_candidates: int) -> Measures:
    """Return what one fixed ranking would score: candidates by how often they are right, relations counting alike.

    It has seen the answers and never looks at the question: the share of a score that needs no analogy at all.
    """
    weights = 1.0 / np.bincount(questions.relations)[questions.relations[questions.answers.owners]]
    rightness = np.bincount(questions.answers.values, weights=weights, minlength=n_candidates)
    rank_of = np.empty(n_candidates, dtype=np.int64)
    rank_of[np.argsort(-rightness, kind="stable")] = np.arange(1, n_candidates + 1)
    return _from_ranks(
        questions, rank_of[questions.answers.values], lambda asking, excluded, best: rank_of[excluded] < rank_of[best]
    )


def _from_ranks(questions: Questions, ranks: Counts, ahead: Callable[[Rows, Rows, Rows], Bools]) -> Measures:
    """Read the metrics off the ranks of answers; ``ahead`` says which excluded candidates rank before the best one."""
    answers, excluded = questions.answers, questions.excluded
    owners, starts = answers.owners, answers.offsets[:-1]
    order = np.lexsort((ranks, owners))
    position = np.arange(len(ranks)) - np.repeat(starts, answers.lengths) + 1
    precision = np.add.reduceat(position / ranks[order], starts) / answers.lengths
    # The best answer that may be guessed: excluded ones (an answer that is also a, b or c) cannot be right.
    allowed_rank = np.where(_contained(answers, excluded), np.iinfo(np.int64).max, ranks)
    best_at = np.lexsort((allowed_rank, owners))[starts]
    best_rank, asking = allowed_rank[best_at], excluded.owners
    before = asking[ahead(asking, excluded.values, answers.values[best_at][asking])]
    # Every candidate before it is excluded.
    correct = best_rank - 1 == np.bincount(before, minlength=len(questions))
    return Measures(correct.astype(np.float64), precision, 1.0 / ranks[order][starts])


def _contained(lists: Ragged, others: Ragged) -> Bools:
    """Say of each value whether the other list of the same number holds it too."""
    span = int(max(lists.values.max(initial=0), others.values.max(initial=0))) + 1
    return np.isin(lists.owners * span + lists.values, others.owners * span + others.values)


def summarise(
    measures: Measures, relations: Rows, names: Sequence[str], categories: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], dict[str, Summary], Summary]:
    """Return means of each relation, then mean and deviation over the relations of each category, then over all relations."""
    counts = np.bincount(relations, minlength=len(names))
    present = np.flatnonzero(counts).tolist()
    sums = {each: np.bincount(relations, weights=measures.values(each), minlength=len(names)) for each in METRICS}
    by_relation = {
        names[i]: {"n": float(counts[i]), **{metric: float(sums[metric][i] / counts[i]) for metric in METRICS}} for i in present
    }
    by_category = grouped((categories.get(name, ""), name) for name in by_relation)
    summaries = {name: _spread([by_relation[each] for each in members]) for name, members in by_category.items()}
    return by_relation, summaries, _spread(list(by_relation.values()))


def _spread(relations: Sequence[Mapping[str, float]]) -> Summary:
    columns = {metric: [means[metric] for means in relations] for metric in METRICS}
    return {
        metric: {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}
        for metric, values in columns.items()
    }
