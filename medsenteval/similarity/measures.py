"""Ten similarities of two terms, each a bag of word vectors, for hundreds of thousands of pairs of terms at once.

The ten are those of Schulz and Juric 2020: cosine, Pearson, Spearman and Kendall across coordinates, once of the terms' mean
vectors (``avg_...``) and once as the mean over all pairs of words (``pair_...``), and the Jaccard similarities of fuzzy sets of
Zhelezniak et al. 2019, ``fuzzy_jaccard`` (DynaMax) and ``max_jaccard`` (MaxPool).

A mean over pairs of words of a product is the product of means, so cosine, Pearson and Spearman of all pairs of words cost no
more than those of mean vectors: words are brought to unit length once and averaged. Undefined similarities (a zero or constant
vector, a term without words) are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.similarity.kendall import SignPlanes, plane_bytes
from medsenteval.support.arrays import Floats, Ragged, Reals, Rows
from medsenteval.support.cores import available_cores, one_thread_per_product

#: Pairs of terms whose mean vectors fit into a core's cache together.
_PAIRS_AT_ONCE: Final = 1024
#: Bits of all words are kept up to this size, and computed anew for each block of pairs beyond it.
_LARGEST_PLANES: Final = 1 << 30


@dataclass(frozen=True, eq=False)
class Terms(Ragged):
    """Terms of several words: each is a list of rows of a word matrix."""

    def __post_init__(self) -> None:
        if self.offsets.ndim != 1 or len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.values):
            raise SettingsError(f"offsets of terms must start at 0 and end at the number of rows, {len(self.values)}")
        if (self.lengths < 0).any() or (self.values < 0).any():
            raise SettingsError("offsets of terms must not fall, and rows must not be negative")

    @classmethod
    def single(cls, n: int) -> Terms:
        """Return n terms of one row each: vectors that already stand for whole terms."""
        return cls(np.arange(n, dtype=np.intp), np.arange(n + 1, dtype=np.intp))

    def take(self, terms: Rows) -> Terms:
        """Return these terms, in this order."""
        lengths = self.lengths[terms]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Each term's first row, repeated, plus the place within the term.
        places = np.repeat(self.offsets[terms] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Terms(self.values[places], offsets)

    def means(self, matrix: NDArray[np.floating]) -> Floats:
        """Return the mean of each term's rows in float64; a term without words has the zero vector."""
        return self._pooled(matrix, np.add) / np.maximum(self.lengths, 1)[:, None]

    def positive_maxima(self, matrix: NDArray[np.floating]) -> Floats:
        """Return the largest value of each coordinate over a term's rows, 0 where all are negative."""
        return self._pooled(matrix, np.maximum)

    def _pooled(self, matrix: NDArray[np.floating], join: np.ufunc) -> Floats:
        pooled = np.zeros((len(self), matrix.shape[1]))
        # Word by word over all terms: longer loops than within single terms.
        for place in range(self.lengths.max(initial=0)):
            longer = np.flatnonzero(self.lengths > place)
            pooled[longer] = join(pooled[longer], matrix[self.values[self.offsets[longer] + place]])
        return pooled


#: From (terms, left terms, right terms) of a block to similarities.
Score = Callable[[Terms, Rows, Rows], Floats]


def _unit(rows: Floats) -> Floats:
    """Scale rows to length 1; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def _centred(rows: Floats) -> Floats:
    centred: Floats = rows - rows.mean(axis=1, keepdims=True)
    # Rounding must not turn a constant vector into a direction.
    centred[np.ptp(rows, axis=1) == 0] = 0.0
    return centred


def _ranks(rows: Floats) -> Floats:
    from scipy.stats import rankdata

    centred: Floats = rankdata(rows, axis=1) - (rows.shape[1] + 1) / 2
    return centred


#: What makes a measure of a cosine of vectors.
_TRANSFORMS: Final[dict[str, Callable[[Floats], Floats]]] = {"cos": lambda rows: rows, "r": _centred, "rho": _ranks}
#: What makes sense for encoders that give one vector a term.
CONTEXTUAL_MEASURES: Final = ("avg_cos", "avg_r", "avg_rho", "avg_tau")
MEASURES: Final = (*CONTEXTUAL_MEASURES, "pair_cos", "pair_r", "pair_rho", "pair_tau", "fuzzy_jaccard", "max_jaccard")


def _term_vectors(measure: str, matrix: Reals) -> Callable[[Terms], Floats] | None:
    """Return what gives each term the vector whose product with another's is their similarity, if there is one."""
    how, kind = measure.split("_")
    transform = _TRANSFORMS.get(kind)
    if transform is None:
        return None
    if how == "avg":
        return lambda terms: _unit(transform(terms.means(matrix)))
    # The mean cosine over all pairs of words is the product of the means of unit vectors.
    units = np.empty(matrix.shape)
    for start in range(0, len(matrix), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        units[block] = _unit(transform(matrix[block].astype(np.float64)))
    return lambda terms: terms.means(units)


#: From vectors of terms, and the places of left and right ones among them, to similarities.
Compare = Callable[[Floats, Rows, Rows], Floats]


def _prepared(measure: str, matrix: Reals) -> Score:
    """Return what scores a block of pairs of terms, given the vectors of all words that occur."""
    if (vectors := _term_vectors(measure, matrix)) is not None:
        return _of_terms(vectors, lambda vectors, left, right: np.einsum("ij,ij->i", vectors[left], vectors[right]))
    if measure == "avg_tau":
        return _of_terms(lambda terms: terms.means(matrix), _taus)
    if measure == "max_jaccard":
        return _of_terms(lambda terms: terms.positive_maxima(matrix), _max_jaccard)
    return _mean_taus(matrix) if measure == "pair_tau" else partial(_fuzzy_jaccard, matrix)


def _of_terms(represent: Callable[[Terms], Floats], compare: Compare) -> Score:
    """Represent each term of a block once, and compare the pairs."""

    def score(terms: Terms, left: Rows, right: Rows) -> Floats:
        occurring, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        return compare(represent(terms.take(occurring)), places[: len(left)], places[len(left) :])

    return score


def _taus(vectors: Floats, left: Rows, right: Rows) -> Floats:
    return SignPlanes.of(vectors).taus(left, right)


def _mean_taus(matrix: Reals) -> Score:
    """Return what averages tau over all pairs of words."""
    taus: Callable[[Rows, Rows], Floats]
    if len(matrix) * plane_bytes(matrix.shape[1]) <= _LARGEST_PLANES:
        taus = SignPlanes.of(matrix.astype(np.float64)).taus
    else:
        taus = partial(_of_terms(lambda words: words.means(matrix), _taus), Terms.single(len(matrix)))

    def score(terms: Terms, left: Rows, right: Rows) -> Floats:
        means = np.zeros(len(left))
        filled = np.flatnonzero(terms.lengths[left] * terms.lengths[right])
        if len(filled):
            first, second, ends = _word_pairs(terms, left[filled], right[filled])
            means[filled] = np.add.reduceat(taus(first, second), ends[:-1]) / np.diff(ends)
        return means

    return score


def _word_pairs(terms: Terms, left: Rows, right: Rows) -> tuple[Rows, Rows, Rows]:
    """List every word of the left term with every word of the right one; pair i owns places ``ends[i]`` to ``ends[i + 1]``."""
    m, n = terms.lengths[left], terms.lengths[right]
    ends = np.concatenate([[0], np.cumsum(m * n)])
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], m * n)
    width = np.repeat(n, m * n)
    first = terms.values[np.repeat(terms.offsets[left], m * n) + within // width]
    second = terms.values[np.repeat(terms.offsets[right], m * n) + within % width]
    return first, second, ends


def _max_jaccard(maxima: Floats, left: Rows, right: Rows) -> Floats:
    sums, joint = maxima.sum(axis=1), np.minimum(maxima[left], maxima[right]).sum(axis=1)
    # min + max = sum of both.
    return _share(joint, sums[left] + sums[right] - joint)


def _fuzzy_jaccard(matrix: Reals, terms: Terms, left: Rows, right: Rows) -> Floats:
    joint, united = np.zeros((2, len(left)))
    lengths = np.stack([terms.lengths[left], terms.lengths[right]])
    for m, n in np.unique(lengths, axis=1).T:
        members = np.flatnonzero((lengths[0] == m) & (lengths[1] == n) & (m * n > 0))
        if len(members):
            joint[members], united[members] = _fuzzy_sums(matrix, terms, left[members], right[members], int(m), int(n))
    return _share(joint, united)


def _fuzzy_sums(matrix: Reals, terms: Terms, left: Rows, right: Rows, m: int, n: int) -> tuple[Floats, Floats]:
    """Sum the smaller and the larger membership over the universe, which is the words of both terms."""
    x = matrix[terms.values[terms.offsets[left][:, None] + np.arange(m)]].astype(np.float64)
    y = matrix[terms.values[terms.offsets[right][:, None] + np.arange(n)]].astype(np.float64)
    across = x @ y.transpose(0, 2, 1)
    # Memberships in a term: the largest product of a word of the universe with one of the term's words, at least 0.
    in_own = [np.maximum((side @ side.transpose(0, 2, 1)).max(axis=1), 0.0) for side in (x, y)]
    in_other = [np.maximum(across.max(axis=2), 0.0), np.maximum(across.max(axis=1), 0.0)]
    joint = sum(np.minimum(own, other).sum(axis=1) for own, other in zip(in_own, in_other, strict=True))
    united = sum(np.maximum(own, other).sum(axis=1) for own, other in zip(in_own, in_other, strict=True))
    return np.asarray(joint), np.asarray(united)


def _share(joint: Floats, united: Floats) -> Floats:
    share: Floats = np.divide(joint, united, out=np.zeros_like(joint), where=united > 0)
    return share


def term_similarities(
    measures: str | Iterable[str],
    matrix: NDArray[np.floating],
    terms: Terms,
    left: NDArray[np.integer],
    right: NDArray[np.integer],
) -> dict[str, Floats]:
    """Return for each named measure the similarity of terms ``left[i]`` and ``right[i]`` for every i.

    ``matrix`` has a row for each word; ``terms`` says which rows belong to which term (``Terms.single`` where a row stands for
    a whole term). Sums are float64 whatever the matrix is.
    """
    names = [measures] if isinstance(measures, str) else list(measures)
    for name in names:
        _check(name)
    first, second = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
    if first.shape != second.shape or first.ndim != 1:
        raise SettingsError(f"left terms of shape {first.shape} and right terms of shape {second.shape} are no pairs")
    # Only words that occur are prepared.
    occurring, rows = np.unique(terms.values, return_inverse=True)
    words, own = matrix[occurring], Terms(rows.astype(np.intp), terms.offsets)
    return {name: _scored(_prepared(name, words), own, first, second) for name in names}


def _scored(score: Score, terms: Terms, left: Rows, right: Rows) -> Floats:
    values = np.empty(len(left))

    def fill(start: int) -> None:
        block = slice(start, start + _PAIRS_AT_ONCE)
        values[block] = score(terms, left[block], right[block])

    # NumPy lets go of the interpreter in these loops; blocks share nothing.
    with one_thread_per_product(), ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(fill, range(0, len(left), _PAIRS_AT_ONCE)))
    return values


def _check(name: str) -> None:
    if name not in MEASURES:
        raise UnknownNameError(f"no similarity measure is called {name!r}; known: {', '.join(MEASURES)}")


def cross_similarity(measure: str, matrix: Reals, terms: Terms) -> Callable[[Rows, Rows], Floats]:
    """Return a function from two lists of terms to their matrix of similarities.

    Six of the measures are dot products of one vector a term, which is computed once; the others go pair by pair.
    """
    _check(measure)
    if (represent := _term_vectors(measure, matrix)) is not None:
        vectors = represent(terms)
        return lambda rows, columns: vectors[rows] @ vectors[columns].T

    def pair_by_pair(rows: Rows, columns: Rows) -> Floats:
        left, right = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        return term_similarities(measure, matrix, terms, left, right)[measure].reshape(len(rows), len(columns))

    return pair_by_pair
