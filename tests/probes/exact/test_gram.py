"""Inverses of samples: exact where they claim to be, symmetric and positive definite whatever the rows are like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.certificate import certify
from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.exact.preconditioner import SampledPreconditioner, _inverse_of
from medsenteval.probes.features import COMBINATIONS, Features
from tests.conftest import examples
from tests.probes.problems import keep_raw

Floats = NDArray[np.float32]


def parts_that_depend_by_coordinate(n_parts: int, side: int) -> Floats:
    """Make each part of those before it, coordinate by coordinate, and of something orthogonal to them."""
    rng = np.random.default_rng(4)
    apart = np.split(np.linalg.qr(rng.standard_normal((400, n_parts * side)))[0] * 20, n_parts, axis=1)
    parts: list[NDArray[np.float64]] = []
    for own in apart:
        mixed = own @ (np.eye(side) + 0.2 * rng.standard_normal((side, side)))
        parts.append(mixed + sum(rng.uniform(-1, 1, side) * part for part in parts))
    return np.concatenate(parts, axis=1).astype(np.float32)


@pytest.mark.parametrize("n_parts", [2, 4])
def test_parts_that_depend_by_coordinate_are_inverted_exactly(n_parts: int) -> None:
    rows = parts_that_depend_by_coordinate(n_parts, 8)
    gram = rows.T.astype(np.float64) @ rows / len(rows)
    sample = SampledPreconditioner(rows, n_parts)
    assert sample.trace == pytest.approx(np.trace(gram), rel=1e-5)
    found = sample.shifted_inverse(1e-7)(np.eye(len(gram), dtype=np.float32))
    np.testing.assert_allclose(found @ gram, np.eye(len(gram)), atol=1e-3)


@pytest.mark.parametrize("share", [0.01, 0.3, 3.0])
def test_a_shift_is_on_the_diagonal_of_the_columns(share: float) -> None:
    """With one coordinate decorrelating leaves nothing between the parts: the inverse is exact under any shift."""
    rows = parts_that_depend_by_coordinate(4, 1)
    gram = rows.T.astype(np.float64) @ rows / len(rows)
    shift = share * float(np.trace(gram))
    found = SampledPreconditioner(rows, 4).shifted_inverse(shift)(np.eye(4, dtype=np.float32))
    np.testing.assert_allclose(found @ (gram + shift * np.eye(4)), np.eye(4), atol=1e-3)


def test_a_shift_above_all_leaves_nothing_but_itself() -> None:
    rows = parts_that_depend_by_coordinate(4, 6)
    for sample in (SampledPreconditioner(rows, 4), SampledPreconditioner(rows)):
        shift = 1e6 * sample.trace
        found = shift * sample.shifted_inverse(shift)(np.eye(24, dtype=np.float32))
        np.testing.assert_allclose(found, np.eye(24), atol=1e-4)


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=st.integers(0, 1_000),
    n_rows=st.sampled_from([3, 30, 300]),
    combination=st.sampled_from(sorted(COMBINATIONS)),
    mean=st.sampled_from([0.0, 1.0, 30.0]),
    spoil=st.sampled_from(["nothing", "same", "constant", "sizes"]),
    shift=st.floats(-8, 4),
)
def test_any_pairs_have_a_symmetric_positive_definite_inverse(
    seed: int, n_rows: int, combination: str, mean: float, spoil: str, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    matrix = (rng.standard_normal((2 * n_rows, 7)) + mean).astype(np.float32)
    if spoil == "same":
        matrix[n_rows:] = matrix[:n_rows]
    elif spoil == "constant":
        matrix[:, 2] = 3.0
    elif spoil == "sizes":
        matrix *= np.geomspace(1e-3, 1e3, 7, dtype=np.float32)
    pairs = Features(matrix, np.arange(n_rows), np.arange(n_rows, 2 * n_rows), combination)
    rows = pairs.take(slice(None))
    rows = (rows - rows.mean(axis=0, dtype=np.float64)).astype(np.float32)
    sample = SampledPreconditioner(rows, pairs.n_parts)
    found = sample.shifted_inverse(10**shift * max(sample.trace, 1e-3))(np.eye(rows.shape[1], dtype=np.float32)).astype(
        np.float64
    )
    # In the measure of its own diagonal, so that columns of any size are worth the same.
    roots = np.sqrt(np.diag(found))
    scaled = found / roots / roots[:, None]
    np.testing.assert_allclose(scaled, scaled.T, atol=1e-3)
    assert np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] > -1e-3


@pytest.mark.parametrize("mean", [0.0, 30.0])
@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6])
def test_parts_that_are_all_but_equal_are_inverted(apart: float, mean: float) -> None:
    rng = np.random.default_rng(8)
    first = (rng.standard_normal((3_000, 20)) + mean).astype(np.float32)
    matrix = np.concatenate([first, first + apart * rng.standard_normal(first.shape).astype(np.float32)])
    rows = Features(matrix, np.arange(3_000), np.arange(3_000, 6_000)).take(slice(None))
    rows = (rows - rows.mean(axis=0, dtype=np.float64)).astype(np.float32)
    sample = SampledPreconditioner(rows, 4)
    vectors = rng.standard_normal((5, 80)).astype(np.float32)
    for shift in (1e-12, 1e-6, 1e-2):
        solved = sample.shifted_inverse(shift * sample.trace)(vectors)
        assert (np.einsum("ij,ij->i", solved, vectors) > 0).all()


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.tile(parts_that_depend_by_coordinate(4, 8), (4, 1))
    vectors = np.random.default_rng(1).standard_normal((3, 32)).astype(np.float32)
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("medsenteval.support.cores.available_cores", lambda cores=cores: cores)
        found.append(SampledPreconditioner(rows, 4).shifted_inverse(0.01)(vectors))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("combination", sorted(COMBINATIONS))
@pytest.mark.parametrize("k", [2, 3])
def test_raw_pairs_are_fitted_to_the_optimum(combination: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_raw(monkeypatch)
    rng = np.random.default_rng(7)
    first = rng.standard_normal((260, 9)) + 1
    matrix = np.concatenate([first, 0.6 * first + rng.standard_normal((260, 9))]).astype(np.float32)
    pairs = Features(matrix, np.arange(260), np.arange(260, 520), combination)
    distance = np.abs(matrix[:260] - matrix[260:])[:, :5].sum(axis=1) + 0.5 * rng.standard_normal(260)
    y = np.digitize(distance, np.quantile(distance, np.arange(1, k) / k))
    coordinates = Coordinates.of(pairs, 1, np.float32)
    assert isinstance(coordinates.preconditioner, SampledPreconditioner)
    assert coordinates.preconditioner.n_parts == combination.count(",") + 1
    rows, penalties = np.arange(260), [1e-5, 1e-2, 1.0, 1e3]
    fits = ExactBackend(1e-7).fit(pairs, y, k, [Fold(rows, rows)], [penalties])
    for stage, penalty in enumerate(penalties):
        bound = certify(pairs.take(rows), y, penalty, *fits.coefficients(0, stage))
        assert bound.gap <= 1e-5 * bound.objective


def test_the_inverse_of_a_singular_gram_matrix_is_that_of_one_nearby() -> None:
    n = 300
    found = _inverse_of(np.ones((n, n), dtype=np.float32), np.zeros(n, dtype=np.float32))
    # Of all ones with d added to the diagonal it is (1 - 1 / (n + d)) / d on the diagonal, by Sherman and Morrison.
    added = 1e-6 * n
    assert found.diagonal() == pytest.approx(np.full(n, (1 - 1 / (n + added)) / added), rel=0.05)
