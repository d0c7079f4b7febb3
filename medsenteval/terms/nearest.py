"""Exact nearest terms by Levenshtein distance, among hundreds of thousands, without computing all distances.

For each term that is asked for, all terms up to the distance at which enough have been found are returned, ties included, so
that whoever draws among equals draws from the same terms as a search over all pairs would give.

How: a term's neighbours in a few sorted lists (see ``neighbours``) give a first limit that is mostly the final one or nearly
so. Terms are kept in order of length, and of how many of some telling characters they have, so that only stretches of them can
be within that limit; signatures (see ``signatures``) bound the distance from below and rule out nearly all of those, sixteen
at a time (see ``lanes`` and ``bounding``). Several queries go through the terms together, a part that fits into the cache
after the other. The rest are measured in order of their bounds, sixteen side by side, while the limit falls: only a band of
the table of distances that the limit allows is followed, and only until the limit is passed (see ``measuring``). A larger list
has nearer terms and so lower limits: each term then leaves a smaller share of the list to be measured, and the whole search
grows by less than the square.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from threading import local
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import available_cores
from medsenteval.errors import MissingExtraError

__all__ = ["NearTerms", "NearestTermIndex"]

#: The last words of the pair signature are shared by all pairs that are too rare for a bit of their own.
_SHARED_PAIR_WORDS: Final = 2
#: Terms that one call of the kernel searches for.
_CHUNK: Final = 256


@dataclass(frozen=True, eq=False)
class NearTerms:
    """What a search found for one term: numbers of terms and their distances, nearest first, then in order of number."""

    terms: NDArray[np.int64]
    distances: NDArray[np.int64]


def _encode(texts: Sequence[str]) -> NDArray[np.unsignedinteger]:
    """Return all characters of the texts, numbered from the most frequent on."""
    joined = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    frequencies = np.bincount(joined)
    alphabet = np.argsort(-frequencies, kind="stable")[: np.count_nonzero(frequencies)]
    code_of = np.zeros(len(frequencies), dtype=np.min_scalar_type(len(alphabet)))
    code_of[alphabet] = np.arange(len(alphabet))
    return code_of[joined]


class NearestTermIndex:
    """An index over different non-empty texts; texts are compared as they are, so lower them first if case must not count."""

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            self._kernels = import_module("medsenteval.terms.kernels")
            self._neighbours = import_module("medsenteval.terms.neighbours")
            self._signatures = import_module("medsenteval.terms.signatures")
        except ImportError as error:
            raise MissingExtraError("the nearest-term search", "numba", "terms") from error
        if len(set(texts)) != len(texts) or not all(texts):
            raise ValueError("the index needs texts that differ and are not empty")
        self._texts = texts
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        # Terms of one length that end alike stand together: a search often wants them together.
        backwards = [text[::-1] for text in texts]
        alike = np.array(sorted(range(len(texts)), key=backwards.__getitem__), dtype=np.int64)
        codes = _encode(texts)
        #: How many telling characters a text has, by which texts of one length are in order.
        self._telling = self._signatures.count_telling(codes, np.cumsum(lengths) - lengths, lengths)
        #: Place in the index, which is sorted by length and telling characters -> the caller's number, and back.
        self._number_of = alike[np.lexsort((self._telling[alike], lengths[alike]))]
        self._place_of = np.empty_like(self._number_of)
        self._place_of[self._number_of] = np.arange(len(texts))

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        texts = [self._texts[number] for number in self._number_of]
        codes = _encode(texts)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        starts = np.cumsum(lengths) - lengths
        n_folded: int = self._signatures.N_FOLDED
        characters = np.minimum(codes, n_folded - 1).astype(np.uint16)
        pairs = characters[:-1] * np.uint16(n_folded) + characters[1:]
        character_words = self._signatures.count_characters(codes, starts, lengths)
        pair_words = self._signatures.make_signatures(pairs, starts, lengths - 1, self._kernels.ROW, _SHARED_PAIR_WORDS)
        orders, ranks = self._neighbours.sort_in_many_ways(texts, codes, starts, lengths)
        telling, n_parts = self._telling[self._number_of], self._signatures.PARTS
        # The kernel may read past the end of the last term by the length of the longest and some, and past the last word.
        # Small types: what is looked up here and there should stay in the cache.
        return (
            np.pad(codes, (0, lengths[-1] + 2 * self._kernels.STEPS)),
            starts.astype(np.min_scalar_type(len(codes))), lengths.astype(np.int32),
            np.searchsorted(lengths, np.arange(lengths[-1] + 2)),
            telling, np.searchsorted(lengths * n_parts + telling, np.arange((lengths[-1] + 1) * n_parts + 1)),
            np.pad(np.ascontiguousarray(character_words.T), ((0, 0), (0, self._kernels.LANES))), pair_words.ravel(),
            orders, ranks,
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
        tables = self._tables
        places = self._place_of[np.asarray(queries, dtype=np.int64)]
        # Terms that are neighbours in the index look at the same part of it: one after the other, they find it in the cache.
        # The longest, which take longest, come first, so that all cores finish together.
        turns = np.argsort(-places)
        enough = np.asarray(wanted, dtype=np.int64)
        own = local()

        def make_room() -> None:
            codes, _, lengths, *_, orders, _ = tables
            own.room = self._kernels.room_for_searching(len(self), int(lengths[-1]), int(codes.max()) + 1, len(orders))

        def search_chunk(begin: int) -> tuple[NDArray[np.int64], list[NearTerms]]:
            chunk = turns[begin : begin + _CHUNK]
            hidden = [[queries[turn], *(excluded[turn] if excluded is not None else ())] for turn in chunk]
            lengths, near, distances = self._kernels.search_terms(
                own.room,
                places[chunk],
                enough[chunk],
                np.cumsum([0, *map(len, hidden)]),
                self._place_of[np.array([number for numbers in hidden for number in numbers], dtype=np.int64)],
                *tables,
            )
            numbers, distances = self._number_of[near], distances.astype(np.int64)
            order = np.lexsort((numbers, distances, np.repeat(np.arange(len(chunk)), lengths)))
            ends = np.cumsum(lengths)[:-1]
            parts = zip(np.split(numbers[order], ends), np.split(distances[order], ends), strict=True)
            return chunk, [NearTerms(*part) for part in parts]

        found: dict[int, NearTerms] = {}
        with ThreadPoolExecutor(available_cores(), initializer=make_room) as pool:
            for chunk, part in pool.map(search_chunk, range(0, len(turns), _CHUNK)):
                found.update(zip(chunk.tolist(), part, strict=True))
                progress(len(part))
        return [found[turn] for turn in range(len(turns))]
