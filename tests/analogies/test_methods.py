"""Exact ranks and metrics against a brute-force twin, for every method and flag, with either way of counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.analogies.methods import solve
from medsenteval.analogies.questions import Questions, Ragged
from medsenteval.analogies.scores import Candidates
from tests.analogies import twin

PAIRWISE = [
    ("3cosadd", True),
    ("pairwise-distance", True),
    ("3cosmul", True),
    ("3cosmul", False),
    ("only-b", True),
    ("only-c", True),
]


def make_questions(rng: np.random.Generator, n_candidates: int, n_pairs: int, n_relations: int, most_objects: int) -> Questions:
    """Relations of (subject, objects) pairs whose terms are candidates themselves; every two pairs make a question."""
    relations, exemplars, queries, answers, excluded, exemplar_a, exemplar_b, query_terms = ([] for _ in range(8))
    for relation in range(n_relations):
        subjects = rng.choice(n_candidates, n_pairs, replace=False)
        objects = [rng.choice(n_candidates, rng.integers(1, most_objects + 1), replace=False) for _ in range(n_pairs)]
        base = len(exemplar_a)
        exemplar_a += subjects.tolist()
        query_terms += subjects.tolist()
        exemplar_b += [each.tolist() for each in objects]
        for i in range(n_pairs):
            for j in range(n_pairs):
                if i != j:
                    relations.append(relation)
                    exemplars.append(base + i)
                    queries.append(base + j)
                    answers.append(objects[j].tolist())
                    excluded.append(sorted({int(subjects[i]), int(subjects[j]), *objects[i].tolist()}))
    return Questions(
        *(np.array(each, dtype=np.intp) for each in (relations, exemplars, queries)),
        Ragged.of(answers), Ragged.of(excluded), np.array(exemplar_a), Ragged.of(exemplar_b), np.array(query_terms),
    )  # fmt: skip


def make_vectors(rng: np.random.Generator, n: int, dimension: int, duplicates: int, spread: float) -> np.ndarray:
    vectors = (rng.standard_normal((n, dimension)) + spread).astype(np.float32)
    for _ in range(duplicates):
        vectors[rng.integers(n)] = vectors[rng.integers(n)]  # other strings, same words: equal vectors
    return vectors


def expected(method: str, shifted: bool, questions: Questions, vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    rows = []
    for i in range(len(questions)):
        e, q = questions.exemplars[i], questions.queries[i]
        a, b = wide[questions.exemplar_a[e]], wide[questions.exemplar_b[e]].mean(axis=0)
        c = wide[questions.query_terms[q]]
        scores = np.array([twin.score(method, a, b, c, d, shifted) for d in wide])
        rows.append(twin.metrics(scores, questions.answers[i].tolist(), questions.excluded[i].tolist()))
    return np.array(rows)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("method", "shifted"), PAIRWISE)
def test_metrics_equal_the_full_sort(method, shifted, compiled) -> None:
    rng = np.random.default_rng(5)
    vectors = make_vectors(rng, 2100, 6, 400, 0.3)  # more than one block, many exact ties
    questions = make_questions(rng, 2100, 3, 2, 3)
    asked, measures, where = solve(method, questions, Candidates.of(vectors, compiled=compiled), vectors, shifted=shifted)
    assert asked is questions
    assert where.tolist() == list(range(len(questions)))
    ours = np.stack([measures.acc, measures.map, measures.mrr], axis=1)
    np.testing.assert_allclose(ours, expected(method, shifted, questions, vectors), rtol=1e-13, atol=0)


@given(
    seed=st.integers(0, 2**32 - 1), case=st.sampled_from(PAIRWISE), n=st.integers(8, 60), dimension=st.integers(2, 12),
    duplicates=st.integers(0, 30), spread=st.sampled_from([0.0, 0.5, 50.0]), most_objects=st.integers(1, 4),
    compiled=st.booleans(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_metrics_equal_the_full_sort_on_any_data(seed, case, n, dimension, duplicates, spread, most_objects, compiled) -> None:
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, n, dimension, duplicates, spread)
    questions = make_questions(rng, n, 4, 2, most_objects)
    if case[0] == "pairwise-distance":
        same = [
            np.array_equal(vectors[a], vectors[b].mean(axis=0))
            for a, b in zip(
                questions.exemplar_a, map(questions.exemplar_b.__getitem__, range(len(questions.exemplar_b))), strict=True
            )
        ]
        if any(same):
            return  # an offset of zero has no direction; the task drops such analogies
    _, measures, _ = solve(case[0], questions, Candidates.of(vectors, compiled=compiled), vectors, shifted=case[1])
    ours = np.stack([measures.acc, measures.map, measures.mrr], axis=1)
    np.testing.assert_allclose(ours, expected(*case, questions, vectors), rtol=1e-13, atol=0)
