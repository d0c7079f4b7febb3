"""Compiled loops over words: splitting ASCII texts, looking words up and numbering new ones.

They use the hash tables of ``words`` and find what its NumPy code and that of ``tokens`` finds. Own code, because no library
splits and numbers tokens without making a Python string of each; the NumPy code makes some thirty passes over them.
"""

from __future__ import annotations

import numpy as np

from medsenteval.compiling import compiled_loop
from medsenteval.encoders.tokens import JOINER, SPACE, WORD
from medsenteval.encoders.words import HASHED_BLOCKS, MASKS, MULTIPLIERS, SPARE

__all__ = ["add_words", "find_words", "split_texts"]

_FIRST, _FURTHER, _LAST = (np.uint64(multiplier) for multiplier in MULTIPLIERS)
_HALF, _SHIFT, _TOP, _LOW = np.uint64(32), np.uint64(29), np.uint64(56), np.uint64(255)
_N_SPARE = len(SPARE)
#: Words whose places are waited for together.
_AT_ONCE = 64


@compiled_loop
def _block(windows, start, length):  # type: ignore[no-untyped-def]
    """Return up to eight bytes as an integer, zero beyond ``length``."""
    return windows[start] & MASKS[min(length, 8)]


@compiled_loop
def _hash(windows, start, length, first):  # type: ignore[no-untyped-def]
    """Return ``PackedWords.hashes`` of one word."""
    mixed = (first ^ (np.uint64(length) << _TOP)) * _FIRST
    mixed ^= mixed >> _HALF
    for at in range(8, min(length, 8 * HASHED_BLOCKS), 8):
        further = (mixed ^ _block(windows, start + at, length - at)) * _FURTHER
        mixed = further ^ (further >> _SHIFT)
    mixed *= _LAST
    return mixed ^ (mixed >> _HALF)


@compiled_loop
def _slot(windows, start, length, first, place, count, held, starts, lengths, firsts, slots):  # type: ignore[no-untyped-def]
    """Return the slot that names a word, or the free slot at which the search for it from ``place`` on ends."""
    mask = np.int64(len(slots) - 1)
    while True:
        number = slots[place]
        if number < 0 or number >= count:
            return place
        if firsts[number] == first and lengths[number] == length:
            at, theirs = 8, starts[number]
            while at < length and _block(windows, start + at, length - at) == _block(held, theirs + at, length - at):
                at += 8
            if at >= length:
                return place
        place = (place + 1) & mask


@compiled_loop
def find_words(windows, wanted_starts, wanted_lengths, table, found):  # type: ignore[no-untyped-def]
    """Write the number of each word, -1 for those that are not in the table.

    Words are taken some at a time, and each step is done for all of them before the next one: so the processor waits for
    many places of the table at once, where word by word it would wait for one after the other.
    """
    count, _, _, held, starts, lengths, firsts, slots = table
    if count == 0:
        found[:] = -1
        return
    mask = np.int64(len(slots) - 1)
    first, place = np.empty(_AT_ONCE, dtype=np.uint64), np.empty(_AT_ONCE, dtype=np.int64)
    number, same = np.empty(_AT_ONCE, dtype=np.int64), np.empty(_AT_ONCE, dtype=np.bool_)
    for begin in range(0, len(wanted_starts), _AT_ONCE):
        n = min(_AT_ONCE, len(wanted_starts) - begin)
        for i in range(n):
            start, length = wanted_starts[begin + i], wanted_lengths[begin + i]
            first[i] = _block(windows, start, length)
            place[i] = np.int64(_hash(windows, start, length, first[i])) & mask
        for i in range(n):
            number[i] = slots[place[i]]
        for i in range(n):
            known = number[i] if 0 <= number[i] < count else 0
            same[i] = (firsts[known] == first[i]) & (lengths[known] == wanted_lengths[begin + i])
        for i in range(n):
            start, length = wanted_starts[begin + i], wanted_lengths[begin + i]
            if number[i] < 0 or number[i] >= count:
                found[begin + i] = -1
            elif same[i] and length <= 8:
                found[begin + i] = number[i]
            else:
                end = slots[_slot(windows, start, length, first[i], place[i], count, held, starts, lengths, firsts, slots)]
                found[begin + i] = end if end < count else -1


@compiled_loop
def add_words(windows, wanted_starts, wanted_lengths, table, begin, numbers):  # type: ignore[no-untyped-def]
    """Add words whose number is still -1, from the given one on, and write their numbers.

    Returns how many words are done, which is not all if the table is full, and the table's new numbers of words and bytes.
    """
    count, n_bytes, buffer, held, starts, lengths, firsts, slots = table
    mask = np.int64(len(slots) - 1)
    for i in range(begin, len(wanted_starts)):
        if numbers[i] >= 0:
            continue
        start, length = wanted_starts[i], wanted_lengths[i]
        first = _block(windows, start, length)
        place = np.int64(_hash(windows, start, length, first)) & mask
        place = _slot(windows, start, length, first, place, count, held, starts, lengths, firsts, slots)
        if slots[place] < 0:
            if count == len(starts) or 2 * count >= len(slots) or n_bytes + length + _N_SPARE > len(buffer):
                return i, count, n_bytes
            starts[count], lengths[count], firsts[count] = n_bytes, length, first
            for at in range(length):
                buffer[n_bytes + at] = windows[start + at] & _LOW
            slots[place] = count
            count, n_bytes = count + 1, n_bytes + length
        numbers[i] = slots[place]
    return len(wanted_starts), count, n_bytes


@compiled_loop
def split_texts(text, text_ends, classes, whole_words, starts, lengths, n_tokens):  # type: ignore[no-untyped-def]
    """Split texts that lie one after the other, each with a line end behind it; return the number of tokens.

    With ``whole_words`` a hyphen or apostrophe between letters belongs to the word, and any other sign is a token; without,
    tokens are what lies between blanks.
    """
    at, total = 0, 0
    for number in range(len(text_ends)):
        end, before = text_ends[number], total
        while at < end:
            kind = classes[text[at]]
            if kind == SPACE:
                at += 1
                continue
            begin = at
            at += 1
            if not whole_words:
                while classes[text[at]] != SPACE:
                    at += 1
            elif kind == WORD:
                while True:
                    kind = classes[text[at]]
                    if kind != WORD and (kind != JOINER or classes[text[at + 1]] != WORD):
                        break
                    at += 1
            starts[total], lengths[total] = begin, at - begin
            total += 1
        n_tokens[number] = total - before
    return total
