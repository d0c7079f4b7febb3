"""How well a candidate completes an analogy: exact formulas, and nearly the same scores as sums or products of few factors.

A score here belongs to a triple of an exemplar (a and b), a query (c) and a candidate (d). What makes counting fast is that
it falls apart: what exemplar and candidate have to do with each other is computed once for each exemplar, likewise for each
query, and the two are joined by one addition or multiplication. ``exact`` is what a score means, to the last bit; the factors
only sort out the candidates that are far from equal.

n(x) is x / |x|. Candidates are phrase vectors as encoded (float32 rows, none of them zero). All arithmetic is float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats, Rows

#: What is closer than this, as a share of the terms' sizes, is left to the exact formula. Rounding reaches 1e-12 in sums over
#: thousands of coordinates, and the square root of that in the distance of a candidate that nearly is the query.
_MARGIN: Final = 1e-6
#: Gathered vectors of so many pairs fit into a core's cache.
_PAIRS_A_BLOCK: Final = 512


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate answers: vectors as encoded, and their lengths."""

    vectors: NDArray[np.float32]
    lengths: Floats

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Candidates:
        """Prepare candidates; a zero vector has no direction and must have been left out before."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        lengths = np.empty(len(vectors))
        for part in _blocks(len(vectors)):
            lengths[part] = _lengths_of(vectors[part].astype(np.float64))
        if not lengths.all():
            raise ValueError("a candidate has the zero vector; leave out what the encoder does not know")
        return cls(vectors, lengths)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def unit(self, rows: slice | Rows) -> Floats:
        """Return the directions of some candidates."""
        return self.vectors[rows] / self.lengths[rows, None]

    def dots(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        """Return ``vectors[rows[i]] . table[numbers[i]]`` for every i.

        A pair's product is the same to the last bit wherever it stands among others, so that equal vectors tie; BLAS does not
        promise that.
        """
        out = np.empty(len(rows))
        for part in _blocks(len(rows)):
            out[part] = np.einsum("nd,nd->n", self.vectors[rows[part]].astype(np.float64), table[numbers[part]])
        return out


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _PAIRS_A_BLOCK) for begin in range(0, n, _PAIRS_A_BLOCK))


class Factors(NamedTuple):
    """What the scores of a block are made of: rows of exemplars (``first``) and of queries (``second``)."""

    first: Floats
    second: Floats


class Comparison(NamedTuple):
    """What decides, for each answer, whether a candidate v beats it by more than rounding can explain.

    z = first[e, v] + weight * second[q, v] - offset, or first[e, v] * second[q, v] - offset where ``product``. v is surely
    better where z > margin and surely worse where z < -margin.
    """

    product: bool
    weight: Floats
    offset: Floats
    margin: Floats


class Score(ABC):
    """A score over candidates for exemplars and queries, which are known by their numbers."""

    candidates: Candidates

    @abstractmethod
    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        """Return the scores of triples (exemplar, query, candidate row); undefined ones are minus infinity."""

    @abstractmethod
    def factors(self, block: slice) -> Factors:
        """Return the factors of a block of candidates with all exemplars and queries."""

    @abstractmethod
    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        """Return what compares every candidate with answers that have these exact scores."""


def _lengths_of(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return lengths


def _ratios(above: Floats, below: Floats) -> Floats:
    """Divide; what is divided by zero is undefined and comes last."""
    ratios: Floats = np.divide(above, below, out=np.full(len(above), -np.inf), where=below != 0)
    return ratios


class AdditiveScore(Score):
    """n(d) . (offset + c): 3CosAdd with offset b - a, 3CosAvg with a mean offset, the baselines with one part zero."""

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        self.candidates, self._offsets, self._queries = candidates, offsets, queries

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products = self.candidates.dots(rows, self._offsets, exemplars) + self.candidates.dots(rows, self._queries, queries)
        return products / self.candidates.lengths[rows]

    def factors(self, block: slice) -> Factors:
        unit = self.candidates.unit(block).T
        return Factors(self._offsets @ unit, self._queries @ unit)

    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        sizes = _lengths_of(self._offsets)[exemplars] + _lengths_of(self._queries)[queries]
        return Comparison(False, np.ones(len(exact)), exact, _MARGIN * sizes)


class DistanceScore(Score):
    """PairwiseDistance: (d - c) . (b - a) / (|d - c| |b - a|) with d as encoded; d = c has no direction and comes last.

    v beats an answer of score s where (v - c) . (b - a) - s |b - a| |v - c| > 0, a sum of two factors and a constant.
    """

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        self.candidates, self._offsets, self._queries = candidates, offsets, queries
        self._sizes = _lengths_of(offsets), _lengths_of(queries)

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products, lengths = np.empty((2, len(rows)))
        for part in _blocks(len(rows)):
            steps = self.candidates.vectors[rows[part]].astype(np.float64) - self._queries[queries[part]]
            products[part] = np.einsum("nd,nd->n", steps, self._offsets[exemplars[part]])
            lengths[part] = _lengths_of(steps)
        return _ratios(products, lengths * self._sizes[0][exemplars])

    def factors(self, block: slice) -> Factors:
        vectors = self.candidates.vectors[block].T.astype(np.float64)
        squares = self.candidates.lengths[block] ** 2 + self._sizes[1][:, None] ** 2 - 2.0 * (self._queries @ vectors)
        return Factors(self._offsets @ vectors, np.sqrt(np.maximum(squares, 0.0)))

    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        offset_size, query_size = self._sizes[0][exemplars], self._sizes[1][queries]
        # No cosine is below -1: an undefined score is as far below all of them as this.
        slope = np.maximum(exact, -2.0) * offset_size
        start = np.einsum("nd,nd->n", self._offsets[exemplars], self._queries[queries])
        return Comparison(False, -slope, start, 3 * _MARGIN * offset_size * (self.candidates.lengths.max() + query_size))


class RatioScore(Score):
    """3CosMul: cos(d, b) cos(d, c) / (cos(d, a) + epsilon), each cosine x taken as (x + 1) / 2 where ``shifted``."""

    def __init__(
        self, candidates: Candidates, a: Floats, b: Floats, queries: Floats, *, shifted: bool = True, epsilon: float = 1e-3
    ) -> None:
        self.candidates, self._epsilon = candidates, epsilon
        self._a, self._b, self._c = (vectors / _lengths_of(vectors)[:, None] for vectors in (a, b, queries))
        self._slope, self._shift = (0.5, 0.5) if shifted else (1.0, 0.0)

    def _cosines(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        return self._slope * (self.candidates.dots(rows, table, numbers) / self.candidates.lengths[rows]) + self._shift

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        above = self._cosines(rows, self._b, exemplars) * self._cosines(rows, self._c, queries)
        return _ratios(above, self._cosines(rows, self._a, exemplars) + self._epsilon)

    def factors(self, block: slice) -> Factors:
        unit = self._slope * self.candidates.unit(block).T
        first, second, below = (table @ unit + self._shift for table in (self._b, self._c, self._a))
        below += self._epsilon
        # Where the sign of the denominator is not sure, no number stands, which sends the candidate to the exact formula.
        below[np.abs(below) < _MARGIN] = np.nan
        return Factors(first / below, second)

    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        # An undefined score is as far below all others as this.
        exact = np.maximum(exact, -1e30)
        return Comparison(True, np.ones(len(exact)), exact, _MARGIN * (1.0 + np.abs(exact)))


class LogisticScore(Score):
    """LRCos: the probability that d is of the answers' kind times cos(d, c); one logistic regression an exemplar."""

    def __init__(self, candidates: Candidates, weights: Floats, intercepts: Floats, queries: Floats) -> None:
        self.candidates, self._weights, self._intercepts = candidates, weights, intercepts
        self._c = queries / _lengths_of(queries)[:, None]

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        lengths = self.candidates.lengths[rows]
        logits = self.candidates.dots(rows, self._weights, exemplars) / lengths + self._intercepts[exemplars]
        return _sigmoid(logits) * (self.candidates.dots(rows, self._c, queries) / lengths)

    def factors(self, block: slice) -> Factors:
        unit = self.candidates.unit(block).T
        probabilities = _sigmoid(self._weights @ unit + self._intercepts[:, None])
        return Factors(probabilities, self._c @ unit)

    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        # The sigmoid is at most a quarter as steep as its logit.
        return Comparison(True, np.ones(len(exact)), exact, _MARGIN * (1.0 + _lengths_of(self._weights)[exemplars]))


def _sigmoid(logits: Floats) -> Floats:
    from scipy.special import expit

    probabilities: Floats = expit(logits)
    return probabilities
