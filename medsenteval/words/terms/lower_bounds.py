"""Lower bounds of the Levenshtein distance that cost a fraction of the distance itself.

One edit takes at most one character away and adds at most one. So the numbers of each character differ by at most 2 d - g in
all between terms at distance d whose lengths differ by g (the bag distance of Bartolini, Ciaccia and Patella 2002). One edit
takes at most two pairs of neighbouring characters away and adds at most two, so numbers of pairs differ by at most 4 d - g
(the q-gram distance of Ukkonen 1992). Both stay true where several characters count as one, where counts stop at a highest
number, and where several pairs share a bit.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from medsenteval.support.compiling import compiled_loop

#: Characters that are counted; the last one stands for all rarer ones too.
_COUNTED: Final = 24
#: Counts stop here, so that the sum of all differences fits into a byte.
_HIGHEST: Final = 255 // _COUNTED
#: Words of 64 bits that mark the pairs of a term.
_WORDS: Final = 8
#: Terms that are skipped together when none of them is near enough.
_BLOCK: Final = 64


@compiled_loop
def count_characters(codes, starts):  # type: ignore[no-untyped-def]
    """Return how often each character comes in each term: a row for each character, which are numbered by frequency."""
    counts = np.zeros((_COUNTED, len(starts) - 1), dtype=np.uint8)
    for term in range(len(starts) - 1):
        for place in range(starts[term], starts[term + 1]):
            character = min(np.int64(codes[place]), _COUNTED - 1)
            counts[character, term] += counts[character, term] < _HIGHEST
    return counts


@compiled_loop
def mark_pairs(codes, starts):  # type: ignore[no-untyped-def]
    """Return a row of words for each term in which the k-th occurrence of a pair of characters sets a bit, found by hashing."""
    marks = np.zeros((len(starts) - 1, _WORDS), dtype=np.uint64)
    for term in range(len(starts) - 1):
        for place in range(starts[term], starts[term + 1] - 1):
            before = 0
            for other in range(starts[term], place):
                before += codes[other] == codes[place] and codes[other + 1] == codes[place + 1]
            pair = (np.uint64(codes[place]) << np.uint64(32)) + np.uint64(codes[place + 1])
            hashed = (pair * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(before + 1) * np.uint64(0xD6E8FEB86659FD93))
            bit = (hashed ^ (hashed >> np.uint64(32))) % np.uint64(64 * _WORDS)
            marks[term, bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
    return marks


@compiled_loop
def keep_by_characters(counts, query, begin, end, most, differing, near):  # type: ignore[no-untyped-def]
    """Put the terms from ``begin`` to ``end`` whose numbers of characters differ by at most ``most`` from those of the query
    into ``near``; return how many these are. ``differing`` has room for a number for each term.

    The two inner loops over all terms are plain enough for the compiler to handle 32 terms at a time.
    """
    n_terms = end - begin
    differing[:n_terms] = 0
    for character in range(len(counts)):
        row, own = counts[character, begin:end], counts[character, query]
        for i in range(n_terms):
            differing[i] += row[i] - own if row[i] > own else own - row[i]
    n_near = 0
    for block in range(0, n_terms, _BLOCK):
        block_end = min(block + _BLOCK, n_terms)
        least = differing[block]
        for i in range(block, block_end):
            least = min(least, differing[i])
        if least <= most:
            for i in range(block, block_end):
                # Written in any case and kept if near enough: a branch here would mostly be predicted wrongly.
                near[n_near] = begin + i
                n_near += np.int64(differing[i] <= most)
    return n_near


@compiled_loop
def _ones(word):  # type: ignore[no-untyped-def]
    """Return the number of bits that are set: LLVM makes one instruction of this."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return (((word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled_loop
def keep_by_pairs(marks, query, near, n_near, most):  # type: ignore[no-untyped-def]
    """Keep of the first terms in ``near`` those whose marks differ in at most ``most`` bits; return how many are left."""
    kept = 0
    for i in range(n_near):
        differing = np.uint64(0)
        for word in range(marks.shape[1]):
            differing += _ones(marks[near[i], word] ^ marks[query, word])
        near[kept] = near[i]
        kept += np.int64(np.int64(differing) <= most)
    return kept
