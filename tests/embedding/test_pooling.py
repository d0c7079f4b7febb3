"""Pooling of token vectors and of table rows against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.embedding import pooling
from medsenteval.embedding.pooling import pool, pool_rows
from medsenteval.errors import SettingsError


def ragged(rows: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    return np.array([row for text in rows for row in text], dtype=np.int32), np.cumsum([0, *map(len, rows)])


def loop(
    matrix: NDArray[np.float32], rows: list[list[int]], how: str, weights: NDArray[np.float32] | None
) -> NDArray[np.float64]:
    pooled = np.zeros((len(rows), matrix.shape[1]))
    at = 0
    for i, text in enumerate(rows):
        vectors = []
        for row in text:
            if row >= 0:
                vectors.append(matrix[row].astype(np.float64) * (1.0 if weights is None else weights[at]))
            at += 1
        if vectors:
            pooled[i] = np.mean(vectors, axis=0) if how == "mean" else np.max(vectors, axis=0)
    return pooled


@settings(deadline=None)
@given(
    st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=20), st.sampled_from(["mean", "max"]), st.integers(0, 99)
)
def test_pooling_equals_a_plain_loop(known: list[list[bool]], how: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = np.array([k for text in known for k in text], dtype=bool)
    values = rng.standard_normal((len(mask), 3)).astype(np.float32)
    offsets = np.cumsum([0, *map(len, known)]).astype(np.intp)
    pooled = pool(TokenVectors(values, offsets, mask), how)
    for i in range(len(known)):
        rows = values[offsets[i] : offsets[i + 1]][mask[offsets[i] : offsets[i + 1]]]
        expected = np.zeros(3) if len(rows) == 0 else rows.mean(axis=0) if how == "mean" else rows.max(axis=0)
        assert pooled[i] == pytest.approx(expected, abs=1e-6)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(-1, 9), max_size=7), min_size=1, max_size=20),
    st.sampled_from(["mean", "max", "weighted"]),
    st.integers(1, 40),
)
def test_pooling_rows_equals_a_plain_loop(rows: list[list[int]], how: str, block: int) -> None:
    rng = np.random.default_rng(block)
    matrix = rng.standard_normal((10, 5)).astype(np.float32)
    numbers, offsets = ragged(rows)
    weights = rng.random(len(numbers)).astype(np.float32) if how == "weighted" else None
    kind = "mean" if how == "weighted" else how
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "_ROWS_A_SUM", 3)
        pooled = pool_rows(matrix, numbers, offsets, kind, weights)
    assert pooled == pytest.approx(loop(matrix, rows, kind, weights), abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours_change_no_bit(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((500, 33)).astype(np.float32)
    matrix[::7] = -0.0
    rows = [rng.integers(-50, 500, n).tolist() for n in rng.integers(0, 700, 200)]
    numbers, offsets = ragged(rows)
    weights = rng.random(len(numbers)).astype(np.float32) if weighted else None
    together = pool_rows(matrix, numbers, offsets, "mean", weights)
    for i in range(len(rows)):
        of_text = slice(offsets[i], offsets[i + 1])
        own = None if weights is None else weights[of_text]
        alone = pool_rows(matrix, numbers[of_text], np.array([0, len(rows[i])]), "mean", own)
        assert alone[0].tobytes() == together[i].tobytes()


def test_a_table_in_another_memory_order_is_pooled_all_the_same() -> None:
    matrix = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(4, 3))
    assert pool_rows(matrix, *ragged([[0, 3], [1]]), "mean").tolist() == [[4.5, 5.5, 6.5], [3, 4, 5]]


def test_a_very_long_text_keeps_its_digits() -> None:
    matrix = np.array([[0.1, 1000.0]], dtype=np.float32)
    pooled = pool_rows(matrix, np.zeros(300_000, np.int32), np.array([0, 300_000]), "mean")
    assert pooled[0] == pytest.approx(matrix[0], rel=5e-6)


def test_an_unknown_pooling_is_refused() -> None:
    empty = TokenVectors(np.zeros((0, 2), np.float32), np.zeros(2, np.intp), np.zeros(0, bool))
    with pytest.raises(SettingsError, match="pooling is 'median'"):
        pool(empty, "median")
    with pytest.raises(SettingsError, match="pooling is 'median'"):
        pool_rows(np.zeros((1, 2), np.float32), np.zeros(0, np.int32), np.zeros(1, np.int64), "median")
