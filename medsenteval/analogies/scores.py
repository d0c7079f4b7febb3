"""How well a candidate completes an analogy: exact formulas in float64, and the same scores as sums of few factors.

A score here belongs to a triple of an exemplar (a and b), a query (c) and a candidate (d). What makes counting fast is that
it falls apart: what exemplar and candidate have to do with each other is computed once for each exemplar, likewise for each
query, and the two are joined by one addition or multiplication. ``exact`` is what a score means; the float32 factors only sort
out the candidates that are far from equal.

n(x) is x / |x|. Candidates are phrase vectors as encoded (float32 rows, none of them zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AdditiveScore",
    "Candidates",
    "Constants",
    "DistanceScore",
    "Factors",
    "LogisticScore",
    "RatioScore",
    "Score",
]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Unit roundoff of float32.
_ROUNDOFF: Final = 2.0**-24
#: Gathered vectors of so many triples fit into a core's cache.
_TRIPLES_A_BLOCK: Final = 512
#: Distances and denominators below this part of their size are computed anew in float64: differences lose their digits there.
_CANCELLATION: Final = 0.25


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate answers: vectors as encoded, their lengths, and the float32 unit vectors of the block products."""

    vectors: NDArray[np.float32]
    lengths: Floats
    unit: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Candidates:
        """Prepare candidates; a zero vector has no direction and must have been left out before."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        lengths = np.empty(len(vectors))
        unit = np.empty_like(vectors)
        for begin in range(0, len(vectors), 1 << 13):
            part = vectors[begin : begin + (1 << 13)].astype(np.float64)
            lengths[begin : begin + len(part)] = np.sqrt(np.einsum("nd,nd->n", part, part))
            with np.errstate(divide="ignore", invalid="ignore"):
                unit[begin : begin + len(part)] = part / lengths[begin : begin + len(part), None]
        if not (lengths > 0).all():
            raise ValueError("a candidate has the zero vector; leave out what the encoder does not know")
        return cls(vectors, lengths, unit)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])


@dataclass(frozen=True, eq=False)
class Factors:
    """A block of candidates in float32: one row an exemplar (``first``, ``scale``) and one row a query (``second``)."""

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    scale: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Constants:
    """What decides, for each triple of an answer, whether a candidate v beats it by more than rounding can explain.

    Sums:   z = first[e, v] + weight * second[q, v] - offset.   Products:   z = first[e, v] * second[q, v] - offset * scale[e, v].
    v is surely better where z > margin, surely worse where z < -margin; NaN is neither.
    """

    weight: NDArray[np.float32]
    offset: NDArray[np.float32]
    margin: NDArray[np.float32]

    def take(self, rows: Rows | slice) -> Constants:
        return Constants(self.weight[rows], self.offset[rows], self.margin[rows])


class Score(ABC):
    """A score over candidates for exemplars and queries, which are known by their numbers."""

    form: Literal["sum", "product"]

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        """Return the float64 scores of triples (exemplar, query, candidate row); undefined ones are minus infinity.

        A triple's score is the same to the last bit wherever it stands, so equal vectors tie.
        """
        scores = np.empty(len(rows))
        for begin in range(0, len(rows), _TRIPLES_A_BLOCK):
            part = slice(begin, begin + _TRIPLES_A_BLOCK)
            vectors = self.candidates.vectors[rows[part]].astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                scores[part] = self._exact(exemplars[part], queries[part], rows[part], vectors)
        scores[np.isnan(scores)] = -np.inf
        return scores

    @abstractmethod
    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows, vectors: Floats) -> Floats: ...

    @abstractmethod
    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        """Return the factors of a block of candidates with these exemplars and queries."""

    @abstractmethod
    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        """Return what compares every candidate with answers that have these exact scores."""

    @property
    def _product_error(self) -> float:
        """How far a float32 product of unit vectors may be off: four times the probable bound of Higham and Mary (2019)."""
        return _ROUNDOFF * (4.0 * float(np.sqrt(self.candidates.dimension)) + 4.0)


def _dots(left: Floats, right: Floats) -> Floats:
    """Return row by row dot products; einsum and not BLAS, whose last digits depend on a row's place in the block."""
    products: Floats = np.einsum("nd,nd->n", left, right)
    return products


def _lengths(vectors: Floats) -> Floats:
    return np.sqrt(_dots(vectors, vectors))


def _single(values: Floats) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def _cross(rows: NDArray[np.float32], block: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.ascontiguousarray(rows @ block.T)


class AdditiveScore(Score):
    """n(d) . (offset + c): 3CosAdd with offset b - a, 3CosAvg with a mean offset, the baselines with one part zero."""

    form = "sum"

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._offsets, self._queries = offsets, queries
        self._offsets32, self._queries32 = _single(offsets), _single(queries)
        self._sizes = _lengths(offsets), _lengths(queries)

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows, vectors: Floats) -> Floats:
        return _dots(vectors, self._offsets[exemplars] + self._queries[queries]) / self.candidates.lengths[rows]

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        unit = self.candidates.unit[block]
        first = _cross(self._offsets32[exemplars], unit)
        return Factors(first, _cross(self._queries32[queries], unit), first)

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        margin = self._product_error * (self._sizes[0][exemplars] + self._sizes[1][queries]) + 4 * _ROUNDOFF * np.abs(exact)
        return Constants(np.ones(len(exact), dtype=np.float32), _single(exact), _single(margin))


class DistanceScore(Score):
    """PairwiseDistance: (d - c) . (b - a) / (|d - c| |b - a|) with d as encoded; d = c has no direction and comes last.

    v beats an answer of score s where (v - c) . (b - a) - s |b - a| |v - c| > 0, a sum of two factors and a constant.
    """

    form = "sum"

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._offsets, self._queries = offsets, queries
        self._offsets32, self._queries32 = _single(offsets), _single(queries)
        self._sizes = _lengths(offsets), _lengths(queries)
        self._longest = float(candidates.lengths.max())

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows, vectors: Floats) -> Floats:
        steps = vectors - self._queries[queries]
        scores: Floats = _dots(steps, self._offsets[exemplars]) / (_lengths(steps) * self._sizes[0][exemplars])
        return scores

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        vectors = self.candidates.vectors[block]
        first = _cross(self._offsets32[exemplars], vectors)
        squares = (
            (self.candidates.lengths[block] ** 2)[None, :]
            + (self._sizes[1][queries] ** 2)[:, None]
            - 2.0 * _cross(self._queries32[queries], vectors)
        )
        near = np.argwhere(squares < self._near(queries)[:, None] ** 2)
        distances = np.sqrt(np.maximum(squares, 0.0))
        if len(near):
            steps = vectors[near[:, 1]].astype(np.float64) - self._queries[queries[near[:, 0]]]
            lengths = _lengths(steps)
            # At the query itself the score is undefined: NaN sends it to the exact formula.
            distances[near[:, 0], near[:, 1]] = np.where(lengths > 0, lengths, np.nan)
        return Factors(first, _single(distances), first)

    def _near(self, queries: Rows) -> Floats:
        near: Floats = _CANCELLATION * np.maximum(self._sizes[1][queries], 1e-3 * self._longest)
        return near

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        offset_size, query_size = self._sizes[0][exemplars], self._sizes[1][queries]
        slope = exact * offset_size
        start = _dots(self._offsets[exemplars], self._queries[queries])
        square_error = 2.0 * self._product_error * self._longest * query_size
        # The root turns an error of the square into half of it over the distance, which is at least ``near``.
        distance_error = square_error / (2.0 * self._near(queries)) + 4 * _ROUNDOFF * (self._longest + query_size)
        margin = self._product_error * offset_size * (self._longest + query_size) + np.abs(slope) * distance_error
        margin += 4 * _ROUNDOFF * np.abs(start)
        return Constants(_single(-slope), _single(start), _single(margin))


class RatioScore(Score):
    """3CosMul: cos(d, b) cos(d, c) / (cos(d, a) + epsilon), each cosine x taken as (x + 1) / 2 where ``shifted``.

    v beats an answer of score s where its numerator exceeds s times its denominator; where the denominator is negative (only
    possible with unshifted cosines) both change their sign.
    """

    form = "product"

    def __init__(
        self, candidates: Candidates, a: Floats, b: Floats, queries: Floats, *, shifted: bool = True, epsilon: float = 1e-3
    ) -> None:
        super().__init__(candidates)
        self._a, self._b, self._c = (vectors / _lengths(vectors)[:, None] for vectors in (a, b, queries))
        self._a32, self._b32, self._c32 = map(_single, (self._a, self._b, self._c))
        self._slope, self._shift = (0.5, 0.5) if shifted else (1.0, 0.0)
        self._epsilon = epsilon

    def _cosines(self, vectors: Floats, lengths: Floats, others: Floats) -> Floats:
        return self._slope * (_dots(vectors, others) / lengths) + self._shift

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows, vectors: Floats) -> Floats:
        lengths = self.candidates.lengths[rows]
        above = self._cosines(vectors, lengths, self._b[exemplars]) * self._cosines(vectors, lengths, self._c[queries])
        ratio: Floats = above / (self._cosines(vectors, lengths, self._a[exemplars]) + self._epsilon)
        return ratio

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        unit = self.candidates.unit[block]
        slope, shift = np.float32(self._slope), np.float32(self._shift)
        first = slope * _cross(self._b32[exemplars], unit) + shift
        second = slope * _cross(self._c32[queries], unit) + shift
        below = slope * _cross(self._a32[exemplars], unit) + np.float32(self._shift + self._epsilon)
        if self._shift == 0.0:
            unclear = np.argwhere(np.abs(below) < 4 * self._product_error)
            if len(unclear):
                numbers, places = unclear.T
                rows = np.arange(block.start, block.stop)[places]
                vectors = self.candidates.vectors[rows].astype(np.float64)
                cosines = self._cosines(vectors, self.candidates.lengths[rows], self._a[exemplars[numbers]])
                below[numbers, places] = cosines + self._epsilon
            first = np.where(below < 0, -first, first)
            below = np.where(below == 0, np.float32(np.nan), np.abs(below))
        return Factors(_single(first), second, below)

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        margin = 2.0 * (self._product_error + 4 * _ROUNDOFF) * (1.0 + np.abs(exact))
        return Constants(np.ones(len(exact), dtype=np.float32), _single(exact), _single(margin))


class LogisticScore(Score):
    """LRCos: the probability that d is of the answers' kind times cos(d, c); one logistic regression an exemplar."""

    form = "product"

    def __init__(self, candidates: Candidates, weights: Floats, intercepts: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._weights, self._intercepts = weights, intercepts
        self._c = queries / _lengths(queries)[:, None]
        self._weights32, self._c32 = _single(weights), _single(self._c)
        self._sizes = _lengths(weights)

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows, vectors: Floats) -> Floats:
        unit = vectors / self.candidates.lengths[rows][:, None]
        return _sigmoid(_dots(unit, self._weights[exemplars]) + self._intercepts[exemplars]) * _dots(unit, self._c[queries])

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        unit = self.candidates.unit[block]
        logits = _cross(self._weights32[exemplars], unit).astype(np.float64) + self._intercepts[exemplars][:, None]
        probabilities = _single(_sigmoid(logits))
        return Factors(probabilities, _cross(self._c32[queries], unit), np.ones_like(probabilities))

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        # The sigmoid is at most a quarter as steep as its logit.
        margin = self._product_error * (1.0 + 0.25 * self._sizes[exemplars]) + 8 * _ROUNDOFF
        return Constants(np.ones(len(exact), dtype=np.float32), _single(exact), _single(margin))


def _sigmoid(logits: Floats) -> Floats:
    from scipy.special import expit

    probabilities: Floats = expit(logits)
    return probabilities
