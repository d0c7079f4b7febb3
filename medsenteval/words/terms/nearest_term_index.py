"""Exact nearest terms by Levenshtein distance, among hundreds of thousands, without computing all distances.

For each term that is asked for, all terms up to the distance at which enough have been found are returned, ties included, so
that whoever draws among equals draws from the same terms as a search over all pairs would give. See ``search_kernels`` for how.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import MissingExtraError
from medsenteval.support.arrays import Counts
from medsenteval.support.cores import available_cores

#: Terms that a thread looks for before it takes others.
_CHUNK: Final = 256
#: Characters that are counted, the last one standing for all rarer ones too; where counts stop, and where lengths do: all
#: differences of two terms together are below 255.
_CHARACTERS: Final = 22
_HIGHEST_COUNT: Final = 8
_HIGHEST_LENGTH: Final = 254 - _CHARACTERS * _HIGHEST_COUNT


@dataclass(frozen=True, eq=False)
class NearTerms:
    """What a search found for one term: numbers of terms and their distances, nearest first, then in order of number."""

    terms: Counts
    distances: Counts


def count_characters(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return a column for each row of codes, a term: how often it has each character, numbered by frequency, and its length."""
    counts = np.empty((_CHARACTERS + 1, len(codes)), dtype=np.uint8)
    for character in range(_CHARACTERS):
        same = codes == character if character < _CHARACTERS - 1 else codes >= character
        counts[character] = np.minimum(np.count_nonzero(same, axis=1), _HIGHEST_COUNT)
    counts[_CHARACTERS] = min(codes.shape[1], _HIGHEST_LENGTH)
    return counts


class NearestTermIndex:
    """An index over different non-empty texts; texts are compared as they are, so lower them first if case must not count."""

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            from medsenteval.words.terms.search_kernels import BLOCK, search_term
        except ImportError as error:
            raise MissingExtraError("the nearest-term search", "numba", "terms") from error
        if len(set(texts)) != len(texts) or not all(texts):
            raise ValueError("the index needs texts that differ and are not empty")
        self._search_term = search_term
        frequencies = np.bincount(_code_points(texts))
        rank = np.argsort(np.argsort(-frequencies, kind="stable")).astype(np.uint32)
        by_length: dict[int, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            by_length[len(text)].append(number)
        numbers, counts, widths, codes = [], [], [], []
        for length, listed in sorted(by_length.items()):
            members = np.array(listed)
            rows = rank[_code_points([texts[number] for number in members])].reshape(-1, length)
            counted = count_characters(rows)
            # Terms with nearly the same characters share a block, so that few blocks must be measured.
            order = np.lexsort(counted[::-1])
            # A block that is not full repeats its last term, at places that are never found.
            padded = np.concatenate([order, np.repeat(order[-1:], -len(order) % BLOCK)])
            numbers += [members[order], np.full(len(padded) - len(order), -1)]
            counts.append(counted[:, padded])
            widths += [length] * (len(padded) // BLOCK)
            codes.append(rows[padded].reshape(-1, BLOCK, length).transpose(0, 2, 1).ravel())
        self._number_at = np.concatenate(numbers)
        used = np.flatnonzero(self._number_at >= 0)
        self._padding = np.flatnonzero(self._number_at < 0)
        self._place_of = np.empty(len(texts), dtype=np.int64)
        self._place_of[self._number_at[used]] = used
        self._tables = (
            int(np.count_nonzero(frequencies)),
            np.ascontiguousarray(np.concatenate(counts, axis=1)),
            np.array(widths),
            np.cumsum([0, *(BLOCK * width for width in widths[:-1])]),
            np.concatenate(codes),
        )

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

        def search_one(turn: int) -> NearTerms:
            barred = self._place_of[[queries[turn], *(excluded[turn] if excluded is not None else ())]]
            hidden = np.concatenate([self._padding, barred])
            places, distances = self._search_term(self._place_of[queries[turn]], wanted[turn], hidden, *self._tables)
            terms = self._number_at[places]
            order = np.lexsort((terms, distances))
            return NearTerms(terms[order], distances[order])

        found: list[NearTerms] = []
        with ThreadPoolExecutor(available_cores()) as pool:
            chunks = [range(begin, min(begin + _CHUNK, len(queries))) for begin in range(0, len(queries), _CHUNK)]
            for part in pool.map(lambda chunk: [search_one(turn) for turn in chunk], chunks):
                found.extend(part)
                progress(len(part))
        return found


def _code_points(texts: Sequence[str]) -> NDArray[np.uint32]:
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
