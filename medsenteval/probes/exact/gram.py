"""Inverses of the shifted Gram matrix of a sample of rows, as a whole or, for pair features, part by part.

Pair features (u, v, |u - v|, u * v) are four times as wide as the vectors that they are made of. The parts of each coordinate
are decorrelated first, by a triangle of regressions, and then each part is inverted as if nothing were left between them,
which takes a sixteenth of the work and a few passes more (docs/solver.md, "Pair features").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from scipy.linalg import lapack

from medsenteval.support.arrays import Floats, Reals
from medsenteval.support.cores import ThreadPool, added, available_cores, in_parts

__all__ = ["GramSample", "Inverse", "PairSample", "RowSample"]

#: Multiplies vectors, which are rows, by a symmetric matrix.
Inverse = Callable[[Reals], Reals]

#: What is added to a unit diagonal for every column: with less, float32 could not factor the matrix.
_LEAST_SHARE: Final = 1e-6
#: Rows that are decorrelated at a time, few enough for a core's cache.
_BLOCK: Final = 128


class GramSample(Protocol):
    """Centred float32 rows that stand for all."""

    #: The sum of all columns' mean squares.
    trace: float

    def inverse(self, shift: float) -> Inverse:
        """Return the inverse of the mean of x x' with this shift added to its diagonal, or nearly so."""
        ...


class RowSample:
    """Rows of any kind, whose Gram matrix is inverted as a whole."""

    def __init__(self, rows: Reals) -> None:
        self._gram = added(in_parts(len(rows), lambda part: rows[part].T @ rows[part])) / np.float32(len(rows))
        self.trace = float(self._gram.trace())

    def inverse(self, shift: float) -> Inverse:
        inverse = _inverse_of(self._gram, np.float32(shift))
        return lambda vectors: vectors @ inverse


class PairSample:
    """Rows of pair features, ``n_parts`` one after the other."""

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

        with ThreadPool(available_cores()) as pool:
            inverses = pool.map(invert, range(n_parts))

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
