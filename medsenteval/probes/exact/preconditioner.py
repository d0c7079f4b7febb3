"""Approximations of the Hessian that precondition L-BFGS: they decide how fast a fit converges, never what it converges to.

A problem's Hessian is close to ``weight * S + ridge``: S is the mean of ``x x'`` over the rows, which all problems share, and
the weight is the mean of p (1 - p) for an output (docs/solver.md, "Preconditioner").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
from scipy.linalg import lapack

from medsenteval.support.arrays import Floats, Reals
from medsenteval.support.cores import in_parts

#: Multiplies vectors, which are rows, by a symmetric matrix.
Inverse = Callable[[Reals], Reals]

#: What is added to a unit diagonal for every column: with less, float32 could not factor the matrix.
_LEAST_SHARE: Final = 1e-6
#: Shifts are powers of this number. One is kept while the ratio of ridge to weight is between these multiples of it: too high
#: a shift overestimates small curvatures only, too low a shift overestimates all of them.
_BETWEEN_SHIFTS: Final = 4.0
_MOST_SERVED: Final = 4.0
_LEAST_SERVED: Final = 1 / 64
#: Smaller shifts than this share of the trace make no difference.
_LEAST_SHIFT: Final = 1e-12
#: Each output's weight at the intercept, at least, as a share of the largest.
_LEAST_WEIGHT: Final = 1e-6
#: Rows by which the size of logits is measured, at most.
_MEASURED_ROWS: Final = 64


@dataclass(frozen=True, eq=False)
class DiagonalPreconditioner:
    """The Hessian along principal axes: the mean square of the rows along each, 1 for the intercept, which comes last."""

    spread: Reals

    def shifts(self, weight: Reals, ridge: Floats, before: Floats) -> Floats:
        """Return which shift serves each problem: that of ``before``, if it still does."""
        return before

    def inverse(self, vectors: Reals, weight: Reals, ridge: Floats, shifts: Floats) -> Reals:
        """Multiply vectors (any number x problems x outputs x width); ``weight`` is problems x outputs."""
        diagonal = weight[:, :, None] * self.spread
        diagonal[:, :, :-1] += per_problem(ridge, diagonal)
        diagonal[:, :, -1] = _intercept_curvature(weight)
        solved: Reals = vectors / np.maximum(diagonal, np.finfo(diagonal.dtype).tiny, out=diagonal)
        return solved

    def logit_sizes(self, points: Reals) -> Floats:
        """Return the root mean square over the rows of the logits that each problem's points give, all outputs together."""
        return np.sqrt(dots(points * self.spread, points))


class SampledPreconditioner:
    """The Gram matrix of a sample of centred float32 rows, with shifts, inverted once for each shift.

    Rows are as they are, or of ``n_parts`` one after the other, as those of pairs (u, v, |u - v|, u * v). The parts of each
    coordinate are decorrelated, by a triangle of regressions, and then each part is inverted as if nothing were left between
    them: a sixteenth of the work and a few passes more (docs/solver.md, "Pair features").
    """

    def __init__(self, rows: Reals, n_parts: int = 1) -> None:
        self.n_parts = n_parts
        self._parts = np.split(rows, n_parts, axis=1)
        #: For each coordinate the mean products of its parts: coordinates x parts x parts.
        self._covariances = np.empty((self._parts[0].shape[1], n_parts, n_parts))
        for one in range(n_parts):
            for other in range(one + 1):
                # In float64: parts that are all but equal must not seem to be more than equal.
                mean = np.einsum("ij,ij->j", self._parts[one], self._parts[other], dtype=np.float64) / len(rows)
                self._covariances[:, one, other] = self._covariances[:, other, one] = mean
        #: The sum of all columns' mean squares.
        self.trace = float(np.trace(self._covariances, axis1=1, axis2=2).sum())
        #: Some rows by which the size of logits is measured.
        self._measured = rows[:: -(-len(rows) // _MEASURED_ROWS)].copy()
        #: Shifts beyond these make no difference but that of a factor.
        self._least = max(_LEAST_SHIFT * self.trace, float(np.finfo(np.float32).tiny) * 2**20)
        self._most = max(4 * self.trace, self._least)
        self._inverses: dict[float, Inverse] = {}

    def shifts(self, weight: Reals, ridge: Floats, before: Floats) -> Floats:
        # Each problem by itself: its path must not depend on which others are solved beside it.
        usual = np.maximum(weight.mean(axis=1, dtype=np.float64), np.finfo(np.float32).tiny)
        with np.errstate(over="ignore"):
            wanted = np.clip(ridge / usual, self._least, self._most)
        above: Floats = _BETWEEN_SHIFTS ** np.ceil(np.log(2 * wanted) / np.log(_BETWEEN_SHIFTS))
        served = (wanted <= before * _MOST_SERVED) & (wanted >= before * _LEAST_SERVED)
        return np.where(served, before, above)

    def inverse(self, vectors: Reals, weight: Reals, ridge: Floats, shifts: Floats) -> Reals:
        solved = np.empty_like(vectors)
        for shift in np.unique(shifts).tolist():
            if shift not in self._inverses:
                self._inverses[shift] = self.shifted_inverse(shift)
            chosen = np.flatnonzero(shifts == shift)
            inner = vectors[:, chosen, :, :-1].astype(np.float32, copy=False)
            solved[:, chosen, :, :-1] = self._inverses[shift](inner.reshape(-1, inner.shape[-1])).reshape(inner.shape)
        # Where hardly any weight is left, the ridge is all the curvature there is.
        tiny, from_ridge = np.finfo(weight.dtype).tiny, (ridge / shifts).astype(weight.dtype)[:, None]
        solved[..., :-1] /= np.maximum(np.maximum(weight, from_ridge), tiny)[:, :, None]
        solved[..., -1] = vectors[..., -1] / np.maximum(_intercept_curvature(weight), tiny)
        return solved

    def logit_sizes(self, points: Reals) -> Floats:
        # One product for all problems: one for each would take several times as long.
        flat = points[:, :, :-1].reshape(-1, points.shape[-1] - 1).astype(np.float32, copy=False)
        logits, intercepts = (flat @ self._measured.T).reshape(len(points), -1), points[:, :, -1]
        return np.sqrt(dots(logits, logits) / len(self._measured) + dots(intercepts, intercepts))

    def shifted_inverse(self, shift: float) -> Inverse:
        """Return the inverse of the mean of x x' with this shift added to its diagonal."""
        triangles = self._decorrelating(shift)
        n_parts, n_rows = self.n_parts, len(self._parts[0])

        def invert(number: int) -> Reals:
            def gram(span: slice) -> Reals:
                rows = self._parts[number][span].copy()
                for other in range(number):
                    rows += triangles[number, other] * self._parts[other][span]
                return rows.T @ rows

            # The shift is on the diagonal of the columns, not of what has become of them.
            shifts = np.float32(shift) * np.square(triangles[number]).sum(axis=0)
            return _inverse_of(reduce(np.add, in_parts(n_rows, gram)) / np.float32(n_rows), shifts)

        inverses = [invert(number) for number in range(n_parts)]

        def apply(vectors: Reals) -> Reals:
            given = np.split(vectors, n_parts, axis=1)
            result = np.zeros_like(vectors)
            results = np.split(result, n_parts, axis=1)
            for number in range(n_parts):
                inner = given[number].copy()
                for other in range(number):
                    inner += triangles[number, other] * given[other]
                inner = inner @ inverses[number]
                results[number] += inner
                for other in range(number):
                    results[other] += triangles[number, other] * inner
            return result

        return apply

    def _decorrelating(self, shift: float) -> Reals:
        """Return unit triangles that decorrelate the parts of each coordinate: parts x parts x coordinates.

        Line i has what to add of each part to part i.
        """
        matrices: Floats = self._covariances + shift * np.eye(self.n_parts)
        matrices += _LEAST_SHARE * matrices * np.eye(self.n_parts)
        factors = np.linalg.cholesky(matrices)
        roots = np.einsum("ijj->ij", factors)
        triangles = np.linalg.inv(factors) * roots[:, :, None]
        return np.ascontiguousarray(triangles.transpose(1, 2, 0), dtype=np.float32)


def _inverse_of(gram: Reals, shift: Reals) -> Reals:
    """Return the inverse of a Gram matrix with something added to its diagonal."""
    # With ones on the diagonal, so that columns of any size are worth the same.
    roots = np.sqrt(gram.diagonal() + shift)
    matrix = gram / roots
    matrix /= roots[:, None]
    matrix.flat[:: len(matrix) + 1] = 1 + _LEAST_SHARE * len(matrix)
    # The other order of a symmetric matrix is the same matrix, and LAPACK's own.
    factor, failed = lapack.spotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    assert not failed, "what is added makes it positive definite"
    lower, _ = lapack.spotri(factor, lower=1, overwrite_c=1)
    inverse: Reals = np.tril(lower)
    inverse += np.tril(inverse, -1).T
    inverse /= roots
    inverse /= roots[:, None]
    return inverse


Preconditioner = DiagonalPreconditioner | SampledPreconditioner


def _intercept_curvature(weight: Reals) -> Reals:
    """Return the curvature along each intercept, kept above zero: no penalty would bound the step there."""
    curvature: Reals = np.maximum(weight, _LEAST_WEIGHT * weight.max(axis=1, keepdims=True))
    return curvature


def dots(a: Reals, b: Reals) -> Floats:
    """Return one scalar product for each problem."""
    # As products of a row and a column, which take half the time of einsum's.
    product: Floats = np.matmul(a.reshape(len(a), 1, -1), b.reshape(len(b), -1, 1))[:, 0, 0].astype(np.float64)
    return product


def per_problem(values: Floats, like: Reals) -> Reals:
    """Shape one number for each problem for arithmetic with points, without widening them to float64."""
    return values.astype(like.dtype)[:, None, None]
