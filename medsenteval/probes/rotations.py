"""Orthonormal changes of coordinates in which the curvature of a probe is nearly diagonal.

Up to a thousand columns and some more, all principal axes of the rows are found. Their price grows with the third power
of the width, so wider rows get their leading axes only, exact enough from a sample and two rounds of subspace iteration;
the coordinates beside them stay the feature columns, but for what the leading axes take from them. Such a rotation is
held as a block reflector, ``I - W W'`` with a narrow W, so that turning a vector costs two thin products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from medsenteval.cores import in_parts

__all__ = ["LARGEST_ROTATION", "FullRotation", "LeadingRotation", "Rotation", "added", "eigenvectors", "principal_rotation"]

Floats = NDArray[np.floating[Any]]
Precision = type[np.floating[Any]]

#: Rows wider than this get their leading axes only. At 3,072 columns that takes two thirds more passes (92 instead of
#: 55), each a third cheaper, but saves 2 of 2.6 seconds for the axes; at 1,200 columns it does not pay.
LARGEST_ROTATION: Final = 1_536
_LEADING: Final = 256
#: Axes that are iterated but not used, because the last ones converge badly.
_SPARE: Final = 32
_ROUNDS: Final = 2
#: Of so many rows one is turned to see how far they spread along each axis.
_ROWS_FOR_SPREAD: Final = 4


class Rotation(Protocol):
    """An orthogonal matrix, applied to vectors that are rows of a matrix."""

    def turn(self, vectors: Floats) -> Floats:
        """Return vectors of feature space in the new coordinates."""
        ...

    def back(self, vectors: Floats) -> Floats:
        """Return vectors given in the new coordinates in feature space."""
        ...

    def astype(self, dtype: Precision) -> Rotation:
        """Return the rotation in another precision, orthonormal to that precision."""
        ...


@dataclass(frozen=True, eq=False)
class FullRotation:
    """All axes, as columns."""

    axes: Floats

    def turn(self, vectors: Floats) -> Floats:
        turned: Floats = vectors @ self.axes.astype(vectors.dtype, copy=False)
        return turned

    def back(self, vectors: Floats) -> Floats:
        turned: Floats = vectors @ self.axes.astype(vectors.dtype, copy=False).T
        return turned

    def astype(self, dtype: Precision) -> FullRotation:
        if dtype is np.float64 and self.axes.dtype != np.float64:
            return FullRotation(_orthonormal(self.axes.astype(np.float64)))
        return FullRotation(self.axes.astype(dtype))


@dataclass(frozen=True, eq=False)
class LeadingRotation:
    """Some leading axes first, and coordinates orthogonal to them after.

    Let V hold the axes as columns, P be the orthogonal polar factor of its upper square, and W proportional to V + E P,
    where E are the first columns of the identity. The reflector I - W W' takes V to -E P, and P is undone afterwards.
    """

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
        # W'W = 2 (I + H) with H the polar factor's symmetric partner; its inverse root makes a reflector of it.
        return cls(wide @ ((right.T / np.sqrt(1 + cosines)) @ right), mixing)

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
        reflected: Floats = vectors - (vectors @ self.reflector) @ self.reflector.T
        return reflected


def _orthonormal(columns: Floats) -> Floats:
    """Make columns orthonormal to float64 precision that are so to float32's: one step of Newton's for the polar factor."""
    better: Floats = 1.5 * columns - 0.5 * columns @ (columns.T @ columns)
    return better


def principal_rotation(rows: Floats) -> tuple[Rotation, Floats]:
    """Return principal coordinates for centred float32 rows, and the rows' mean square along each of them."""
    if rows.shape[1] <= LARGEST_ROTATION:
        values, axes = eigenvectors(_sum_of_parts(rows, lambda part: part.T @ part))
        return FullRotation(np.ascontiguousarray(axes)), np.maximum(values, 0) / len(rows)
    rotation = LeadingRotation.of(_leading_axes(rows)).astype(np.float32)
    # The spread only steers the solver: some rows can speak for all.
    some = rows[::_ROWS_FOR_SPREAD]
    squares = _sum_of_parts(some, lambda part: np.einsum("ij,ij->j", turned := rotation.turn(part), turned))
    return rotation, squares / np.float32(len(some))


def added(pieces: Sequence[Floats]) -> Floats:
    """Add arrays up in their order, so that the sum does not depend on who was ready first."""
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    return total


def _sum_of_parts(rows: Floats, compute: Callable[[Floats], Floats]) -> Floats:
    return added(in_parts(len(rows), lambda span: compute(rows[span])))


def _leading_axes(rows: Floats) -> Floats:
    """Return the leading principal axes of centred rows by subspace iteration from a fixed random start."""
    start = np.random.default_rng(0).standard_normal((rows.shape[1], _LEADING + _SPARE))
    subspace: Floats = start.astype(rows.dtype)
    for _ in range(_ROUNDS):
        stretched = _sum_of_parts(rows, lambda part: part.T @ (part @ subspace))  # noqa: B023 - used at once
        # Between rounds it is enough that the columns stay apart, which takes a fraction of making them orthonormal.
        subspace = linalg.lu(stretched, permute_l=True, overwrite_a=True, check_finite=False)[0]
    subspace = linalg.qr(subspace, mode="economic", overwrite_a=True, check_finite=False)[0]
    gram = _sum_of_parts(rows, lambda part: (inside := part @ subspace).T @ inside)
    axes: Floats = subspace @ eigenvectors(gram)[1][:, : -_LEADING - 1 : -1]
    return axes


def eigenvectors(gram: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix, smallest first, and its eigenvectors as columns.

    SciPy's, because NumPy computes in float64 whatever the matrix is.
    """
    values, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    return values, vectors
