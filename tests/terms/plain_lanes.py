"""What the operations of ``medsenteval.terms.lanes`` mean, in NumPy: the tests' twin of the compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medsenteval.terms.lanes import LANES, ROW

Words: TypeAlias = NDArray[np.uint64]


def load_plainly(words: Words, place: int | tuple[int, int]) -> Words:
    row, column = place if isinstance(place, tuple) else (None, place)
    return (words if row is None else words[row])[column : column + LANES].copy()


def store_plainly(words: Words, place: int, value: Words) -> None:
    words[place : place + LANES] = value


def bytes_of(words: Words) -> NDArray[np.int64]:
    return np.ascontiguousarray(words).view(np.uint8).reshape(len(words), 8).astype(np.int64)


PLAIN_LANES: dict[str, Callable[..., Any]] = {
    "repeat": lambda word: np.full(LANES, word),
    "load": load_plainly,
    "store": store_plainly,
    "gather": lambda table, codes, places, offset, width, column: table[
        codes[places[:LANES].astype(np.int64) + offset].astype(np.int64) * width + column
    ],
    "gather_along": lambda table, codes, places, offset, width, columns: table[
        codes[places[:LANES].astype(np.int64) + offset].astype(np.int64) * width + columns + offset
    ],
    "add_differences": lambda left, right: np.abs(bytes_of(left) - bytes_of(right)).sum(axis=1).astype(np.uint64),
    "first_one": lambda word: (int(word) & -int(word)).bit_length() - 1,
    "count_differences": lambda words, left, right: np.bitwise_count(
        words[left : left + ROW] ^ words[right : right + ROW]
    ).sum(),
    "prefetch": lambda words, place: None,
    "find_at_most": lambda left, right: np.uint64(sum(1 << int(lane) for lane in np.flatnonzero(left <= right))),
    "choose_below": lambda left, right, yes, no: np.where(left < right, yes, no),
}
