"""Rotations are orthogonal to the last digit of their precision, and find the axes that NumPy finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.probes import rotations
from medsenteval.probes.rotations import LeadingRotation, leading_rotation


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 40), share=st.floats(0.01, 1.0), aligned=st.booleans())
def test_leading_axes_are_completed_to_an_orthogonal_matrix(seed: int, width: int, share: float, aligned: bool) -> None:
    count = max(1, int(share * width))
    rng = np.random.default_rng(seed)
    # Axes that are feature columns already, or their opposites, must not be divided by what is left of them.
    axes = np.eye(width)[:, :count] * rng.choice([-1, 1]) if aligned else np.linalg.qr(rng.standard_normal((width, count)))[0]
    rotation = LeadingRotation.of(axes)
    matrix = rotation.turn(np.eye(width))
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(width), atol=1e-12)
    # QR may flip an axis; which way it points means nothing.
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->j", matrix[:, :count], axes)), 1, atol=1e-12)
    vectors = rng.standard_normal((3, width))
    np.testing.assert_allclose(rotation.back(rotation.turn(vectors)), vectors, atol=1e-12)


def shaped_rows(n: int, d: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    rows = (rng.standard_normal((n, d)) / np.arange(1, d + 1)) @ turn
    centred: NDArray[np.float32] = (rows - rows.mean(axis=0)).astype(np.float32)
    return centred


def test_wide_rows_get_their_leading_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_LEADING": 8, "_SPARE": 8, "_ROUNDS": 3}.items():
        monkeypatch.setattr(rotations, name, value)
    rows = shaped_rows(500, 60)
    # Some of the rows tell how far all spread.
    rows = np.repeat(rows, rotations._ROWS_FOR_SPREAD, axis=0)
    rotation, spread = leading_rotation(rows)
    values, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows / len(rows))
    turned = rotation.turn(rows)
    np.testing.assert_allclose(spread[:8], values[:-9:-1], rtol=1e-3)
    np.testing.assert_allclose(
        np.abs(rotation.back(np.eye(60, dtype=np.float32)[:4]) @ vectors[:, :-5:-1]), np.eye(4), atol=0.02
    )
    np.testing.assert_allclose(np.square(turned).mean(axis=0), spread, rtol=1e-4)
    assert rotation.astype(np.float64).reflector.dtype == np.float64
    assert rotation.astype(np.float64).astype(np.float32).reflector.dtype == np.float32


@pytest.mark.parametrize("length", [0.0, 1e-12, 1.0, 1e12])
def test_axes_that_rows_do_not_have_are_made_up(length: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows on a line have one axis; the others are any that are orthogonal to it, and no row spreads along them."""
    for name, value in {"_LEADING": 8, "_SPARE": 8}.items():
        monkeypatch.setattr(rotations, name, value)
    line = np.random.default_rng(3).standard_normal(60)
    rows = np.outer(np.linspace(-length, length, 200), line).astype(np.float32)
    rotation, spread = leading_rotation(rows)
    matrix = rotation.astype(np.float64).turn(np.eye(60))
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(60), atol=1e-12)
    if length:
        np.testing.assert_allclose(np.abs(matrix[:, 0] @ line), np.linalg.norm(line), rtol=1e-5)
    assert spread[1:].max() <= 1e-6 * spread[0]


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotations, "_LEADING", 8)
    rows = shaped_rows(1_600, 60)
    found: list[Any] = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("medsenteval.cores.available_cores", lambda cores=cores: cores)
        rotation, spread = leading_rotation(rows)
        found.append((rotation.turn(rows), spread))
    for turned, spread in found[1:]:
        np.testing.assert_array_equal(turned, found[0][0])
        np.testing.assert_array_equal(spread, found[0][1])
