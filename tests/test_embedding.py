"""Texts become rows once each, in any batch size, and an encoder that breaks its contract is told how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medsenteval.embedding import checked_rows, embed_texts
from medsenteval.errors import EncoderError
from tests.conftest import CountingEncoder


@given(st.lists(st.text(max_size=12), min_size=1, max_size=40), st.integers(1, 50))
def test_rows_belong_to_their_texts_whatever_the_batch_size(texts: list[str], batch_size: int) -> None:
    encoder = CountingEncoder()
    embeddings = embed_texts(encoder, texts, batch_size=batch_size, task_name="T")
    expected = CountingEncoder().encode(texts)
    assert np.array_equal(embeddings.matrix[embeddings.rows(texts)], expected)
    assert sum(map(len, encoder.batches)) == len(set(texts)) == len(embeddings.matrix)
    assert max(map(len, encoder.batches)) <= batch_size


def test_batches_go_from_short_to_long(counting: CountingEncoder) -> None:
    embed_texts(counting, ["a b c", "a", "", "a b"], batch_size=2, task_name="T")
    assert counting.batches == [["", "a"], ["a b", "a b c"]]


class Returns:
    name, identity = "bad", ""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)

    def encode(self, texts: Any) -> Any:
        return self.values.pop(0)


@pytest.mark.parametrize(
    ("returned", "message"),
    [(np.zeros((3, 4)), r"RQE, batch 0: .*shape \(3, 4\) for 2 texts"),
     (np.zeros(2), r"shape \(2,\) for 2 texts"),
     (np.zeros((2, 0)), r"shape \(2, 0\)"),
     (np.array([[1.0, np.nan], [0, 0]]), "NaN or infinity in 1 of 2 rows .*first in row 0"),
     (np.full((2, 2), 1e300), "NaN or infinity in 2 of 2 rows"),
     (np.array([["a"], ["b"]]), "array of <U1"),
     (np.array([[None], [1]], dtype=object), "array of object"),
     (None, "array of object"),
     ([[1.0], [1.0, 2.0]], "rows of different lengths")],
)  # fmt: skip
def test_broken_batches_are_named_with_task_batch_and_shape(returned: Any, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        embed_texts(Returns(returned), ["x", "y"], batch_size=2, task_name="RQE")


def test_a_changing_width_is_refused() -> None:
    with pytest.raises(EncoderError, match=r"RQE, batch 1: .*width 3, but 2"):
        embed_texts(Returns(np.zeros((1, 2)), np.zeros((1, 3))), ["x", "y z"], batch_size=1, task_name="RQE")


def test_lists_and_tensors_and_integers_are_rows() -> None:
    torch = pytest.importorskip("torch")
    assert checked_rows([[1, 2]], 1, None, "T").dtype == np.float32
    assert checked_rows(torch.ones(1, 2, requires_grad=True), 1, 2, "T").tolist() == [[1.0, 1.0]]


def test_nothing_to_encode_is_an_error(counting: CountingEncoder) -> None:
    with pytest.raises(EncoderError, match="no text"):
        embed_texts(counting, [], batch_size=2, task_name="T")
