"""The pieces of Universal Sentence Encoder Lite: the best of all splits, and unknown characters as TensorFlow.js has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.use_lite import Pieces

MARKS = [("", 0.0)] * 6
SCORES = {"\u2581": -2.5, "a": -3.0, "b": -3.25, "ab": -4.0, "ba": -5.5, "\u2581a": -4.75, "aab": -6.0, "bb\u2581": -7.0}
PIECES = Pieces([*MARKS, *SCORES.items()])
NAMES = [*[""] * 6, *SCORES]


def splits(text: str) -> Iterator[list[str]]:
    """Yield every way to write a text in pieces."""
    if not text:
        yield []
    for piece in SCORES:
        if text.startswith(piece):
            yield from ([piece, *rest] for rest in splits(text[len(piece) :]))


@settings(max_examples=50)
@given(st.text("ab ", min_size=1, max_size=9))
def test_a_text_is_split_as_the_best_of_all_splits(text: str) -> None:
    found = [NAMES[number] for number in PIECES.split(text)]
    whole = "\u2581" + text.replace(" ", "\u2581")
    assert "".join(found) == whole
    assert sum(map(SCORES.__getitem__, found)) == max(sum(map(SCORES.__getitem__, each)) for each in splits(whole))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), ("xx", ["\u2581", "?"]), ("axya", ["\u2581a", "?", "a"]), ("\uff41b", ["\u2581", "ab"])],
    ids=["empty", "unknown", "between", "full width"],
)
def test_unknown_characters_become_one_piece(text: str, expected: list[str]) -> None:
    assert [NAMES[number] or "?" for number in PIECES.split(text)] == expected
