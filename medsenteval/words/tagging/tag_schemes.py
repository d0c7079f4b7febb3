"""Tag schemes: IOB1, IOB2, IOBES and BILOU as files have them, IOBES as the tagger learns them, and what may follow what.

A tag is a number: 0 is O, and ``1 + 4 * type + prefix`` the rest, with the prefixes B, I, E, S in this order. Sentences lie
one after the other in flat arrays; sentence i owns ``[offsets[i]:offsets[i + 1]]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Tags = NDArray[np.int16]

OUTSIDE: Final = 0
PREFIXES: Final = "BIES"
BEGIN, INSIDE, END, SINGLE = range(4)
#: IOB2 begins every entity with B; IOB1 only one that follows another of its type without a gap. IOBES (BIOES) marks ends
#: and entities of one token too, as E and S; BILOU calls these L and U.
SCHEMES: Final = ("IOB2", "IOB1", "IOBES", "BILOU")
_PREFIXES_OF: Final = {"IOB2": "OBI", "IOB1": "OBI", "IOBES": "OBIES", "BILOU": "OBILU"}


class TagError(ValueError):
    """A tag that the scheme does not allow; ``position`` counts tokens of the sentence from 0."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position


def tag_names(types: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each tag number: O, B-x, I-x, E-x, S-x, B-y, ..."""
    return ("O", *(f"{prefix}-{kind}" for kind in types for prefix in PREFIXES))


def parse_tags(tags: Sequence[str], types: Sequence[str], scheme: str = "IOB2") -> Tags:
    """Return the IOBES numbers of one sentence's tags, or raise a TagError; types compare without case.

    Tags without a type (B, I) belong to the type of a corpus that has one type only.
    """
    number_of = {kind.casefold(): number for number, kind in enumerate(types)}
    if len(types) == 1:
        number_of[""] = 0
    prefixes, marks_ends = _PREFIXES_OF[scheme], scheme in ("IOBES", "BILOU")
    kinds = np.full(len(tags), -1, dtype=np.int16)
    begins = np.zeros(len(tags), dtype=bool)
    previous, goes_on = -1, False
    for position, tag in enumerate(tags):
        prefix, dash, name = tag.partition("-")
        if prefix not in prefixes or (prefix == "O" and dash) or (dash and not name):
            raise TagError(position, f"the tag {tag!r} is none of {scheme}: {', '.join(prefixes)}, all but O with -TYPE")
        kind = -1 if prefix == "O" else number_of.get(name.casefold(), -2)
        if kind == -2:
            known = ", ".join(types)
            raise TagError(
                position, f"unknown entity type {name!r}; known: {known}" if dash else f"{tag} names none of {known}"
            )
        continues = prefix in "IEL"
        if marks_ends and (goes_on != continues or (continues and kind != previous)):
            before = f"after {tags[position - 1]}" if position else "at the beginning"
            raise TagError(position, f"{tag} {before}: {scheme} has every entity whole, from B to {prefixes[3]}")
        if scheme == "IOB2" and continues and kind != previous:
            raise TagError(position, f"{tag} continues nothing: IOB2 begins every entity with B")
        if scheme == "IOB1" and prefix == "B" and kind != previous:
            raise TagError(position, f"{tag} parts no two entities: IOB1 has B only between neighbours of one type")
        kinds[position], begins[position] = kind, kind >= 0 and (not continues or kind != previous)
        previous, goes_on = kind, marks_ends and prefix in "BI"
    if goes_on:
        raise TagError(len(tags) - 1, f"the sentence ends with {tags[-1]}: {scheme} ends every entity with {prefixes[3]}")
    inside = kinds >= 0
    ends = inside & np.append(begins[1:] | ~inside[1:], True)
    marks = np.where(begins, np.where(ends, SINGLE, BEGIN), np.where(ends, END, INSIDE))
    numbers: Tags = np.where(inside, 1 + 4 * kinds + marks, OUTSIDE).astype(np.int16)
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
