"""Tag schemes: IOB1 and IOB2 as files have them, IOBES as the tagger learns them, and which tag may follow which.

A tag is a number: 0 is O, and ``1 + 4 * type + prefix`` the rest, with the prefixes B, I, E, S in this order. Sentences lie
one after the other in flat arrays; sentence i owns ``[offsets[i]:offsets[i + 1]]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "OUTSIDE",
    "PREFIXES",
    "SCHEMES",
    "IobError",
    "Tags",
    "Transitions",
    "allowed_transitions",
    "as_iob",
    "parse_iob",
    "seen_transitions",
    "tag_names",
]

Tags = NDArray[np.int16]

OUTSIDE: Final = 0
PREFIXES: Final = "BIES"
BEGIN, INSIDE, END, SINGLE = range(4)
#: IOB2 begins every entity with B; IOB1 only one that follows another of its type without a gap.
SCHEMES: Final = ("IOB2", "IOB1")


class IobError(ValueError):
    """A tag that the scheme does not allow; ``position`` counts tokens of the sentence from 0."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position


def tag_names(types: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each tag number: O, B-x, I-x, E-x, S-x, B-y, ..."""
    return ("O", *(f"{prefix}-{kind}" for kind in types for prefix in PREFIXES))


def parse_iob(tags: Sequence[str], types: Sequence[str], scheme: str = "IOB2") -> Tags:
    """Return the IOBES numbers of one sentence's IOB tags, or raise an IobError; types compare without case."""
    number_of = {kind.casefold(): number for number, kind in enumerate(types)}
    kinds = np.full(len(tags), -1, dtype=np.int16)
    begins = np.zeros(len(tags), dtype=bool)
    previous = -1
    for position, tag in enumerate(tags):
        if tag == "O":
            previous = -1
            continue
        prefix, dash, name = tag.partition("-")
        kind = number_of.get(name.casefold(), -1)
        if prefix not in ("B", "I") or not dash:
            raise IobError(position, f"the tag {tag!r} is neither O nor B-TYPE nor I-TYPE")
        if kind < 0:
            raise IobError(position, f"unknown entity type {name!r}; known: {', '.join(types)}")
        if scheme == "IOB2" and prefix == "I" and kind != previous:
            raise IobError(position, f"{tag} continues nothing: IOB2 begins every entity with B")
        if scheme == "IOB1" and prefix == "B" and kind != previous:
            raise IobError(position, f"{tag} parts no two entities: IOB1 has B only between neighbours of one type")
        kinds[position], begins[position] = kind, prefix == "B" or kind != previous
        previous = kind
    return _iobes(kinds, begins)


def _iobes(kinds: NDArray[np.int16], begins: NDArray[np.bool_]) -> Tags:
    """Number the tags of a sentence from each token's type (-1 outside) and where entities begin."""
    inside = kinds >= 0
    ends = inside & np.append(begins[1:] | ~inside[1:], True)
    prefix = np.where(begins, np.where(ends, SINGLE, BEGIN), np.where(ends, END, INSIDE))
    numbers: Tags = np.where(inside, 1 + 4 * kinds + prefix, OUTSIDE).astype(np.int16)
    return numbers


def as_iob(tags: Tags) -> Tags:
    """Return IOBES tags as IOB2: E becomes I, S becomes B."""
    prefix = (tags - 1) % 4
    ends = (tags != OUTSIDE) & ((prefix == END) | (prefix == SINGLE))
    iob: Tags = np.where(ends, tags - np.where(prefix == END, END - INSIDE, SINGLE - BEGIN), tags).astype(np.int16)
    return iob


@dataclass(frozen=True, eq=False)
class Transitions:
    """Which tags may begin a sentence, follow each other (row: the earlier one), and end a sentence."""

    first: NDArray[np.bool_]
    following: NDArray[np.bool_]
    last: NDArray[np.bool_]


def allowed_transitions(n_types: int) -> Transitions:
    """Return what IOBES allows: B and I go on to I or E of their type, everything else to O, B or S."""
    numbers = np.arange(1 + 4 * n_types)
    kind, prefix = (numbers - 1) // 4, (numbers - 1) % 4
    outside = numbers == OUTSIDE
    open_after = ~outside & ((prefix == BEGIN) | (prefix == INSIDE))
    continues = ~outside & ((prefix == INSIDE) | (prefix == END))
    same = kind[:, None] == kind[None, :]
    following = np.where(open_after[:, None], continues[None, :] & same, ~continues[None, :])
    return Transitions(~continues, following, ~open_after)


def seen_transitions(tags: Tags, offsets: NDArray[np.intp], n_types: int) -> Transitions:
    """Return the transitions that occur in these sentences; O may stand everywhere, so that every sentence has a path."""
    n_tags = 1 + 4 * n_types
    first, last = np.zeros(n_tags, dtype=bool), np.zeros(n_tags, dtype=bool)
    following = np.zeros((n_tags, n_tags), dtype=bool)
    first[tags[offsets[:-1]]] = True
    last[tags[offsets[1:] - 1]] = True
    within = np.ones(len(tags), dtype=bool)
    within[offsets[:-1]] = False
    later = np.flatnonzero(within)
    following[tags[later - 1], tags[later]] = True
    first[OUTSIDE] = last[OUTSIDE] = following[OUTSIDE, OUTSIDE] = True
    return Transitions(first, following, last)
