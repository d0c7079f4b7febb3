"""Ranks from blocks of products equal those of a plain loop in double precision, ties and left-out names included."""

from __future__ import annotations

import tracemalloc
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Embeddings, Split
from medsenteval.settings import Settings
from medsenteval.statistics import mean_share_interval
from medsenteval.tasks.concepts import concept_evaluation
from medsenteval.tasks.concepts.concept_evaluation import (
    ConceptDataset,
    Query,
    evaluate_concepts,
    measures_of_ranks,
    rank_names,
)
from tests.conftest import examples


def brute_force(
    queries: NDArray[np.float32], names: NDArray[np.float32], right: list[NDArray[np.intp]], left_out: list[int], score: str
) -> list[int]:
    """Rank by sorting: a wrong name goes before a right one of the same score."""
    found = []
    for query, answers, hidden in zip(queries.astype(float), right, left_out, strict=True):
        scores = names.astype(float) @ query
        if score == "cosine":
            lengths = np.linalg.norm(names.astype(float), axis=1) * np.linalg.norm(query)
            scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
        order = sorted((-round(scores[row], 9), row in answers) for row in range(len(names)) if row != hidden)
        found.append(next((place for place, (_, is_right) in enumerate(order, start=1) if is_right), 0))
    return found


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["cosine", "dot"]), st.booleans())
def test_ranks_equal_a_plain_loop(seed: int, score: Literal["cosine", "dot"], ties: bool) -> None:
    rng = np.random.default_rng(seed)
    names = rng.normal(size=(40, 6)).astype(np.float32)
    if ties:  # few different vectors, some of them zero
        names = names[rng.integers(0, 7, 40)]
        names[rng.random(40) < 0.1] = 0
    queries = np.concatenate([names[:20], np.zeros((1, 6), np.float32), rng.normal(size=(4, 6)).astype(np.float32)])
    left_out = [*range(20), -1, -1, 3, -1, 39]
    right = [np.setdiff1d(rng.integers(0, 40, rng.integers(0, 4)), [hidden]).astype(np.intp) for hidden in left_out]
    ranks, _ = rank_names(queries, names, right, left_out, score)
    assert ranks.tolist() == brute_force(queries, names, right, left_out, score)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(300, 16)).astype(np.float32)
    right = [np.array([(row + 1) % 300, (row + 7) % 300], dtype=np.intp) for row in range(300)]
    left_out = np.arange(300, dtype=np.intp)
    whole = rank_names(vectors, vectors, right, left_out)
    monkeypatch.setattr(concept_evaluation, "_SCORES_AT_ONCE", 7 * 300)
    monkeypatch.setattr(concept_evaluation, "_FEWEST_QUERIES", 1)
    monkeypatch.setattr(concept_evaluation, "_NAMES_AT_ONCE", 11)
    parts = rank_names(vectors, vectors, right, left_out)
    assert [each.tolist() for each in parts] == [each.tolist() for each in whole]
    assert not np.any(whole[1] == left_out)


@pytest.mark.parametrize("score", ["cosine", "dot"])
def test_a_large_dictionary_is_never_in_double_precision_as_a_whole(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_evaluation, "_NAMES_AT_ONCE", 256)
    names = np.random.default_rng(0).normal(size=(8_000, 256)).astype(np.float32)
    tracemalloc.start()
    try:
        rank_names(names[:3], names, [np.array([5])] * 3, [0, 1, 2], score)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < names.nbytes


def test_an_encoder_that_tells_nothing_apart_scores_nothing() -> None:
    same = np.ones((10, 4), dtype=np.float32)
    ranks, _ = rank_names(same[:1], same, [np.array([3])], [-1])
    assert ranks.tolist() == [10]


def test_a_query_without_a_vector_has_no_nearest_name() -> None:
    names = np.eye(4, dtype=np.float32)
    ranks, nearest = rank_names(np.zeros((1, 4), np.float32), names, [np.array([1])], [-1])
    assert (ranks.tolist(), nearest.tolist()) == ([4], [-1])


@pytest.mark.parametrize(("apart", "rank"), [(3.2e-5, 2), (6e-5, 1)])
def test_only_a_billionth_of_the_largest_score_is_a_tie(apart: float, rank: int) -> None:
    """Cosines of 1 and of 1 - apart^2 / 2; dot products of 6 and of a little less beside a name of length 1000."""
    query, right = np.array([[1, 0]], dtype=np.float32), [np.array([0])]
    names = np.array([[1, 0], [1, apart]], dtype=np.float32)
    assert rank_names(query, names, right, [-1])[0].tolist() == [rank]
    for factor in (0.5, 8.0):
        assert rank_names(query * factor, names * factor, right, [-1])[0].tolist() == [rank]
    less = 6 - np.float32(4.8e-7 if rank == 2 else 4.8e-6)
    names = np.array([[6, 0], [less, 0], [0, 1000]], dtype=np.float32)
    assert rank_names(query, names, right, [2], "dot")[0].tolist() == [rank]


def test_a_rank_is_a_hit_up_to_the_first_or_the_fifth_place() -> None:
    measured = measures_of_ranks(np.array([0, 1, 2, 5, 6]))
    assert measured.tolist() == [[0, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 1, 1 / 2, 1 / 5, 1 / 6]]


def test_a_composite_mention_is_found_where_its_last_part_is() -> None:
    queries = {
        "whole": Query(("flu",), ("C1",), traits={"kind": "one"}),
        "parts": Query(("cold", "unheard of"), ("C2",), traits={"kind": "two"}),
        "absent": Query(("arm",), ("C9",), traits={"kind": "one"}),
        "half": Query(("flu", "arm"), ("C1", "C4"), traits={"kind": "two"}),
    }
    split = Split(tuple(queries), tuple(queries))
    dataset = ConceptDataset(
        "HPO", {"all": split}, options={"score": "cosine", "dictionary-hash": "abc"}, queries=queries,
        names=("flu", "cold", "arm"), concepts=(("C1",), ("C2", "C3"), ("C4",)),
    )  # fmt: skip
    vectors = np.array([[1, 0, 0], [0, 2, 0], [0.5, 0, 3], [0, 0, 0]], dtype=np.float32)
    embeddings = Embeddings(vectors, {"flu": 0, "cold": 1, "arm": 2, "unheard of": 3})
    scores = evaluate_concepts(registry.task("HPO"), dataset, embeddings, Settings())
    assert scores.items["id"] == ["whole", "parts", "absent", "half"]
    # Without a vector all names are as near, and of the right ones none is before the others.
    assert scores.items["rank"] == [1, 3, 0, 1]
    assert scores.items["answer"] == ["C1", "C2|C3+-", "C4", "C1+C4"]
    assert scores.items["concept"] == ["C1", "C2", "C9", "C1"]
    assert (scores.items["acc@1"], scores.items["acc@5"]) == ([1, 0, 0, 1], [1, 1, 0, 1])
    assert scores.items["kind"] == ["one", "two", "one", "two"]
    values = {metric.name: (metric.value, metric.baseline, metric.unit, metric.n) for metric in scores.metrics}
    # The constant list has C1, which two queries mean, first.
    assert values == {
        "acc@1": (50.0, 50.0, "percent", 4), "acc@5": (75.0, 100.0, "percent", 4),
        "mrr": (pytest.approx(7 / 12), pytest.approx((1 + 1 + 1 / 2 + 1 / 3) / 4), "fraction", 4),
    }  # fmt: skip
    assert {kind: part["acc@1"][0] for kind, part in scores.details["strata"]["kind"].items()} == {"one": 0.5, "two": 0.5}
    assert (scores.details["dictionary_names"], scores.details["dictionary_hash"]) == (3, "abc")
    assert (scores.n_train, scores.n_test, scores.senteval["ntest"], scores.senteval["acc@5"]) == (0, 4, 4, 75.0)
    for metric in scores.metrics:
        each = np.array(scores.items[metric.name], dtype=np.float64)
        ends = mean_share_interval(each, confidence=0.95, clusters=scores.items["concept"])
        scale = 100 if metric.unit == "percent" else 1
        assert (metric.low, metric.high) == pytest.approx((scale * ends[0], scale * ends[1]))
