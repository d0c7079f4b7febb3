"""Exact nearest terms by Levenshtein distance, among hundreds of thousands, without computing all distances.

For each term that is asked for, all terms up to the distance at which enough have been found are returned, ties included, so
that whoever draws among equals draws from the same terms as a search over all pairs would give.

How: terms are sorted by length, and a difference in length bounds the distance from below; signatures (see ``kernels``) bound
it further; the most promising terms are measured first, so that the limit falls early; what is left is measured several at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import available_cores
from medsenteval.errors import MissingExtraError

__all__ = ["NearTerms", "NearestTermIndex"]

#: Words of 64 bits for characters, which are compared for all terms, and for pairs of them, compared for what passes.
_CHARACTER_WORDS: Final = 2
_PAIR_WORDS: Final = 12
#: The last words of the pair signature are shared by all pairs that are too rare for a bit of their own.
_SHARED_PAIR_WORDS: Final = 2
#: Neighbours on each side in a sorted list that give the first limit.
_REACH: Final = 4
#: Terms that one call of the kernel searches for.
_CHUNK: Final = 256


@dataclass(frozen=True, eq=False)
class NearTerms:
    """What a search found for one term: numbers of terms and their distances, nearest first, then in order of number."""

    terms: NDArray[np.int64]
    distances: NDArray[np.int64]


class NearestTermIndex:
    """An index over different non-empty texts; texts are compared as they are, so lower them first if case must not count."""

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            kernels = import_module("medsenteval.terms.kernels")
        except ImportError as error:
            raise MissingExtraError("the nearest-term search", "numba", "terms") from error
        if len(set(texts)) != len(texts) or not all(texts):
            raise ValueError("the index needs texts that differ and are not empty")
        self._search: Callable[..., Any] = kernels.search_terms
        self._texts = texts
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        #: Place in the index, which is sorted by length -> the caller's number, and back.
        self._number_of = np.argsort(lengths, kind="stable")
        self._place_of = np.empty_like(self._number_of)
        self._place_of[self._number_of] = np.arange(len(texts))

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        texts = [self._texts[number] for number in self._number_of]
        joined = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        alphabet, codes = np.unique(joined, return_inverse=True)
        n_characters = len(alphabet)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        owners = np.repeat(np.arange(len(texts)), lengths)
        characters = _signature(owners, codes, n_characters, len(texts), _CHARACTER_WORDS, 0)
        inside = owners[:-1] == owners[1:]
        pairs = codes[:-1][inside].astype(np.int64) * n_characters + codes[1:][inside]
        known_pairs, pair_codes = np.unique(pairs, return_inverse=True)
        pair_words = _signature(owners[:-1][inside], pair_codes, len(known_pairs), len(texts), _PAIR_WORDS, _SHARED_PAIR_WORDS)
        length_starts = np.searchsorted(lengths, np.arange(lengths[-1] + 2)).astype(np.int64)
        backwards = [text[::-1] for text in texts]
        orders = np.array([sorted(range(len(texts)), key=keys.__getitem__) for keys in (texts, backwards)], dtype=np.int64)
        ranks = np.empty_like(orders)
        for which in range(len(orders)):
            ranks[which, orders[which]] = np.arange(len(texts))
        # The kernel may read past the end of the last term by the length of the longest.
        padded = np.concatenate([codes, np.zeros(lengths[-1] + 1)]).astype(np.uint16 if n_characters < 1 << 16 else np.uint32)
        return (
            padded, starts, lengths, length_starts, n_characters,
            np.ascontiguousarray(characters[:, 0]), np.ascontiguousarray(characters[:, 1]), pair_words,
            orders, ranks, _REACH,
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
        found: list[NearTerms] = []
        for part in self.search_in_chunks(queries, wanted, excluded):
            found.extend(part)
            progress(len(part))
        return found

    def search_in_chunks(
        self, queries: Sequence[int], wanted: Sequence[int], excluded: Sequence[Sequence[int]] | None = None
    ) -> Iterator[list[NearTerms]]:
        """Yield what ``search`` returns piece by piece, in order, with all cores at work."""
        tables = self._tables
        forbidden = excluded if excluded is not None else [()] * len(queries)

        def search_chunk(begin: int) -> list[NearTerms]:
            chunk = slice(begin, begin + _CHUNK)
            hidden = forbidden[chunk]
            hidden_starts = np.zeros(len(hidden) + 1, dtype=np.int64)
            np.cumsum([len(numbers) for numbers in hidden], out=hidden_starts[1:])
            flat = np.array([number for numbers in hidden for number in numbers], dtype=np.int64)
            offsets, places, distances = self._search(
                self._place_of[np.asarray(queries[chunk], dtype=np.int64)],
                np.asarray(wanted[chunk], dtype=np.int64),
                hidden_starts,
                self._place_of[flat],
                *tables,
            )
            numbers, far = self._number_of[places], distances.astype(np.int64)
            parts = []
            for first, last in pairwise(offsets):
                order = np.lexsort((numbers[first:last], far[first:last]))
                parts.append(NearTerms(numbers[first:last][order], far[first:last][order]))
            return parts

        with ThreadPoolExecutor(available_cores()) as pool:
            yield from pool.map(search_chunk, range(0, len(queries), _CHUNK))


def _signature(
    owners: NDArray[np.intp], items: NDArray[np.intp], n_kinds: int, n_terms: int, n_words: int, shared_words: int
) -> NDArray[np.uint64]:
    """Return words of bits "has this item at least so many times", the bits that tell most terms apart first.

    Items beyond those bits share the bits of the last words: a shared bit is lost only if all items behind it are.
    """
    words = np.zeros((n_terms, n_words), dtype=np.uint64)
    if len(items) == 0:
        return words
    keys, counts = np.unique(owners.astype(np.int64) * n_kinds + items, return_counts=True)
    # The k-th occurrence of an item in a term becomes an entry of its own: (term, item, k).
    times = np.arange(1, counts.sum() + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    entry_terms = np.repeat(keys // n_kinds, counts)
    levels = int(counts.max()) + 1
    features, entry_features = np.unique(np.repeat(keys % n_kinds, counts) * levels + times, return_inverse=True)
    share = np.bincount(entry_features, minlength=len(features)) / n_terms
    ranking = np.empty(len(features), dtype=np.int64)
    ranking[np.argsort(-(share * (1 - share)), kind="stable")] = np.arange(len(features))
    own_bits = 64 * (n_words - shared_words)
    bits = ranking[entry_features]
    # Only first occurrences may share a bit: the bit then says "has one of these".
    rare = bits >= own_bits
    kept = ~rare | (times == 1) if shared_words else ~rare
    bits = np.where(rare, own_bits + bits % max(1, 64 * shared_words), bits)[kept]
    np.bitwise_or.at(words, (entry_terms[kept], bits >> 6), np.uint64(1) << (bits & 63).astype(np.uint64))
    return words
