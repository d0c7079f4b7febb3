"""All pairs of texts whose word sets have a Jaccard similarity of at least t: exactly, for hundreds of thousands of texts.

Texts are compared only if they share a word among the rarest |x| - ceil(t |x|) + 1 of each; two sets that do not cannot reach
t (prefix filtering: Chaudhuri, Ganti and Kaushik 2006, A primitive operator for similarity joins in data cleaning, ICDE). What
is left is counted exactly. Unlike MinHash it misses nothing, gives the same answer every time, and has nothing to tune.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_WORD: Final = re.compile(r"\w+")
#: Candidate pairs held in memory at once.
_BLOCK: Final = 500_000


def word_set(text: str, text2: str | None = None) -> set[str]:
    """Return a text's words without case; those of a second text are kept apart, so that sides cannot be confused."""
    words = set(_WORD.findall(text.casefold())) or {text}
    if text2 is not None:
        words |= {f"\x1f{word}" for word in _WORD.findall(text2.casefold()) or [text2]}
    return words


def near_duplicates(sets: Sequence[set[str]], threshold: float, first: int | None = None) -> NDArray[np.intp]:
    """Return the pairs (i, j), i < j, of sets with a Jaccard similarity of at least ``threshold``, as an (n, 2) array.

    With ``first`` only pairs of one of the first so many sets and one of the others are looked for.
    """
    filled = np.array([i for i, words in enumerate(sets) if words], dtype=np.intp)
    if len(filled) < 2:
        return np.empty((0, 2), dtype=np.intp)
    members = _membership([sets[i] for i in filled])
    sizes = np.diff(members.indptr)
    prefixes = _prefixes(members, sizes, threshold)
    found = [np.empty((0, 2), dtype=np.intp)]
    apart = None if first is None else int(np.searchsorted(filled, first))
    for left, right in _candidates(prefixes, apart):
        smaller, larger = np.minimum(sizes[left], sizes[right]), np.maximum(sizes[left], sizes[right])
        possible = smaller >= threshold * larger - _SLACK
        left, right = left[possible], right[possible]
        shared = np.asarray(members[left].multiply(members[right]).sum(axis=1)).ravel()
        similar = shared >= threshold * (sizes[left] + sizes[right] - shared) - _SLACK
        found.append(np.stack([left[similar], right[similar]], axis=1))
    pairs = filled[np.concatenate(found)]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


#: Sets are small, so that a ratio of whole numbers that equals the threshold differs from it by rounding alone.
_SLACK: Final = 1e-9


def _membership(sets: Sequence[set[str]]) -> Any:
    """Return the sets as rows of a sparse matrix whose columns are words from rare to frequent, sorted within each row."""
    from scipy.sparse import csr_matrix

    frequency = Counter(chain.from_iterable(sets))
    rank = {word: number for number, word in enumerate(sorted(frequency, key=frequency.__getitem__))}
    starts = np.cumsum([0, *map(len, sets)])
    columns = np.fromiter((rank[word] for words in sets for word in words), dtype=np.int64, count=starts[-1])
    matrix = csr_matrix((np.ones(len(columns), dtype=np.int32), columns, starts), shape=(len(sets), len(rank)))
    matrix.sort_indices()
    return matrix


def _prefixes(members: Any, sizes: NDArray[np.int32], threshold: float) -> Any:
    """Return the matrix with only as many of each row's rarest words as a partner must share one of."""
    from scipy.sparse import csr_matrix

    lengths = sizes - np.ceil(threshold * sizes - _SLACK).astype(np.int64) + 1
    positions = np.arange(len(members.indices)) - np.repeat(members.indptr[:-1], sizes)
    kept = positions < np.repeat(lengths, sizes)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return csr_matrix((members.data[kept], members.indices[kept], starts), shape=members.shape)


def _candidates(prefixes: Any, apart: int | None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield pairs of rows that share a word, i < j, each pair once, a bounded number at a time; or i < ``apart`` <= j."""
    skipped = apart or 0
    transposed = prefixes[skipped:].T.tocsr()
    prefixes = prefixes[:apart]
    if not prefixes.shape[0] or not transposed.shape[1]:
        return
    cost = np.cumsum(prefixes @ np.diff(transposed.indptr).astype(np.int64))
    ends = np.flatnonzero(np.diff(cost // _BLOCK, append=-1)) + 1
    for start, end in pairwise([0, *ends]):
        product = (prefixes[start:end] @ transposed).tocoo()
        left, right = product.row.astype(np.intp) + start, product.col.astype(np.intp) + skipped
        upper = left < right
        yield left[upper], right[upper]
