"""The words of a table as a sorted index that is searched where it lies, in memory or in a mapped file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_bytes(word: str) -> bytes:
    """Encode a word as the index stores it; half a surrogate pair is a word like any other."""
    return word.encode("utf-8", "surrogatepass")


class Vocabulary(Mapping[str, int]):
    """Reads like a dict from words to their rows 0, 1, 2, ...; ``rows`` looks up many words at once.

    Words are kept as UTF-8, sorted by length and then by bytes: those of one length are an array of fixed width, in which
    NumPy finds words by bisection. ``sizes`` holds each length and how many words have it.
    """

    def __init__(self, letters: NDArray[np.uint8], sizes: NDArray[np.int64], order: NDArray[np.int32]) -> None:
        self._parts = (letters, sizes, order)
        self._words_of: dict[int, tuple[NDArray[np.bytes_], NDArray[np.int32]]] = {}
        at = first = 0
        for length, count in sizes.tolist():
            width = max(1, length)  # an array has no width 0: the empty word is kept as a zero byte
            words = letters[at : at + width * count].view(f"S{width}")
            self._words_of[length] = (words, order[first : first + count])
            at, first = at + width * count, first + count
        if (at, first) != (len(letters), len(order)):
            raise ValueError("its parts differ in length")

    @classmethod
    def of(cls, words: Iterable[bytes]) -> Vocabulary:
        """Index words that are all different; word i gets row i."""
        listed = list(words)
        letters, sizes, order = [], [], []
        for length, group in groupby(sorted(range(len(listed)), key=lambda i: len(listed[i])), key=lambda i: len(listed[i])):
            places = np.fromiter(group, dtype=np.int32)
            packed = np.array([listed[i] for i in places.tolist()], dtype=f"S{max(1, length)}")
            by_bytes = np.argsort(packed)
            letters.append(packed[by_bytes].view(np.uint8))
            sizes.append((length, len(places)))
            order.append(places[by_bytes])
        return cls(
            np.concatenate(letters) if letters else np.zeros(0, dtype=np.uint8),
            np.array(sizes, dtype=np.int64).reshape(-1, 2),
            np.concatenate(order) if order else np.zeros(0, dtype=np.int32),
        )

    def save(self, folder: Path) -> None:
        letters, sizes, order = self._parts
        np.save(folder / "letters.npy", letters)
        np.save(folder / "sizes.npy", sizes)
        np.save(folder / "order.npy", order)

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """Map a vocabulary that ``save`` wrote; nothing is read before it is looked up."""
        letters, sizes, order = (
            # As plain arrays over the map: indexing a memmap costs twice as much.
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
            for name in ("letters", "sizes", "order")
        )
        return cls(letters, sizes, order)

    def __len__(self) -> int:
        return len(self._parts[2])

    def __getitem__(self, word: str) -> int:
        row = int(self.rows([word])[0])
        if row < 0:
            raise KeyError(word)
        return row

    def __iter__(self) -> Iterator[str]:
        return (word.decode("utf-8", "replace") for word in self.in_bytes())

    def in_bytes(self) -> list[bytes]:
        """Return the words as they are stored, in the order of their rows."""
        words = [b""] * len(self)
        for length, (packed, rows) in self._words_of.items():
            letters = packed.tobytes()
            for i, row in enumerate(rows.tolist()):
                words[row] = letters[i * length : (i + 1) * length]
        return words

    def rows_by_case(self, words: list[str], case: str) -> NDArray[np.int32]:
        """Return the rows of words as they are, in lower case, or in lower case where they are unknown as they are."""
        if case == "lower":
            return self.rows(word.lower() for word in words)
        rows = self.rows(words)
        if case == "exact-then-lower":
            missing = np.flatnonzero(rows < 0)
            rows[missing] = self.rows(words[i].lower() for i in missing.tolist())
        return rows

    def rows(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the row of each word, -1 for unknown ones."""
        wanted = [as_bytes(word) for word in words]
        lengths = np.fromiter(map(len, wanted), dtype=np.int64, count=len(wanted))
        found = np.full(len(wanted), -1, dtype=np.int32)
        by_length: Any = np.argsort(lengths, kind="stable")
        for places in np.split(by_length, np.flatnonzero(np.diff(lengths[by_length])) + 1):
            words_of_length = self._words_of.get(len(wanted[places[0]])) if len(places) else None
            if words_of_length is not None:
                known, rows = words_of_length
                asked = np.array([wanted[i] for i in places.tolist()], dtype=known.dtype)
                at = np.searchsorted(known, asked).clip(max=len(known) - 1)
                same = known[at] == asked
                found[places[same]] = rows[at[same]]
        return found
