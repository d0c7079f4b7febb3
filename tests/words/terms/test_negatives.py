"""Dissimilar pairs against a slow twin that follows the description of the reference code step by step."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")
pytest.importorskip("rapidfuzz")

from rapidfuzz.distance import Levenshtein

from medsenteval.words.terms.negatives import Negatives, levenshtein_negatives, random_negatives, unordered
from medsenteval.words.terms.positives import Pair
from tests.conftest import examples


def known(pair: Pair, *groups: list[Pair]) -> bool:
    return any(pair in group or (pair[1], pair[0]) in group for group in groups)


def slow_levenshtein(positives: list[Pair], forbidden: list[Pair], legacy: bool) -> Negatives:
    """Distances to every candidate, lists for everything, tiers by sorting: what the fast way must equal."""
    rng = random.Random(42)
    made: list[Pair] = []
    unpaired: list[str] = []
    for source in sorted({first for first, _ in positives}):
        group = [pair for pair in positives if pair[0] == source]
        others = [pair for pair in positives if pair[0] != source]
        own = [second for _, second in group] + [source]
        beyond = [first for first, second in others if second in own] + [second for first, second in others if first in own]
        remaining = [pair for pair in others if pair[0] not in beyond and pair[1] not in beyond]
        rows = remaining if legacy else positives
        listed = list(dict.fromkeys([first for first, _ in rows] + [second for _, second in rows]))
        if not legacy:
            listed = [term for term in listed if term not in own and term not in beyond]
        listed = [term for term in listed if (term, source) not in made]
        scored = [(Levenshtein.distance(term.lower(), source.lower()), term) for term in listed]
        scored = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: entry[0])
        tier: list[str] = []
        chosen: list[str] = []
        while len(chosen) < len(group) and (tier or scored):
            if not tier:
                nearest = scored[0][0]
                tier = [term for distance, term in scored if distance == nearest]
                scored = scored[len(tier) :]
            term = tier.pop(rng.randint(0, len(tier) - 1))
            if not known((source, term), forbidden):
                chosen.append(term)
        made += [(source, term) for term in chosen]
        unpaired += [source] * (len(group) - len(chosen))
    return Negatives(made, rng, unpaired)


def slow_random(positives: list[Pair], forbidden: list[Pair]) -> list[Pair]:
    rng = random.Random(42)
    made: list[Pair] = []
    for row, (first, _) in enumerate(positives):
        # Whoever has no partner would be drawn for without end.
        for _ in range(10_000):
            drawn = rng.randint(0, len(positives) - 1)
            second = positives[drawn][0] if rng.choice(["source", "target"]) == "source" else positives[drawn][1]
            if not (drawn == row or known((first, second), forbidden, made) or first.lower() == second.lower()):
                made.append((first, second))
                break
    return made


# Few short words: many ties, many shared terms, terms that differ in case only.
words = st.text("abAB", min_size=1, max_size=4)
pair_lists = st.lists(
    st.tuples(words, words).filter(lambda pair: pair[0].lower() != pair[1].lower()), min_size=1, max_size=12, unique=True
)


@given(pair_lists, pair_lists, st.booleans())
@settings(max_examples=examples(1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_levenshtein_negatives_equal_the_slow_twin(positives: list[Pair], more: list[Pair], legacy: bool) -> None:
    # As in the sets: of a pair and its reverse one stays.
    unique = [pair for i, pair in enumerate(positives) if (pair[1], pair[0]) not in positives[:i]]
    forbidden = [*unique, *more]
    expected = slow_levenshtein(unique, forbidden, legacy)
    found = levenshtein_negatives(unique, set(map(unordered, forbidden)), legacy=legacy)
    assert found.pairs == expected.pairs
    assert found.unpaired == expected.unpaired
    # The next draw, that of the shuffle, is the same too.
    assert found.rng.random() == expected.rng.random()


def test_levenshtein_negatives_of_many_names_equal_the_slow_twin() -> None:
    from benchmarks.morphemes import invented_names

    names = invented_names(240, seed=5)
    rng = random.Random(1)
    positives = list(dict.fromkeys((rng.choice(names[:80]), rng.choice(names[80:])) for _ in range(200)))
    for legacy in (True, False):
        assert (
            levenshtein_negatives(positives, set(map(unordered, positives)), legacy=legacy).pairs
            == slow_levenshtein(positives, positives, legacy).pairs
        )


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("ijklmnopqrst")), min_size=6, max_size=9, unique=True))
@settings(max_examples=examples(100), deadline=None)
def test_random_negatives_draw_in_the_reference_order(positives: list[Pair]) -> None:
    assert random_negatives(positives, set(map(unordered, positives))).pairs == slow_random(positives, positives)


def test_a_term_without_any_partner_is_reported() -> None:
    positives = [("a", "b"), ("a", "c")]
    found = random_negatives(positives, set(map(unordered, positives)))
    assert (found.pairs, found.unpaired) == ([], ["a", "a"])
    assert levenshtein_negatives(positives, set(map(unordered, positives)), legacy=False).unpaired == ["a", "a"]


def test_a_pair_is_its_reverse() -> None:
    assert unordered(("b", "a")) == unordered(("a", "b")) == ("a", "b")
