"""Exact ranks and metrics against a brute-force twin, for every method and flag, with either way of counting."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.analogies import main as benchmark
from medsenteval.errors import SettingsError
from medsenteval.support.arrays import Ragged
from medsenteval.words.analogies import ranks
from medsenteval.words.analogies.candidate_scores import AdditiveScore, Candidates, DistanceScore, RatioScore
from medsenteval.words.analogies.methods import METHODS, solve
from medsenteval.words.analogies.metrics import Measures, _contained, constant_measures, measure, summarise
from medsenteval.words.analogies.questions import Questions, joined_by_query
from medsenteval.words.analogies.ranks import count_block, rank_answers
from tests.conftest import REPOSITORY, examples
from tests.words.analogies import twin

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
    relations: list[int] = []
    exemplars: list[int] = []
    queries: list[int] = []
    exemplar_a: list[int] = []
    answers: list[list[int]] = []
    excluded: list[list[int]] = []
    exemplar_b: list[list[int]] = []
    for relation in range(n_relations):
        subjects = rng.choice(n_candidates, n_pairs, replace=False)
        objects = [rng.choice(n_candidates, rng.integers(1, most_objects + 1), replace=False) for _ in range(n_pairs)]
        base = len(exemplar_a)
        exemplar_a += subjects.tolist()
        exemplar_b += [each.tolist() for each in objects]
        for i in range(n_pairs):
            for j in range(n_pairs):
                if i != j:
                    relations.append(relation)
                    exemplars.append(base + i)
                    queries.append(base + j)
                    answers.append(objects[j].tolist())
                    excluded.append(sorted({int(subjects[i]), int(subjects[j]), *objects[i].tolist()}))
    which, given, asked, terms = (np.array(each, dtype=np.intp) for each in (relations, exemplars, queries, exemplar_a))
    return Questions(which, given, asked, Ragged.of(answers), Ragged.of(excluded), terms, Ragged.of(exemplar_b), terms)


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
def test_metrics_equal_the_full_sort(method: str, shifted: bool, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "_WORTH_COMPILING", 0 if compiled else np.inf)
    rng = np.random.default_rng(5)
    vectors = make_vectors(rng, 2100, 6, 400, 0.3)  # more than one block, many exact ties
    questions = make_questions(rng, 2100, 3, 2, 3)
    asked, measures, where = solve(method, questions, Candidates.of(vectors), vectors, shifted=shifted)
    assert len(asked) == len(questions)
    assert where.tolist() == list(range(len(questions)))
    ours = np.stack([measures.acc, measures.map, measures.mrr], axis=1)
    np.testing.assert_allclose(ours, expected(method, shifted, questions, vectors), rtol=1e-13, atol=0)


def test_lengths_have_double_precision() -> None:
    vectors = make_vectors(np.random.default_rng(5), 1300, 7, 0, 50.0)
    np.testing.assert_allclose(Candidates.of(vectors).lengths, np.linalg.norm(vectors.astype(np.float64), axis=1), rtol=1e-15)


# Here an exemplar's offset is zero in double precision and not in single, and below lengths in single precision would put a
# rival before the answer.
@example(
    seed=1986974, case=("pairwise-distance", True), n=11, dimension=11, duplicates=10, spread=0.0, most_objects=3,
    compiled=False,
)  # fmt: skip
@example(seed=5, case=("3cosadd", True), n=29, dimension=2, duplicates=0, spread=50.0, most_objects=4, compiled=True)
@given(
    seed=st.integers(0, 2**32 - 1), case=st.sampled_from(PAIRWISE), n=st.integers(8, 60), dimension=st.integers(2, 12),
    duplicates=st.integers(0, 30), spread=st.sampled_from([0.0, 0.5, 50.0]), most_objects=st.integers(1, 4),
    compiled=st.booleans(),
)  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_metrics_equal_the_full_sort_on_any_data(
    seed: int,
    case: tuple[str, bool],
    n: int,
    dimension: int,
    duplicates: int,
    spread: float,
    most_objects: int,
    compiled: bool,
) -> None:
    rng = np.random.default_rng(seed)
    vectors = make_vectors(rng, n, dimension, duplicates, spread)
    questions = make_questions(rng, n, 4, 2, most_objects)
    if case[0] == "pairwise-distance":
        same = [
            np.array_equal(vectors[a], vectors[b].astype(np.float64).mean(axis=0))
            for a, b in zip(
                questions.exemplar_a, map(questions.exemplar_b.__getitem__, range(len(questions.exemplar_b))), strict=True
            )
        ]
        if any(same):
            return  # an offset of zero has no direction; the task drops such analogies
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranks, "_WORTH_COMPILING", 0 if compiled else np.inf)
        _, measures, _ = solve(case[0], questions, Candidates.of(vectors), vectors, shifted=case[1])
    ours = np.stack([measures.acc, measures.map, measures.mrr], axis=1)
    np.testing.assert_allclose(ours, expected(*case, questions, vectors), rtol=1e-13, atol=0)


Counted = tuple[np.ndarray, np.ndarray, np.ndarray]


def count_all(score: AdditiveScore, n_rows: int, compiled: bool) -> tuple[Counted, np.ndarray, np.ndarray, np.ndarray]:
    """Count for every exemplar with every query, each asking for a candidate of the same number as the query."""
    exemplars, queries = (each.ravel() for each in np.meshgrid(np.arange(n_rows), np.arange(n_rows), indexing="ij"))
    exact = score.exact(exemplars, queries, queries)
    comparison = score.comparison(exemplars, queries, exact)
    factors = score.factors(slice(0, len(score.candidates)))
    return count_block(factors, exemplars, queries, comparison, compiled=compiled), exemplars, queries, exact


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_more_unclear_candidates_than_there_is_room_for_are_all_found(method: str, compiled: bool) -> None:
    rng = np.random.default_rng(2)
    # Every candidate is one of two, so that half of all are as good as the answer.
    vectors = np.tile(rng.standard_normal((2, 8)).astype(np.float32), (300, 1))
    candidates, wide = Candidates.of(vectors), vectors[:4].astype(np.float64)
    offsets = rng.standard_normal((4, 8))
    score = AdditiveScore(candidates, offsets, wide) if method == "3cosadd" else RatioScore(candidates, wide, offsets, wide)
    (_, unclear_answers, unclear_places), _, queries, _ = count_all(score, 4, compiled)
    assert len(unclear_answers) == 16 * 300
    for answer in range(16):
        places = unclear_places[unclear_answers == answer]
        assert sorted(places.tolist()) == list(range(int(queries[answer]) % 2, 600, 2))


@pytest.mark.parametrize("size", [1e-33, 1.0, 1e33])
def test_very_short_and_very_long_terms_are_ranked(size: float) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((700, 5)).astype(np.float32)
    offsets, queries = rng.standard_normal((2, 3, 5))
    usual = AdditiveScore(Candidates.of(vectors), offsets, queries)
    score = AdditiveScore(Candidates.of(vectors), size * offsets, size * queries)
    exemplars, asked = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    scores = np.stack(
        [usual.exact(np.full(700, e), np.full(700, q), np.arange(700)) for e, q in zip(exemplars, asked, strict=True)]
    )
    expected_ranks = 1 + (scores > scores[np.arange(9), np.arange(9) * 70][:, None]).sum(axis=1)
    assert rank_answers(score, exemplars, asked, np.arange(9) * 70).tolist() == expected_ranks.tolist()


def test_undefined_scores_come_last_and_are_no_nan() -> None:
    """A candidate that is the query has no direction from it, and neither has an offset of zero."""
    vectors = np.random.default_rng(4).standard_normal((40, 5)).astype(np.float32)
    wide = vectors.astype(np.float64)
    score = DistanceScore(Candidates.of(vectors), np.stack([wide[0] - wide[1], np.zeros(5)]), wide[2:4])
    every = np.arange(40)
    scores = np.stack([score.exact(np.full(40, e), np.full(40, q), every) for e, q in ((0, 0), (0, 1), (1, 0))])
    assert not np.isnan(scores).any()
    assert np.flatnonzero(np.isinf(scores[0])).tolist() == [2]
    assert np.isneginf(scores[2]).all()
    ranks = rank_answers(score, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([2, 3, 0, 39]))
    assert ranks.tolist() == [40, 40, 1, 40]


def near_ratios(rng: np.random.Generator, dimension: int, closeness: float, lean: float) -> np.ndarray:
    """Candidates that lie close to the first one, so that their scores are close too, and some that are opposite to it."""
    centre = rng.standard_normal(dimension) + lean
    vectors = centre + closeness * rng.standard_normal((600, dimension))
    vectors[::7] *= -1.0
    vectors[::11] = rng.standard_normal(vectors[::11].shape)
    return vectors.astype(np.float32)


@given(
    seed=st.integers(0, 2**32 - 1), dimension=st.sampled_from([3, 17, 200]), closeness=st.floats(-8.0, 0.5),
    lean=st.floats(0.0, 5.0), term_closeness=st.floats(-4.0, 1.0),
    method=st.sampled_from(["3cosmul", "3cosadd", "pairwise-distance"]),
)  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_what_is_called_surely_better_or_worse_is_so_in_float64(
    seed: int, dimension: int, closeness: float, lean: float, term_closeness: float, method: str
) -> None:
    rng = np.random.default_rng(seed)
    vectors = near_ratios(rng, dimension, 10.0**closeness, lean)
    # Terms near the candidates or opposite to them: ratios from tiny to huge, denominators near epsilon.
    a, b, c = rng.choice([-1.0, 1.0], (3, 5, 1)) * vectors[:5] + 10.0**term_closeness * rng.standard_normal((3, 5, dimension))
    candidates = Candidates.of(vectors)
    score: AdditiveScore
    if method == "3cosmul":
        score = RatioScore(candidates, a, b, c)
    else:
        score = (AdditiveScore if method == "3cosadd" else DistanceScore)(candidates, b - a, c)
    (better, unclear_answers, unclear_places), exemplars, queries, exact = count_all(score, 5, True)
    every = np.arange(600)
    for k in range(25):
        scores = score.exact(np.full(600, exemplars[k]), np.full(600, queries[k]), every)
        unclear = np.zeros(600, dtype=bool)
        unclear[unclear_places[unclear_answers == k]] = True
        assert better[k] == np.count_nonzero((scores > exact[k]) & ~unclear)
        assert unclear[scores == exact[k]].all()


def joined_expectation(questions: Questions) -> dict[tuple[int, int], list[int]]:
    """Exemplars of each (relation, query), by hand."""
    found: dict[tuple[int, int], list[int]] = {}
    for relation, exemplar, query in zip(questions.relations, questions.exemplars, questions.queries, strict=True):
        found.setdefault((int(relation), int(query)), []).append(int(exemplar))
    return found


@pytest.mark.parametrize("method", ["3cosavg", "lrcos"])
def test_methods_of_whole_relations_equal_the_full_sort(method: str) -> None:
    rng = np.random.default_rng(8)
    vectors = make_vectors(rng, 200, 6, 0, 0.2)
    questions = make_questions(rng, 200, 6, 2, 2)
    own = questions.query_terms.tolist()  # the terms are the candidates themselves
    asked, measures, where = solve(
        method, questions, Candidates.of(vectors), vectors, own_rows=own, rng=np.random.default_rng(4)
    )
    unseeded = solve(method, questions, Candidates.of(vectors), vectors, own_rows=own)[1]
    seeded = solve(method, questions, Candidates.of(vectors), vectors, own_rows=own, rng=np.random.default_rng(0))[1]
    assert unseeded.map.tolist() == seeded.map.tolist(), "the same draws unless they are asked for"
    groups = joined_expectation(questions)
    assert len(asked) == len(groups) == 12
    wide = vectors.astype(np.float64)
    unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    draws = np.random.default_rng(4)
    for number, ((_, query), exemplars) in enumerate(groups.items()):
        c = wide[questions.query_terms[query]]
        a = wide[questions.exemplar_a[exemplars]]
        b = np.array([wide[questions.exemplar_b[e]].mean(axis=0) for e in exemplars])
        if method == "3cosavg":
            scores = unit @ ((b - a).mean(axis=0) + c)
        else:
            from sklearn.linear_model import LogisticRegression

            drawn = unit[draws.integers(0, len(unit), len(exemplars))].astype(np.float32).astype(np.float64)
            rows = [x / np.linalg.norm(x) for x in (*b, *a)]
            fitted = LogisticRegression(max_iter=1000).fit([*rows, *drawn], [1] * len(b) + [0] * 2 * len(b))
            scores = fitted.predict_proba(unit)[:, 1] * (unit @ c / np.linalg.norm(c))
        old = int(np.flatnonzero(where == number)[0])
        expectation = twin.metrics(scores, questions.answers[old].tolist(), [int(questions.query_terms[query])])
        ours = (measures.acc[number], measures.map[number], measures.mrr[number])
        np.testing.assert_allclose(ours, expectation, rtol=1e-12)


def test_the_constant_ranking_is_that_of_rightness() -> None:
    questions = Questions(
        np.array([0, 0, 0]), np.arange(3), np.arange(3), Ragged.of([[2], [2, 1], [0]]), Ragged.of([[2], [], []]),
        np.arange(3), Ragged.of([[0]] * 3), np.arange(3),
    )  # fmt: skip
    constant = constant_measures(questions, 4)  # candidates in the order 2, 0, 1, 3
    assert constant.acc.tolist() == [0.0, 1.0, 0.0]
    assert constant.mrr.tolist() == [1.0, 1.0, 0.5]
    assert constant.map.tolist() == [1.0, (1 + 2 / 3) / 2, 0.5]


def test_wrong_use_is_refused() -> None:
    vectors = np.eye(3, dtype=np.float32)
    questions = make_questions(np.random.default_rng(0), 3, 2, 1, 1)
    with pytest.raises(SettingsError, match="no analogy method is called '4cos'"):
        solve("4cos", questions, Candidates.of(vectors), vectors)
    with pytest.raises(ValueError, match="zero vector"):
        Candidates.of(np.zeros((1, 3), dtype=np.float32))
    assert set(METHODS) == {method for method, _ in PAIRWISE} | {"3cosavg", "lrcos"}


@pytest.mark.slow
@pytest.mark.parametrize("extra", [[], ["--random", "--without-numba"]])
def test_the_benchmark_runs_and_agrees_with_the_naive_way(extra: list[str]) -> None:
    command = [sys.executable, "benchmarks/analogies.py", "--small", *extra]
    shown = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    difference = re.search(r"largest difference of its metrics to ours (\S+)", shown)
    assert difference is not None
    assert float(difference[1]) < 1e-3


def test_the_benchmark_leaves_the_module_that_it_measures_as_it_was() -> None:
    before = dict(vars(ranks))
    benchmark(["--small", "--without-numba", "--no-naive"])
    assert vars(ranks) == before


def test_no_answers_have_no_ranks() -> None:
    vectors = np.eye(3, dtype=np.float32)
    none = np.zeros(0, dtype=np.intp)
    ranks = rank_answers(AdditiveScore(Candidates.of(vectors), np.eye(3), np.eye(3)), none, none, none)
    assert ranks.shape == (0,)
    assert ranks.dtype == np.int64


def test_a_denominator_that_float32_takes_for_zero_is_computed_exactly() -> None:
    """Unshifted, cos(d, a) + epsilon is zero, or has either sign, within what single precision can tell."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((300, 4)).astype(np.float32)
    a = np.array([[1.0, 0.0, 0.0, 0.0]])
    lengths = np.linalg.norm(vectors[:, 1:].astype(np.float64), axis=1)
    # Cosines with a of -epsilon and a few parts in ten million around it.
    vectors[:, 0] = (-1e-6 + rng.uniform(-3e-7, 3e-7, 300)) * lengths
    b, c = rng.standard_normal((2, 1, 4))
    score = RatioScore(Candidates.of(vectors), a, b, c, shifted=False)
    zeros, every = np.zeros(300, dtype=np.intp), np.arange(300)
    exact = score.exact(zeros, zeros, every)
    assert (exact > 0).any()
    assert (exact < 0).any()
    expected = [1 + int(np.sum(exact > own)) + int(np.sum(exact[:place] == own)) for place, own in enumerate(exact)]
    assert rank_answers(score, zeros, zeros, every).tolist() == expected


def test_answers_that_may_not_be_guessed_are_those_of_their_own_question() -> None:
    lists, others = [[1, 4], [3, 0], [], [2, 1, 9]], [[4], [1, 4, 9], [3], [9, 2]]
    expected = [value in other for values, other in zip(lists, others, strict=True) for value in values]
    assert _contained(Ragged.of(lists), Ragged.of(others)).tolist() == expected
    assert sum(expected) == 3


def test_means_and_deviations_are_over_relations() -> None:
    acc, precision, mrr = np.array([1.0, 0, 1, 1, 0]), np.array([0.5, 0.5, 0.25, 0.75, 0]), np.array([1.0, 1, 1, 1, 0.5])
    relations, names = np.array([0, 0, 2, 2, 3]), ("a", "unasked", "b", "c")
    measures = Measures(acc, precision, mrr)
    by_relation, by_category, overall = summarise(measures, relations, names, {"a": "first", "c": "first", "b": "second"})
    assert by_relation == {
        "a": {"n": 2.0, "acc": 0.5, "map": 0.5, "mrr": 1.0},
        "b": {"n": 2.0, "acc": 1.0, "map": 0.5, "mrr": 1.0},
        "c": {"n": 1.0, "acc": 0.0, "map": 0.0, "mrr": 0.5},
    }
    assert list(by_category) == ["first", "second"]
    assert by_category["first"]["acc"] == {"mean": 0.25, "deviation": pytest.approx(0.5**0.5 / 2)}
    assert by_category["second"] == {name: {"mean": value, "deviation": 0.0} for name, value in
                                     (("acc", 1.0), ("map", 0.5), ("mrr", 1.0))}  # fmt: skip
    assert overall["acc"] == {"mean": 0.5, "deviation": 0.5}
    assert overall["map"] == pytest.approx({"mean": 1 / 3, "deviation": (1 / 12) ** 0.5})
    assert list(summarise(measures, relations, names, {})[1]) == [""]


def test_a_question_without_an_answer_is_refused() -> None:
    vectors = np.eye(3, dtype=np.float32)
    none = Questions(*(np.zeros(1, dtype=np.intp),) * 3, Ragged.of([[]]), Ragged.of([[]]),
                     np.array([0]), Ragged.of([[1]]), np.array([2]))  # fmt: skip
    with pytest.raises(ValueError, match="no right answer among the candidates"):
        measure(AdditiveScore(Candidates.of(vectors), np.eye(3), np.eye(3)), none)


def test_only_large_work_is_compiled_and_only_where_numba_is(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.eye(3, dtype=np.float32)
    score, zero = AdditiveScore(Candidates.of(vectors), np.eye(3), np.eye(3)), np.zeros(1, dtype=np.intp)
    calls = []

    def counted(*arguments: object, compiled: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        calls.append(compiled)
        return np.zeros(1, dtype=np.int64), zero[:0], zero[:0]

    monkeypatch.setattr(ranks, "count_block", counted)
    for enough, installed in ((4, True), (3, True), (3, False)):
        monkeypatch.setattr(ranks, "_WORTH_COMPILING", enough)
        monkeypatch.setattr(ranks, "find_spec", lambda name, installed=installed: object() if installed else None)
        assert rank_answers(score, zero, zero, zero).tolist() == [1]
    assert calls == [False, True, False]


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul", "pairwise-distance"])
def test_the_loop_means_the_same_without_the_compiler(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts rivals in Python, in the compiler's words and in NumPy is one; so is what is left to the exact scores."""
    monkeypatch.setattr(ranks, "_compiled_count", lambda: ranks._count)
    rng = np.random.default_rng(6)
    vectors = make_vectors(rng, 40, 4, 12, 0.3)
    a, b, c = rng.standard_normal((3, 3, 4))
    candidates = Candidates.of(vectors)
    score = RatioScore(candidates, a, b, c) if method == "3cosmul" else AdditiveScore(candidates, b - a, c)
    score = DistanceScore(candidates, b - a, c) if method == "pairwise-distance" else score
    (better, answers, places), *_ = count_all(score, 3, True)
    (expected, expected_answers, expected_places), *_ = count_all(score, 3, False)
    assert better.tolist() == expected.tolist()
    assert set(zip(answers.tolist(), places.tolist(), strict=True)) == set(
        zip(expected_answers.tolist(), expected_places.tolist(), strict=True)
    )
    first, second, third = (np.array(values, dtype=np.float64) for values in ([[1, 2, 3, 4]], [[2, 2, 2, 2]], [0.5, 9]))
    counted = np.zeros((2, 2), dtype=np.int64)
    ones, count = np.zeros(2, dtype=np.intp), cast(Any, ranks._count)
    # 1 + 0.5 * 2 ... 4 + 0.5 * 2 and 1 + 9 * 2 ... against 3 and 20, within 1: z is -1, 0, 1, 2 and -1, 0, 1, 2.
    count(first, second, ones, ones, False, third, np.array([3.0, 20]), np.array([0.5, 1]), *counted)
    assert counted.tolist() == [[2, 1], [1, 0]]
    # 2, 4, 6, 8 against 6 within 0 and within 2; counts are added to what is there.
    count(first, second, ones, ones, True, third, np.array([6.0, 6]), np.array([0.0, 2]), *counted)
    assert counted.tolist() == [[3, 1], [3, 1]]


def test_in_the_constant_ranking_relations_count_alike() -> None:
    """One question of a relation weighs as much as two of another, though each of these has an answer of its own."""
    questions = Questions(
        np.array([0, 0, 1]), np.arange(3), np.arange(3), Ragged.of([[3], [2], [1]]), Ragged.of([[], [], []]),
        np.arange(3), Ragged.of([[0]] * 3), np.arange(3),
    )  # fmt: skip
    assert constant_measures(questions, 4).mrr.tolist() == [1 / 3, 1 / 2, 1.0]


def test_queries_are_asked_once_with_all_their_exemplars() -> None:
    """Questions of one relation, query and set of answers are one; a query that is no candidate excludes nothing."""
    questions = Questions(
        np.array([0, 0, 0, 1, 0]), np.array([3, 1, 3, 2, 4]), np.array([1, 0, 1, 1, 1]),
        Ragged.of([[5, 6], [7], [6, 5], [5, 6], [5]]), Ragged.of([[0], [1], [2], [3], [4]]),
        np.arange(5), Ragged.of([[0]] * 5), np.arange(2),
    )  # fmt: skip
    joined, members, where = joined_by_query(questions, [-1, 8])
    assert where.tolist() == [0, 1, 0, 2, 3]
    assert (joined.relations.tolist(), joined.queries.tolist()) == ([0, 0, 1, 0], [1, 0, 1, 1])
    assert joined.exemplars.tolist() == [0, 1, 2, 3]
    assert [joined.answers[i].tolist() for i in range(4)] == [[5, 6], [7], [5, 6], [5]]
    assert [joined.excluded[i].tolist() for i in range(4)] == [[8], [], [8], [8]]
    assert [members[i].tolist() for i in range(4)] == [[3], [1], [2], [4]]
    assert joined.query_terms is questions.query_terms


def test_means_over_a_relation_are_taken_one_after_the_other() -> None:
    """40 pairs of one relation, each asked with all others: 1,560 offsets, of which only 39 are needed at a time."""
    vectors = np.random.default_rng(0).standard_normal((80, 3000)).astype(np.float32)
    asked = [(i, j) for i in range(40) for j in range(40) if i != j]
    exemplars, queries = (np.array(numbers, dtype=np.intp) for numbers in zip(*asked, strict=True))
    questions = Questions(
        np.zeros(len(asked), dtype=np.intp), exemplars, queries, Ragged.of([[40 + j] for _, j in asked]),
        Ragged.of([[]] * len(asked)), np.arange(40), Ragged.of([[40 + i] for i in range(40)]), np.arange(40),
    )  # fmt: skip
    candidates = Candidates.of(vectors)
    tracemalloc.start()
    try:
        solve("3cosavg", questions, candidates, vectors, own_rows=range(40))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(asked) * vectors[0].astype(np.float64).nbytes / 2
