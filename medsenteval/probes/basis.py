"""Coordinates in which the curvature of every fold and penalty is nearly diagonal, found once per feature matrix.

Ridge-penalised logistic regression does not change under an orthonormal change of coordinates, nor under a shift of the
rows (the free intercept absorbs it), nor under a common scale (the penalty absorbs it). So the rows are centred,
divided by one number and turned to the principal axes of their Gram matrix; there the Hessian of the mean loss is close
to ``weight * diag(spread)``, which is the preconditioner that all fits share. Three ways to hold the rows follow:

* *turned*: few rows, many fits. The rows are rotated once and stored with a column of ones for the intercept.
* *dual*: more columns than rows. The principal axes come from the n x n Gram matrix; the rows shrink to n coordinates.
* *raw*: many rows. They stay where they are and are read block by block; the (small) weights are rotated instead. Axes
  from a sample of rows, in float32, are enough there, since they only steer the solver and never change the problem.

Labels play no part here, so nothing about held-out answers can leak through the basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import available_cores, one_thread_per_product
from medsenteval.errors import ProbeError
from medsenteval.features import Features

__all__ = ["Basis"]

Floats = NDArray[np.floating[Any]]
Precision = type[np.floating[Any]]
RowNumbers = NDArray[np.intp]

#: Up to this many stored numbers the rows are always turned; beyond it only if enough fits share the cost.
_SMALL_MATRIX: Final = 2_000_000
#: Turning the rows costs as much as rotating the weights of this many fitted columns, pass after pass.
_ROWS_PER_COLUMN: Final = 60
#: Rows with more columns than this, and no fewer of them, are not worth turning: the raw form is as fast.
_WIDEST_TURNED: Final = 1_536
#: Axes of more columns than this cost more than they save; the weights of wider rows are rotated in blocks of columns.
#: Pair features should stay in one block: u * v goes along with u and v wherever embeddings have a mean.
_WIDEST_ROTATION: Final = 4_096
#: Rows from which the raw form's axes are taken, at least, and per column: fewer would save less than more passes cost.
_SAMPLED_ROWS: Final = 4_096
_SAMPLED_ROWS_PER_COLUMN: Final = 8
#: Pair features up to this size are built once and kept; larger ones are built again for every pass.
_KEPT_BYTES: Final = 512 * 2**20
#: Rows of pair features that a thread builds at a time, few enough for its cache.
_BUILT_ROWS: Final = 256
#: Axes whose spread is below this share of the widest are rounding noise of the dual Gram matrix.
_NOISE: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Basis:
    """One feature matrix seen in solver coordinates; the last coordinate of every point is the intercept.

    ``spread`` is the mean square of the rows along each coordinate, 1 for the intercept. ``axes`` are orthonormal
    columns, one matrix for each block of feature columns. In the dual form they are a product with the rows, left
    undone: ``axes`` then holds the factor. ``turned`` has all rows in solver coordinates with a column of ones; it is
    None in the raw form.
    """

    features: Features
    dtype: Precision
    mean: NDArray[np.float64]
    scale: float
    spread: Floats
    axes: tuple[Floats, ...]
    turned: Floats | None = None
    is_dual: bool = False
    #: Pair features of all rows, where the raw form keeps them.
    built: Floats | None = None
    #: Where the rows start in the embedding matrix, if they follow one another there and need no gathering.
    first: int | None = None

    @classmethod
    def of(cls, features: Features, columns: int, dtype: Precision) -> Basis:
        """Choose and build the form that suits this shape when ``columns`` weight vectors are fitted together."""
        n_rows, width = features.n_rows, features.n_columns
        if n_rows == 0 or width == 0:
            raise ProbeError(f"a probe needs rows and columns, but the features are {n_rows} x {width}")
        small = n_rows * min(n_rows, width) <= _SMALL_MATRIX
        shared = n_rows <= _ROWS_PER_COLUMN * columns and n_rows * width * 4 <= _KEPT_BYTES
        if min(n_rows, width) > _WIDEST_TURNED or not (small or shared):
            return cls._raw(features, dtype)
        return cls._dual(features, dtype) if width > n_rows else cls._turned(features, dtype)

    @classmethod
    def _turned(cls, features: Features, dtype: Precision) -> Basis:
        rows, mean, scale = _centred(features.take(slice(None)), np.float64)
        axes = np.linalg.eigh(rows.T @ rows)[1]
        turned = rows @ axes
        spread = _with_one(np.einsum("ij,ij->j", turned, turned) / len(rows), dtype)
        return cls(features, dtype, mean, scale, spread, (axes,), _with_ones(turned, dtype))

    @classmethod
    def _dual(cls, features: Features, dtype: Precision) -> Basis:
        rows, mean, scale = _centred(features.take(slice(None)), np.float64)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = values > _NOISE * values[-1]
        if not kept.any():
            return cls._turned(features, dtype)
        roots = np.sqrt(values[kept])
        turned = _with_ones(vectors[:, kept] * roots, dtype)
        spread = _with_one(values[kept] / len(rows), dtype)
        return cls(features, dtype, mean, scale, spread, (vectors[:, kept] / roots,), turned, is_dual=True)

    @classmethod
    def _raw(cls, features: Features, dtype: Precision) -> Basis:
        n_rows, width = features.n_rows, features.n_columns
        built = None
        if features.right is not None and n_rows * width * 4 <= _KEPT_BYTES:
            built = _build(features)
        count = min(n_rows, max(_SAMPLED_ROWS, _SAMPLED_ROWS_PER_COLUMN * min(width, _WIDEST_ROTATION)))
        sample = np.linspace(0, n_rows - 1, count).astype(np.intp)
        rows = features.take(sample) if built is None else built[sample]
        rows, mean, scale = _centred(rows, np.float32)
        axes, spreads = [], []
        for columns in np.array_split(np.arange(width), -(-width // _WIDEST_ROTATION)):
            values, vectors = _principal_axes(rows[:, columns[0] : columns[-1] + 1])
            axes.append(vectors if dtype is np.float32 else _orthonormal(vectors))
            spreads.append(values)
        spread = _with_one(np.concatenate(spreads), dtype)
        in_place = features.right is None and _in_order(features.left)
        first = int(features.left[0]) if in_place else None
        return cls(features, dtype, mean, scale, spread, tuple(axes), built=built, first=first)

    def astype(self, dtype: Precision) -> Basis:
        """Return the same coordinates for arithmetic in another precision."""
        if dtype is self.dtype:
            return self
        turned = None
        if self.turned is not None:
            rows = self._centred_rows()
            turned = _with_ones(rows @ (rows.T @ self.axes[0] if self.is_dual else self.axes[0]), dtype)
            return replace(self, dtype=dtype, spread=self.spread.astype(dtype), turned=turned)
        axes = tuple(block.astype(dtype) if dtype is np.float32 else _orthonormal(block) for block in self.axes)
        return replace(self, dtype=dtype, spread=self.spread.astype(dtype), axes=axes)

    @property
    def width(self) -> int:
        """Number of solver coordinates, the intercept included."""
        return len(self.spread)

    def blocks(self, rows: RowNumbers, size: int) -> Iterator[Floats]:
        """Yield the given rows ``size`` at a time."""
        for start in range(0, len(rows), size):
            yield self.rows(rows[start : start + size])

    def rows(self, rows: RowNumbers | slice) -> Floats:
        """Return turned rows with their ones, or raw feature rows without."""
        if self.turned is not None:
            return self.turned[rows]
        if self.built is not None:
            block: Floats = self.built[rows]
        elif isinstance(rows, slice) and self.first is not None:
            block = self.features.matrix[rows.start + self.first : rows.stop + self.first]
        else:
            block = self.features.take(rows)
        return block.astype(self.dtype, copy=False)

    def to_rows(self, points: Floats) -> Floats:
        """Turn points of shape (..., width) into weights, intercept last, for the rows that ``rows`` returns."""
        if self.turned is not None:
            return points
        weights = self._rotate(points[..., :-1], back=True) / self.dtype(self.scale)
        intercepts = points[..., -1] - (weights @ self.mean).astype(self.dtype)
        return np.concatenate([weights, intercepts[..., None]], axis=-1)

    def from_rows(self, gradient: Floats) -> Floats:
        """Turn a gradient with respect to ``to_rows``' weights into one with respect to points."""
        if self.turned is not None:
            return gradient
        centred = (gradient[..., :-1] - gradient[..., -1:] * self.mean.astype(self.dtype)) / self.dtype(self.scale)
        return np.concatenate([self._rotate(centred, back=False), gradient[..., -1:]], axis=-1)

    def to_features(self, points: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and intercepts for plain feature rows, like scikit-learn's ``coef_`` and ``intercept_``."""
        inner = points[..., :-1].astype(np.float64)
        turned_back = inner @ self.axes[0].T @ self._centred_rows() if self.is_dual else self._rotate(inner, back=True)
        weights = turned_back.astype(np.float64) / self.scale
        return weights, points[..., -1].astype(np.float64) - weights @ self.mean

    def _rotate(self, vectors: Floats, back: bool) -> Floats:
        # One product for all vectors: one for each walker would read the axes as many times.
        flat = vectors.reshape(-1, vectors.shape[-1])
        pieces, start = [], 0
        for axes in self.axes:
            stop = start + len(axes)
            turn = axes.astype(vectors.dtype, copy=False)
            pieces.append(flat[:, start:stop] @ (turn.T if back else turn))
            start = stop
        rotated = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=-1)
        return rotated.reshape(vectors.shape)

    def _centred_rows(self) -> NDArray[np.float64]:
        centred: NDArray[np.float64] = (self.features.take(slice(None)) - self.mean) / self.scale
        return centred


def _centred(rows: Floats, dtype: Precision) -> tuple[Floats, NDArray[np.float64], float]:
    """Return rows with mean 0 and overall root mean square 1, with what was subtracted and divided by."""
    mean = rows.mean(axis=0, dtype=np.float64)
    if not np.isfinite(mean).all():
        column = int(np.flatnonzero(~np.isfinite(mean))[0])
        raise ProbeError(f"feature column {column} holds values that are not finite; check the encoder's output")
    centred = np.subtract(rows, mean.astype(dtype), dtype=dtype)
    largest = max(float(centred.max()), -float(centred.min()))
    if largest == 0.0:
        return centred, mean, 1.0
    centred /= dtype(largest)
    # Sums within a row may be as wide as the rows; those over all rows are float64.
    spread = float(np.sqrt(np.einsum("ij,ij->i", centred, centred).sum(dtype=np.float64) / centred.size))
    centred /= dtype(spread)
    return centred, mean, largest * spread


def _build(features: Features) -> Floats:
    """Return all feature rows, put together block by block by as many threads as may run."""
    built = np.empty((features.n_rows, features.n_columns), dtype=np.float32)

    def fill(start: int) -> None:
        rows = slice(start, min(start + _BUILT_ROWS, len(built)))
        built[rows] = features.take(rows)

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(fill, range(0, len(built), _BUILT_ROWS)))
    return built


def _principal_axes(rows: Floats) -> tuple[Floats, Floats]:
    """Return the variances and directions of the principal axes of centred float32 rows, to float32 accuracy."""
    if find_spec("torch") is None:
        values, vectors = np.linalg.eigh(rows.T @ rows)
    else:
        import torch

        # The same LAPACK routine in another library: more than twice as fast on a thousand columns and more.
        with one_thread_per_product():
            found = torch.linalg.eigh(torch.from_numpy(rows.T @ rows))
        values, vectors = found.eigenvalues.numpy(), found.eigenvectors.numpy()
    return np.maximum(values, 0) / len(rows), np.ascontiguousarray(vectors)


def _orthonormal(axes: Floats) -> NDArray[np.float64]:
    """Make float32 axes orthonormal to float64 precision by one step of Newton's iteration for the polar factor."""
    wide: NDArray[np.float64] = axes.astype(np.float64)
    return 1.5 * wide - 0.5 * wide @ (wide.T @ wide)


def _in_order(rows: RowNumbers) -> bool:
    return len(rows) > 0 and bool((np.diff(rows) == 1).all())


def _with_one(spread: Floats, dtype: Precision) -> Floats:
    return np.append(spread, 1.0).astype(dtype)


def _with_ones(rows: Floats, dtype: Precision) -> Floats:
    stored = np.ones((rows.shape[0], rows.shape[1] + 1), dtype=dtype)
    stored[:, :-1] = rows
    return stored
