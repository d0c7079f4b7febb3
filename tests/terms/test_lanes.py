"""The compiled operations on sixteen words do what NumPy does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit
from numba.core.errors import TypingError

from medsenteval.terms import lanes
from medsenteval.terms.lanes import LANES
from tests.terms.plain_lanes import PLAIN_LANES, Words


@pytest.fixture
def words() -> Words:
    """Two times sixteen words, some of them alike, and shifts by less than 64 at the end."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 64, size=3 * LANES, dtype=np.uint64)
    drawn[LANES : LANES + 4] = drawn[:4]
    drawn[2 * LANES :] = rng.integers(0, 64, size=LANES, dtype=np.uint64)
    return drawn


@pytest.mark.parametrize("kind", [np.uint64, np.uint32])
@pytest.mark.parametrize("name", ["and_", "or_", "xor", "add", "sub", "lshift", "rshift"])
def test_operators(words: Words, name: str, kind: type[np.unsignedinteger[Any]]) -> None:
    python_operator: Callable[[Any, Any], Any] = getattr(operator, name)
    load, store = lanes.load, lanes.store
    second = 2 * LANES if name.endswith("shift") else LANES
    words[2 * LANES :] %= np.uint64(8 * kind().itemsize)
    words = words.astype(kind)

    @njit  # type: ignore[untyped-decorator]
    def apply(values: Words, result: Words) -> None:
        store(result, 1, python_operator(load(values, 0), load(values, second)))

    result = np.zeros(LANES + 2, dtype=kind)
    apply(words, result)
    with np.errstate(over="ignore"):
        expected = python_operator(words[:LANES], words[second : second + LANES])
    assert result.tolist() == [0, *expected.tolist(), 0]


def test_comparisons_and_counts(words: Words) -> None:
    words >>= np.uint64(1)  # only such are compared
    find_at_most, choose_below = lanes.find_at_most, lanes.choose_below
    load, store, repeat, first_one, count_differences = (
        lanes.load, lanes.store, lanes.repeat, lanes.first_one, lanes.count_differences
    )  # fmt: skip

    @njit  # type: ignore[untyped-decorator]
    def apply(values: Words, chosen: Words, repeated: Words) -> Any:
        left, right = load(values, 0), load(values, LANES)
        store(chosen, 0, choose_below(left, right, right, left))
        store(repeated, 0, repeat(values[5]))
        bits = find_at_most(left, right)
        return bits, first_one(bits), count_differences(values, 3, 9)

    chosen, repeated = np.zeros((2, LANES), dtype=np.uint64)
    found = apply(words, chosen, repeated)
    left, right = words[:LANES], words[LANES : 2 * LANES]
    bits = PLAIN_LANES["find_at_most"](left, right)
    assert int(bits) & 15 == 15  # the first four are equal
    assert found == (
        bits,
        PLAIN_LANES["first_one"](bits),
        PLAIN_LANES["count_differences"](words, 3, 9),
    )
    assert chosen.tolist() == np.maximum(left, right).tolist()
    assert repeated.tolist() == [words[5]] * LANES


@pytest.mark.parametrize("at_once", [0, 16, 32])
def test_differences_of_bytes(words: Words, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """By the processor's instructions, as far as it has them, and in steps."""
    if at_once > lanes._AT_ONCE:
        pytest.skip(f"this processor has no instruction that adds differences of {at_once} bytes")
    monkeypatch.setattr(lanes, "_AT_ONCE", at_once)
    load, store, add_differences = lanes.load, lanes.store, lanes.add_differences
    words[0], words[LANES] = 0, ~np.uint64(0)
    words[1], words[LANES + 1] = ~np.uint64(0), 0

    @njit  # type: ignore[untyped-decorator]
    def apply(values: Words, added: Words) -> None:
        store(added, 0, add_differences(load(values, 0), load(values, LANES)))

    added = np.zeros(LANES, dtype=np.uint64)
    apply(words, added)
    assert added[:4].tolist() == [8 * 255, 8 * 255, 0, 0]
    assert added.tolist() == PLAIN_LANES["add_differences"](words[:LANES], words[LANES : 2 * LANES]).tolist()


def test_numbers_with_gaps_are_refused() -> None:
    load, store = lanes.load, lanes.store

    @njit  # type: ignore[untyped-decorator]
    def apply(values: Words, result: Words) -> None:
        store(result, 0, load(values, (0, 0)))

    with pytest.raises(TypingError, match="follow one another"):
        apply(np.zeros((LANES, 2), dtype=np.uint64).T, np.zeros(LANES, dtype=np.uint64))


def test_comparisons_of_short_words(words: Words) -> None:
    find_at_most, choose_below = lanes.find_at_most, lanes.choose_below
    load, store, repeat = lanes.load, lanes.store, lanes.repeat

    @njit  # type: ignore[untyped-decorator]
    def apply(values: Words, chosen: Words, repeated: Words) -> Any:
        left, right = load(values, 0), load(values, LANES)
        store(chosen, 0, choose_below(left, right, right, left))
        store(repeated, 0, repeat(values[5]))
        return find_at_most(left, right)

    short = words.astype(np.uint32) >> np.uint32(1)
    chosen, repeated = np.zeros((2, LANES), dtype=np.uint32)
    bits = apply(short, chosen, repeated)
    left, right = short[:LANES], short[LANES : 2 * LANES]
    assert bits == PLAIN_LANES["find_at_most"](left, right)
    assert chosen.tolist() == np.maximum(left, right).tolist()
    assert repeated.tolist() == [short[5]] * LANES


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_gathering_along(kind: type[np.unsignedinteger[Any]]) -> None:
    """Places and columns may lie before the beginning, by no more than the offset."""
    rng = np.random.default_rng(2)
    table = rng.integers(0, 1 << 32, size=30 * 250, dtype=np.uint32)
    codes = rng.integers(0, 250, size=400).astype(kind)
    places, columns = rng.integers(-7, 390, size=LANES), rng.integers(-7, 23, size=LANES)
    gather_along, store = lanes.gather_along, lanes.store

    @njit  # type: ignore[untyped-decorator]
    def apply(result: Words) -> None:
        store(result, 0, gather_along(table, codes, places, 7, 30, columns))

    result = np.zeros(LANES, dtype=np.uint32)
    apply(result)
    assert result.tolist() == PLAIN_LANES["gather_along"](table, codes, places, 7, 30, columns).tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_gathering(kind: type[np.unsignedinteger[Any]]) -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 1 << 64, size=3 * 250, dtype=np.uint64)
    codes = rng.integers(0, 250, size=400).astype(kind)
    places = rng.integers(0, 390, size=LANES).astype(np.uint64)
    gather, store = lanes.gather, lanes.store

    @njit  # type: ignore[untyped-decorator]
    def apply(result: Words) -> None:
        store(result, 0, gather(table, codes, places, 7, 3, 2))

    result = np.zeros(LANES, dtype=np.uint64)
    apply(result)
    assert result.tolist() == PLAIN_LANES["gather"](table, codes, places, 7, 3, 2).tolist()


def test_fetching_ahead_changes_nothing() -> None:
    prefetch = lanes.prefetch

    @njit  # type: ignore[untyped-decorator]
    def apply(values: Words) -> int:
        for place in range(len(values)):
            prefetch(values, place)
        return len(values)

    for kind in (np.uint8, np.uint32, np.int32, np.uint64):
        values = np.arange(100).astype(kind)
        assert apply(values) == 100
        assert values.tolist() == list(range(100))
