"""The table of vectors in which the tagger looks words up: one row for all unknown words, one beyond a sentence's ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Embeddings
from medsenteval.tasks.ner.sentences import digits_as_zero

PADDING: Final = 0
UNKNOWN: Final = 1
_FIRST_KNOWN: Final = 2


@dataclass(frozen=True, eq=False)
class WordTable:
    """The vectors, each word's row, and how many words were found only with their digits as 0.

    Two columns mark padding and unknown words, so that frozen vectors need no invented values for either. Words with equal
    vectors share a row and are tuned together: those that an encoder looks up without regard to case.
    """

    vectors: NDArray[np.float32]
    row_of: dict[str, int]
    n_found_without_digits: int

    @classmethod
    def of(cls, words: Iterable[str], embeddings: Embeddings, *, scale: str) -> WordTable:
        """Look the words up; ``scale`` "unit" divides all vectors by one number, so that coordinates have the mean square 1."""
        distinct = list(dict.fromkeys(words))
        zero = embeddings.zero_rows
        rows = embeddings.rows(distinct)
        unknown = zero[rows]
        rows[unknown] = embeddings.rows([digits_as_zero(distinct[i]) for i in np.flatnonzero(unknown)])
        known = ~zero[rows]
        found = embeddings.matrix[rows[known]]
        number_of: dict[bytes, int] = {}
        numbers = [number_of.setdefault(vector.tobytes(), _FIRST_KNOWN + len(number_of)) for vector in found]
        vectors = np.zeros((_FIRST_KNOWN + len(number_of), embeddings.matrix.shape[1] + 2), dtype=np.float32)
        vectors[numbers, :-2] = found
        if scale == "unit" and number_of:
            vectors /= np.sqrt(np.mean(np.square(vectors[_FIRST_KNOWN:, :-2], dtype=np.float64))).astype(np.float32)
        vectors[PADDING, -2] = vectors[UNKNOWN, -1] = 1
        row_of = dict.fromkeys(distinct, UNKNOWN)
        row_of.update(zip((distinct[i] for i in np.flatnonzero(known)), numbers, strict=True))
        return cls(vectors, row_of, int((unknown & known).sum()))

    def rows(self, words: Sequence[str]) -> NDArray[np.intp]:
        return np.fromiter((self.row_of[word] for word in words), dtype=np.intp, count=len(words))

    def report(self, tested: Sequence[str]) -> dict[str, float]:
        """Say how many words have no vector: distinct ones of the corpus, and running ones of the tested sentences."""
        unknown = sum(row == UNKNOWN for row in self.row_of.values())
        return {
            "distinct": unknown,
            "distinct_share": unknown / len(self.row_of),
            "test_tokens_share": float(np.mean(self.rows(tested) == UNKNOWN)),
            "found_with_digits_as_zero": self.n_found_without_digits,
        }


def capitals_of(words: Sequence[str]) -> NDArray[np.intp]:
    """Return how each word is capitalised, as a number in the order of ``medsenteval.words.tagging.window_tagger.CAPITALS``."""
    return np.fromiter(map(_capitals, words), dtype=np.intp, count=len(words))


def _capitals(word: str) -> int:
    if word.isupper():
        return 1
    if word[0].isupper():
        return 2
    return 3 if any(map(str.isupper, word)) else 0
