"""Coordinates in which the curvature of every fold and penalty is nearly diagonal, found once per feature matrix.

Ridge-penalised logistic regression does not change under an orthonormal change of coordinates, nor under a shift of the
rows (the free intercept absorbs it), nor under a common scale (the penalty absorbs it). So the rows are centred, divided
by one number and turned to the principal axes of their Gram matrix; there the Hessian of the mean loss is close to
``weight * diag(spread)``, which is the preconditioner that all fits share. Three ways to hold the rows follow:

* *turned*: few rows, many fits. The rows are rotated once and stored with a column of ones for the intercept.
* *dual*: more columns than rows. The principal axes come from the n x n Gram matrix; the rows shrink to n coordinates.
* *raw*: many rows. They stay where they are and are read block by block; the (small) weights are rotated instead. A basis
  from a sample of rows is enough there, since it only steers the solver and never changes the problem.

Labels play no part here, so nothing about held-out answers can leak through the basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError
from medsenteval.features import Features

__all__ = ["Basis"]

Floats = NDArray[np.floating[Any]]
RowNumbers = NDArray[np.intp]

#: Up to this many stored numbers the rows are always turned; beyond it only if enough fits share the cost.
_SMALL_MATRIX = 2_000_000
#: Turning the rows costs as much as rotating the weights of this many fitted columns, pass after pass.
_ROWS_PER_COLUMN = 60
#: Above this width principal axes cost more than they save, and the columns are only brought to a common footing.
_WIDEST_ROTATION = 1_024
#: Pair features up to this size are built once and kept; larger ones are built again for every pass.
_KEPT_BYTES = 512 * 2**20
#: Axes whose spread is below this share of the widest are rounding noise of the dual Gram matrix.
_NOISE = 1e-12


@dataclass(eq=False)
class Basis:
    """One feature matrix seen in solver coordinates; the last coordinate of every point is the intercept."""

    features: Features
    dtype: type[np.floating[Any]]
    mean: NDArray[np.float64]
    scale: float
    #: Mean square of the rows along each coordinate, 1 for the intercept.
    spread: Floats
    #: Orthonormal axes as columns; None stands for the identity, or for the dual form before anyone asks.
    axes: Floats | None
    #: All rows in solver coordinates with a column of ones, or None for the raw form.
    turned: Floats | None
    _dual_axes: Floats | None = None
    #: Pair features of all rows, where they are small enough to be kept.
    _built: Floats | None = field(default=None, repr=False)
    #: Where the rows start in the embedding matrix, if they follow one another there and need no gathering.
    _first: int | None = None

    @classmethod
    def of(cls, features: Features, columns: int, dtype: type[np.floating[Any]]) -> Basis:
        """Choose and build the form that suits this shape when ``columns`` weight vectors are fitted together."""
        n_rows, width = features.n_rows, features.n_columns
        if n_rows == 0 or width == 0:
            raise ProbeError(f"a probe needs rows and columns, but the features are {n_rows} x {width}")
        small = n_rows * min(n_rows, width) <= _SMALL_MATRIX
        shared = n_rows <= _ROWS_PER_COLUMN * columns and n_rows * width * 4 <= _KEPT_BYTES
        if width > n_rows and (small or shared):
            return cls._dual(features, dtype)
        if width <= _WIDEST_ROTATION and (small or shared):
            return cls._turned(features, dtype)
        return cls._raw(features, dtype)

    @classmethod
    def _dual(cls, features: Features, dtype: type[np.floating[Any]]) -> Basis:
        rows, mean, scale = _centred(features, np.arange(features.n_rows))
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = values > _NOISE * max(float(values[-1]), 0.0)
        if not kept.any():
            return cls._turned(features, dtype)
        roots = np.sqrt(values[kept])
        dual_axes = vectors[:, kept] / roots
        return cls(
            features, dtype, mean, scale, _with_one(values[kept] / len(rows)).astype(dtype), None,
            _with_ones(vectors[:, kept] * roots, dtype), dual_axes,
        )  # fmt: skip

    @classmethod
    def _turned(cls, features: Features, dtype: type[np.floating[Any]]) -> Basis:
        rows, mean, scale = _centred(features, np.arange(features.n_rows))
        axes = np.linalg.eigh(rows.T @ rows)[1]
        turned = rows @ axes
        spread = _with_one(np.einsum("ij,ij->j", turned, turned) / len(rows)).astype(dtype)
        return cls(features, dtype, mean, scale, spread, axes, _with_ones(turned, dtype))

    @classmethod
    def _raw(cls, features: Features, dtype: type[np.floating[Any]]) -> Basis:
        width = features.n_columns
        sampled = min(features.n_rows, max(4_096, 8 * width))
        sample, mean, scale = _centred(features, np.linspace(0, features.n_rows - 1, sampled).astype(np.intp))
        rows = sample.astype(np.float32)
        if width <= _WIDEST_ROTATION:
            values, axes = np.linalg.eigh((rows.T @ rows).astype(np.float64))
            spread = np.maximum(values, 0.0) / len(rows)
        else:
            axes, spread = None, np.einsum("ij,ij->j", sample, sample) / len(rows)
        basis = cls(features, dtype, mean, scale, _with_one(spread).astype(dtype), axes, None)
        if features.right is None and _in_order(features.left):
            basis._first = int(features.left[0])
        if features.right is not None and features.n_rows * width * 4 <= _KEPT_BYTES:
            basis._built = features.take(slice(None))
        return basis

    def astype(self, dtype: type[np.floating[Any]]) -> Basis:
        """Return the same coordinates for arithmetic in another precision."""
        turned = None
        if self.turned is not None:
            rows = (self.features.take(slice(None)) - self.mean) / self.scale
            turned = _with_ones(rows @ (self.axes if self._dual_axes is None else rows.T @ self._dual_axes), dtype)
        spread = self.spread.astype(dtype)
        return replace(self, dtype=dtype, spread=spread, turned=turned)

    @property
    def width(self) -> int:
        """Number of solver coordinates, the intercept included."""
        return len(self.spread)

    def blocks(self, rows: RowNumbers | slice, size: int) -> Iterator[Floats]:
        """Yield the given rows ``size`` at a time: turned rows with their ones, or raw feature rows without."""
        start, stop = (rows.start, rows.stop) if isinstance(rows, slice) else (0, len(rows))
        for first in range(start, stop, size):
            piece = slice(first, min(first + size, stop))
            yield self.rows(piece if isinstance(rows, slice) else rows[piece])

    def rows(self, rows: RowNumbers | slice) -> Floats:
        """Return these rows as ``blocks`` yields them."""
        if self.turned is not None:
            return self.turned[rows]
        if self._built is not None:
            block: Floats = self._built[rows]
        elif isinstance(rows, slice) and self._first is not None:
            first = self._first
            block = self.features.matrix[rows.start + first : rows.stop + first]
        else:
            block = self.features.take(rows)
        return block.astype(self.dtype, copy=False)

    def to_rows(self, points: Floats) -> Floats:
        """Turn points of shape (..., width) into weights, intercept last, for the rows that ``blocks`` yields."""
        if self.turned is not None:
            return points
        weights = points[..., :-1] if self.axes is None else points[..., :-1] @ self.axes.T.astype(self.dtype)
        weights = weights / self.dtype(self.scale)
        intercepts = points[..., -1] - (weights @ self.mean).astype(self.dtype)
        return np.concatenate([weights, intercepts[..., None]], axis=-1)

    def from_rows(self, gradient: Floats) -> Floats:
        """Turn a gradient with respect to ``to_rows``' weights into one with respect to points."""
        if self.turned is not None:
            return gradient
        inner = (gradient[..., :-1] - gradient[..., -1:] * self.mean.astype(self.dtype)) / self.dtype(self.scale)
        if self.axes is not None:
            inner = inner @ self.axes.astype(self.dtype)
        return np.concatenate([inner, gradient[..., -1:]], axis=-1)

    def to_features(self, points: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and intercepts for plain feature rows, as scikit-learn's ``coef_`` and ``intercept_``."""
        inner = points[..., :-1].astype(np.float64)
        if self._dual_axes is not None:
            rows = (self.features.take(slice(None)) - self.mean) / self.scale
            weights = inner @ self._dual_axes.T @ rows
        else:
            weights = inner if self.axes is None else inner @ self.axes.T
        weights = weights / self.scale
        return weights, points[..., -1].astype(np.float64) - weights @ self.mean


def _centred(features: Features, rows: RowNumbers) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return rows with mean 0 and overall root mean square 1 in float64, with what was subtracted and divided by."""
    sample = features.take(rows).astype(np.float64)
    mean = sample.mean(axis=0)
    if not np.isfinite(mean).all():
        column = int(np.flatnonzero(~np.isfinite(mean))[0])
        raise ProbeError(f"feature column {column} holds values that are not finite; check the encoder's output")
    sample -= mean
    largest = float(np.abs(sample).max())
    if largest == 0.0:
        return sample, mean, 1.0
    scale = largest * float(np.sqrt(np.mean(np.square(sample / largest))))
    sample /= scale
    return sample, mean, scale


def _in_order(rows: RowNumbers) -> bool:
    return len(rows) > 0 and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and bool((np.diff(rows) == 1).all())


def _with_one(spread: Floats) -> Floats:
    return np.append(spread, 1.0)


def _with_ones(rows: Floats, dtype: type[np.floating[Any]]) -> Floats:
    stored = np.ones((rows.shape[0], rows.shape[1] + 1), dtype=dtype)
    stored[:, :-1] = rows
    return stored
