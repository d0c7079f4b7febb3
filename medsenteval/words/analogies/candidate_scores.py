"""How well a candidate completes an analogy: exact formulas, and nearly the same scores as sums or products of two factors.

A score here belongs to a triple of an exemplar (a and b), a query (c) and a candidate (d). What makes counting fast is that
it falls apart: what exemplar and candidate have to do with each other is computed once for each exemplar, likewise for each
query, and the two are joined by one addition or multiplication. ``exact`` is what a score means, to the last bit; the factors
only sort out the candidates that are far from equal.

n(x) is x / |x|. Candidates are phrase vectors as encoded (float32 rows, none of them zero). All arithmetic is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats, Rows

#: What is closer than this, as a share of the terms' sizes, is left to the exact formula. Rounding reaches 1e-12 in sums over
#: thousands of coordinates, and the square root of that in the distance of a candidate that nearly is the query.
_MARGIN: Final = 1e-6
#: Gathered vectors of so many pairs fit into a core's cache.
_PAIRS_A_BLOCK: Final = 512
#: Undefined scores are compared as if they were this: far below all others.
_LOWEST: Final = -1e300


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

    def unit(self, rows: slice | Rows) -> Floats:
        """Return the directions of some candidates."""
        return self.vectors[rows] / self.lengths[rows, None]

    def dots(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        """Return the products of the directions of candidates ``rows[i]`` with ``table[numbers[i]]``.

        A pair's product is the same to the last bit wherever it stands among others, so that equal vectors tie; BLAS does not
        promise that.
        """
        out = np.empty(len(rows))
        for part in _blocks(len(rows)):
            out[part] = _paired(self.unit(rows[part]), table[numbers[part]])
        return out


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _PAIRS_A_BLOCK) for begin in range(0, n, _PAIRS_A_BLOCK))


def _paired(vectors: Floats, others: Floats) -> Floats:
    products: Floats = np.einsum("nd,nd->n", vectors, others)
    return products


def _lengths_of(vectors: Floats) -> Floats:
    return np.sqrt(_paired(vectors, vectors))


#: From a table of vectors to the products of candidates' directions with them: all with all, or pair by pair.
Dots = Callable[[Floats], Floats]


class Comparison(NamedTuple):
    """What decides, for each answer, whether a candidate v beats it by more than rounding can explain.

    With the factors of exemplars and of queries z = first[e, v] + weight * second[q, v] - offset, or first[e, v] *
    second[q, v] - offset where ``product``. v is surely better where z > margin and surely worse where z < -margin.
    """

    product: bool
    weight: Floats
    offset: Floats
    margin: Floats


class AdditiveScore:
    """n(d) . (offset + c): 3CosAdd with offset b - a, 3CosAvg with a mean offset, the baselines with one part zero.

    The other scores replace what they compute otherwise. Exemplars and queries are tables of vectors, known by their rows.
    """

    product = False

    def __init__(self, candidates: Candidates, exemplars: Floats, queries: Floats) -> None:
        self.candidates, self._exemplars, self._queries = candidates, exemplars, queries
        self._sizes = _lengths_of(exemplars), _lengths_of(queries)

    def first(self, dots: Dots, which: Any, smallest: float) -> Floats:
        """Return the factor of exemplars, of which ``which`` are meant; no number where a divisor is not above ``smallest``."""
        return dots(self._exemplars)

    def second(self, dots: Dots) -> Floats:
        return dots(self._queries)

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        """Return the scores of triples (exemplar, query, candidate row); undefined ones are minus infinity."""
        first = self.first(lambda table: self.candidates.dots(rows, table, exemplars), exemplars, 0.0)
        second = self.second(lambda table: self.candidates.dots(rows, table, queries))
        scores = first * second if self.product else first + second
        return np.where(np.isnan(scores), -np.inf, scores)

    def factors(self, block: slice) -> tuple[Floats, Floats]:
        """Return the factors of a block of candidates: a row for each exemplar, and a row for each query."""
        unit = self.candidates.unit(block).T
        return self.first(lambda table: table @ unit, np.s_[:, None], _MARGIN), self.second(lambda table: table @ unit)

    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        """Return what compares every candidate with answers that have these exact scores."""
        exact = np.maximum(exact, _LOWEST)
        margin = _MARGIN * (self._sizes[0][exemplars] + self._sizes[1][queries] + np.abs(exact))
        return Comparison(self.product, np.ones(len(exact)), exact, margin)


class DistanceScore(AdditiveScore):
    """PairwiseDistance: (d - c) . (b - a) / (|d - c| |b - a|) with d as encoded; d = c has no direction and comes last.

    v beats an answer of score s where (v - c) . (b - a) - s |b - a| |v - c| > 0, a sum of two factors and a constant.
    """

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products, lengths = np.empty((2, len(rows)))
        for part in _blocks(len(rows)):
            steps = self.candidates.vectors[rows[part]].astype(np.float64) - self._queries[queries[part]]
            products[part] = _paired(steps, self._exemplars[exemplars[part]])
            lengths[part] = _lengths_of(steps)
        return _ratios(products, lengths * self._sizes[0][exemplars], -np.inf)

    def factors(self, block: slice) -> tuple[Floats, Floats]:
        vectors = self.candidates.vectors[block].T.astype(np.float64)
        squares = self.candidates.lengths[block] ** 2 + self._sizes[1][:, None] ** 2 - 2.0 * (self._queries @ vectors)
        return self._exemplars @ vectors, np.sqrt(np.maximum(squares, 0.0))

    def comparison(self, exemplars: Rows, queries: Rows, exact: Floats) -> Comparison:
        offset_size, query_size = self._sizes[0][exemplars], self._sizes[1][queries]
        # No cosine is below -1: an undefined score is as far below all of them as this.
        slope = np.maximum(exact, -2.0) * offset_size
        start = _paired(self._exemplars[exemplars], self._queries[queries])
        return Comparison(False, -slope, start, 3 * _MARGIN * offset_size * (self.candidates.lengths.max() + query_size))


class RatioScore(AdditiveScore):
    """3CosMul: cos(d, b) cos(d, c) / (cos(d, a) + epsilon), each cosine x taken as (x + 1) / 2.

    ``shifted`` False takes the released code's: raw cosines, and an epsilon of 1e-6 instead of 1e-3.
    """

    product = True

    def __init__(self, candidates: Candidates, a: Floats, b: Floats, queries: Floats, *, shifted: bool = True) -> None:
        super().__init__(candidates, directions(b), directions(queries))
        self._a = directions(a)
        self._slope, self._shift, self._epsilon = (0.5, 0.5, 1e-3) if shifted else (1.0, 0.0, 1e-6)

    def first(self, dots: Dots, which: Any, smallest: float) -> Floats:
        above, below = (self._slope * dots(table) + self._shift for table in (self._exemplars, self._a))
        return _ratios(above, below + self._epsilon, np.nan, smallest)

    def second(self, dots: Dots) -> Floats:
        return self._slope * dots(self._queries) + self._shift


class LogisticScore(AdditiveScore):
    """LRCos: the probability that d is of the answers' kind times cos(d, c); one logistic regression an exemplar."""

    product = True

    def __init__(self, candidates: Candidates, weights: Floats, intercepts: Floats, queries: Floats) -> None:
        super().__init__(candidates, weights, directions(queries))
        self._intercepts = intercepts

    def first(self, dots: Dots, which: Any, smallest: float) -> Floats:
        from scipy.special import expit

        probabilities: Floats = expit(dots(self._exemplars) + self._intercepts[which])
        return probabilities


def directions(vectors: Floats) -> Floats:
    """Scale vectors, none of them zero, to length 1."""
    return vectors / _lengths_of(vectors)[:, None]


def _ratios(above: Floats, below: Floats, undefined: float, smallest: float = 0.0) -> Floats:
    ratios: Floats = np.divide(above, below, out=np.full(above.shape, undefined), where=np.abs(below) > smallest)
    return ratios
