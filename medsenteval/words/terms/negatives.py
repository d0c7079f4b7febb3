"""Pairs of dissimilar terms: the first term of each similar pair with a random term, or with one that is written nearly alike.

Both strategies draw in the order of the reference code (github.com/babylonhealth/medisim), from Python's generator seeded
with 42 for each set, so that ``legacy`` gives the reference's very pairs. What is drawn from, and in which order, is therefore
part of the definition: see ``_Neighbourhood`` for which terms a term may be paired with.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np

from medsenteval.words.terms.nearest_term_index import NearestTermIndex, NearTerms
from medsenteval.words.terms.positives import Pair

SEED: Final = 42
#: More than needed is searched for: some of the nearest turn out to be taken when their turn comes.
_SPARE: Final = 2
#: After so many draws without success a term is given up: the set is too small to pair it.
_LARGEST_NUMBER_OF_DRAWS: Final = 10_000


def unordered(pair: Pair) -> Pair:
    """Return a pair and its reverse as one."""
    return min(pair), max(pair)


@dataclass
class Negatives:
    """Dissimilar pairs in the order made, the generator after them, and the terms for which none was left."""

    pairs: list[Pair]
    rng: random.Random
    unpaired: list[str]


def random_negatives(positives: Sequence[Pair], forbidden: Set[Pair]) -> Negatives:
    """Pair the first term of each positive with a term of another row, drawn until the pair is new and not ``forbidden``.

    Forbidden pairs are unordered.
    """
    rng = random.Random(SEED)
    made: list[Pair] = []
    taken: set[Pair] = set()
    unpaired = []
    for row, (first, _) in enumerate(positives):
        for _ in range(_LARGEST_NUMBER_OF_DRAWS):
            drawn = rng.randint(0, len(positives) - 1)
            second = positives[drawn][rng.choice((0, 1))]
            pair = unordered((first, second))
            if drawn != row and pair not in forbidden and pair not in taken and first.lower() != second.lower():
                made.append((first, second))
                taken.add(pair)
                break
        else:
            unpaired.append(first)
    return Negatives(made, rng, unpaired)


class _Neighbourhood:
    """The terms of one set, and which of them a term may be paired with.

    A term may not be paired with terms that are similar to it or to a similar term: its partners T, and their partners E. The
    reference code removes whole rows that hold a member of E, and with them terms that occur in no other row, and that also
    changes the order in which terms are listed; ``legacy`` does the same.
    """

    def __init__(self, positives: Sequence[Pair], legacy: bool) -> None:
        self.positives = positives
        self.legacy = legacy
        self.rows_of: dict[str, list[int]] = defaultdict(list)
        for row, pair in enumerate(positives):
            for term in dict.fromkeys(pair):
                self.rows_of[term].append(row)
        terms = dict.fromkeys([first for first, _ in positives] + [second for _, second in positives])
        self.by_text: dict[str, list[str]] = defaultdict(list)
        for term in terms:
            self.by_text[term.lower()].append(term)
        #: The different texts, as they are compared, by which the index numbers them.
        self.texts = list(self.by_text)
        self.targets: dict[str, list[str]] = defaultdict(list)
        for first, second in positives:
            self.targets[first].append(second)

    def barred(self, source: str) -> tuple[set[str], dict[str, tuple[int, int]]]:
        """Return the terms that ``source`` may not be paired with, and new places in the list for some that it may."""
        # T, and all that is paired with a member of it in rows of other sources.
        own, beyond = {source, *self.targets[source]}, set()
        for first, second in (self.positives[row] for term in own for row in self.rows_of[term]):
            if first != source and second in own:
                beyond.add(first)
            if first != source and first in own:
                beyond.add(second)
        barred = own | beyond
        moved: dict[str, tuple[int, int]] = {}
        if not self.legacy:
            return barred, moved
        # The source's own rows hold barred terms only.
        gone = {row for term in beyond for row in self.rows_of[term]}
        for term in {term for row in gone for term in self.positives[row]} - barred:
            left = [row for row in self.rows_of[term] if row not in gone]
            if left:
                moved[term] = self._first_place(term, left)
            else:
                barred.add(term)
        return barred, moved

    def _first_place(self, term: str, rows: Sequence[int]) -> tuple[int, int]:
        """Return where a term stands in the list of candidates: first terms by row, then second terms by row."""
        return min((0 if self.positives[row][0] == term else 1, row) for row in rows)

    def draw(
        self,
        near: NearTerms,
        wanted: int,
        away: set[str],
        moved: dict[str, tuple[int, int]],
        source: str,
        forbidden: Set[Pair],
        rng: random.Random,
    ) -> list[str]:
        """Return ``wanted`` terms, nearest first, a random one among equals; fewer when not so many were found."""
        chosen: list[str] = []
        for distance in np.unique(near.distances):
            if len(chosen) == wanted:
                break
            tier = [
                term
                for number in near.terms[near.distances == distance]
                for term in self.by_text[self.texts[number]]
                if term not in away
            ]
            tier.sort(key=lambda term: moved.get(term) or self._first_place(term, self.rows_of[term]))
            while tier and len(chosen) < wanted:
                term = tier.pop(rng.randint(0, len(tier) - 1))
                if unordered((source, term)) not in forbidden:
                    chosen.append(term)
        return chosen


def levenshtein_negatives(
    positives: Sequence[Pair],
    forbidden: Set[Pair],
    *,
    legacy: bool,
    progress: Callable[[int], object] = lambda n_done: None,
) -> Negatives:
    """Pair the first term of each positive with the terms of the set that are nearest to it by Levenshtein distance.

    Distances ignore case, and terms that differ in case only are never paired. Among the terms at one distance a random one
    comes first. ``progress`` is told of first terms as they have been searched for.
    """
    rng = random.Random(SEED)
    nearby = _Neighbourhood(positives, legacy)
    number = {text: i for i, text in enumerate(nearby.texts)}
    index = NearestTermIndex(nearby.texts)
    sources = sorted(nearby.targets)
    barred = {source: nearby.barred(source) for source in sources}
    queries = [number[source.lower()] for source in sources]
    enough = [len(nearby.targets[source]) + _SPARE for source in sources]
    # Texts all of whose terms are barred need not be searched for.
    excluded = []
    for source in sources:
        away = barred[source][0]
        hidden = {text for text in (term.lower() for term in away) if away.issuperset(nearby.by_text[text])}
        excluded.append(sorted(number[text] for text in hidden - {source.lower()}))
    results = index.search(queries, enough, excluded, progress=progress)
    made: list[Pair] = []
    unpaired: list[str] = []
    # Who was paired with a term already: (X, term) rules out (term, X).
    pointing_at: dict[str, set[str]] = defaultdict(set)
    for place, source in enumerate(sources):
        away, moved = barred[source]
        wanted = len(nearby.targets[source])
        near = results[place]
        while True:
            state = rng.getstate()
            taken = away | pointing_at[source]
            chosen = nearby.draw(near, wanted, taken, moved, source, forbidden, rng)
            if len(chosen) == wanted or len(near.terms) + len(excluded[place]) + 1 >= len(nearby.texts):
                break
            # Too many of those found are taken: look further, and draw anew from the same state.
            rng.setstate(state)
            near = index.search([queries[place]], [2 * len(near.terms) + wanted], [excluded[place]])[0]
        unpaired.extend([source] * (wanted - len(chosen)))
        for term in chosen:
            made.append((source, term))
            pointing_at[term].add(source)
    return Negatives(made, rng, unpaired)
