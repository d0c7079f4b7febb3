"""Orthonormal changes of coordinates in which the curvature of rows is diagonal, or nearly so.

All principal axes make it diagonal, but finding them takes the cube of the width. Of wide rows some leading ones are found,
exact enough from a sample and two rounds of subspace iteration; the coordinates beside them stay the columns, but for what the
leading axes take from them. Such a rotation is held as a block reflector, ``I - W' W`` with few rows in W, so that turning a
vector costs two thin products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from medsenteval.cores import added, in_parts

__all__ = ["AllAxes", "LeadingRotation", "Rotation", "leading_axes", "leading_rotation"]

Floats = NDArray[np.floating[Any]]
Precision = type[np.floating[Any]]

#: Leading axes: with more of them, finding them and turning vectors took longer than the passes they saved (at 3,072 columns).
_LEADING: Final = 160
#: Axes that are iterated but not used, because the last ones converge badly.
_SPARE: Final = 32
_ROUNDS: Final = 2
#: What float32 takes for rounding noise, as a share of the sum of a diagonal, and what spread it can tell from it.
_NOISE: Final = 1e-7
_LEAST_SPREAD: Final = 1e-5
#: Of so many rows one is turned to see how far they spread along each axis.
_ROWS_FOR_SPREAD: Final = 8


class Rotation(Protocol):
    """An orthonormal change of the coordinates of vectors, which are rows."""

    def turn(self, vectors: Floats) -> Floats: ...

    def back(self, vectors: Floats) -> Floats: ...

    def astype(self, dtype: Precision) -> Rotation: ...


@dataclass(frozen=True, eq=False)
class AllAxes:
    """All principal axes, as columns."""

    axes: Floats

    @classmethod
    def of(cls, rows: Floats) -> AllAxes:
        """Find those of centred rows."""
        return cls(_eigenvectors(rows.T @ rows)[1])

    def turn(self, vectors: Floats) -> Floats:
        return vectors @ self.axes

    def back(self, vectors: Floats) -> Floats:
        return vectors @ self.axes.T

    def astype(self, dtype: Precision) -> AllAxes:
        return AllAxes(self.axes.astype(dtype))


@dataclass(frozen=True, eq=False)
class LeadingRotation:
    """Some leading axes first, and coordinates orthogonal to them after.

    Let V hold the axes as columns, P be the orthogonal polar factor of its upper square, and W' proportional to V + E P,
    where E are the first columns of the identity. The reflector I - W' W takes V to -E P, and P is undone afterwards.
    """

    #: W, whose rows are as long as the vectors.
    reflector: Floats
    mixing: Floats
    #: The same in float64, if this is rounded.
    exact: LeadingRotation | None = None

    @classmethod
    def of(cls, axes: Floats) -> LeadingRotation:
        """Complete orthonormal columns; they are made orthonormal to float64 precision first."""
        axes = _orthonormal(axes.astype(np.float64))
        left, cosines, right = np.linalg.svd(axes[: axes.shape[1]])
        mixing = left @ right
        wide = axes.copy()
        wide[: len(mixing)] += mixing
        # (V + E P)' (V + E P) is 2 (I + H), H the polar factor's symmetric partner; its inverse root makes a reflector of it.
        return cls(((right.T / np.sqrt(1 + cosines)) @ right).T @ wide.T, mixing)

    def turn(self, vectors: Floats) -> Floats:
        turned = self._reflect(vectors)
        turned[..., : len(self.mixing)] = -turned[..., : len(self.mixing)] @ self.mixing
        return turned

    def back(self, vectors: Floats) -> Floats:
        mixed = vectors.copy()
        mixed[..., : len(self.mixing)] = -mixed[..., : len(self.mixing)] @ self.mixing.T
        return self._reflect(mixed)

    def astype(self, dtype: Precision) -> LeadingRotation:
        exact = self if self.exact is None else self.exact
        if dtype is np.float64:
            return exact
        return LeadingRotation(exact.reflector.astype(dtype), exact.mixing.astype(dtype), exact)

    def _reflect(self, vectors: Floats) -> Floats:
        # In this order, because few vectors times a matrix on their right take twice as long.
        reflected: Floats = (self.reflector @ vectors.T).T @ self.reflector
        return np.subtract(vectors, reflected, out=reflected)


def _orthonormal(columns: Floats) -> Floats:
    """Make columns orthonormal to float64 precision that are nearly so."""
    factor = linalg.cholesky(columns.T @ columns, lower=True, overwrite_a=True, check_finite=False)
    better: Floats = linalg.solve_triangular(factor, columns.T, lower=True, check_finite=False).T
    return better


def leading_rotation(rows: Floats) -> tuple[LeadingRotation, Floats]:
    """Return such coordinates for centred float32 rows, and the rows' mean square along each of them."""
    rotation = LeadingRotation.of(leading_axes(rows, _LEADING)).astype(np.float32)
    # The spread only steers the solver: some rows can speak for all.
    some = rows[::_ROWS_FOR_SPREAD]
    squares = added(in_parts(len(some), lambda part: np.einsum("ij,ij->j", turned := rotation.turn(some[part]), turned)))
    return rotation, squares / np.float32(len(some))


def leading_axes(rows: Floats, count: int) -> Floats:
    """Return leading principal axes of centred float32 rows as columns, by subspace iteration from a fixed random start.

    It ends as Nyström's method does: what the Gram matrix G makes of a subspace S stands for G itself, as
    ``G S (S' G S)^-1 S' G``, whose axes take no further product with the rows.
    """
    start = np.random.default_rng(0).standard_normal((rows.shape[1], count + _SPARE), dtype=np.float32)
    subspace: Floats = start
    for _ in range(_ROUNDS - 1):
        stretched = _stretch(rows, subspace)[0]
        # Between rounds it is enough that the columns stay apart, which takes a fraction of making them orthonormal.
        subspace = linalg.lu(stretched, permute_l=True, overwrite_a=True, check_finite=False)[0]
    stretched, inside = _stretch(rows, subspace)
    inside.flat[:: len(inside) + 1] += _NOISE * inside.trace() + np.finfo(np.float32).tiny
    factor = linalg.cholesky(inside, lower=True, overwrite_a=True, check_finite=False)
    half = linalg.solve_triangular(factor, stretched.T, lower=True, check_finite=False)
    values, vectors = _eigenvectors(half @ half.T)
    values, vectors = values[: -count - 1 : -1], vectors[:, : -count - 1 : -1]
    # Where the rows have no more axes, any others do.
    n_axes = int(np.count_nonzero(values > _LEAST_SPREAD * values[0]))
    axes = start[:, :count] / np.float32(np.sqrt(len(start)))
    axes[:, :n_axes] = half.T @ (vectors[:, :n_axes] / np.sqrt(values[:n_axes]))
    return axes


def _stretch(rows: Floats, subspace: Floats) -> tuple[Floats, Floats]:
    """Return the products of the rows' Gram matrix with a subspace, and of the subspace with these."""

    def multiply(part: slice) -> tuple[Floats, Floats]:
        inside = rows[part] @ subspace
        return rows[part].T @ inside, inside.T @ inside

    stretched, inside = zip(*in_parts(len(rows), multiply), strict=True)
    return added(stretched), added(inside)


def _eigenvectors(gram: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix, smallest first, and its eigenvectors as columns.

    SciPy's, because NumPy computes in float64 whatever the matrix is.
    """
    values, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    return values, vectors
