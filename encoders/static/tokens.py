"""Texts into tokens, and tokens into rows of a table of word vectors."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Words with inner hyphens and apostrophes stay whole; every other sign is a token of its own. No token holds a blank.
_WORD_PATTERN: Final = re.compile(r"\w+(?:[-'\u2019]\w+)*|[^\w\s]")

TOKENIZERS: Final[dict[str, Callable[[str], list[str]]]] = {"words": _WORD_PATTERN.findall, "whitespace": str.split}
CASES: Final = ("exact-then-lower", "exact", "lower")


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """The tokens of several texts: text i owns ``ids[offsets[i]:offsets[i + 1]]``, and ``words[id]`` is a token."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: list[str]

    def coverage(self, known: NDArray[np.bool_]) -> dict[str, float]:
        """Return the share of tokens, of distinct tokens and of texts that have a vector; ``known`` says it of each word."""
        hits = known[self.ids]
        hits_before = np.concatenate([[0], np.cumsum(hits)])[self.offsets]
        return {
            "tokens": int(hits.sum()) / max(1, len(hits)),
            "distinct_tokens": int(known.sum()) / max(1, len(known)),
            "texts": int((np.diff(hits_before) > 0).sum()) / max(1, len(self.offsets) - 1),
        }


def tokenise(texts: Iterable[str], tokenizer: str, empty: str = ".") -> TokenisedTexts:
    """Split texts with one of TOKENIZERS; a text without any token stands for ``empty``, as in SentEval's examples."""
    split, numbers = TOKENIZERS[tokenizer], dict[str, int]()

    @cache  # a piece between two blanks is split once, however often it occurs
    def tokens(piece: str) -> list[int]:
        return [numbers.setdefault(token, len(numbers)) for token in split(piece)]

    ids, ends = array("i"), [0]
    for text in texts:
        ids.extend(chain.from_iterable(map(tokens, text.split() or empty.split())))
        ends.append(len(ids))
    return TokenisedTexts(np.array(ids, dtype=np.int32), np.array(ends, dtype=np.int64), list(numbers))


def look_up(words: Sequence[str], row_of: Mapping[str, int], case: str) -> NDArray[np.int32]:
    """Return the rows of words as they are, in lower case, or in lower case where they are unknown as they are; else -1."""
    if case == "exact-then-lower":
        rows = [row_of[word] if word in row_of else row_of.get(word.lower(), -1) for word in words]
    else:
        rows = [row_of.get(word.lower() if case == "lower" else word, -1) for word in words]
    return np.array(rows, dtype=np.int32)
