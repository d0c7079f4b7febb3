"""Analogies as arrays: which exemplar, which query, which candidates are right and which must not be guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from medsenteval.support.arrays import Rows


@dataclass(frozen=True, eq=False)
class Ragged:
    """Lists of different lengths in one array: list i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Rows
    offsets: Rows

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Ragged:
        kept = list(lists)
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in kept], dtype=np.intp)]).astype(np.intp)
        values = np.fromiter((value for each in kept for value in each), dtype=np.intp, count=int(offsets[-1]))
        return cls(values, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Rows:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Rows:
        return np.diff(self.offsets)

    @property
    def owners(self) -> Rows:
        """The number of the list that each value belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.intp), self.lengths)


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
    numbers: dict[tuple[int, int, bytes], int] = {}
    members: list[dict[int, None]] = []
    first: list[int] = []
    joined = np.empty(len(questions), dtype=np.intp)
    for i in range(len(questions)):
        key = (int(questions.relations[i]), int(questions.queries[i]), np.sort(questions.answers[i]).tobytes())
        number = numbers.setdefault(key, len(numbers))
        if number == len(members):
            members.append({})
            first.append(i)
        members[number][int(questions.exemplars[i])] = None
        joined[i] = number
    rows = np.array(first, dtype=np.intp)
    own = [own_rows[query] for query in questions.queries[rows]]
    new = Questions(
        relations=questions.relations[rows],
        exemplars=np.arange(len(rows), dtype=np.intp),
        queries=questions.queries[rows],
        answers=Ragged.of([questions.answers[i].tolist() for i in first]),
        excluded=Ragged.of([[row] if row >= 0 else [] for row in own]),
        exemplar_a=questions.exemplar_a,
        exemplar_b=questions.exemplar_b,
        query_terms=questions.query_terms,
    )
    return new, Ragged.of([list(each) for each in members]), joined
