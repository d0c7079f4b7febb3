"""Texts into token numbers, fast: ASCII texts are split as one array of bytes, and what was split once is kept.

Encoders with the same tokeniser share a TokenStore, so the second one looks up only the distinct tokens.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.compiling import loops_worth_loading
from medsenteval.cores import available_cores
from medsenteval.encoders.words import CompiledSearch, PackedWords, Search, WordIndex, as_bytes, pack
from medsenteval.pooling import worker_threads

__all__ = ["JOINER", "SPACE", "TOKENIZERS", "WORD", "TokenStore", "TokenisedTexts", "lowered", "token_store"]

#: Words with inner hyphens and apostrophes stay whole; every other sign is a token of its own.
_WORD_PATTERN: Final = re.compile(r"\w+(?:[-'\u2019]\w+)*|[^\w\s]")

TOKENIZERS: Final[dict[str, Callable[[str], list[str]]]] = {"words": _WORD_PATTERN.findall, "whitespace": str.split}

_CHARACTERS_A_GROUP: Final = 1 << 19
#: For estimates only.
_CHARACTERS_A_TOKEN: Final = 6
#: Beyond either, everything kept is forgotten before the next texts are split: about 250 MB.
_MAX_TOKENS_KEPT: Final = 1 << 25
_MAX_CHARACTERS_KEPT: Final = 1 << 27

_FULL_STOP: Final = 0
#: Kinds of ASCII characters.
WORD, JOINER, SPACE = 1, 2, 4
_CLASSES: Final = np.array(
    [
        WORD if chr(i).isalnum() or chr(i) == "_" else JOINER if chr(i) in "-'" else SPACE if chr(i).isspace() else 0
        for i in range(128)
    ],
    dtype=np.uint8,
)
_LOWER: Final = np.array([i + 32 if 65 <= i <= 90 else i for i in range(256)], dtype=np.uint8)


_Group = slice | list[int]
#: Tokens looked up (or distinct tokens, and then which of them each token is), and how many tokens each text has.
_Split = tuple[Search | CompiledSearch, NDArray[np.int64] | None, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """Token numbers of several texts, text i owning ``ids[offsets[i]:offsets[i + 1]]``; ``types`` says what a number means.

    Numbers mean the same as long as ``types`` is the same object.
    """

    types: WordIndex
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def with_full_stops(self) -> TokenisedTexts:
        """Return the same texts with "." in those that hold no token, as in SentEval's examples."""
        empty = np.flatnonzero(np.diff(self.offsets) == 0)
        if not len(empty):
            return self
        ids = np.insert(self.ids, self.offsets[empty], _FULL_STOP)
        added = np.zeros(len(self.offsets), dtype=np.int64)
        added[empty + 1] = 1
        return TokenisedTexts(self.types, ids, self.offsets + np.cumsum(added))


class TokenStore:
    """Splits texts with one tokeniser and keeps their token numbers, within bounded memory."""

    def __init__(self, tokenizer: str) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._types = WordIndex.empty()
        self._types.add(pack([b"."]))  # number _FULL_STOP
        self._slot_of: dict[str, int] = {}
        self._starts = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._ids = np.zeros(1 << 16, dtype=np.int32)
        self._n_ids = 0
        self._n_characters = 0

    def tokenise(self, texts: Sequence[str]) -> TokenisedTexts:
        """Return the token numbers of the texts, splitting only those not seen before."""
        with self._lock:
            if self._n_ids > _MAX_TOKENS_KEPT or self._n_characters > _MAX_CHARACTERS_KEPT:
                self._forget()
            slots = self._slots_of(texts)
            starts, counts = self._starts[slots], self._counts[slots]
            offsets = np.zeros(len(texts) + 1, dtype=np.int64)
            np.cumsum(counts, out=offsets[1:])
            if not len(texts) or np.array_equal(starts[1:], starts[:-1] + counts[:-1]):
                begin = int(starts[0]) if len(texts) else 0
                ids = self._ids[begin : begin + int(offsets[-1])]
            else:
                ids = self._ids[np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])]
            return TokenisedTexts(self._types, ids, offsets)

    def _slots_of(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return where each text's token numbers are, after splitting the texts not seen before."""
        slot_of = self._slot_of
        n_kept = len(slot_of)
        try:
            # Where the first text is known the others mostly are, and asking is cheaper than putting in.
            listed: list[int | None] = list(map(slot_of.get, texts)) if len(texts) and texts[0] in slot_of else [None]
            if None in listed:
                # A new text gets the next slot: its number is worked out before it is put in.
                listed = [slot_of.setdefault(text, len(slot_of)) for text in texts]
            slots = np.array(listed, dtype=np.int64)
            n_new = len(slot_of) - n_kept
            if n_new:
                new, first_places = np.unique(slots, return_index=True)
                self._split(list(texts) if n_new == len(texts) else [texts[i] for i in first_places[new >= n_kept].tolist()])
        except BaseException:
            self._forget()  # interrupted, slots may have no tokens yet
            raise
        return slots

    def _split(self, texts: list[str]) -> None:
        """Split distinct new texts and keep their token numbers."""
        starts, counts = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.int64)
        text_lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        n_characters = int(text_lengths.sum())
        groups = _groups(texts, text_lengths)
        loops = loops_worth_loading("medsenteval.encoders.token_kernels", n_characters // _CHARACTERS_A_TOKEN)
        found = _in_threads(partial(self._split_group, loops), (_chosen(texts, group) for group in groups), len(groups))
        for group, (search, numbers, n_tokens) in zip(groups, found, strict=True):
            ids = self._types.finish(search)
            starts[group] = self._n_ids + np.cumsum(n_tokens) - n_tokens
            counts[group] = n_tokens
            self._keep(ids if numbers is None else ids[numbers])
        self._starts = np.concatenate([self._starts, starts])
        self._counts = np.concatenate([self._counts, counts])
        self._n_characters += n_characters

    def _keep(self, ids: NDArray[np.int32]) -> None:
        end = self._n_ids + len(ids)
        if end > len(self._ids):
            # A new array, never resized in place: texts handed out earlier are views of the old one.
            grown = np.empty(max(end, 2 * len(self._ids)), dtype=np.int32)
            grown[: self._n_ids] = self._ids[: self._n_ids]
            self._ids = grown
        self._ids[self._n_ids : end] = ids
        self._n_ids = end

    def _split_group(self, loops: Any, texts: list[str]) -> _Split:
        if not texts[0].isascii():
            return self._split_other(loops, texts)
        buffer, text_ends = _joined(texts)
        if loops is None:
            begins, ends = _ASCII_SPLITTERS[self._tokenizer](buffer)
            lengths = (ends - begins).astype(np.int32)
            n_tokens = np.diff(np.searchsorted(begins, text_ends), prepend=0)
        else:
            begins, lengths = np.empty(len(buffer), dtype=np.int64), np.empty(len(buffer), dtype=np.int32)
            n_tokens = np.empty(len(texts), dtype=np.int64)
            n = loops.split_texts(buffer, text_ends, _CLASSES, self._tokenizer == "words", begins, lengths, n_tokens)
            begins, lengths = begins[:n], lengths[:n]
        return self._types.begin(PackedWords(buffer, begins, lengths), loops), None, n_tokens

    def _split_other(self, loops: Any, texts: list[str]) -> _Split:
        lists = list(map(TOKENIZERS[self._tokenizer], texts))
        number_of: dict[str, int] = {}
        numbers = [number_of.setdefault(token, len(number_of)) for tokens in lists for token in tokens]
        search = self._types.begin(pack(map(as_bytes, number_of)), loops)
        n_tokens = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        return search, np.array(numbers, dtype=np.int64), n_tokens


@cache
def token_store(tokenizer: str) -> TokenStore:
    """Return this process's store for a tokeniser."""
    return TokenStore(tokenizer)


def _in_threads(split: Callable[[list[str]], _Split], groups: Iterable[list[str]], n_groups: int) -> Iterator[_Split]:
    """Split groups of texts on all cores, in order; NumPy and compiled loops let go of the interpreter most of the time."""
    yield from map(split, groups) if n_groups < 2 or available_cores() < 2 else worker_threads().map(split, groups)


def _chosen(texts: list[str], group: _Group) -> list[str]:
    return texts[group] if isinstance(group, slice) else [texts[i] for i in group]


def _joined(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of ASCII texts one after the other, and where each text ends."""
    # A line end between two texts keeps their words apart; the rest is room for loading eight bytes at a time.
    buffer = np.frombuffer(("\n".join(texts) + "\n" * 9).encode("ascii"), dtype=np.uint8)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return buffer, np.cumsum(lengths + 1) - 1


def _groups(texts: list[str], lengths: NDArray[np.int64]) -> list[_Group]:
    """Group texts so that a group's bytes and what is computed from them stay in the processor's cache, ASCII ones apart."""
    ends = np.cumsum(lengths + 1)
    cuts = np.searchsorted(ends, np.arange(_CHARACTERS_A_GROUP, int(ends[-1]), _CHARACTERS_A_GROUP)) + 1
    edges = np.unique(np.concatenate([[0], cuts.clip(max=len(texts)), [len(texts)]])).tolist()
    groups: list[_Group] = []
    for begin, end in pairwise(edges):
        is_ascii = list(map(str.isascii, texts[begin:end]))
        if all(is_ascii):
            groups.append(slice(begin, end))
        else:
            for wanted in (True, False):
                chosen = [begin + i for i, plain in enumerate(is_ascii) if plain is wanted]
                groups += [chosen] if chosen else []
    return groups


def _split_at_space(buffer: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find what ``str.split`` finds; the buffer ends in white space."""
    inside = _CLASSES.take(buffer) != SPACE
    begins, ends = _edges(inside)
    return np.flatnonzero(begins), np.flatnonzero(ends) + 1


def _split_words(buffer: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find what the pattern of "words" finds: a hyphen or apostrophe belongs to a word if it has letters on both sides."""
    classes = _CLASSES.take(buffer)
    word = classes == WORD
    inside = classes == JOINER
    inside[1:-1] &= word[:-2] & word[2:]
    inside[0] = False
    inside |= word
    sign = (classes != SPACE) & ~inside
    begins, ends = _edges(inside)
    return np.flatnonzero(begins | sign), np.flatnonzero(ends | sign) + 1


def _edges(inside: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where runs begin and where their last bytes are; the last byte of all is outside."""
    begins, ends = inside.copy(), inside.copy()
    begins[1:] &= ~inside[:-1]
    ends[:-1] &= ~inside[1:]
    return begins, ends


_ASCII_SPLITTERS: Final = {"words": _split_words, "whitespace": _split_at_space}


def lowered(words: PackedWords) -> PackedWords:
    """Return the words in lower case, as ``str.lower`` of each; they must lie in their buffer in order."""
    if not len(words):
        return words
    ends = words.starts + words.lengths
    begin, end = int(words.starts[0]), int(ends[-1])
    buffer = _LOWER.take(words.buffer[begin : end + 8])
    starts, lengths = words.starts - begin, words.lengths
    beyond_ascii = begin + np.flatnonzero(words.buffer[begin:end] >= 128)
    owners = np.unique(np.searchsorted(words.starts, beyond_ascii, side="right") - 1)
    if len(owners):
        # Lower case of other letters can need the whole word (a final sigma) and change its length.
        others = pack(as_bytes(words.word(i).decode("utf-8", "surrogatepass").lower()) for i in owners.tolist())
        starts, lengths = starts.copy(), lengths.copy()
        starts[owners], lengths[owners] = others.starts + len(buffer), others.lengths
        buffer = np.concatenate([buffer, others.buffer])
    return PackedWords(buffer, starts, lengths)
