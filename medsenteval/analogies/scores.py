"""How well a candidate completes an analogy: exact formulas in float64, and the same scores as sums of few factors.

A score here belongs to a triple of an exemplar (a and b), a query (c) and a candidate (d). What makes counting fast is that
it falls apart: what exemplar and candidate have to do with each other is computed once for each exemplar, likewise for each
query, and the two are joined by one addition or multiplication. ``exact`` is what a score means; the float32 factors only sort
out the candidates that are far from equal.

n(x) is x / |x|. Candidates are phrase vectors as encoded (float32 rows, none of them zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from medsenteval.analogies.paired import PairedProducts, lengths_of
from medsenteval.cores import available_cores

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
#: Distances below this part of the query's length are computed anew in float64: their squares lose digits in float32.
_CANCELLATION: Final = 0.25
_ROWS_A_BLOCK: Final = 2048
#: Steps from zero to the largest sum that is counted in int16; the rest of its range is for rounding.
_STEPS: Final = 32_000


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

        def fill(begin: int) -> None:
            part = slice(begin, begin + _ROWS_A_BLOCK)
            wide = vectors[part].astype(np.float64)
            lengths[part] = lengths_of(wide)
            with np.errstate(divide="ignore", invalid="ignore"):
                np.multiply(wide, 1.0 / lengths[part, None], out=unit[part], casting="same_kind")

        with ThreadPoolExecutor(available_cores()) as pool:
            list(pool.map(fill, range(0, len(vectors), _ROWS_A_BLOCK)))
        if not (lengths > 0).all():
            raise ValueError("a candidate has the zero vector; leave out what the encoder does not know")
        return cls(vectors, lengths, unit, compiled)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])


@dataclass(frozen=True, eq=False)
class Factors:
    """A block of candidates in float32: one row an exemplar (``first``, ``scale``) and one row a query (``second``).

    ``step``, where it is not zero, says that no sum is weighted and that none is farther than 32,000 steps from zero.
    """

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    scale: NDArray[np.float32]
    step: float = 0.0


@dataclass(frozen=True, eq=False)
class Constants:
    """What decides, for each triple of an answer, whether a candidate v beats it by more than rounding can explain.

    Sums: z = first[e, v] + weight * second[q, v] - offset. Products: z = first[e, v] * second[q, v] - offset * scale[e, v].
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
        self._paired = PairedProducts(candidates.vectors, compiled=candidates.compiled)

    def exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        """Return the float64 scores of triples (exemplar, query, candidate row); undefined ones are minus infinity."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = self._exact(exemplars, queries, rows)
        scores[np.isnan(scores)] = -np.inf
        return scores

    @abstractmethod
    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats: ...

    @abstractmethod
    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        """Return the factors of a block of candidates with these exemplars and queries."""

    @abstractmethod
    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        """Return what compares every candidate with answers that have these exact scores."""

    @property
    def _product_error(self) -> float:
        """How far a float32 product of unit vectors may be off.

        Rounding errors of a sum of n products behave like a random walk: with high probability they stay below a small
        multiple of sqrt(n) roundoffs (Higham and Mary 2019). Twice that is seven standard deviations for parallel vectors.
        """
        return _ROUNDOFF * (2.0 * float(np.sqrt(self.candidates.dimension)) + 4.0)


def _single(values: Floats) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def _cross(block: NDArray[np.float32], *rows: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Multiply several sets of rows with a block of candidates in one product; each set gets its part."""
    products = (np.concatenate(rows) if len(rows) > 1 else rows[0]) @ block.T
    return np.split(products, np.cumsum([len(part) for part in rows[:-1]]))


class AdditiveScore(Score):
    """n(d) . (offset + c): 3CosAdd with offset b - a, 3CosAvg with a mean offset, the baselines with one part zero."""

    form = "sum"

    def __init__(self, candidates: Candidates, offsets: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._offsets, self._queries = offsets, queries
        self._offsets32, self._queries32 = _single(offsets), _single(queries)
        self._sizes = lengths_of(offsets), lengths_of(queries)

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products = self._paired.dots(rows, self._offsets, exemplars) + self._paired.dots(rows, self._queries, queries)
        return products / self.candidates.lengths[rows]

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        first, second = _cross(self.candidates.unit[block], self._offsets32[exemplars], self._queries32[queries])
        # Candidates are unit vectors, so no product exceeds the other's length.
        largest = float(self._sizes[0][exemplars].max() + self._sizes[1][queries].max())
        return Factors(first, second, first, largest / _STEPS if 1e-30 < largest < 1e30 else 0.0)

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
        self._sizes = lengths_of(offsets), lengths_of(queries)
        self._longest = float(candidates.lengths.max())

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        products, squares = self._paired.steps(rows, self._queries, queries, self._offsets, exemplars)
        scores: Floats = products / (np.sqrt(squares) * self._sizes[0][exemplars])
        return scores

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        first, products = _cross(self.candidates.vectors[block], self._offsets32[exemplars], self._queries32[queries])
        sizes = self._sizes[1][queries][:, None]
        squares = products.astype(np.float64)
        squares *= -2.0
        squares += self.candidates.lengths[block] ** 2 + sizes**2
        near = np.argwhere(squares < self._near(queries)[:, None] ** 2)
        distances = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
        if len(near):
            steps = self.candidates.vectors[block][near[:, 1]].astype(np.float64) - self._queries[queries[near[:, 0]]]
            lengths = lengths_of(steps)
            # At the query itself the score is undefined: NaN sends it to the exact formula.
            distances[near[:, 0], near[:, 1]] = np.where(lengths > 0, lengths, np.nan)
        return Factors(first, _single(distances), first)

    def _near(self, queries: Rows) -> Floats:
        near: Floats = _CANCELLATION * np.maximum(self._sizes[1][queries], 1e-3 * self._longest)
        return near

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        offset_size, query_size = self._sizes[0][exemplars], self._sizes[1][queries]
        slope = exact * offset_size
        start = np.einsum("nd,nd->n", self._offsets[exemplars], self._queries[queries])
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
        self._a, self._b, self._c = (vectors / lengths_of(vectors)[:, None] for vectors in (a, b, queries))
        self._a32, self._b32, self._c32 = map(_single, (self._a, self._b, self._c))
        self._slope, self._shift = (0.5, 0.5) if shifted else (1.0, 0.0)
        self._epsilon = epsilon

    def _cosines(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        return self._slope * (self._paired.dots(rows, table, numbers) / self.candidates.lengths[rows]) + self._shift

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        above = self._cosines(rows, self._b, exemplars) * self._cosines(rows, self._c, queries)
        ratio: Floats = above / (self._cosines(rows, self._a, exemplars) + self._epsilon)
        return ratio

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        tables = (self._b32[exemplars], self._c32[queries], self._a32[exemplars])
        first, second, below = _cross(self.candidates.unit[block], *tables)
        if self._shift:
            for cosines in (first, second, below):
                cosines *= np.float32(self._slope)
                cosines += np.float32(self._shift)
        below += np.float32(self._epsilon)
        if self._shift == 0.0:
            unclear = np.argwhere(np.abs(below) < 4 * self._product_error)
            if len(unclear):
                numbers, places = unclear.T
                below[numbers, places] = self._cosines(places + block.start, self._a, exemplars[numbers]) + self._epsilon
            first = np.where(below < 0, -first, first)
            below = np.where(below == 0, np.float32(np.nan), np.abs(below))
        return Factors(first, second, below)

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        # No cosine exceeds 1, so a product is off by no more than both of its factors together.
        margin = self._slope * self._product_error * (2.0 + np.abs(exact)) + 6 * _ROUNDOFF * (1.0 + np.abs(exact))
        return Constants(np.ones(len(exact), dtype=np.float32), _single(exact), _single(margin))


class LogisticScore(Score):
    """LRCos: the probability that d is of the answers' kind times cos(d, c); one logistic regression an exemplar."""

    form = "product"

    def __init__(self, candidates: Candidates, weights: Floats, intercepts: Floats, queries: Floats) -> None:
        super().__init__(candidates)
        self._weights, self._intercepts = weights, intercepts
        self._c = queries / lengths_of(queries)[:, None]
        self._weights32, self._c32 = _single(weights), _single(self._c)
        self._sizes = lengths_of(weights)

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        lengths = self.candidates.lengths[rows]
        logits = self._paired.dots(rows, self._weights, exemplars) / lengths + self._intercepts[exemplars]
        return _sigmoid(logits) * (self._paired.dots(rows, self._c, queries) / lengths)

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        products, cosines = _cross(self.candidates.unit[block], self._weights32[exemplars], self._c32[queries])
        probabilities = _single(_sigmoid(products.astype(np.float64) + self._intercepts[exemplars][:, None]))
        return Factors(probabilities, cosines, np.ones_like(probabilities))

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        # The sigmoid is at most a quarter as steep as its logit.
        margin = self._product_error * (1.0 + 0.25 * self._sizes[exemplars]) + 8 * _ROUNDOFF
        return Constants(np.ones(len(exact), dtype=np.float32), _single(exact), _single(margin))


def _sigmoid(logits: Floats) -> Floats:
    from scipy.special import expit

    probabilities: Floats = expit(logits)
    return probabilities
