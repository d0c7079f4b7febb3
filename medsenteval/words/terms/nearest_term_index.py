"""Exact nearest terms by Levenshtein distance, among hundreds of thousands, without computing all distances.

For each term that is asked for, all terms up to the distance at which enough have been found are returned, ties included, so
that whoever draws among equals draws from the same terms as a search over all pairs would give.

How: a term's neighbours in a few sorted lists give a first limit that is mostly the final one or nearly so. Terms are kept in
order of length, so that only some lengths can be within that limit; numbers of characters and of pairs of characters bound the
distance from below and rule out nearly all of these. The rest are measured, as far as the limit allows (see
``search_kernels``). A larger list has nearer terms and so lower limits: each term then leaves a smaller share of the list to
be measured, and the whole search grows by less than the square.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import import_extra
from medsenteval.support.arrays import Counts
from medsenteval.support.cores import available_cores

#: Terms that one call of the compiled search looks for.
_CHUNK: Final = 256


@dataclass(frozen=True, eq=False)
class NearTerms:
    """What a search found for one term: numbers of terms and their distances, nearest first, then in order of number."""

    terms: Counts
    distances: Counts


def _encode(texts: Sequence[str]) -> tuple[NDArray[Any], int]:
    """Return all characters of the texts, numbered from the most frequent on, and how many different ones there are."""
    joined = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    frequencies = np.bincount(joined)
    n_characters = int(np.count_nonzero(frequencies))
    rank = np.zeros(len(frequencies), dtype=np.int64)
    rank[np.argsort(-frequencies, kind="stable")[:n_characters]] = np.arange(n_characters)
    # One type for nearly all lists: the search is compiled for each.
    return rank.astype(np.uint16 if n_characters <= 1 << 16 else np.uint32)[joined], n_characters


class NearestTermIndex:
    """An index over different non-empty texts; texts are compared as they are, so lower them first if case must not count."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._kernels = import_extra("medsenteval.words.terms.search_kernels", "the nearest-term search", "terms", "numba")
        if len(set(texts)) != len(texts) or not all(texts):
            raise ValueError("the index needs texts that differ and are not empty")
        #: Place in the index -> the caller's number, and back. Terms of one length that end alike stand together.
        self._number_of = np.array(sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i][::-1])), dtype=np.int64)
        self._place_of = np.argsort(self._number_of)
        ordered = [texts[number] for number in self._number_of]
        codes, n_characters = _encode(ordered)
        lengths = np.fromiter(map(len, ordered), dtype=np.int64, count=len(ordered))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        self._tables = (
            codes, n_characters, starts, np.searchsorted(lengths, np.arange(lengths[-1] + 2)),
            self._kernels.count_characters(codes, starts), self._kernels.mark_pairs(codes, starts),
            *self._kernels.sort_in_many_ways(ordered, codes, starts),
        )  # fmt: skip

    def search(
        self,
        queries: Sequence[int],
        wanted: Sequence[int],
        excluded: Sequence[Sequence[int]] | None = None,
        *,
        progress: Callable[[int], object] = lambda n_done: None,
    ) -> list[NearTerms]:
        """Return for each query, a number of a text, every text up to the distance at which ``wanted`` of them are reached.

        A query itself and the texts excluded for it neither count nor appear. Fewer come back only when there are no more.
        """
        places = self._place_of[np.asarray(queries, dtype=np.int64)]
        enough = np.asarray(wanted, dtype=np.int64)
        # Terms that are neighbours in the index look at the same part of it: one after the other, they find it in the cache.
        # The longest, which take longest, come first, so that all cores finish together.
        turns = np.argsort(-places)

        def search_chunk(begin: int) -> list[NearTerms]:
            chunk = turns[begin : begin + _CHUNK]
            hidden = [[queries[turn], *(excluded[turn] if excluded is not None else ())] for turn in chunk]
            hits = self._kernels.search_terms(
                places[chunk],
                enough[chunk],
                np.cumsum([0, *map(len, hidden)]),
                self._place_of[np.array([number for numbers in hidden for number in numbers], dtype=np.int64)],
                *self._tables,
            ).astype(np.int64)
            hits[:, 2] = self._number_of[hits[:, 2]]
            hits = hits[np.lexsort((hits[:, 2], hits[:, 1], hits[:, 0]))]
            parts = np.split(hits, np.searchsorted(hits[:, 0], np.arange(1, len(chunk))))
            return [NearTerms(part[:, 2], part[:, 1]) for part in parts]

        found: list[NearTerms] = []
        with ThreadPoolExecutor(available_cores()) as pool:
            for part in pool.map(search_chunk, range(0, len(turns), _CHUNK)):
                found += part
                progress(len(part))
        return [found[place] for place in np.argsort(turns)]
