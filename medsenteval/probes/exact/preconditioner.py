"""Approximations of the Hessian that precondition L-BFGS: they decide how fast a fit converges, never what it converges to.

A problem's Hessian is close to ``weight * S + ridge``: S is the mean of ``x x'`` over the rows, which all problems share, and
the weight is the mean of p (1 - p) for an output. There are two ways to invert that (docs/solver.md, "Preconditioner"):

* ``DiagonalPreconditioner``: along principal axes S is diagonal, and the inverse is one division for each coordinate;
* ``SampledPreconditioner``: S is the Gram matrix of a sample of raw rows, and ``weight * (S + shift)`` stands for
  ``weight * S + ridge``, with one inverse for all problems whose ratio of ridge to weight is near the shift.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import numpy as np
from scipy.linalg import lapack

from medsenteval.support.arrays import Floats, Reals
from medsenteval.support.cores import available_cores, in_parts

#: Multiplies vectors, which are rows, by a symmetric matrix.
Inverse = Callable[[Reals], Reals]

#: What is added to a unit diagonal for every column: with less, float32 could not factor the matrix.
_LEAST_SHARE: Final = 1e-6
#: Rows that are decorrelated at a time, few enough for a core's cache.
_BLOCK: Final = 128


class RowSample:
    """Centred float32 rows that stand for all, whose Gram matrix is inverted as a whole.

    ``trace`` is the sum of all columns' mean squares.
    """

    def __init__(self, rows: Reals) -> None:
        self._gram = reduce(np.add, in_parts(len(rows), lambda part: rows[part].T @ rows[part])) / np.float32(len(rows))
        self.trace = float(self._gram.trace())

    def inverse(self, shift: float) -> Inverse:
        """Return the inverse of the mean of x x' with this shift added to its diagonal."""
        inverse = _inverse_of(self._gram, np.float32(shift))
        return lambda vectors: vectors @ inverse


class PairSample:
    """Rows of pair features (u, v, |u - v|, u * v), ``n_parts`` one after the other.

    The parts of each coordinate are decorrelated, by a triangle of regressions, and then each part is inverted as if nothing
    were left between them: a sixteenth of the work and a few passes more (docs/solver.md, "Pair features").
    """

    def __init__(self, rows: Reals, n_parts: int) -> None:
        self._parts = np.split(rows, n_parts, axis=1)
        #: For each coordinate the mean products of its parts: coordinates x parts x parts.
        self._covariances = np.empty((self._parts[0].shape[1], n_parts, n_parts))
        for one in range(n_parts):
            for other in range(one + 1):
                # In float64: parts that are all but equal must not seem to be more than equal.
                mean = np.einsum("ij,ij->j", self._parts[one], self._parts[other], dtype=np.float64) / len(rows)
                self._covariances[:, one, other] = self._covariances[:, other, one] = mean
        self.trace = float(np.trace(self._covariances, axis1=1, axis2=2).sum())

    def inverse(self, shift: float) -> Inverse:
        triangles = self._decorrelating(shift)
        n_parts, n_rows = len(self._parts), np.float32(len(self._parts[0]))

        def invert(number: int) -> Reals:
            rows = self._parts[number].copy()
            for start in range(0, len(rows), _BLOCK):
                block = slice(start, start + _BLOCK)
                for other in range(number):
                    rows[block] += triangles[number, other] * self._parts[other][block]
            # The shift is on the diagonal of the columns, not of what has become of them.
            shifts = np.float32(shift) * np.square(triangles[number]).sum(axis=0)
            return _inverse_of(rows.T @ rows / n_rows, shifts)

        with ThreadPoolExecutor(available_cores()) as pool:
            inverses = list(pool.map(invert, range(n_parts)))

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
        matrices: Floats = self._covariances + shift * np.eye(len(self._parts))
        matrices += _LEAST_SHARE * matrices * np.eye(len(self._parts))
        factors = np.linalg.cholesky(matrices)
        roots = np.einsum("ijj->ij", factors)
        triangles = np.linalg.inv(factors) * roots[:, :, None]
        return np.ascontiguousarray(triangles.transpose(1, 2, 0), dtype=np.float32)


def _inverse_of(gram: Reals, shift: Reals | np.float32) -> Reals:
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
    """The Hessian along principal axes: the mean square of the rows along each, 1 for the intercept.

    The inverse is ``scale(...) * solve(...)``; intercepts come last in every vector. ``dense`` says whether ``solve`` mixes
    coordinates.
    """

    spread: Reals
    dense = False

    def shifts(self, weight: Reals, ridge: Floats, before: Floats | None = None) -> Floats:
        """Return which shift serves each problem: that of ``before``, if it still does."""
        return np.zeros(len(ridge))

    def solve(self, vectors: Reals, shifts: Floats) -> Reals:
        """Apply the part of the inverse that depends on the shift only; vectors are problems x outputs x width.

        Vectors of several outputs have to sum to zero, as gradients of a softmax do.
        """
        return vectors

    def scale(self, weight: Reals, ridge: Floats, shifts: Floats) -> Reals:
        """Return what is left to multiply each coordinate by; ``weight`` is problems x outputs."""
        diagonal = weight[:, :, None] * self.spread
        diagonal[:, :, :-1] += per_problem(ridge, diagonal)
        diagonal[:, :, -1] = _intercept_curvature(weight)
        inverse: Reals = 1 / np.maximum(diagonal, np.finfo(diagonal.dtype).tiny, out=diagonal)
        return inverse

    def logit_sizes(self, points: Reals) -> Floats:
        """Return the root mean square over the rows of the logits that each problem's points give, all outputs together."""
        return np.sqrt(dots(points * self.spread, points))


@dataclass(frozen=True, eq=False)
class SampledPreconditioner:
    """The Gram matrix of a sample of centred float32 rows, with shifts, inverted once for each shift."""

    #: Some rows by which the size of logits is measured.
    measured: Reals
    sample: RowSample | PairSample
    #: Shifts beyond these make no difference but that of a factor.
    least: float
    most: float
    inverses: dict[float, Inverse] = field(default_factory=dict)
    dense = True

    @classmethod
    def of(cls, rows: Reals, n_parts: int = 1) -> SampledPreconditioner:
        """Take rows, which may be pair features of so many parts, for a sample of all."""
        sample = RowSample(rows) if n_parts == 1 else PairSample(rows, n_parts)
        least = max(_LEAST_SHIFT * sample.trace, float(np.finfo(np.float32).tiny) * 2**20)
        return cls(rows[:: -(-len(rows) // _MEASURED_ROWS)].copy(), sample, least, max(4 * sample.trace, least))

    def shifts(self, weight: Reals, ridge: Floats, before: Floats | None = None) -> Floats:
        # Each problem by itself: its path must not depend on which others are solved beside it.
        usual = np.maximum(weight.mean(axis=1, dtype=np.float64), np.finfo(np.float32).tiny)
        with np.errstate(over="ignore"):
            wanted = np.clip(ridge / usual, self.least, self.most)
        above: Floats = _BETWEEN_SHIFTS ** np.ceil(np.log(2 * wanted) / np.log(_BETWEEN_SHIFTS))
        if before is None:
            return above
        served = (wanted <= before * _MOST_SERVED) & (wanted >= before * _LEAST_SERVED)
        return np.where(served, before, above)

    def solve(self, vectors: Reals, shifts: Floats) -> Reals:
        solved = vectors.copy()
        # Vectors of several outputs sum to zero, so the last one need not be solved for.
        n_solved = max(vectors.shape[1] - 1, 1)
        for shift in np.unique(shifts).tolist():
            if shift not in self.inverses:
                self.inverses[shift] = self.sample.inverse(shift)
            chosen = np.flatnonzero(shifts == shift)
            inner = vectors[chosen, :n_solved, :-1].astype(np.float32, copy=False)
            solved[chosen, :n_solved, :-1] = self.inverses[shift](inner.reshape(-1, inner.shape[-1])).reshape(inner.shape)
        if n_solved < vectors.shape[1]:
            solved[:, -1, :-1] = -solved[:, :-1, :-1].sum(axis=1)
        return solved

    def scale(self, weight: Reals, ridge: Floats, shifts: Floats) -> Reals:
        # Where hardly any weight is left, the ridge is all the curvature there is.
        from_ridge = per_problem(ridge / shifts, weight[:, :, None])
        tiny = np.finfo(weight.dtype).tiny
        scale = np.empty((*weight.shape, self.measured.shape[1] + 1), dtype=weight.dtype)
        scale[:, :, :-1] = 1 / np.maximum(np.maximum(weight[:, :, None], from_ridge), tiny)
        scale[:, :, -1] = 1 / np.maximum(_intercept_curvature(weight), tiny)
        return scale

    def logit_sizes(self, points: Reals) -> Floats:
        # One product for all problems: one for each would take several times as long.
        flat = points[:, :, :-1].reshape(-1, points.shape[-1] - 1).astype(np.float32, copy=False)
        logits, intercepts = (flat @ self.measured.T).reshape(len(points), -1), points[:, :, -1]
        return np.sqrt(dots(logits, logits) / len(self.measured) + dots(intercepts, intercepts))


Preconditioner = DiagonalPreconditioner | SampledPreconditioner


def relative_logit_sizes(preconditioner: Preconditioner, points: Reals, tolerance: float, *steps: Reals) -> Floats:
    """Return how large the logits of each problem's steps are, at most, relative to those that its weights give.

    A fit is good enough when its next step would hardly change a logit (docs/solver.md, "Stopping rule").
    """
    weights = points.copy()
    weights[..., -1] = 0
    # Where features say next to nothing, an error within the intercept's own rounding is as good as none.
    smallest = 4 * np.finfo(points.dtype).eps / tolerance
    largest = np.max([preconditioner.logit_sizes(step) for step in steps], axis=0)
    relative: Floats = largest / np.maximum(preconditioner.logit_sizes(weights), smallest)
    return relative


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
