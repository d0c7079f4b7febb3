"""Ten similarities of two terms, each a bag of word vectors, for hundreds of thousands of pairs of terms at once.

The ten are those of Schulz and Juric 2020: cosine, Pearson, Spearman and Kendall across coordinates, once of the terms' mean
vectors (``avg_...``) and once as the mean over all pairs of words (``pair_...``), and the Jaccard similarities of fuzzy sets of
Zhelezniak et al. 2019, ``fuzzy_jaccard`` (DynaMax) and ``max_jaccard`` (MaxPool).

A mean over pairs of words of a product is the product of means, so cosine, Pearson and Spearman of all pairs of words cost no
more than those of mean vectors: words are brought to unit length once and averaged. Undefined similarities (a zero or constant
vector, a term without words) are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.similarity.kendall import SignPlanes, doubled_ranks, plane_bytes
from medsenteval.support.arrays import Floats, Reals, Rows
from medsenteval.support.cores import available_cores, one_thread_per_product

#: Pairs of terms whose mean vectors fit into a core's cache together.
_PAIRS_AT_ONCE: Final = 1024
#: Bits of all words are kept up to this size, and computed anew for each block of pairs beyond it.
_LARGEST_PLANES: Final = 1 << 30


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of several words: term i consists of the rows ``rows[offsets[i]:offsets[i + 1]]`` of a word matrix."""

    rows: Rows
    offsets: Rows

    def __post_init__(self) -> None:
        if self.offsets.ndim != 1 or len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.rows):
            raise SettingsError(f"offsets of terms must start at 0 and end at the number of rows, {len(self.rows)}")
        if (self.lengths < 0).any() or (self.rows < 0).any():
            raise SettingsError("offsets of terms must not fall, and rows must not be negative")

    @classmethod
    def of(cls, terms: Sequence[Sequence[int]]) -> Terms:
        """Lay lists of rows one after the other."""
        offsets = np.zeros(len(terms) + 1, dtype=np.intp)
        np.cumsum([len(term) for term in terms], out=offsets[1:])
        return cls(np.fromiter((row for term in terms for row in term), dtype=np.intp, count=int(offsets[-1])), offsets)

    @classmethod
    def single(cls, n: int) -> Terms:
        """Return n terms of one row each: vectors that already stand for whole terms."""
        return cls(np.arange(n, dtype=np.intp), np.arange(n + 1, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Rows:
        return np.diff(self.offsets)

    def take(self, terms: Rows) -> Terms:
        """Return these terms, in this order."""
        lengths = self.lengths[terms]
        offsets = np.zeros(len(terms) + 1, dtype=np.intp)
        np.cumsum(lengths, out=offsets[1:])
        # Each term's first row, repeated, plus the place within the term.
        places = np.repeat(self.offsets[terms] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Terms(self.rows[places], offsets)

    def by_length(self) -> list[tuple[Rows, NDArray[np.intp]]]:
        """Group terms of equally many words: (which terms, their rows as a matrix); terms without words are in no group."""
        return [
            (members, self.rows[self.offsets[members][:, None] + np.arange(length)])
            for length in np.unique(self.lengths)
            if length > 0
            for members in [np.flatnonzero(self.lengths == length)]
        ]

    def means(self, matrix: NDArray[np.floating]) -> Floats:
        """Return the mean of each term's rows in float64; a term without words has the zero vector."""
        return self._pooled(matrix, np.add) / np.maximum(self.lengths, 1)[:, None]

    def positive_maxima(self, matrix: NDArray[np.floating]) -> Floats:
        """Return the largest value of each coordinate over a term's rows, 0 where all are negative."""
        return np.maximum(self._pooled(matrix, np.maximum), 0.0)

    def _pooled(self, matrix: NDArray[np.floating], join: np.ufunc) -> Floats:
        pooled = np.zeros((len(self), matrix.shape[1]))
        for members, rows in self.by_length():
            # Word by word over all terms of a length: longer loops than within single terms.
            joined = matrix[rows[:, 0]].astype(np.float64)
            for column in rows.T[1:]:
                join(joined, matrix[column], out=joined)
            pooled[members] = joined
        return pooled


#: From (terms, left terms, right terms) of a block to similarities.
Score = Callable[[Terms, Rows, Rows], Floats]
#: From words (rows that occur) to what scores a block of pairs.
Prepare = Callable[[Reals], Score]
#: From words to what gives each term a vector; a similarity is the product of two of them.
Vectors = Callable[[Reals], Callable[[Terms], Floats]]


def _unit(rows: Floats) -> Floats:
    """Scale rows to length 1; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def _as_is(rows: Floats) -> Floats:
    return rows


def _centred(rows: Floats) -> Floats:
    centred: Floats = rows - rows.mean(axis=1, keepdims=True)
    # Rounding must not turn a constant vector into a direction.
    centred[np.ptp(rows, axis=1) == 0] = 0.0
    return centred


def _ranks(rows: Floats) -> Floats:
    centred: Floats = doubled_ranks(rows)[0] - (rows.shape[1] + 1.0)
    return centred


def _sides(represent: Callable[[Terms], Floats], terms: Terms, left: Rows, right: Rows) -> tuple[Floats, Floats]:
    """Represent each term of a block once and lay the two sides of its pairs beside each other."""
    occurring, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    represented = represent(terms.take(occurring))
    return represented[places[: len(left)]], represented[places[len(left) :]]


def _unit_means(transform: Callable[[Floats], Floats]) -> Vectors:
    """For the cosine of the transformed mean vectors."""
    return lambda matrix: lambda terms: _unit(transform(terms.means(matrix)))


def _mean_units(transform: Callable[[Floats], Floats]) -> Vectors:
    """For the mean cosine over all pairs of transformed words: the product of the means of unit vectors."""

    def prepare(matrix: Reals) -> Callable[[Terms], Floats]:
        units = np.empty(matrix.shape)
        for start in range(0, len(matrix), _PAIRS_AT_ONCE):
            block = slice(start, start + _PAIRS_AT_ONCE)
            units[block] = _unit(transform(matrix[block].astype(np.float64)))
        return lambda terms: terms.means(units)

    return prepare


def _product(vectors: Vectors) -> Prepare:
    def prepare(matrix: Reals) -> Score:
        represent = vectors(matrix)

        def score(terms: Terms, left: Rows, right: Rows) -> Floats:
            products: Floats = np.einsum("ij,ij->i", *_sides(represent, terms, left, right))
            return products

        return score

    return prepare


def _tau_of_means(matrix: Reals) -> Score:
    def score(terms: Terms, left: Rows, right: Rows) -> Floats:
        return _taus(lambda occurring: terms.take(occurring).means(matrix), left, right)

    return score


def _tau_of_word_pairs(matrix: Reals) -> Score:
    small = len(matrix) * plane_bytes(matrix.shape[1]) <= _LARGEST_PLANES
    kept = SignPlanes.of(matrix.astype(np.float64)) if small else None

    def score(terms: Terms, left: Rows, right: Rows) -> Floats:
        means = np.zeros(len(left))
        filled = np.flatnonzero(terms.lengths[left] * terms.lengths[right])
        if len(filled):
            first, second, ends = _word_pairs(terms, left[filled], right[filled])
            if kept is not None:
                taus = kept.taus(first, second)
            else:
                taus = _taus(lambda occurring: matrix[occurring].astype(np.float64), first, second)
            means[filled] = np.add.reduceat(taus, ends[:-1]) / np.diff(ends)
        return means

    return score


def _taus(vectors: Callable[[Rows], Floats], left: Rows, right: Rows) -> Floats:
    """Compare the signs of each vector that occurs, which are found once, with those of its partners."""
    occurring, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    return SignPlanes.of(vectors(occurring)).taus(places[: len(left)], places[len(left) :])


def _word_pairs(terms: Terms, left: Rows, right: Rows) -> tuple[Rows, Rows, Rows]:
    """List every word of the left term with every word of the right one; pair i owns places ``ends[i]`` to ``ends[i + 1]``."""
    m, n = terms.lengths[left], terms.lengths[right]
    ends = np.concatenate([[0], np.cumsum(m * n)])
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], m * n)
    width = np.repeat(n, m * n)
    first = terms.rows[np.repeat(terms.offsets[left], m * n) + within // width]
    second = terms.rows[np.repeat(terms.offsets[right], m * n) + within % width]
    return first, second, ends


def _max_jaccard(matrix: Reals) -> Score:
    def score(terms: Terms, left: Rows, right: Rows) -> Floats:
        first, second = _sides(lambda block: block.positive_maxima(matrix), terms, left, right)
        joint = np.minimum(first, second).sum(axis=1)
        # min + max = sum of both.
        return _share(joint, first.sum(axis=1) + second.sum(axis=1) - joint)

    return score


def _fuzzy_jaccard(matrix: Reals) -> Score:
    def score(terms: Terms, left: Rows, right: Rows) -> Floats:
        joint, united = np.zeros(len(left)), np.zeros(len(left))
        lengths = np.stack([terms.lengths[left], terms.lengths[right]])
        for m, n in np.unique(lengths, axis=1).T:
            members = np.flatnonzero((lengths[0] == m) & (lengths[1] == n) & (m * n > 0))
            if len(members):
                joint[members], united[members] = _fuzzy_sums(matrix, terms, left[members], right[members], int(m), int(n))
        return _share(joint, united)

    return score


def _fuzzy_sums(matrix: Reals, terms: Terms, left: Rows, right: Rows, m: int, n: int) -> tuple[Floats, Floats]:
    """Sum the smaller and the larger membership over the universe, which is the words of both terms."""
    x = matrix[terms.rows[terms.offsets[left][:, None] + np.arange(m)]].astype(np.float64)
    y = matrix[terms.rows[terms.offsets[right][:, None] + np.arange(n)]].astype(np.float64)
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


#: What makes a measure of a cosine of vectors.
_TRANSFORMS: Final[dict[str, Callable[[Floats], Floats]]] = {"cos": _as_is, "r": _centred, "rho": _ranks}
_OF_MEANS: Final = {f"avg_{name}": _unit_means(transform) for name, transform in _TRANSFORMS.items()}
_OF_WORDS: Final = {f"pair_{name}": _mean_units(transform) for name, transform in _TRANSFORMS.items()}
#: Name of a measure -> how it is computed.
MEASURES: Final[dict[str, Prepare]] = {
    **{name: _product(vectors) for name, vectors in _OF_MEANS.items()},
    "avg_tau": _tau_of_means,
    **{name: _product(vectors) for name, vectors in _OF_WORDS.items()},
    "pair_tau": _tau_of_word_pairs,
    "fuzzy_jaccard": _fuzzy_jaccard,
    "max_jaccard": _max_jaccard,
}
#: What makes sense for encoders that give one vector a term.
CONTEXTUAL_MEASURES: Final = ("avg_cos", "avg_r", "avg_rho", "avg_tau")


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
    occurring, rows = np.unique(terms.rows, return_inverse=True)
    words, own = matrix[occurring], Terms(rows.astype(np.intp), terms.offsets)
    return {name: _scored(MEASURES[name], words, own, first, second) for name in names}


def _scored(prepare: Prepare, words: Reals, terms: Terms, left: Rows, right: Rows) -> Floats:
    values = np.empty(len(left))
    score = prepare(words)

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
    product = {**_OF_MEANS, **_OF_WORDS}.get(measure)
    if product is not None:
        vectors = product(matrix)(terms)
        return lambda rows, columns: vectors[rows] @ vectors[columns].T

    def pair_by_pair(rows: Rows, columns: Rows) -> Floats:
        left, right = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        return term_similarities(measure, matrix, terms, left, right)[measure].reshape(len(rows), len(columns))

    return pair_by_pair
