"""The coordinates in which all folds and penalties of a probe are fitted, found once for a feature matrix.

Rows are centred, divided by one number, and then stored along their principal axes or read raw (docs/solver.md, "Coordinates").
Labels play no part here, so nothing about held-out answers can leak through the coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy import linalg

from medsenteval.errors import ProbeError
from medsenteval.probes.exact.preconditioner import DiagonalPreconditioner, Preconditioner, SampledPreconditioner
from medsenteval.probes.features import Features
from medsenteval.support.arrays import Floats, Reals, Rows
from medsenteval.support.cores import in_parts

Precision = type[np.floating[Any]]

#: Up to this many stored numbers the rows are always rotated; beyond it only if enough fits share the cost.
_SMALL_MATRIX: Final = 2_000_000
#: Rows for each fitted column, at most, if rotating them is to cost less than it saves.
_ROWS_PER_COLUMN: Final = 60
#: With more coordinates than this, finding the principal axes takes longer than the passes that they save.
_MOST_AXES: Final = 1_536
#: Rows whose Gram matrix preconditions fits to raw rows, at least, and for each column of a part.
_SAMPLED_ROWS: Final = 4_096
_SAMPLED_ROWS_PER_COLUMN: Final = 6
#: Pair features up to this size are built once and kept; larger ones are built for every pass.
_KEPT_BYTES: Final = 512 * 2**20
#: Rows that a thread builds at a time, few enough for its cache.
_BUILT_ROWS: Final = 256
#: Axes with less than this share of the largest variance are rounding noise of the Gram matrix.
_NOISE: Final = 1e-12
#: Axes computed from the Gram matrix of the rows are made orthonormal again if variances differ by more than this.
_STEEP: Final = 1e-4


@dataclass(frozen=True, eq=False)
class Coordinates:
    """One feature matrix in solver coordinates; the last coordinate of every point is the intercept.

    ``axes`` (columns x coordinates, orthonormal) are None in the raw form.
    """

    features: Features
    dtype: Precision
    mean: Floats
    scale: float
    preconditioner: Preconditioner
    #: All rows in their order: stored ones with a column of ones; raw ones if they are so: built, or part of the embeddings.
    whole: Reals | None
    axes: Reals | None = None
    #: The rows whose span the axes are limited to, where that is less than all columns.
    spanning: Rows | None = None

    @classmethod
    def of(cls, features: Features, columns: int, dtype: Precision, trained: Rows | None = None) -> Coordinates:
        """Choose and build the form that suits this shape when ``columns`` weight vectors are fitted together.

        ``trained`` are the rows that any of them is fitted to, in ascending order, by default all.
        """
        n_rows, width = features.n_rows, features.n_columns
        if n_rows == 0 or width == 0:
            raise ProbeError(f"a probe needs rows and columns, but the features are {n_rows} x {width}")
        small = n_rows * min(n_rows, width) <= _SMALL_MATRIX
        shared = n_rows <= _ROWS_PER_COLUMN * columns and n_rows * width * 4 <= _KEPT_BYTES
        if min(n_rows, width) > _MOST_AXES or not (small or shared):
            return cls._raw(features, dtype)
        return cls._stored(features, dtype, np.arange(n_rows) if trained is None else trained)

    @classmethod
    def _stored(cls, features: Features, dtype: Precision, trained: Rows) -> Coordinates:
        every = features.take(slice(None))
        _check_finite(every)
        # With fewer columns than training rows, any rows will do: the axes span all columns.
        limited = features.n_columns > len(trained)
        rows, mean, scale = _standardised(every[trained].astype(np.float64) if limited else every.astype(np.float64))
        axes, spread = _principal_axes(rows, dtype)
        stored = np.ones((len(every), axes.shape[1] + 1), dtype=dtype)
        centred = (every - mean.astype(dtype)) / dtype(scale) if limited else rows.astype(dtype, copy=False)
        np.matmul(centred, axes, out=stored[:, :-1])
        preconditioner = DiagonalPreconditioner(np.append(spread, 1.0).astype(dtype))
        return cls(features, dtype, mean, scale, preconditioner, stored, axes, trained if limited else None)

    @classmethod
    def _raw(cls, features: Features, dtype: Precision) -> Coordinates:
        n_rows, width = features.n_rows, features.n_columns
        whole = None
        if features.right is not None and n_rows * width * 4 <= _KEPT_BYTES:
            whole = _built(features, np.arange(n_rows))
        elif features.right is None and bool((np.diff(features.left) == 1).all()):
            whole = features.matrix[features.left[0] : features.left[0] + n_rows]
        count = min(n_rows, max(_SAMPLED_ROWS, _SAMPLED_ROWS_PER_COLUMN * width // features.n_parts))
        sample = np.linspace(0, n_rows - 1, count).astype(np.intp)
        rows, mean, scale = _standardised(_built(features, sample))
        return cls(features, dtype, mean, scale, SampledPreconditioner(rows, features.n_parts), whole)

    def astype(self, dtype: Precision) -> Coordinates:
        """Return the same coordinates for arithmetic in another precision."""
        if dtype is self.dtype:
            return self
        if self.axes is None:
            return replace(self, dtype=dtype)
        return self._stored(self.features, dtype, np.arange(self.features.n_rows) if self.spanning is None else self.spanning)

    def serves(self, trained: Rows) -> bool:
        """Whether fits to these rows have their weights among the coordinates."""
        return self.spanning is None or bool(np.isin(trained, self.spanning).all())

    @property
    def width(self) -> int:
        """Number of solver coordinates, the intercept included."""
        return (self.features.n_columns if self.axes is None else self.axes.shape[1]) + 1

    def rows(self, rows: Rows | slice) -> Reals:
        """Return stored rows with their ones, or raw feature rows without."""
        block: Reals = self.features.take(rows) if self.whole is None else self.whole[rows]
        return block.astype(self.dtype, copy=False)

    def to_rows(self, points: Reals) -> Reals:
        """Convert points of shape (..., width) to weights, intercept last, for the rows that ``rows`` returns."""
        if self.axes is not None:
            return points
        weights = points[..., :-1] / self.dtype(self.scale)
        intercepts = points[..., -1] - (weights @ self.mean).astype(self.dtype)
        return np.concatenate([weights, intercepts[..., None]], axis=-1)

    def from_rows(self, gradient: Reals) -> Reals:
        """Convert a gradient with respect to ``to_rows``' weights to one with respect to points."""
        if self.axes is not None:
            return gradient
        centred: Reals = gradient[..., :-1] - gradient[..., -1:] * self.mean.astype(self.dtype)
        return np.concatenate([centred / self.dtype(self.scale), gradient[..., -1:]], axis=-1)

    def to_features(self, points: Reals) -> tuple[Floats, Floats]:
        """Return weights and intercepts for plain feature rows, like scikit-learn's ``coef_`` and ``intercept_``."""
        inner: Floats = points[..., :-1].astype(np.float64)
        weights = (inner if self.axes is None else inner @ self.axes.T) / self.scale
        return weights, points[..., -1].astype(np.float64) - weights @ self.mean


def _standardised(rows: Reals) -> tuple[Reals, Floats, float]:
    """Give rows mean 0 and overall root mean square 1, in place; return them, what was subtracted and what divided by."""
    _check_finite(rows)
    mean: Floats = rows.mean(axis=0, dtype=np.float64)
    rows -= mean.astype(rows.dtype)
    scale = float(np.sqrt(np.einsum("ij,ij->", rows, rows, dtype=np.float64) / rows.size)) or 1.0
    rows /= rows.dtype.type(scale)
    return rows, mean, scale


def _check_finite(rows: Reals) -> None:
    sums = rows.sum(axis=0, dtype=np.float64)
    if not np.isfinite(sums).all():
        column = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise ProbeError(f"feature column {column} holds values that are not finite; check the encoder's output")


def _principal_axes(rows: Reals, dtype: Precision) -> tuple[Reals, Reals]:
    """Return the principal axes of centred rows as columns, and the mean square of the rows along each.

    Of fewer rows than columns, those axes are returned that the rows span.
    """
    if rows.shape[0] >= rows.shape[1]:
        values, axes = _eigh(rows.T @ rows)
        return axes.astype(dtype, copy=False), np.maximum(values, 0) / len(rows)
    values, vectors = _eigh(rows @ rows.T)
    kept = values > _NOISE * max(values[-1], np.finfo(np.float64).tiny)
    if not kept.any():
        return np.eye(rows.shape[1], 1, dtype=dtype), np.zeros(1)
    # The largest first, which are the most accurate.
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])
    if values[-1] < _STEEP * values[0]:
        axes = linalg.qr(rows.T @ vectors, mode="economic", overwrite_a=True, check_finite=False)[0]
    else:
        axes = rows.T.astype(dtype, copy=False) @ vectors.astype(dtype, copy=False)
    return axes.astype(dtype, copy=False), values / len(rows)


def _eigh(gram: Reals) -> tuple[Reals, Reals]:
    values, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    return values, vectors


def _built(features: Features, rows: Rows) -> Reals:
    """Build feature rows, few at a time, by as many threads as may run."""
    built = np.empty((len(rows), features.n_columns), dtype=np.float32)

    def write(part: slice) -> None:
        for start in range(part.start, part.stop, _BUILT_ROWS):
            block = slice(start, min(start + _BUILT_ROWS, part.stop))
            built[block] = features.take(rows[block])

    in_parts(len(rows), write)
    return built
