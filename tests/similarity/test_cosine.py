"""Cosines against scipy and SentEval's recorded correlations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from medsenteval.similarity import paired_cosine
from medsenteval.statistics import correlation


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(-30, 30))
def test_cosine_equals_scipys_at_any_scale(n: int, d: int, seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    matrix = (rng.standard_normal((n, d)) * 10.0**exponent).astype(np.float32)
    left, right = rng.integers(0, n, 30), rng.integers(0, n, 30)
    ours, degenerate = paired_cosine(matrix, left, right)
    expected = [1 - cosine(matrix[i].astype(float), matrix[j].astype(float)) for i, j in zip(left, right, strict=True)]
    assert ours == pytest.approx(expected, abs=1e-9)
    assert degenerate == 0


def test_recorded_sts_numbers_of_upstream() -> None:
    rng = np.random.default_rng(3)
    u = rng.standard_normal((100, 16))
    v = u + rng.standard_normal((100, 16)) * np.linspace(0.1, 3, 100)[:, None]
    v[5] = 0
    gold = np.round(np.linspace(5, 0, 100) + rng.standard_normal(100), 1)
    matrix = np.concatenate([u, v]).astype(np.float32)
    predicted, degenerate = paired_cosine(matrix, np.arange(100), np.arange(100, 200))
    assert degenerate == 1
    assert predicted[5] == 0
    # Embeddings are float32 here and float64 in the record.
    assert correlation("pearson", predicted, gold)[0] == pytest.approx(0.5820588451717563, abs=1e-7)
    assert correlation("spearman", predicted, gold)[0] == pytest.approx(0.6335336210145756, abs=1e-12)


def test_blocks_do_not_change_the_answer() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((9000, 3)).astype(np.float32)
    left, right = np.arange(9000), rng.permutation(9000)
    whole, _ = paired_cosine(matrix, left, right)
    tail, _ = paired_cosine(matrix, left[-10:], right[-10:])
    assert whole[-10:].tolist() == tail.tolist()


@pytest.mark.parametrize("dimension", [1, 7, 50, 300, 767])
def test_equal_pairs_have_equal_cosines_wherever_they_stand(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    kinds = rng.standard_normal((6, dimension)).astype(np.float32)
    first, second = rng.integers(0, 6, 1_000), rng.integers(0, 6, 1_000)
    matrix = np.concatenate([kinds[first], kinds[second]])
    in_order, _ = paired_cosine(matrix, np.arange(1_000), np.arange(1_000, 2_000))
    shuffle = rng.permutation(1_000)
    gathered, _ = paired_cosine(matrix, shuffle, shuffle + 1_000)
    swapped, _ = paired_cosine(matrix, np.arange(1_000, 2_000), np.arange(1_000))
    np.testing.assert_array_equal(in_order[shuffle], gathered)
    np.testing.assert_array_equal(in_order, swapped)
    values: dict[tuple[int, ...], set[float]] = {
        tuple(sorted(pair)): set() for pair in zip(first.tolist(), second.tolist(), strict=True)
    }
    for a, b, value in zip(first.tolist(), second.tolist(), in_order.tolist(), strict=True):
        values[tuple(sorted((a, b)))].add(value)
    assert all(len(distinct) == 1 for distinct in values.values())
    exact = [
        kinds[a].astype(np.float64)
        @ kinds[b]
        / np.linalg.norm(kinds[a].astype(np.float64))
        / np.linalg.norm(kinds[b].astype(np.float64))
        for a, b in zip(first, second, strict=True)
    ]
    np.testing.assert_allclose(in_order, exact, rtol=0, atol=1e-12)


def test_equal_vectors_have_the_cosine_one_whatever_their_length() -> None:
    """Identical sentences are tied; with the last bits of roots in it a rank correlation would see an order among them."""
    directions = np.random.default_rng(8).normal(size=(500, 300))
    rows = (directions * np.logspace(-3, 3, 500)[:, None]).astype(np.float32)
    every = np.arange(500)
    cosines, _ = paired_cosine(rows, every, every)
    assert (cosines == 1.0).all()


def test_short_vectors_have_a_direction_and_the_cosine_is_bounded() -> None:
    tiny = np.array([[1e-38, 1e-38], [1e-38, 0], [0, 0], [-1e-38, -1e-38]], dtype=np.float32)
    cosines, degenerate = paired_cosine(tiny, np.array([0, 0, 0, 2, 0]), np.array([1, 0, 2, 2, 3]))
    assert cosines.tolist() == [pytest.approx(0.5**0.5, abs=1e-12), 1.0, 0.0, 0.0, -1.0]
    assert degenerate == 2
