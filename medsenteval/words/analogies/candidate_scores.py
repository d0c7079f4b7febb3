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

from medsenteval.support.arrays import Floats, Rows, Singles
from medsenteval.words.analogies.counting import Factors

#: Unit roundoff of float32.
_ROUNDOFF: Final = 2.0**-24
#: Distances below this part of the query's length are computed anew in float64: their squares lose digits in float32.
_CANCELLATION: Final = 0.25
#: Gathered vectors of so many pairs fit into a core's cache.
_PAIRS_A_BLOCK: Final = 512


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate answers: vectors as encoded, their lengths, and the float32 unit vectors of the block products.

    ``compiled`` says whether the innermost loops run compiled by numba or with NumPy.
    """

    vectors: NDArray[np.float32]
    lengths: Floats
    unit: NDArray[np.float32]
    compiled: bool

    @classmethod
    def of(cls, vectors: NDArray[np.float32], *, compiled: bool = False) -> Candidates:
        """Prepare candidates; a zero vector has no direction and must have been left out before."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        lengths, unit = np.empty(len(vectors)), np.empty_like(vectors)
        for begin in range(0, len(vectors), _PAIRS_A_BLOCK):
            part = slice(begin, begin + _PAIRS_A_BLOCK)
            lengths[part] = _lengths_of(vectors[part].astype(np.float64))
            if not lengths[part].all():
                raise ValueError("a candidate has the zero vector; leave out what the encoder does not know")
            np.divide(vectors[part], lengths[part, None], out=unit[part], casting="same_kind")
        return cls(vectors, lengths, unit, compiled)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def dots(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        """Return ``vectors[rows[i]] . table[numbers[i]]`` for every i, in float64.

        A pair's product is the same to the last bit wherever it stands among others, so that equal vectors tie; BLAS does not
        promise that.
        """
        out = np.empty(len(rows))
        for begin in range(0, len(rows), _PAIRS_A_BLOCK):
            part = slice(begin, begin + _PAIRS_A_BLOCK)
            out[part] = np.einsum("nd,nd->n", self.vectors[rows[part]].astype(np.float64), table[numbers[part]])
        return out

    def steps(self, rows: Rows, origins: Floats, origin_numbers: Rows, table: Floats, numbers: Rows) -> tuple[Floats, Floats]:
        """Return products of the steps ``vectors[rows[i]] - origins[...]`` with ``table[...]``, and the steps' lengths."""
        products, lengths = np.empty(len(rows)), np.empty(len(rows))
        for begin in range(0, len(rows), _PAIRS_A_BLOCK):
            part = slice(begin, begin + _PAIRS_A_BLOCK)
            steps = self.vectors[rows[part]].astype(np.float64) - origins[origin_numbers[part]]
            products[part] = np.einsum("nd,nd->n", steps, table[numbers[part]])
            lengths[part] = _lengths_of(steps)
        return products, lengths


class Score(ABC):
    """A score over candidates for exemplars and queries, which are known by their numbers."""

    form: Literal["sum", "product"]

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates

    @abstractmethod
    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        """Return the float64 scores of triples (exemplar, query, candidate row); undefined ones are minus infinity."""

    @abstractmethod
    def factors(self, block: slice) -> Factors:
        """Return the factors of a block of candidates with all exemplars and queries."""

    @abstractmethod
    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weight, offset and margin that compare every candidate with answers that have these exact scores."""

    @property
    def _product_error(self) -> float:
        """How far a float32 product of unit vectors may be off.

        Rounding errors of a sum of n products behave like a random walk: with high probability they stay below a small
        multiple of sqrt(n) roundoffs (Higham and Mary 2019). Twice that is seven standard deviations for parallel vectors.
        """
        return _ROUNDOFF * (2.0 * float(np.sqrt(self.candidates.dimension)) + 4.0)


def _single(values: Floats) -> Singles:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def _lengths_of(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return lengths


def _ratios(above: Floats, below: Floats) -> Floats:
    """Divide; what is divided by zero is undefined and comes last."""
    ratios: Floats = np.divide(above, below, out=np.full(len(above), -np.inf), where=below != 0)
    return ratios


class AdditiveScore(Score):
    """n(d) . (offset + c): 3CosAdd with offset b - a, 3CosAvg with a mean offset, the baselines with one part zero."""

    form = "sum"

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._offsets, self._queries = offsets, queries
        self._offsets32, self._queries32 = _single(offsets), _single(queries)
        self._sizes = _lengths_of(offsets), _lengths_of(queries)

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products = self.candidates.dots(rows, self._offsets, exemplars) + self.candidates.dots(rows, self._queries, queries)
        return products / self.candidates.lengths[rows]

    def factors(self, block: slice) -> Factors:
        unit = self.candidates.unit[block].T
        first = self._offsets32 @ unit
        return Factors(first, self._queries32 @ unit, first)

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> tuple[Floats, Floats, Floats]:
        margin = self._product_error * (self._sizes[0][exemplars] + self._sizes[1][queries]) + 4 * _ROUNDOFF * np.abs(exact)
        return np.ones(len(exact)), exact, margin


class DistanceScore(Score):
    """PairwiseDistance: (d - c) . (b - a) / (|d - c| |b - a|) with d as encoded; d = c has no direction and comes last.

    v beats an answer of score s where (v - c) . (b - a) - s |b - a| |v - c| > 0, a sum of two factors and a constant.
    """

    form = "sum"

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._offsets, self._queries = offsets, queries
        self._offsets32, self._queries32 = _single(offsets), _single(queries)
        self._sizes = _lengths_of(offsets), _lengths_of(queries)
        self._longest = float(candidates.lengths.max())

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products, lengths = self.candidates.steps(rows, self._queries, queries, self._offsets, exemplars)
        return _ratios(products, lengths * self._sizes[0][exemplars])

    def factors(self, block: slice) -> Factors:
        vectors, sizes = self.candidates.vectors[block], self._sizes[1]
        first = self._offsets32 @ vectors.T
        squares = (self._queries32 @ vectors.T).astype(np.float64)
        squares *= -2.0
        squares += self.candidates.lengths[block] ** 2 + sizes[:, None] ** 2
        near = np.argwhere(squares < self._near(sizes)[:, None] ** 2)
        distances = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
        if len(near):
            # At the query itself z is zero, which sends it to the exact formula.
            distances[near[:, 0], near[:, 1]] = _lengths_of(vectors[near[:, 1]] - self._queries[near[:, 0]])
        return Factors(first, _single(distances), first)

    def _near(self, query_sizes: Floats) -> Floats:
        near: Floats = _CANCELLATION * np.maximum(query_sizes, 1e-3 * self._longest)
        return near

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> tuple[Floats, Floats, Floats]:
        offset_size, query_size = self._sizes[0][exemplars], self._sizes[1][queries]
        # No cosine is below -1: an undefined score is as far below all of them as this.
        slope = np.maximum(exact, -2.0) * offset_size
        start = np.einsum("nd,nd->n", self._offsets[exemplars], self._queries[queries])
        square_error = 2.0 * self._product_error * self._longest * query_size
        # The root turns an error of the square into half of it over the distance, which is at least ``near``.
        distance_error = square_error / (2.0 * self._near(query_size)) + 4 * _ROUNDOFF * (self._longest + query_size)
        margin = self._product_error * offset_size * (self._longest + query_size) + np.abs(slope) * distance_error
        margin += 4 * _ROUNDOFF * np.abs(start)
        return -slope, start, margin


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
        self._a, self._b, self._c = (vectors / _lengths_of(vectors)[:, None] for vectors in (a, b, queries))
        self._slope, self._shift = (0.5, 0.5) if shifted else (1.0, 0.0)
        # Powers of two: the products are those of the unit vectors, scaled without rounding.
        self._a32, self._b32, self._c32 = (_single(self._slope * vectors) for vectors in (self._a, self._b, self._c))
        self._epsilon = epsilon

    def _cosines(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        return self._slope * (self.candidates.dots(rows, table, numbers) / self.candidates.lengths[rows]) + self._shift

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        above = self._cosines(rows, self._b, exemplars) * self._cosines(rows, self._c, queries)
        return _ratios(above, self._cosines(rows, self._a, exemplars) + self._epsilon)

    def factors(self, block: slice) -> Factors:
        unit, shift = self.candidates.unit[block].T, np.float32(self._shift)
        first, second = self._b32 @ unit + shift, self._c32 @ unit + shift
        below = self._a32 @ unit + np.float32(self._shift + self._epsilon)
        if self._shift == 0.0:
            unclear = np.argwhere(np.abs(below) < 4 * self._product_error)
            if len(unclear):
                numbers, places = unclear.T
                below[numbers, places] = self._cosines(places + block.start, self._a, numbers) + self._epsilon
            # Where the denominator is zero z is zero too, which sends the candidate to the exact formula.
            first *= np.sign(below)
            below = np.abs(below)
        return Factors(first, second, below)

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> tuple[Floats, Floats, Floats]:
        """Bound what rounding does to b c - s f, f = a + epsilon, with u the roundoff and p the error of a product.

        Let g be the slope, so that a factor is off by g p + u for adding the shift, f by g p + 2 u for epsilon too. No factor
        exceeds 1 (f by a thousandth), so b c is off by 2 (g p + u) and u for the product's rounding; s f by |s| (g p + 2 u)
        and 2 u |s| for rounding s and the product; the difference by u (1 + |s|). All in all g p (2 + |s|) + u (4 + 5 |s|).
        """
        # An undefined score is as far below all others as this.
        exact = np.maximum(exact, -1e30)
        margin = self._slope * self._product_error * (2.0 + np.abs(exact)) + 6 * _ROUNDOFF * (1.0 + np.abs(exact))
        return np.ones(len(exact)), exact, margin


class LogisticScore(Score):
    """LRCos: the probability that d is of the answers' kind times cos(d, c); one logistic regression an exemplar."""

    form = "product"

    def __init__(self, candidates: Candidates, weights: Floats, intercepts: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._weights, self._intercepts = weights, intercepts
        self._c = queries / _lengths_of(queries)[:, None]
        self._weights32, self._c32 = _single(weights), _single(self._c)
        self._sizes = _lengths_of(weights)

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        lengths = self.candidates.lengths[rows]
        logits = self.candidates.dots(rows, self._weights, exemplars) / lengths + self._intercepts[exemplars]
        return _sigmoid(logits) * (self.candidates.dots(rows, self._c, queries) / lengths)

    def factors(self, block: slice) -> Factors:
        unit = self.candidates.unit[block].T
        logits = (self._weights32 @ unit).astype(np.float64) + self._intercepts[:, None]
        probabilities = _single(_sigmoid(logits))
        return Factors(probabilities, self._c32 @ unit, np.ones_like(probabilities))

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> tuple[Floats, Floats, Floats]:
        # The sigmoid is at most a quarter as steep as its logit.
        margin = self._product_error * (1.0 + 0.25 * self._sizes[exemplars]) + 8 * _ROUNDOFF
        return np.ones(len(exact)), exact, margin


def _sigmoid(logits: Floats) -> Floats:
    from scipy.special import expit

    probabilities: Floats = expit(logits)
    return probabilities
