"""Coordinates in the span of rows keep every scalar product, and drop what depends on others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.probes.span import Span, products_with

Doubles = NDArray[np.float64]


def dependent_rows(seed: int, count: int, rank: int, width: int) -> Doubles:
    rng = np.random.default_rng(seed)
    rows: Doubles = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, width))
    return rows


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 40),
    rank=st.integers(1, 40),
    beyond=st.integers(0, 5),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_coordinates_keep_scalar_products(seed: int, count: int, rank: int, beyond: int, scale: float) -> None:
    rows = scale * dependent_rows(seed, count + beyond, rank, 60)
    span, order, coordinates = Span.of(products_with(rows, count))
    assert sorted(order) == list(range(count + beyond))
    assert sorted(order[:count]) == list(range(count))
    expected_rank = min(count, rank)
    assert coordinates.shape == (count + beyond, expected_rank)
    np.testing.assert_array_equal(span.pivots, order[:expected_rank])
    np.testing.assert_array_equal(np.triu(span.triangle, 1), 0)

    spanning, size = rows[order[:count]], scale**2 * 60 * rank
    np.testing.assert_allclose(coordinates[:count] @ coordinates[:count].T, spanning @ spanning.T, atol=1e-10 * size)
    np.testing.assert_allclose(coordinates[count:] @ coordinates[:count].T, rows[count:] @ spanning.T, atol=1e-8 * size)
    # The furthest row comes next, so what is left never grows.
    left = span.triangle.diagonal()
    assert (left[1:] <= left[:-1] * (1 + 1e-9)).all()


def test_weights_come_back_as_multiples_of_the_pivots() -> None:
    rows = dependent_rows(3, 30, 12, 80)
    span, order, coordinates = Span.of(products_with(rows, 30))
    weights = np.random.default_rng(4).standard_normal((2, 3, 12))
    in_features = span.multiples(weights) @ rows[span.pivots]
    assert in_features.shape == (2, 3, 80)
    np.testing.assert_allclose(in_features @ rows[order].T, weights @ coordinates.T, atol=1e-10)
    # An orthonormal change of coordinates keeps lengths, and with them the penalty.
    np.testing.assert_allclose(np.square(in_features).sum(axis=2), np.square(weights).sum(axis=2), rtol=1e-10)


def test_rows_that_come_later_get_the_same_coordinates() -> None:
    rows = dependent_rows(5, 25, 20, 60)
    span, order, coordinates = Span.of(products_with(rows, 20))
    np.testing.assert_allclose(span.coordinates(rows[order] @ rows[span.pivots].T), coordinates, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_products_are_those_of_numpy_whoever_computes_them(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = dependent_rows(7, 30, 25, 40)
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("medsenteval.probes.span.available_cores", lambda cores=cores: cores)
        products = products_with(rows, count)
        found.append(np.concatenate([np.tril(products[:count]), products[count:]]))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
    expected = rows @ rows[:count].T
    np.testing.assert_allclose(found[0], np.concatenate([np.tril(expected[:count]), expected[count:]]), rtol=1e-12, atol=1e-12)
