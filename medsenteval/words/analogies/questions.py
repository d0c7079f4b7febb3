"""Analogies as arrays: which exemplar, which query, which candidates are right and which must not be guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from medsenteval.support.arrays import Ragged, Rows
from medsenteval.support.grouping import grouped


@dataclass(frozen=True, eq=False)
class Questions:
    """Question i of relation ``relations[i]``: a : b is to c : ?, with ``answers[i]`` right and ``excluded[i]`` not guessed.

    ``exemplars`` and ``queries`` number the distinct (a, b...) and c. ``exemplar_a``, ``exemplar_b`` (several where b is
    averaged) and ``query_terms`` are rows of a matrix of term vectors; answers and excluded are rows of the candidates.
    """

    relations: Rows
    exemplars: Rows
    queries: Rows
    answers: Ragged
    excluded: Ragged
    exemplar_a: Rows
    exemplar_b: Ragged
    query_terms: Rows

    def __len__(self) -> int:
        return len(self.relations)


def joined_by_query(questions: Questions, own_rows: Sequence[int]) -> tuple[Questions, Ragged, Rows]:
    """Ask for each query of a relation once, with all the exemplars it was paired with; for 3CosAvg and LRCos.

    Returns the joined questions (their ``exemplars`` number the joined sets), the exemplars of each set, and for every old
    question the new one. Only the query itself is excluded (``own_rows`` gives its candidate row, -1 where it is none):
    another exemplar's object may well be right here.
    """
    answers = [questions.answers[i].tolist() for i in range(len(questions))]
    keys = zip(questions.relations.tolist(), questions.queries.tolist(), map(frozenset, answers), strict=True)
    alike = list(grouped((key, i) for i, key in enumerate(keys)).values())
    joined = np.empty(len(questions), dtype=np.intp)
    for number, members in enumerate(alike):
        joined[members] = number
    rows = np.array([members[0] for members in alike], dtype=np.intp)
    own = [own_rows[query] for query in questions.queries[rows]]
    new = replace(
        questions,
        relations=questions.relations[rows],
        exemplars=np.arange(len(rows), dtype=np.intp),
        queries=questions.queries[rows],
        answers=Ragged.of([answers[i] for i in rows]),
        excluded=Ragged.of([[row] if row >= 0 else [] for row in own]),
    )
    return new, Ragged.of([list(dict.fromkeys(questions.exemplars[members].tolist())) for members in alike]), joined
