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

from medsenteval.analogies.kernels import MOST_RATIO
from medsenteval.analogies.paired import PairedProducts, compiled_kernel, lengths_of
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
#: Sums of more than so many times the usual size are not counted in whole steps.
_FAR: Final = 8.0


#: How far from zero the logarithms of ratios go that are counted in whole steps: those of a half and of two.
_LOG_REACH: Final = float(np.log((1 + MOST_RATIO) / (1 - MOST_RATIO)))


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
            if compiled:
                compiled_kernel("lengths_and_units")(vectors[part], lengths[part], unit[part])
                return
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

    ``step``, where it is not zero, says that the block may be counted in whole steps first: sums of first and second without
    weights, or for products sums of log(first / scale) and log(2 second). ``reach`` says how far they go, in steps; both
    together make no more than 32,000. The few that go farther cost time, nothing else.
    """

    first: NDArray[np.float32]
    second: NDArray[np.float32]
    scale: NDArray[np.float32]
    step: float = 0.0
    reach: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Constants:
    """What decides, for each triple of an answer, whether a candidate v beats it by more than rounding can explain.

    Sums: z = first[e, v] + weight * second[q, v] - offset. Products: z = first[e, v] * second[q, v] - offset * scale[e, v].
    v is surely better where z > margin, surely worse where z < -margin; NaN is neither. ``coarse_offset`` and
    ``coarse_margin`` are the same for what is counted in whole steps.
    """

    weight: NDArray[np.float32]
    offset: NDArray[np.float32]
    margin: NDArray[np.float32]
    coarse_offset: NDArray[np.float32]
    coarse_margin: NDArray[np.float32]

    @classmethod
    def of(cls, weight: Floats, offset: Floats, margin: Floats, coarse: tuple[Floats, Floats] | None = None) -> Constants:
        """Round to float32; where nothing else is said, whole steps have the same offset and margin."""
        fine = _single(weight), _single(offset), _single(margin)
        return cls(*fine, *((_single(coarse[0]), _single(coarse[1])) if coarse else fine[1:]))

    def take(self, rows: Rows | slice) -> Constants:
        return Constants(
            *(values[rows] for values in (self.weight, self.offset, self.margin)),
            *(values[rows] for values in (self.coarse_offset, self.coarse_margin)),
        )


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


def _reach(products: NDArray[np.float32], lengths: Floats) -> float:
    """Return a size that few products exceed, from every tenth row or so, and that no product can exceed by far."""
    sample = products[:: 1 + len(products) // 32].astype(np.float64)
    return min(_FAR * float(np.sqrt(np.mean(sample * sample))), 1.001 * float(lengths.max()))


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
        # Candidates are unit vectors, so no product exceeds the other's length; hardly any comes near it.
        far = _reach(first, self._sizes[0][exemplars]), _reach(second, self._sizes[1][queries])
        step = sum(far) / _STEPS
        if not 1e-34 < step < 1e26:
            return Factors(first, second, first)
        return Factors(first, second, first, step, (far[0] / step, far[1] / step))

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        margin = self._product_error * (self._sizes[0][exemplars] + self._sizes[1][queries]) + 4 * _ROUNDOFF * np.abs(exact)
        return Constants.of(np.ones(len(exact)), exact, margin)


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
        return Constants.of(-slope, start, margin)


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
        self._slope, self._shift = (0.5, 0.5) if shifted else (1.0, 0.0)
        # Powers of two: the products are those of the unit vectors, scaled without rounding.
        self._a32, self._b32, self._c32 = (_single(self._slope * vectors) for vectors in (self._a, self._b, self._c))
        self._epsilon = epsilon
        self._queries_are_a = np.array_equal(self._a32, self._c32)

    def _cosines(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        return self._slope * (self._paired.dots(rows, table, numbers) / self.candidates.lengths[rows]) + self._shift

    def _exact(self, exemplars: Rows, queries: Rows, rows: Rows) -> Floats:
        above = self._cosines(rows, self._b, exemplars) * self._cosines(rows, self._c, queries)
        ratio: Floats = above / (self._cosines(rows, self._a, exemplars) + self._epsilon)
        return ratio

    def factors(self, block: slice, exemplars: Rows, queries: Rows) -> Factors:
        block_unit, b, c = self.candidates.unit[block], self._b32[exemplars], self._c32[queries]
        if self._queries_are_a and np.array_equal(exemplars, queries):
            first, second = _cross(block_unit, b, c)
            below = second
        else:
            first, second, below = _cross(block_unit, b, c, self._a32[exemplars])
        if self._shift:
            for cosines in (first, second, below)[: 2 if below is second else 3]:
                cosines += np.float32(self._shift)
        below = below + np.float32(self._epsilon)
        if self._shift == 0.0:
            unclear = np.argwhere(np.abs(below) < 4 * self._product_error)
            if len(unclear):
                numbers, places = unclear.T
                below[numbers, places] = self._cosines(places + block.start, self._a, exemplars[numbers]) + self._epsilon
            first = np.where(below < 0, -first, first)
            below = np.where(below == 0, np.float32(np.nan), np.abs(below))
            return Factors(first, second, below)
        return Factors(first, second, below, 2 * _LOG_REACH / _STEPS, (_STEPS / 2, _STEPS / 2))

    def constants(self, exemplars: Rows, queries: Rows, exact: Floats) -> Constants:
        """Bound what rounding does to b c - s f, f = a + epsilon, with u the roundoff and p the error of a product.

        Let g be the slope, so that a factor is off by g p + u for adding the shift, f by g p + 2 u for epsilon too. No factor
        exceeds 1 (f by a thousandth), so b c is off by 2 (g p + u) and u for the product's rounding; s f by |s| (g p + 2 u)
        and 2 u |s| for rounding s and the product; the difference by u (1 + |s|). All in all g p (2 + |s|) + u (4 + 5 |s|).

        Shifted scores are compared as log(b / f) + log(2 c) with log(2 s) first, where b / f and 2 c lie between a half and
        two and b + f is at least a half (``to_log_levels`` sees to it). Then b and f are at least 1 / 6.02 and c at least
        1 / 4.03, and the logarithms are off by 16.1 times a factor's error, its square included. The series stops at the
        ninth power, which leaves out 1.23e-6 of each; its own rounding is below 6 u for each, that of log(2 s) u.
        """
        error = self._slope * self._product_error
        margin = error * (2.0 + np.abs(exact)) + 6 * _ROUNDOFF * (1.0 + np.abs(exact))
        # Scores of zero or none at all are below everything between a half and two.
        logs = np.log(np.maximum(2.0 * exact, 1e-30))
        log_margin = 17 * (error + 2 * _ROUNDOFF) + 2.5e-6 + (12 + 2 * np.abs(logs)) * _ROUNDOFF
        return Constants.of(np.ones(len(exact)), exact, margin, (logs, log_margin))


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
        return Constants.of(np.ones(len(exact)), exact, margin)


def _sigmoid(logits: Floats) -> Floats:
    from scipy.special import expit

    probabilities: Floats = expit(logits)
    return probabilities
