"""Texts into tokens: what stands between two blanks is split and looked up once, however often it occurs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Words with inner hyphens and apostrophes stay whole; every other sign is a token of its own. No token holds a blank.
_WORD_PATTERN: Final = re.compile(r"\w+(?:[-'\u2019]\w+)*|[^\w\s]")

TOKENIZERS: Final[dict[str, Callable[[str], list[str]]]] = {"words": _WORD_PATTERN.findall, "whitespace": str.split}

#: Beyond this many everything kept is forgotten before the next texts are read: some 300 MB.
_MOST_PIECES_KEPT: Final = 1 << 21

#: One for all readers, so that a reader can be pickled.
_reading: Final = threading.Lock()


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """The tokens of several texts, text i owning ``ids[offsets[i]:offsets[i + 1]]``.

    ``words[id]`` is a token and ``rows[id]`` its row in a vocabulary, -1 for an unknown one; both may hold further tokens.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: list[str]
    rows: NDArray[np.int32]


class _Numbers(dict[str, int]):
    """Numbers distinct strings 0, 1, 2, ... in the order in which they are first asked for, and lists them."""

    def __init__(self) -> None:
        self.listed: list[str] = []

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self.listed)
        self.listed.append(string)
        return number

    def of(self, lists: Sequence[Sequence[str]], counts: NDArray[np.int64]) -> NDArray[np.int32]:
        numbers = map(self.__getitem__, chain.from_iterable(lists))
        return np.fromiter(numbers, dtype=np.int32, count=int(counts.sum()))


class TokenReader:
    """Splits texts with one tokeniser and looks distinct tokens up; an empty text stands for ".", as in SentEval's examples."""

    def __init__(self, tokenizer: str, look_up: Callable[[list[str]], NDArray[np.int32]]) -> None:
        self._split = TOKENIZERS[tokenizer]
        self._look_up = look_up
        self._forget()

    def _forget(self) -> None:
        self._pieces, self._tokens = _Numbers(), _Numbers()
        self._rows = np.zeros(0, dtype=np.int32)
        # The tokens of all pieces, one piece after the other, and where each piece begins.
        self._ids = np.zeros(0, dtype=np.int32)
        self._starts = np.zeros(1, dtype=np.int64)

    def read(self, texts: Sequence[str]) -> TokenisedTexts:
        """Return the tokens of the texts with their rows."""
        with _reading:
            if len(self._pieces) > _MOST_PIECES_KEPT:
                self._forget()
            try:
                lists = [text.split() or ["."] for text in texts]
                counts = _lengths(lists)
                pieces = self._pieces.of(lists, counts)
                self._take_in(self._pieces.listed[len(self._starts) - 1 :])
            except BaseException:
                self._forget()  # interrupted, pieces may have no tokens yet
                raise
            starts = self._starts[pieces]
            sizes = self._starts[1:][pieces] - starts
            ends = np.concatenate([[0], np.cumsum(sizes)])
            ids = self._ids[np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])]
            offsets = ends[np.concatenate([[0], np.cumsum(counts)])]
            return TokenisedTexts(ids, offsets, self._tokens.listed, self._rows)

    def _take_in(self, pieces: list[str]) -> None:
        """Split pieces of text that are new and look up what is new among their tokens."""
        if not pieces:
            return
        lists = list(map(self._split, pieces))
        sizes = _lengths(lists)
        self._ids = np.concatenate([self._ids, self._tokens.of(lists, sizes)])
        self._rows = np.concatenate([self._rows, self._look_up(self._tokens.listed[len(self._rows) :])])
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(sizes)])


def _lengths(lists: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
