"""Words as packed bytes, and a hash index over them that answers many look-ups at once without a Python dict.

Everything here is NumPy; ``token_kernels`` has compiled loops over the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medsenteval.compiling import loops_worth_loading, read_only

__all__ = [
    "HASHED_BLOCKS",
    "MASKS",
    "MULTIPLIERS",
    "SPARE",
    "CompiledSearch",
    "HashTable",
    "PackedWords",
    "Vocabulary",
    "WordIndex",
    "as_bytes",
    "pack",
]

#: What keeps the first n of eight bytes, n from 0 to 8.
MASKS: Final = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
#: A hash sees this many blocks of eight bytes; longer words are told apart by comparing them.
HASHED_BLOCKS: Final = 8
#: The hash multiplies the first eight bytes, the further ones and the result by these.
MULTIPLIERS: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SPARE: Final = bytes(8)
#: Words for which a full table gets room at least.
_ROOM: Final = 1024
_LOOPS: Final = "medsenteval.encoders.token_kernels"


def as_bytes(word: str) -> bytes:
    """Encode a word as the index stores it; half a surrogate pair is a word like any other."""
    return word.encode("utf-8", "surrogatepass")


def windows_of(buffer: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the eight bytes from each byte on as integers, without copying."""
    return np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))


@dataclass(frozen=True, eq=False)
class PackedWords:
    """Words as UTF-8 in one buffer with eight spare bytes at its end; word i begins at ``starts[i]``."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, which: Any) -> PackedWords:
        """Return some of the words over the same buffer."""
        return PackedWords(self.buffer, self.starts[which], self.lengths[which])

    def block(self, number: int, which: Any = slice(None)) -> NDArray[np.uint64]:
        """Return the given eight bytes of each word as an integer, zero beyond its end; all words must reach a later block."""
        windows = windows_of(self.buffer)
        starts, lengths = self.starts[which], self.lengths[which]
        if number:
            starts, lengths = starts + 8 * number, lengths - 8 * number
        loaded: NDArray[np.uint64] = windows[starts]
        loaded &= MASKS.take(lengths, mode="clip")
        return loaded

    def as_asked(self) -> tuple[NDArray[Any], ...]:
        """Return the words as compiled loops take them."""
        return read_only(windows_of(self.buffer)), read_only(self.starts), read_only(self.lengths)

    def word(self, i: int) -> bytes:
        start = int(self.starts[i])
        return self.buffer[start : start + int(self.lengths[i])].tobytes()

    def hashes(self, first: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return a 64-bit hash of each word by multiplying and folding its blocks of eight bytes."""
        mixed = (first ^ (self.lengths.astype(np.uint64) << np.uint64(56))) * np.uint64(MULTIPLIERS[0])
        mixed ^= mixed >> np.uint64(32)
        longer = np.flatnonzero(self.lengths > 8)
        for number in range(1, HASHED_BLOCKS):
            if not len(longer):
                break
            further = (mixed[longer] ^ self.block(number, longer)) * np.uint64(MULTIPLIERS[1])
            mixed[longer] = further ^ (further >> np.uint64(29))
            longer = longer[self.lengths[longer] > 8 * (number + 1)]
        mixed *= np.uint64(MULTIPLIERS[2])
        return mixed ^ (mixed >> np.uint64(32))


def pack(words: Iterable[bytes]) -> PackedWords:
    """Lay words end to end."""
    listed = list(words)
    lengths = np.fromiter(map(len, listed), dtype=np.int32, count=len(listed))
    starts = np.zeros(len(listed), dtype=np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    return PackedWords(np.frombuffer(b"".join([*listed, SPARE]), dtype=np.uint8), starts, lengths)


@dataclass(frozen=True, eq=False)
class Search:
    """Words that were looked up: the numbers found, -1 for none, and the words that were not found, each of them once.

    ``new`` are places of such words and ``missing`` the places that hold one of them: ``missing[i]`` holds the word at
    ``new[which[i]]``. ``different`` are places of words that share their hash with another new word.
    """

    wanted: PackedWords
    first: NDArray[np.uint64]
    hashed: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    new: NDArray[np.intp]
    missing: NDArray[np.intp]
    which: NDArray[np.intp]
    different: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CompiledSearch:
    """Words that compiled loops looked up: the numbers found, -1 for none."""

    wanted: PackedWords
    numbers: NDArray[np.int32]
    loops: Any


class HashTable(NamedTuple):
    """The arrays of a word index as compiled loops take them: words in use, their bytes, and what names and places them."""

    n_words: int
    n_bytes: int
    buffer: NDArray[np.uint8]
    windows: NDArray[np.uint64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    firsts: NDArray[np.uint64]
    slots: NDArray[np.int32]

    def read_only(self) -> HashTable:
        """Return the table for loops that only look up: mapped or not, numba then compiles them once."""
        return HashTable(self.n_words, self.n_bytes, *map(read_only, self[2:]))


class WordIndex:
    """An open-addressing hash table from words to their numbers 0, 1, 2, ... in order of arrival; it can grow.

    Every match is compared byte by byte, so two words with one hash are kept apart. All arrays may be memory-mapped.
    """

    def __init__(self, words: PackedWords, first: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
        self._words = words
        self._first = first
        self._slots = slots
        self._count = len(words)
        self._bytes = len(words.buffer) - len(SPARE)

    @classmethod
    def empty(cls) -> WordIndex:
        return cls(pack([]), np.zeros(0, dtype=np.uint64), np.full(1024, -1, dtype=np.int32))

    @classmethod
    def of(cls, words: PackedWords) -> WordIndex:
        """Index words that are all different; word i gets number i."""
        first = words.block(0)
        slots = np.full(_capacity(len(words)), -1, dtype=np.int32)
        _insert(slots, words.hashes(first), np.arange(len(words), dtype=np.int32))
        return cls(words, first, slots)

    def save(self, folder: Path) -> None:
        np.save(folder / "bytes.npy", self._words.buffer)
        np.save(folder / "lengths.npy", self._words.lengths)
        np.save(folder / "starts.npy", self._words.starts)
        np.save(folder / "first.npy", self._first)
        np.save(folder / "slots.npy", self._slots)

    @classmethod
    def open(cls, folder: Path) -> WordIndex:
        """Map an index that ``save`` wrote; nothing is read before it is looked up."""
        parts = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("bytes", "starts", "lengths", "first", "slots")
        }
        if not len(parts["starts"]) == len(parts["lengths"]) == len(parts["first"]) < len(parts["slots"]):
            raise ValueError("its parts differ in length")
        # As plain arrays over the map: indexing a memmap costs twice as much.
        plain = {name: np.asarray(part) for name, part in parts.items()}
        return cls(PackedWords(plain["bytes"], plain["starts"], plain["lengths"]), plain["first"], plain["slots"])

    def __len__(self) -> int:
        return self._count

    def words(self, begin: int = 0, end: int | None = None) -> PackedWords:
        """Return the words numbered from ``begin`` to before ``end``."""
        return self._words.take(slice(begin, self._count if end is None else end))

    def find(self, wanted: PackedWords) -> NDArray[np.int32]:
        """Return the number of each word, -1 for words that are not here."""
        loops = loops_worth_loading(_LOOPS, len(wanted))
        if loops is not None:
            return self._find_compiled(wanted.as_asked(), loops)
        first = wanted.block(0)
        return self._find(wanted, first, wanted.hashes(first))

    def _find_compiled(self, asked: tuple[NDArray[Any], ...], loops: Any) -> NDArray[np.int32]:
        found = np.empty(len(asked[1]), dtype=np.int32)
        loops.find_words(*asked, self._table().read_only(), found)
        return found

    def add(self, wanted: PackedWords, loops: Any = None) -> NDArray[np.int32]:
        """Return the number of each word, new words included, which are taken in."""
        return self.finish(self.begin(wanted, loops))

    def begin(self, wanted: PackedWords, loops: Any = None) -> Search | CompiledSearch:
        """Look words up without changing anything; threads may do so while one of them is in ``finish``.

        ``loops`` is ``token_kernels``, if compiled loops shall do it.
        """
        if loops is not None:
            return CompiledSearch(wanted, self._find_compiled(wanted.as_asked(), loops), loops)
        first = wanted.block(0)
        hashed = wanted.hashes(first)
        numbers = self._find(wanted, first, hashed)
        # Said once here, where threads work side by side, so that ``finish`` has little left to do.
        missing = np.flatnonzero(numbers < 0)
        _, one_each, which = np.unique(hashed[missing], return_index=True, return_inverse=True)
        new = missing[one_each]
        different = missing[~_equal_words(wanted, missing, new[which])]
        return Search(wanted, first, hashed, numbers, new, missing, which, different)

    def finish(self, search: Search | CompiledSearch) -> NDArray[np.int32]:
        """Take in the words that ``begin`` did not find and return all numbers; one thread at a time."""
        if isinstance(search, CompiledSearch):
            return self._finish_compiled(search)
        wanted, first, hashed, numbers, new = search.wanted, search.first, search.hashed, search.numbers, search.new
        if not len(new):
            return numbers
        # Others may have brought some of them since.
        found = self._find(wanted.take(new), first[new], hashed[new])
        absent = np.flatnonzero(found < 0)
        if len(absent):
            found[absent] = np.arange(self._count, self._count + len(absent), dtype=np.int32)
            self._append(wanted.take(new[absent]), first[new[absent]], hashed[new[absent]])
        numbers[search.missing] = found[search.which]
        if len(search.different):
            numbers[search.different] = self.add(wanted.take(search.different))
        return numbers

    def _finish_compiled(self, search: CompiledSearch) -> NDArray[np.int32]:
        wanted, numbers, done = search.wanted.as_asked(), search.numbers, 0
        if not self._words.buffer.flags.writeable:
            self._make_room(_ROOM, len(search.wanted.buffer))
        while True:
            done, count, n_bytes = search.loops.add_words(*wanted, self._table(), done, numbers)
            self._count, self._bytes = count, n_bytes
            if done == len(numbers):
                return numbers
            self._make_room(_ROOM, len(search.wanted.buffer))

    def _find(self, wanted: PackedWords, first: NDArray[np.uint64], hashed: NDArray[np.uint64]) -> NDArray[np.int32]:
        # The order matters to a thread that looks up while another adds: what these slots name, these words may not hold yet.
        slots, words, firsts = self._slots, self._words, self._first
        count = np.uint32(min(self._count, len(firsts), len(words)))
        found = np.full(len(wanted), -1, dtype=np.int32)
        if not count:
            return found
        mask = len(slots) - 1
        place = (hashed & np.uint64(mask)).astype(np.intp)
        lengths = wanted.lengths
        asking: NDArray[np.intp] | None = None
        while len(place):
            candidate = slots.take(place)
            # An empty slot is -1, which as an unsigned number is not below the count either.
            held = candidate.view(np.uint32) < count
            at = candidate.astype(np.intp)
            same = firsts.take(at, mode="clip") == first
            same &= words.lengths.take(at, mode="clip") == lengths
            same &= held
            _compare_further(same, lengths, words, at, wanted, asking)
            if asking is None:
                np.copyto(found, candidate, where=same)
            else:
                found[asking[same]] = candidate[same]
            wrong = np.flatnonzero(held & ~same)
            asking = wrong if asking is None else asking[wrong]
            place = (place[wrong] + 1) & mask
            first, lengths = first[wrong], lengths[wrong]
        return found

    def _table(self) -> HashTable:
        slots, words, firsts = self._slots, self._words, self._first  # in the order that ``_find`` needs
        windows = windows_of(words.buffer)
        return HashTable(self._count, self._bytes, words.buffer, windows, words.starts, words.lengths, firsts, slots)

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        """Make the arrays large enough for so many more words; what was handed out before stays as it is."""
        end = self._count + n_words
        self._words = PackedWords(
            _grown(self._words.buffer, self._bytes + n_bytes + len(SPARE)),
            _grown(self._words.starts, end),
            _grown(self._words.lengths, end),
        )
        self._first = _grown(self._first, end)
        if 2 * end > len(self._slots):
            slots = np.full(_capacity(2 * end), -1, dtype=np.int32)
            hashed = self.words().hashes(self._first[: self._count])
            _insert(slots, hashed, np.arange(self._count, dtype=np.int32))
            self._slots = slots

    def _append(self, new: PackedWords, first: NDArray[np.uint64], hashed: NDArray[np.uint64]) -> None:
        begin, end = self._count, self._count + len(new)
        lengths = new.lengths.astype(np.int64)
        ends = np.cumsum(lengths)
        self._make_room(len(new), int(ends[-1]))
        words, last = self._words, self._bytes + int(ends[-1])
        sources = np.repeat(new.starts - (ends - lengths), lengths) + np.arange(int(ends[-1]))
        words.buffer[self._bytes : last] = new.buffer[sources]
        words.starts[begin:end], words.lengths[begin:end] = self._bytes + ends - lengths, new.lengths
        self._first[begin:end] = first
        self._count, self._bytes = end, last
        _insert(self._slots, hashed, np.arange(begin, end, dtype=np.int32))


def _compare_further(
    same: NDArray[np.bool_],
    lengths: NDArray[np.int32],
    words: PackedWords,
    candidate: NDArray[np.intp],
    wanted: PackedWords,
    asking: NDArray[np.intp] | None,
) -> None:
    """Clear ``same`` where words that agree in length and their first eight bytes differ after them."""
    longer = np.flatnonzero(same & (lengths > 8))
    number = 1
    while len(longer) and number < HASHED_BLOCKS:
        theirs = longer if asking is None else asking[longer]
        equal = words.block(number, candidate[longer]) == wanted.block(number, theirs)
        same[longer[~equal]] = False
        number += 1
        longer = longer[equal & (lengths[longer] > 8 * number)]
    for at in longer.tolist():  # words of more than 64 bytes
        same[at] = words.word(int(candidate[at])) == wanted.word(at if asking is None else int(asking[at]))


def _equal_words(words: PackedWords, some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return where two words, given by their places, are the same."""
    same: NDArray[np.bool_] = words.lengths[some] == words.lengths[others]
    same &= words.block(0, some) == words.block(0, others)
    _compare_further(same, words.lengths[some], words, others, words, some)
    return same


def _capacity(count: int) -> int:
    """Return a power of two that leaves more than half of the slots free."""
    return max(1024, 1 << (2 * count).bit_length())


def _grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return the array with room for at least ``needed`` items, doubling so that growing stays cheap."""
    if needed <= len(array) and array.flags.writeable:
        return array
    grown = np.zeros(max(needed, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _insert(slots: NDArray[np.int32], hashed: NDArray[np.uint64], numbers: NDArray[np.int32]) -> None:
    """Put numbers into the first free slot from their hash's place on."""
    mask = len(slots) - 1
    place = (hashed & np.uint64(mask)).astype(np.int64)
    while len(numbers):
        free = slots[place] < 0
        slots[place[free]] = numbers[free]
        # Of several that wanted one slot the last one written has it; the others move on.
        homeless = slots[place] != numbers
        place, numbers = (place[homeless] + 1) & mask, numbers[homeless]


class Vocabulary(Mapping[str, int]):
    """A word index that reads like a dict from words to rows; ``index`` answers many words at once."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index

    @classmethod
    def of(cls, words: Sequence[str]) -> Vocabulary:
        return cls(WordIndex.of(pack(map(as_bytes, words))))

    def __getitem__(self, word: str) -> int:
        row = int(self.index.find(pack([as_bytes(word)]))[0])
        if row < 0:
            raise KeyError(word)
        return row

    def __iter__(self) -> Iterator[str]:
        words = self.index.words()
        return (words.word(i).decode("utf-8", "replace") for i in range(len(words)))

    def __len__(self) -> int:
        return len(self.index)

    def rows(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the row of each word, -1 for unknown ones."""
        return self.index.find(pack(map(as_bytes, words)))
