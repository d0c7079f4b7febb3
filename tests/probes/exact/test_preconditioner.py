"""Preconditioners are inverses of what they say, for any weight, ridge and size of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.probes.backend import Fold
from medsenteval.probes.exact.certificate import certify
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.exact.preconditioner import DiagonalPreconditioner, SampledPreconditioner
from medsenteval.probes.features import Features
from tests.conftest import examples
from tests.probes.problems import keep_raw, make_rows


def centred_rows(n: int, sizes: np.ndarray, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, len(sizes))) * sizes
    return np.asarray((rows - rows.mean(axis=0)).astype(np.float32))


def vectors_that_sum_to_zero(problems: int, outputs: int, width: int) -> np.ndarray:
    vectors = np.random.default_rng(1).standard_normal((problems, outputs, width)).astype(np.float32)
    return vectors - vectors.mean(axis=1, keepdims=True) if outputs > 1 else vectors


@settings(max_examples=examples(40), deadline=None)
@given(
    n=st.sampled_from([3, 20, 300]),
    decay=st.floats(0, 6),
    outputs=st.sampled_from([1, 3]),
    ridge=st.floats(1e-8, 1e4),
    weight=st.floats(1e-6, 0.25),
)
def test_a_sample_is_inverted_whatever_its_columns_are_like(
    n: int, decay: float, outputs: int, ridge: float, weight: float
) -> None:
    rows = centred_rows(n, 10.0 ** -np.linspace(0, decay, 12))
    preconditioner = SampledPreconditioner(rows)
    weights, ridges = np.full((2, outputs), weight, dtype=np.float32), np.array([ridge, 3 * ridge])
    shifts = preconditioner.shifts(weights, ridges, np.zeros(2))
    vectors = vectors_that_sum_to_zero(2, outputs, 13)
    found = preconditioner.inverse(vectors[None], weights, ridges, shifts)[0]
    gram = rows.T.astype(np.float64) @ rows / len(rows)
    for problem, shift in enumerate(shifts):
        # Never less than the ridge, and the Gram matrix in the weight's measure.
        factor = max(weight, ridges[problem] / shift)
        assert factor * shift >= 0.99 * ridges[problem]
        assert (np.einsum("ij,ij->i", found[problem], vectors[problem]) > 0).all()
        if shift < 1e-4 * np.trace(gram):
            continue  # float32 need not tell it from nothing
        approximated = factor * (gram + shift * np.eye(12))
        expected = np.linalg.solve(approximated, vectors[problem, :, :-1].T.astype(np.float64)).T
        sizes = np.sqrt(np.diag(approximated))
        np.testing.assert_allclose(
            found[problem, :, :-1] * sizes, expected * sizes, rtol=0.02, atol=0.02 * float(np.abs(expected * sizes).max())
        )
        np.testing.assert_allclose(found[problem, :, -1], vectors[problem, :, -1] / weight, rtol=1e-5)


def test_problems_keep_their_shift_while_it_serves_them() -> None:
    preconditioner = SampledPreconditioner(centred_rows(200, np.ones(10)))
    weight, ridge = np.full((1, 3), 0.2, dtype=np.float32), np.array([0.01])
    unset = np.zeros(1)
    shift = preconditioner.shifts(weight, ridge, unset)
    assert 2 * 0.05 <= shift[0] <= 8 * 0.05
    for factor in (1 / 8, 1 / 2, 2.0, 8.0):
        assert preconditioner.shifts(weight, factor * ridge, shift) == shift
    assert preconditioner.shifts(weight, 100 * ridge, shift) > shift
    assert preconditioner.shifts(weight, ridge / 1_000, shift) < shift
    # Neither without a ridge nor without a weight, nor without both, is there nothing to choose.
    for weight_left, ridge_left in ((0.0, 0.01), (0.2, 0.0), (0.0, 0.0)):
        assert np.isfinite(preconditioner.shifts(np.full((1, 3), weight_left, dtype=np.float32), np.array([ridge_left]), unset))
    # Whatever else is asked, the same problem gets the same.
    preconditioner.inverse(np.ones((1, 1, 3, 11), dtype=np.float32), weight, ridge, np.array([4.0]))
    assert preconditioner.shifts(weight, ridge, unset) == shift


@pytest.mark.parametrize("outputs", [1, 3])
def test_sizes_of_logits_are_those_of_the_rows(outputs: int) -> None:
    rows = centred_rows(50, np.linspace(1, 3, 10))
    spread = np.append(np.square(rows).mean(axis=0), 1).astype(np.float32)
    points = vectors_that_sum_to_zero(4, outputs, 11)
    logits = points[:, :, :-1] @ rows.T + points[:, :, -1:]
    sizes = np.sqrt(np.square(logits).sum(axis=1).mean(axis=1))
    np.testing.assert_allclose(SampledPreconditioner(rows).logit_sizes(points), sizes, rtol=1e-5)
    # Along principal axes the rows do not correlate.
    along = np.eye(11, dtype=np.float32)[:, None]
    np.testing.assert_allclose(DiagonalPreconditioner(spread).logit_sizes(along), np.sqrt(spread), rtol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("spoil", ["sizes", "repeated", "constant", "nothing"])
def test_raw_rows_of_any_kind_are_fitted_to_the_optimum(spoil: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under penalties that are ten orders of magnitude apart; the certificate knows nothing of how the fit was found."""
    keep_raw(monkeypatch)
    x, y = make_rows(9, 240, 14, k, strength=0.4)
    if spoil == "sizes":
        x *= np.geomspace(1e-3, 1e2, 14, dtype=np.float32)
    elif spoil == "repeated":
        x = np.concatenate([x, x[:, :9], 2 * x[:, :3]], axis=1)
    elif spoil == "constant":
        x[:, 2:5] = 7.0
    else:
        x[:] = 0.0
    rows = np.arange(240)
    penalties = [1e-6, 1e-3, 1.0, 1e2, 1e4]
    fits = ExactBackend(1e-7).fit(Features.from_array(x), y, k, [Fold(rows, rows)], [penalties])
    for stage, penalty in enumerate(penalties):
        bound = certify(x, y, penalty, *fits.coefficients(0, stage))
        assert bound.gap <= 1e-5 * bound.objective
