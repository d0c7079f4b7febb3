"""The nearest-term search against brute force: same terms, same distances, ties included."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medsenteval.errors import MissingExtraError

pytest.importorskip("numba")
pytest.importorskip("rapidfuzz")

from rapidfuzz.distance import Levenshtein

from medsenteval.terms.nearest import NearestTermIndex
from tests.terms.plain_lanes import PLAIN_LANES


def brute_force(texts: list[str], query: int, wanted: int, excluded: set[int]) -> list[tuple[int, int]]:
    """Every text up to the distance at which enough are reached, as (distance, number)."""
    distances = sorted(
        (Levenshtein.distance(texts[query], text), number)
        for number, text in enumerate(texts)
        if number != query and number not in excluded
    )
    if not distances:
        return []
    limit = distances[min(wanted, len(distances)) - 1][0]
    return [(distance, number) for distance, number in distances if distance <= limit]


def check(texts: list[str], wanted: list[int], excluded: list[list[int]]) -> None:
    found = NearestTermIndex(texts).search(range(len(texts)), wanted, excluded)
    for query, near in enumerate(found):
        ours = list(zip(near.distances.tolist(), near.terms.tolist(), strict=True))
        assert ours == brute_force(texts, query, wanted[query], set(excluded[query])), texts[query]


# Few letters make many ties; accents and rare characters must not matter.
alphabets = st.sampled_from(["ab", "abc ", "abcdefghij ", "aé\U0001f9ec\ud800"])


@given(data=st.data())
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_equals_brute_force_on_random_lists(data: st.DataObject) -> None:
    alphabet = data.draw(alphabets)
    texts = data.draw(st.lists(st.text(alphabet, min_size=1, max_size=9), min_size=1, max_size=14, unique=True))
    n = len(texts)
    wanted = data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    excluded = data.draw(st.lists(st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=n, max_size=n))
    check(texts, wanted, excluded)


@pytest.mark.parametrize("length", [60, 64, 65, 70, 128, 129, 200])
def test_long_terms_cross_the_words_of_the_algorithm(length: int) -> None:
    rng = random.Random(length)
    base = "".join(rng.choices("abcd ", k=length))
    texts = {base}
    while len(texts) < 60:
        changed = list(rng.choice(sorted(texts)))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(changed))
            match rng.randrange(3):
                case 0:
                    changed[place] = rng.choice("abcd ")
                case 1:
                    changed.insert(place, rng.choice("abcd "))
                case _:
                    del changed[place]
        texts.add("".join(changed))
    listed = sorted(texts)
    check(listed, [3] * len(listed), [[] for _ in listed])


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_far_terms_cross_the_width_of_the_band(data: st.DataObject) -> None:
    """Long terms of few letters with limits from far below the band's width to above it, lengths from alike to far apart."""
    rng = random.Random(data.draw(st.integers(0, 1 << 32)))
    alphabet = data.draw(st.sampled_from(["ab", "abcdef", "abcdefghijklmnopqrstuvwxyz "]))
    base = rng.choices(alphabet, k=data.draw(st.integers(1, 110)))
    texts = set()
    for n_edits in data.draw(st.lists(st.integers(0, 60), min_size=20, max_size=60)):
        changed = base.copy()
        lean = rng.random()
        for _ in range(n_edits):
            place = rng.randrange(len(changed) + 1)
            # Insertions and deletions in all proportions; one of each makes a substitution or a shift.
            changed[place : place + (rng.random() < lean)] = rng.choices(alphabet, k=rng.random() > lean / 2)
        texts.add("".join(changed) or "a")
    listed = sorted(texts)
    check(listed, [rng.choice((1, 1, 2, 10)) for _ in listed], [[] for _ in listed])


def test_medical_names_of_every_length() -> None:
    from benchmarks.morphemes import invented_names

    texts = [name.lower() for name in invented_names(1500, seed=3)]
    queries = list(range(0, 1500, 7))
    seen: list[int] = []
    found = NearestTermIndex(texts).search(queries, [2] * len(queries), progress=seen.append)
    assert sum(seen) == len(queries)
    for query, near in zip(queries, found, strict=True):
        ours = list(zip(near.distances.tolist(), near.terms.tolist(), strict=True))
        assert ours == brute_force(texts, query, 2, set())


def test_thousands_of_names_with_many_wanted_and_excluded() -> None:
    """At this size every stage leaves something to the next, unlike in small lists."""
    from rapidfuzz.process import cdist

    from benchmarks.morphemes import invented_names

    texts = [name.lower() for name in invented_names(4000, seed=5)]
    rng = random.Random(1)
    queries = rng.sample(range(len(texts)), 600)
    wanted = [rng.choice((1, 1, 2, 5, 40)) for _ in queries]
    distances = cdist([texts[query] for query in queries], texts, scorer=Levenshtein.distance, dtype=np.int64)
    excluded = [np.argsort(row)[: rng.randrange(6)].tolist() for row in distances]
    found = NearestTermIndex(texts).search(queries, wanted, excluded)
    for near, row, query, number, hidden in zip(found, distances, queries, wanted, excluded, strict=True):
        row[[query, *hidden]] = 10_000
        expected = np.flatnonzero(row <= np.sort(row)[number - 1])
        assert sorted(near.terms.tolist()) == expected.tolist()
        assert near.distances.tolist() == sorted(row[expected])


@given(st.text("abcé ", min_size=1, max_size=40), st.text("abcé ", min_size=1, max_size=40))
@settings(max_examples=500, deadline=None)
def test_signatures_never_bound_too_high(first: str, second: str) -> None:
    """What the bounds rest on, with few bytes and bits so that many are shared."""
    from medsenteval.terms.signatures import _count_items, count_characters, make_signatures

    lengths = np.array([len(first), len(second)])
    items = np.array([" abcé".index(character) for character in first + second], dtype=np.uint16)
    pairs = items[:-1] * np.uint16(5) + items[1:]
    starts = np.array([0, len(first)])
    distance, gap = Levenshtein.distance(first, second), abs(len(first) - len(second))
    one, other = count_characters(items, starts, lengths).view(np.uint8).astype(np.int64)
    assert np.abs(one - other).sum() <= 2 * distance - gap
    assert one.tolist() == [first.count(character) for character in " abcé"] + [0] * 19
    for n_items in (1, 3):
        one, other = _count_items(items, starts, lengths, n_items).astype(np.int64)
        assert np.abs(one - other).sum() <= 2 * distance - gap
    for n_words, shared_words in ((1, 1), (2, 1), (3, 2)):
        one, other = make_signatures(pairs, starts, lengths - 1, n_words, shared_words)
        assert np.bitwise_count(one ^ other).sum() <= 4 * distance - gap


@given(st.lists(st.text("abcé ", min_size=1, max_size=40), min_size=2, max_size=8, unique=True))
@settings(max_examples=300, deadline=None)
def test_telling_characters_never_rule_out_too_much(texts: list[str]) -> None:
    """An edit changes neither the number of telling characters nor that of the others by more than one."""
    from medsenteval.terms.signatures import count_telling

    lengths = np.array([len(text) for text in texts])
    codes = np.array([" abcé".index(character) for character in "".join(texts)], dtype=np.uint8)
    telling = count_telling(codes, np.cumsum(lengths) - lengths, lengths)
    assert (telling >= 0).all()
    assert (telling <= lengths).all()
    for text, length, number in zip(texts, lengths, telling, strict=True):
        for other, other_length, other_number in zip(texts, lengths, telling, strict=True):
            distance, longer = Levenshtein.distance(text, other), other_length - length
            assert max(longer, 0) - distance <= other_number - number <= min(longer, 0) + distance


def test_telling_characters_tell_apart() -> None:
    """Half of the names have many a and few b, whatever their lengths: one of the two letters is chosen, not both."""
    from medsenteval.terms.signatures import PARTS, count_telling

    texts = ["a" * n + "b" * (20 - n) for n in range(21)] + ["a" * 500]
    lengths = np.array([len(text) for text in texts])
    codes = np.frombuffer("".join(texts).encode(), dtype=np.uint8) - np.uint8(97)
    telling = count_telling(codes, np.cumsum(lengths) - lengths, lengths)
    assert len(set(telling[:21].tolist())) == 21
    assert telling.max() <= PARTS - 1


def test_sorted_lists_bring_near_terms_together() -> None:
    """Each list holds every term once, and among the neighbours there is mostly one that is as near as any."""
    from rapidfuzz.process import cdist

    from benchmarks.morphemes import invented_names
    from medsenteval.terms.neighbours import sort_in_many_ways

    texts = [name.lower() for name in invented_names(1000, seed=6)]
    codes = np.frombuffer("".join(texts).encode("latin-1"), dtype=np.uint8)
    lengths = np.array([len(text) for text in texts])
    orders, ranks = sort_in_many_ways(texts, codes, np.cumsum(lengths) - lengths, lengths)
    assert orders[0].tolist() == sorted(range(1000), key=texts.__getitem__)
    for which, order in enumerate(orders):
        assert order[ranks[:, which]].tolist() == list(range(1000))
    distances = cdist(texts, texts, scorer=Levenshtein.distance, dtype=np.int64)
    np.fill_diagonal(distances, 10_000)
    steps = [(which, step) for which in range(len(orders)) for step in (-2, -1, 1, 2)]
    around = np.stack([orders[which, np.clip(ranks[:, which] + step, 0, 999)] for which, step in steps], axis=1)
    hits = np.take_along_axis(distances, around, axis=1).min(axis=1) == distances.min(axis=1)
    assert hits.mean() > 0.6


def test_wrong_lists_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="differ"):
        NearestTermIndex(["a", "a"])
    with pytest.raises(ValueError, match="not empty"):
        NearestTermIndex(["a", ""])
    index = NearestTermIndex(["a", "b"])
    assert len(index) == 2
    monkeypatch.setitem(sys.modules, "medsenteval.terms.kernels", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[terms\]"):
        NearestTermIndex(["a"])


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_the_loops_mean_the_same_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain Python functions behind the compiled ones find the same: nothing rests on what a compiler makes of them."""
    from medsenteval.terms import bounding, kernels, measuring, neighbours, signatures

    for module in (bounding, kernels, measuring, neighbours, signatures):
        for name, compiled in vars(module).copy().items():
            if hasattr(compiled, "py_func"):
                monkeypatch.setattr(module, name, compiled.py_func)
            elif name in PLAIN_LANES:
                monkeypatch.setattr(module, name, PLAIN_LANES[name])
    rng = random.Random(0)
    texts = ["heart attack", "heart attacks", "hart attack", "a" * 70 + "b" * 10, "a" * 69 + "cb" * 6]
    texts += sorted({"".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(40)})
    check(texts, [2] * len(texts), [[(i + 1) % len(texts)] for i in range(len(texts))])


def test_more_of_a_character_than_a_byte_holds() -> None:
    """From 255 on a byte stays full: nothing may be missed among such terms, nor between them and others."""
    texts = ["a" * n + "b" * m for n in range(250, 262) for m in (0, 1, 3)]
    check(texts, [2] * len(texts), [[] for _ in texts])


def test_more_telling_characters_than_are_told_apart() -> None:
    """Numbers of 128 and more are one: nothing may be missed among such terms, nor between them and shorter ones."""
    rng = random.Random(7)
    texts = sorted({"".join(rng.choices("ab", weights=(n % 5 + 1, 1), k=110 + 3 * n)) for n in range(60)})
    check(texts, [2] * len(texts), [[] for _ in texts])


def test_more_ties_than_were_expected() -> None:
    """Five thousand terms at one distance do not fit into what is set aside at first."""
    texts = ["x"] + [chr(0x4E00 + i) for i in range(5000)]
    [near] = NearestTermIndex(texts).search([0], [1])
    assert near.terms.tolist() == list(range(1, 5001))
    assert set(near.distances.tolist()) == {1}
