"""Coordinates for all folds and penalties of a probe, found once per feature matrix, with what they tell of the curvature.

Ridge-penalised logistic regression does not change under an orthonormal change of coordinates, nor under a shift of the
rows (the free intercept absorbs it), nor under a common scale (the penalty absorbs it). So the rows are centred and divided by
one number, and, if that pays, turned to the principal axes of their Gram matrix, where the Hessian of the mean loss is close
to ``weight * diag(spread)``. Three ways to hold the rows follow:

* *turned*: few rows, many fits. The rows are rotated once and stored with a column of ones for the intercept.
* *dual*: more columns than rows. The rows shrink to as many coordinates as there are rows that are trained on (``span``),
  which are turned to all principal axes, or, where finding these would take longer than what they save, to leading ones.
* *raw*: many rows, or wide ones. They stay where they are and are read block by block; the (small) weights are scaled and
  shifted instead. What steers the solver there is the curvature of a sample of rows (``curvature`` says how); if the rows, or
  the parts of pair features, are very wide, leading axes of a sample do, and the weights are turned as well (``rotations``).

Labels play no part here, so nothing about held-out answers can leak through the basis.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import in_parts
from medsenteval.errors import ProbeError
from medsenteval.features import Features
from medsenteval.probes.curvature import Curvature, Diagonal, Sampled
from medsenteval.probes.rotations import AllAxes, LeadingRotation, Rotation, leading_axes, leading_rotation
from medsenteval.probes.span import Span, products_with

__all__ = ["Basis"]

Floats = NDArray[np.floating[Any]]
Precision = type[np.floating[Any]]
RowNumbers = NDArray[np.intp]

#: Up to this many stored numbers the rows are always turned; beyond it only if enough fits share the cost.
_SMALL_MATRIX: Final = 2_000_000
#: Rows that each fitted column has at most if turning them is to cost less than it saves, pass after pass.
_ROWS_PER_COLUMN: Final = 60
#: Of wider rows, or parts of pairs, only leading axes are looked for: others, and inverses, would take longer than they save.
_MOST_AXES: Final = 1_536
#: Rows from which the raw form's curvature is taken, at least, and per column: fewer would save less than more passes cost.
#: Leading axes alone need no more than the least.
_SAMPLED_ROWS: Final = 4_096
_SAMPLED_ROWS_PER_COLUMN: Final = 6
#: Pair features up to this size are built once and kept, for who needs them stored; larger ones are built for every pass.
_KEPT_BYTES: Final = 512 * 2**20
#: Rows that a thread builds or turns at a time, few enough for its cache.
_BUILT_ROWS: Final = 256
#: Of more coordinates than this the dual form finds some leading axes: all of them would take longer than passes they save.
_MOST_DUAL_AXES: Final = 384
_DUAL_AXES: Final = 64


@dataclass(frozen=True, eq=False)
class Basis:
    """One feature matrix seen in solver coordinates; the last coordinate of every point is the intercept.

    ``turned`` has all rows in solver coordinates with a column of ones; it is None in the raw form. What the ``rotation`` turns
    are the centred rows, in the dual form their coordinates in a ``span``. The raw form has none unless its rows are wide.
    """

    features: Features
    dtype: Precision
    mean: NDArray[np.float64]
    scale: float
    curvature: Curvature
    rotation: Rotation | None = None
    span: Span | None = None
    turned: Floats | None = None
    #: The turned rows in float64, kept where they are few: fits in float64 often follow those in float32.
    precise: Floats | None = None
    #: Pair features of all rows, where the raw form keeps them.
    built: Floats | None = None
    #: Where the rows start in the embedding matrix, if they follow one another there and need no gathering.
    first: int | None = None
    #: The rows that the dual form has the span of.
    spanning: RowNumbers | None = None

    @classmethod
    def of(
        cls,
        features: Features,
        columns: int,
        dtype: Precision,
        trained: RowNumbers | None = None,
        keep_pairs: bool = True,
    ) -> Basis:
        """Choose and build the form that suits this shape when ``columns`` weight vectors are fitted together.

        ``trained`` are the rows that any of them is fitted to, in ascending order, by default all. ``keep_pairs`` lets the raw
        form keep pair features if they are not too large, for passes that cannot read the rows that they are made of.
        """
        n_rows, width = features.n_rows, features.n_columns
        spanning = np.arange(n_rows) if trained is None else trained
        if n_rows == 0 or width == 0:
            raise ProbeError(f"a probe needs rows and columns, but the features are {n_rows} x {width}")
        small = n_rows * min(n_rows, width) <= _SMALL_MATRIX
        shared = n_rows <= _ROWS_PER_COLUMN * columns and n_rows * width * 4 <= _KEPT_BYTES
        if min(n_rows, width) > _MOST_AXES or not (small or shared):
            return cls._raw(features, dtype, keep_pairs)
        return cls._dual(features, dtype, spanning) if width > len(spanning) else cls._turned(features, dtype)

    @classmethod
    def _turned(cls, features: Features, dtype: Precision) -> Basis:
        rows, mean, scale = _centred(features.take(slice(None)), np.float64)
        rotation = AllAxes.of(rows)
        turned = _with_ones(rotation.turn(rows))
        spread = np.einsum("ij,ij->j", turned, turned) / len(rows)
        return cls(features, np.float64, mean, scale, Diagonal(spread), rotation)._holding(turned, dtype)

    @classmethod
    def _dual(cls, features: Features, dtype: Precision, spanning: RowNumbers) -> Basis:
        count, rest = len(spanning), np.delete(np.arange(features.n_rows), spanning)
        order = np.concatenate([spanning, rest])
        every = features.take(order)
        _sums(every[count:])
        mean = _sums(every[:count]) / count
        products = products_with(every - mean, count)
        scale = float(np.sqrt(products.trace() / every[:count].size))
        if scale == 0.0:
            return cls._turned(features, dtype)
        products /= scale**2
        span, new_order, coordinates = Span.of(products)
        order = order[new_order]
        own = coordinates[:count]
        rotation: Rotation
        if own.shape[1] <= _MOST_DUAL_AXES:
            rotation = AllAxes.of(own)
        else:
            rotation = LeadingRotation.of(leading_axes(own.astype(np.float32), _DUAL_AXES))
        turned = np.empty((len(every), own.shape[1] + 1))
        turned[:, -1] = 1
        spread = np.append(np.zeros(own.shape[1]), 1.0)
        for start in range(0, len(every), _BUILT_ROWS):
            block = rotation.turn(coordinates[start : start + _BUILT_ROWS])
            turned[order[start : start + _BUILT_ROWS], :-1] = block
            trained_on = block[: max(count - start, 0)]
            spread[:-1] += np.einsum("ij,ij->j", trained_on, trained_on) / count
        span = replace(span, pivots=order[: own.shape[1]])
        dual = cls(features, np.float64, mean, scale, Diagonal(spread), rotation, span, spanning=spanning)
        return dual._holding(turned, dtype)

    @classmethod
    def _raw(cls, features: Features, dtype: Precision, keep_pairs: bool = True) -> Basis:
        n_rows, width = features.n_rows, features.n_columns
        keeps = keep_pairs and features.right is not None and n_rows * width * 4 <= _KEPT_BYTES
        built = np.empty((n_rows, width), dtype=np.float32) if keeps else None
        with ThreadPoolExecutor(1) as beside:
            # Finding the curvature leaves a core idle some of the time.
            filled = beside.submit(_fill, built, features, np.arange(n_rows)) if built is not None else None
            inverted = width // features.n_parts
            per_column = _SAMPLED_ROWS_PER_COLUMN if inverted <= _MOST_AXES else 0
            sample = np.linspace(0, n_rows - 1, min(n_rows, max(_SAMPLED_ROWS, per_column * inverted))).astype(np.intp)
            rows = np.empty((len(sample), width), dtype=np.float32)
            _fill(rows, features, sample)
            rows, mean, scale = _centred(rows, np.float32, in_place=True)
            rotation: Rotation | None = None
            if inverted <= _MOST_AXES:
                curvature: Curvature = Sampled.of(rows, features.n_parts)
            else:
                rotation, spread = leading_rotation(rows)
                curvature = Diagonal(np.append(spread, np.float32(1.0)))
            if filled is not None:
                filled.result()
        in_order = features.right is None and _in_order(features.left)
        first = int(features.left[0]) if in_order else None
        raw = cls(features, np.float32, mean, scale, curvature, rotation=rotation, built=built, first=first)
        return raw.astype(dtype)

    def _holding(self, turned: Floats, dtype: Precision) -> Basis:
        """Return this float64 basis with its turned rows, in the precision asked for."""
        whole = replace(self, turned=turned, precise=turned if turned.size <= 2 * _SMALL_MATRIX else None)
        return whole.astype(dtype)

    def astype(self, dtype: Precision) -> Basis:
        """Return the same coordinates for arithmetic in another precision."""
        if dtype is self.dtype:
            return self
        same = replace(self, dtype=dtype, curvature=self.curvature.astype(dtype))
        if self.turned is None:
            return same if self.rotation is None else replace(same, rotation=self.rotation.astype(dtype))
        if dtype is np.float32:
            return replace(same, turned=self.turned.astype(dtype))
        if self.precise is not None:
            return replace(same, turned=self.precise)
        assert self.rotation is not None, "rows cannot have been turned without"
        rows = self._centred(slice(None))
        if self.span is not None:
            rows = self.span.coordinates(rows @ self._centred(self.span.pivots).T)
        return replace(same, turned=_with_ones(self.rotation.turn(rows)))

    def serves(self, trained: RowNumbers) -> bool:
        """Whether fits to these rows have their weights among the coordinates."""
        return self.spanning is None or bool(np.isin(trained, self.spanning).all())

    @property
    def width(self) -> int:
        """Number of solver coordinates, the intercept included."""
        return (self.features.n_columns if self.turned is None else self.turned.shape[1] - 1) + 1

    @property
    def gathers(self) -> bool:
        """Whether reading rows means copying them together from different places of the embeddings."""
        return self.turned is None and self.built is None and self.first is None

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

    @property
    def in_place(self) -> bool:
        """Whether raw float32 rows, or those that pairs are made of, can be read where they are, one by one."""
        matrix = self.features.matrix
        return self.turned is None and matrix.dtype == np.float32 and matrix.flags.c_contiguous

    def where(self, rows: RowNumbers | slice) -> tuple[Floats, RowNumbers, RowNumbers]:
        """Return a matrix and at which places of it the given raw rows stand, and their partners if they are pairs.

        It is a matrix of their own unless ``in_place``.
        """
        nobody = np.empty(0, dtype=np.intp)
        if not self.in_place:
            block = self.rows(rows)
            return block, np.arange(len(block)), nobody
        features = self.features
        return features.matrix, features.left[rows], nobody if features.right is None else features.right[rows]

    def to_rows(self, points: Floats) -> Floats:
        """Turn points of shape (..., width) into weights, intercept last, for the rows that ``rows`` returns."""
        if self.turned is not None:
            return points
        weights = self._back(points[..., :-1]) / self.dtype(self.scale)
        intercepts = points[..., -1] - (weights @ self.mean).astype(self.dtype)
        return np.concatenate([weights, intercepts[..., None]], axis=-1)

    def from_rows(self, gradient: Floats) -> Floats:
        """Turn a gradient with respect to ``to_rows``' weights into one with respect to points."""
        if self.turned is not None:
            return gradient
        centred: Floats = gradient[..., :-1] - gradient[..., -1:] * self.mean.astype(self.dtype)
        centred = centred / self.dtype(self.scale)
        if self.rotation is not None:
            centred = self.rotation.turn(centred.reshape(-1, centred.shape[-1])).reshape(centred.shape)
        return np.concatenate([centred, gradient[..., -1:]], axis=-1)

    def to_features(self, points: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and intercepts for plain feature rows, like scikit-learn's ``coef_`` and ``intercept_``."""
        inner: NDArray[np.float64] = self._back(points[..., :-1].astype(np.float64)).astype(np.float64)
        if self.span is not None:
            inner = self.span.multiples(inner) @ self._centred(self.span.pivots)
        weights = inner / self.scale
        return weights, points[..., -1].astype(np.float64) - weights @ self.mean

    def _back(self, weights: Floats) -> Floats:
        """Undo the rotation of weights."""
        if self.rotation is None:
            return weights
        # One product for all vectors: one for each walker would read the reflector as many times.
        return self.rotation.back(weights.reshape(-1, weights.shape[-1])).reshape(weights.shape)

    def _centred(self, rows: RowNumbers | slice) -> NDArray[np.float64]:
        centred: NDArray[np.float64] = (self.features.take(rows) - self.mean) / self.scale
        return centred


def _centred(rows: Floats, dtype: Precision, in_place: bool = False) -> tuple[Floats, NDArray[np.float64], float]:
    """Return rows with mean 0 and overall root mean square 1, with what was subtracted and divided by."""
    mean = _sums(rows) / len(rows)
    centred = rows if in_place else np.empty(rows.shape, dtype=dtype)
    shift = mean.astype(dtype)

    def subtract(part: slice) -> float:
        block = np.subtract(rows[part], shift, out=centred[part])
        return max(float(block.max()), -float(block.min()))

    largest = max(in_parts(len(rows), subtract))
    if largest == 0.0:
        return centred, mean, 1.0

    def square(part: slice) -> float:
        block = centred[part]
        block /= dtype(largest)
        # Sums within a row may be as wide as the rows; those over all rows are float64.
        return float(np.einsum("ij,ij->i", block, block).sum(dtype=np.float64))

    spread = float(np.sqrt(sum(in_parts(len(rows), square)) / centred.size))

    def divide(part: slice) -> None:
        centred[part] /= dtype(spread)

    in_parts(len(rows), divide)
    return centred, mean, largest * spread


def _sums(rows: Floats) -> NDArray[np.float64]:
    """Return the sum of each column, which has to be finite."""
    sums: NDArray[np.float64] = np.sum(in_parts(len(rows), lambda part: rows[part].sum(axis=0, dtype=np.float64)), axis=0)
    if not np.isfinite(sums).all():
        column = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise ProbeError(f"feature column {column} holds values that are not finite; check the encoder's output")
    return sums


def _fill(target: Floats, features: Features, rows: RowNumbers) -> None:
    """Write these feature rows, few at a time, by as many threads as may run."""

    def write(part: slice) -> None:
        for start in range(part.start, part.stop, _BUILT_ROWS):
            block = slice(start, min(start + _BUILT_ROWS, part.stop))
            target[block] = features.take(rows[block])

    in_parts(len(rows), write)


def _in_order(rows: RowNumbers) -> bool:
    return len(rows) > 0 and bool((np.diff(rows) == 1).all())


def _with_ones(rows: Floats) -> Floats:
    stored = np.ones((rows.shape[0], rows.shape[1] + 1), dtype=rows.dtype)
    stored[:, :-1] = rows
    return stored
