"""What the solver takes the curvature to be before it has learnt any: it only steers, and never changes the answer.

The Hessian of a walker's mean loss is close to ``weight * S``, where S is the mean of ``x x'`` over the rows and the weight is
the mean of p (1 - p) for its class; its penalty adds ``ridge``. All walkers share S, so whatever is costly about it is done
once. There are two ways to have it:

* ``Diagonal``: the coordinates are principal axes of the rows, or nearly so. ``weight * S + ridge`` is inverted number by
  number.
* ``Sampled``: the coordinates are the features themselves, and S comes from a sample of rows. Its inverse (``inverses``) cannot
  be made anew for every weight and ridge. So ``weight * (S + level)`` stands for ``weight * S + ridge``, with one level
  for walkers whose ridge over weight is not too far from it. All principal axes would do no better, and take ten times as long
  to find.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from medsenteval.probes.inverses import Inverse, PairSample, RowSample, Sample

__all__ = ["Curvature", "Diagonal", "Sampled", "dots", "per_walker", "relative_logit_sizes"]

Floats = NDArray[np.floating[Any]]
Scalars = NDArray[np.float64]
Precision = type[np.floating[Any]]

#: Levels are powers of this number, and serve walkers whose ridge over weight is so many times a level at most and at least:
#: a level that is too high makes small spreads appear larger than they are, but one that is too low does so to all of them.
_BETWEEN_LEVELS: Final = 4.0
_MOST_SERVED: Final = 4.0
_LEAST_SERVED: Final = 1 / 64
#: Lower levels than this share of all spread together make no difference.
_LEAST_LEVEL: Final = 1e-12
#: What each class's weight is taken for at the intercept, at least, as a share of the largest.
_LEAST_WEIGHT: Final = 1e-6
#: Rows that tell how large logits are, at most.
_MEASURED_ROWS: Final = 64


class Curvature(Protocol):
    """An approximation of Hessians that ``scale(...) * solve(...)`` is the inverse of. Intercepts come last in every vector."""

    #: Whether ``solve`` does anything; its results are worth remembering then.
    dense: bool

    def levels(self, weight: Floats, ridge: Scalars, before: Scalars | None = None) -> Scalars:
        """Return which approximation serves each walker: that of ``before``, if it still does."""
        ...

    def solve(self, vectors: Floats, levels: Scalars) -> Floats:
        """Do what needs all coordinates of vectors (walkers x outputs x width), whatever the weight and the ridge.

        Vectors of several outputs have to sum to zero, as gradients of a softmax do.
        """
        ...

    def scale(self, weight: Floats, ridge: Scalars, levels: Scalars) -> Floats:
        """Return what is left to multiply each coordinate by; ``weight`` is walkers x outputs."""
        ...

    def logit_sizes(self, points: Floats) -> Scalars:
        """Return the root mean square over the rows of the logits that each walker's points give, all outputs together."""
        ...

    def astype(self, dtype: Precision) -> Curvature:
        """Return the same for vectors of another precision."""
        ...


@dataclass(frozen=True, eq=False)
class Diagonal:
    """Curvature along principal axes: the mean square of the rows along each, 1 for the intercept."""

    spread: Floats
    dense = False

    def levels(self, weight: Floats, ridge: Scalars, before: Scalars | None = None) -> Scalars:
        return np.zeros(len(ridge))

    def solve(self, vectors: Floats, levels: Scalars) -> Floats:
        return vectors

    def scale(self, weight: Floats, ridge: Scalars, levels: Scalars) -> Floats:
        curvature = weight[:, :, None] * self.spread
        curvature[:, :, :-1] += per_walker(ridge, curvature)
        curvature[:, :, -1] = _intercept_curvature(weight)
        inverse: Floats = 1 / np.maximum(curvature, np.finfo(curvature.dtype).tiny, out=curvature)
        return inverse

    def logit_sizes(self, points: Floats) -> Scalars:
        return np.sqrt(dots(points * self.spread, points))

    def astype(self, dtype: Precision) -> Diagonal:
        return Diagonal(self.spread.astype(dtype))


@dataclass(frozen=True, eq=False)
class Sampled:
    """Curvature of a sample of centred float32 rows."""

    #: Some rows that tell how large logits are.
    measured: Floats
    sample: Sample
    #: The levels beyond which less, or more, makes no difference but that of a factor.
    least: float
    most: float
    inverses: dict[float, Inverse] = field(default_factory=dict)
    dense = True

    @classmethod
    def of(cls, rows: Floats, n_parts: int = 1) -> Sampled:
        """Take rows, which may be pair features of so many parts, for a sample of all."""
        sample = RowSample(rows) if n_parts == 1 else PairSample(rows, n_parts)
        least = max(_LEAST_LEVEL * sample.spread, float(np.finfo(np.float32).tiny) * 2**20)
        return cls(rows[:: -(-len(rows) // _MEASURED_ROWS)].copy(), sample, least, max(4 * sample.spread, least))

    def levels(self, weight: Floats, ridge: Scalars, before: Scalars | None = None) -> Scalars:
        # Walkers choose by themselves: what one does must not depend on which others there are.
        usual = np.maximum(weight.mean(axis=1, dtype=np.float64), np.finfo(np.float32).tiny)
        with np.errstate(over="ignore"):
            wanted = np.clip(ridge / usual, self.least, self.most)
        # Somewhat above, because the walkers that a pilot parts into want less or more.
        above: Scalars = _BETWEEN_LEVELS ** np.ceil(np.log(2 * wanted) / np.log(_BETWEEN_LEVELS))
        if before is None:
            return above
        served = (wanted <= before * _MOST_SERVED) & (wanted >= before * _LEAST_SERVED)
        return np.where(served, before, above)

    def solve(self, vectors: Floats, levels: Scalars) -> Floats:
        solved = vectors.copy()
        # Vectors of several outputs sum to zero, so the last one need not be solved for.
        n_solved = max(vectors.shape[1] - 1, 1)
        for level in np.unique(levels).tolist():
            chosen = np.flatnonzero(levels == level)
            inner = vectors[chosen, :n_solved, :-1].astype(np.float32, copy=False)
            flat = self._inverse(level)(inner.reshape(-1, inner.shape[-1]))
            solved[chosen, :n_solved, :-1] = flat.reshape(inner.shape)
        if n_solved < vectors.shape[1]:
            solved[:, -1, :-1] = -solved[:, :-1, :-1].sum(axis=1)
        return solved

    def scale(self, weight: Floats, ridge: Scalars, levels: Scalars) -> Floats:
        # Where hardly any weight is left, the ridge is all the curvature there is.
        from_ridge = per_walker(ridge / levels, weight[:, :, None])
        tiny = np.finfo(weight.dtype).tiny
        scale = np.empty((*weight.shape, self.measured.shape[1] + 1), dtype=weight.dtype)
        scale[:, :, :-1] = 1 / np.maximum(np.maximum(weight[:, :, None], from_ridge), tiny)
        scale[:, :, -1] = 1 / np.maximum(_intercept_curvature(weight), tiny)
        return scale

    def logit_sizes(self, points: Floats) -> Scalars:
        # One product for all: one for each walker would take several times as long.
        flat = points[:, :, :-1].reshape(-1, points.shape[-1] - 1).astype(np.float32, copy=False)
        logits, intercepts = (flat @ self.measured.T).reshape(len(points), -1), points[:, :, -1]
        return np.sqrt(dots(logits, logits) / len(self.measured) + dots(intercepts, intercepts))

    def astype(self, dtype: Precision) -> Sampled:
        """Return this one: what only steers may be less precise than what it steers."""
        return self

    def _inverse(self, level: float) -> Inverse:
        if level not in self.inverses:
            self.inverses[level] = self.sample.inverse(level)
        return self.inverses[level]


def _intercept_curvature(weight: Floats) -> Floats:
    """Return the curvature along each intercept: a class that is told apart all but surely still has some.

    Without a penalty there would be none, and the step would go anywhere, even along all intercepts together.
    """
    curvature: Floats = np.maximum(weight, _LEAST_WEIGHT * weight.max(axis=1, keepdims=True))
    return curvature


def relative_logit_sizes(curvature: Curvature, points: Floats, tolerance: float, *steps: Floats) -> Scalars:
    """Return how large the logits of each walker's steps are, at most, relative to those that its weights give."""
    weights = points.copy()
    weights[..., -1] = 0
    # Where features say next to nothing, an error within the intercept's own rounding is as good as none.
    smallest = 4 * np.finfo(points.dtype).eps / tolerance
    largest = np.max([curvature.logit_sizes(step) for step in steps], axis=0)
    relative: Scalars = largest / np.maximum(curvature.logit_sizes(weights), smallest)
    return relative


def dots(a: Floats, b: Floats) -> Scalars:
    """Return one scalar product per walker."""
    # As products of a row and a column, which take half the time of einsum's.
    product: Scalars = np.matmul(a.reshape(len(a), 1, -1), b.reshape(len(b), -1, 1))[:, 0, 0].astype(np.float64)
    return product


def per_walker(values: Scalars, like: Floats) -> Floats:
    """Shape one number per walker for arithmetic with points, without widening them to float64."""
    return values.astype(like.dtype)[:, None, None]
