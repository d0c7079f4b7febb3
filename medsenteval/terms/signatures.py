"""Signatures of terms: words that tell, by what differs in them, how far apart two terms are at the least.

Of characters they hold how often each comes, a byte each. One edit takes at most one character away and adds at most one, so
it changes these numbers by two in all, and by one where it changes the length. Of pairs of neighbouring characters a bit says
"has this pair at least so many times". An edit takes at most two and adds at most two, so it flips at most four bits, and three
where it changes the length. Hence between terms at distance d whose lengths differ by g, numbers of characters differ by at
most 2 d - g in all, and at most 4 d - g bits of pairs do. This stays true where rare characters count as one, where a byte is
full, and where rare pairs share a bit that says "has one of these": no edit changes more by that.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.compiling import compiled_loop

__all__ = ["N_FOLDED", "PARTS", "count_characters", "count_telling", "make_signatures"]

#: Characters whose numbers are held: those beyond the most frequent ones count as one. Bytes of three words.
_COUNTED: Final = 24
#: Characters beyond the most frequent ones count as one: the table of pairs stays small for any script.
N_FOLDED: Final = 64
#: How often an item may come in one term until further ones are not counted.
_LEVELS: Final = 16
#: Numbers of telling characters that are told apart.
PARTS: Final = 128
#: Terms that the choice of telling characters is made from.
_SAMPLE: Final = 5_000


def count_telling(
    codes: NDArray[np.unsignedinteger], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each term how many of its characters belong to a set whose number differs most between terms of a length.

    An edit changes the number of characters in a set by one at most, and so the number outside. Hence where terms are in
    order of this number, only a stretch of them can be near. Numbers from ``PARTS`` - 1 on count as that.
    """
    sample = np.linspace(0, len(starts) - 1, min(len(starts), _SAMPLE)).astype(np.int64)
    n_items = min(int(codes.max(initial=0)) + 1, N_FOLDED)
    rows = np.repeat(np.arange(len(sample)), lengths[sample])
    places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths[sample]) - lengths[sample], lengths[sample])
    items = codes[np.repeat(starts[sample], lengths[sample]) + places]
    frequent = items < n_items
    counts = np.bincount(rows[frequent] * n_items + items[frequent], minlength=len(sample) * n_items)
    times = counts.reshape(len(sample), n_items).astype(np.float64)
    # What the length does not explain.
    times -= np.outer(lengths[sample], times.sum(axis=0) / max(lengths[sample].sum(), 1))
    covariance = times.T @ times
    # One character after the other joins, always the one that adds most to the variance of the number, while one does.
    inside = np.zeros(n_items, dtype=bool)
    while True:
        gains = np.where(inside, -1, np.diag(covariance) + 2 * covariance[:, inside].sum(axis=1))
        if gains.max() <= 0:
            break
        inside[gains.argmax()] = True
    telling = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.int64)
    telling[:n_items] = inside
    return np.minimum(np.add.reduceat(telling[codes], starts), PARTS - 1)


def count_characters(
    codes: NDArray[np.unsignedinteger], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return for each term three words whose bytes say how often each character comes, the most frequent characters first."""
    words: NDArray[np.uint64] = _count_items(codes, starts, lengths, _COUNTED).view(np.uint64)
    return words


@compiled_loop
def _count_items(codes, starts, lengths, n_items):  # type: ignore[no-untyped-def]
    """Return how often each item comes in each term, up to 255; the last item stands for all that follow too."""
    times = np.zeros((len(starts), n_items), dtype=np.uint8)
    for term in range(len(starts)):
        for place in range(starts[term], starts[term] + lengths[term]):
            item = min(np.int64(codes[place]), n_items - 1)
            times[term, item] += times[term, item] < 255
    return times


def make_signatures(
    items: NDArray[np.uint16], starts: NDArray[np.int64], lengths: NDArray[np.int64], n_words: int, shared_words: int
) -> NDArray[np.uint64]:
    """Return ``n_words`` words for each term, whose items stand in ``items`` from its start on.

    The bits that tell most terms apart come first; the last words are shared by all the rest.
    """
    n_items = int(items.max(initial=0)) + 1
    share = _count_features(items, starts, lengths, n_items) / len(starts)
    ranks = np.empty(len(share), dtype=np.int64)
    ranks[np.argsort(share * (share - 1), kind="stable")] = np.arange(len(share))
    own_bits, shared_bits = 64 * (n_words - shared_words), 64 * shared_words
    bits = np.where(ranks < own_bits, ranks, own_bits + (ranks - own_bits) % shared_bits)
    words: NDArray[np.uint64] = _set_bits(items, starts, lengths, n_items, bits, n_words)
    return words


@compiled_loop
def _count_features(items, starts, lengths, n_items):  # type: ignore[no-untyped-def]
    """Return in how many terms item i comes at least k + 1 times, at i * _LEVELS + k."""
    n_terms = np.zeros(n_items * _LEVELS, dtype=np.int64)
    times = np.zeros(n_items, dtype=np.int64)
    for term in range(len(starts)):
        for place in range(starts[term], starts[term] + lengths[term]):
            item = items[place]
            if times[item] < _LEVELS:
                n_terms[item * _LEVELS + times[item]] += 1
                times[item] += 1
        for place in range(starts[term], starts[term] + lengths[term]):
            times[items[place]] = 0
    return n_terms


@compiled_loop
def _set_bits(items, starts, lengths, n_items, bits, n_words):  # type: ignore[no-untyped-def]
    words = np.zeros((len(starts), n_words), dtype=np.uint64)
    times = np.zeros(n_items, dtype=np.int64)
    for term in range(len(starts)):
        for place in range(starts[term], starts[term] + lengths[term]):
            item = items[place]
            if times[item] < _LEVELS:
                bit = bits[item * _LEVELS + times[item]]
                times[item] += 1
                words[term, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
        for place in range(starts[term], starts[term] + lengths[term]):
            times[items[place]] = 0
    return words
