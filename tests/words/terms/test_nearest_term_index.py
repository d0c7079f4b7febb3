"""The nearest-term search against brute force: same terms, same distances, ties included."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.errors import MissingExtraError

pytest.importorskip("numba")
pytest.importorskip("rapidfuzz")

from rapidfuzz.distance import Levenshtein

from medsenteval.words.terms.nearest_term_index import NearestTermIndex
from tests.conftest import examples


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


@given(st.integers(0, 1 << 32))
@settings(max_examples=examples(600), deadline=None)
def test_equals_brute_force_on_random_lists(seed: int) -> None:
    """Few letters make many ties; accents, characters beyond the basic plane and half ones must not matter."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abc ", "abcdefghij ", "aé\U0001f9ec\ud800"])
    listed = ["".join(rng.choices(alphabet, k=rng.randint(1, 9))) for _ in range(rng.randint(1, 14))]
    texts = list(dict.fromkeys(listed))
    wanted = [rng.randint(1, 5) for _ in texts]
    excluded = [rng.sample(range(len(texts)), k=rng.randint(0, min(3, len(texts)))) for _ in texts]
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


@given(st.integers(0, 1 << 32))
@settings(max_examples=examples(150), deadline=None)
def test_far_terms_cross_the_width_of_the_band(seed: int) -> None:
    """Long terms of few letters with limits from far below the band's width to above it, lengths from alike to far apart."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abcdef", "abcdefghijklmnopqrstuvwxyz "])
    base = rng.choices(alphabet, k=rng.randint(1, 110))
    texts = set()
    for n_edits in rng.choices(range(61), k=rng.randint(20, 60)):
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
@settings(max_examples=examples(300), deadline=None)
def test_lower_bounds_are_never_too_high(first: str, second: str) -> None:
    """Characters that share a count, here all from the third on, and counts that are full must not matter."""
    from medsenteval.words.terms.search_kernels import _COUNTED, _HIGHEST, count_characters, mark_pairs

    starts = np.array([0, len(first), len(first) + len(second)])
    codes = np.array([" abcé".index(character) for character in first + second], dtype=np.uint16)
    distance, gap = Levenshtein.distance(first, second), abs(len(first) - len(second))
    for shift in (0, _COUNTED - 3):
        one, other = count_characters(codes + np.uint16(shift), starts).T.astype(np.int64)
        assert np.abs(one - other).sum() <= 2 * distance - gap
        if shift == 0:
            assert one[:5].tolist() == [min(first.count(character), _HIGHEST) for character in " abcé"]
    one, other = mark_pairs(codes, starts)
    assert np.bitwise_count(one ^ other).sum() <= 4 * distance - gap


@pytest.mark.parametrize("text", ["aaaaaaaaaa", "abababab", "abcabcabca", "aabbaabb", "ab", "a"])
def test_each_pair_of_characters_is_marked_once_for_each_time(text: str) -> None:
    """Repeated pairs have marks of their own, the same ones in every term and whatever pairs stand between."""
    from medsenteval.words.terms.search_kernels import mark_pairs

    def marks(term: str) -> np.ndarray:
        codes = np.array([ord(character) for character in term], dtype=np.uint16)
        return np.asarray(mark_pairs(codes, np.array([0, len(term)]))[0])

    assert np.bitwise_count(marks(text)).sum() == len(text) - 1
    longer = marks(text + "a")
    assert np.array_equal(longer & marks(text), marks(text))
    behind = marks(f"x{text}")
    assert np.array_equal(behind & marks(text), marks(text))


def test_lower_bounds_keep_what_they_say() -> None:
    """The compiled filters keep the very terms whose counts and marks differ by no more than allowed."""
    from benchmarks.morphemes import invented_names
    from medsenteval.words.terms.search_kernels import count_characters, keep_by_characters, keep_by_pairs, mark_pairs

    texts = invented_names(700, seed=2)
    starts = np.cumsum([0, *map(len, texts)])
    codes = np.unique(np.frombuffer("".join(texts).encode("utf-16-le"), dtype=np.uint16), return_inverse=True)[1]
    counts, marks = count_characters(codes.astype(np.uint16), starts), mark_pairs(codes.astype(np.uint16), starts)
    differing = np.abs(counts[:, 100:].astype(np.int64) - counts[:, [3]]).sum(axis=0)
    bits = np.bitwise_count(marks ^ marks[3]).sum(axis=1)
    near = np.zeros(701, dtype=np.int32)
    for most in np.percentile(differing, (0, 20, 50, 100)).astype(int):
        n = keep_by_characters(counts, 3, 100, 700, most, np.empty(700, dtype=np.uint8), near)
        expected = 100 + np.flatnonzero(differing <= most)
        assert near[:n].tolist() == expected.tolist()
        allowed = int(np.median(bits))
        n = keep_by_pairs(marks, 3, near, n, allowed)
        assert near[:n].tolist() == expected[bits[expected] <= allowed].tolist()
    # Names have pairs of their own: hashing them to bits must not make most of them alike.
    assert bits[100:].mean() > 20


def test_sorted_lists_bring_near_terms_together() -> None:
    """Each list holds every term once, and among the neighbours there is mostly one that is as near as any."""
    from rapidfuzz.process import cdist

    from benchmarks.morphemes import invented_names
    from medsenteval.words.terms.search_kernels import sort_in_many_ways

    texts = [name.lower() for name in invented_names(1000, seed=6)]
    codes = np.frombuffer("".join(texts).encode("utf-16-le"), dtype=np.uint16)
    orders, ranks = sort_in_many_ways(texts, codes, np.cumsum([0, *map(len, texts)]))
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
    monkeypatch.setitem(sys.modules, "medsenteval.words.terms.search_kernels", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[terms\]"):
        NearestTermIndex(["a"])


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_the_loops_mean_the_same_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain Python functions behind the compiled ones find the same, and never look beyond the end of an array."""
    from medsenteval.words.terms import search_kernels as kernels

    for name, compiled in vars(kernels).copy().items():
        if hasattr(compiled, "py_func"):
            monkeypatch.setattr(kernels, name, compiled.py_func)
    monkeypatch.setattr(kernels, "_TOGETHER", 4)
    rng = random.Random(0)
    texts = ["heart attack", "heart attacks", "hart attack", "a" * 70 + "b" * 10, "a" * 69 + "cb" * 6]
    texts += sorted({"".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(20)})
    check(texts, [2] * len(texts), [[(i + 1) % len(texts)] for i in range(len(texts))])


def test_more_of_a_character_than_are_counted() -> None:
    """From some number on a count stays as it is: nothing may be missed among such terms, nor between them and others."""
    texts = ["a" * n + "b" * m for n in range(250, 262) for m in (0, 1, 3)]
    check(texts, [2] * len(texts), [[] for _ in texts])


def test_terms_much_longer_than_the_band() -> None:
    """Limits above and below the width of the band, in words that no single machine word holds."""
    rng = random.Random(7)
    texts = sorted({"".join(rng.choices("ab", weights=(n % 5 + 1, 1), k=110 + 3 * n)) for n in range(60)})
    check(texts, [2] * len(texts), [[] for _ in texts])


def test_more_ties_than_were_expected() -> None:
    """Five thousand terms at one distance do not fit into what is set aside at first."""
    texts = ["x"] + [chr(0x4E00 + i) for i in range(5000)]
    [near] = NearestTermIndex(texts).search([0], [1])
    assert near.terms.tolist() == list(range(1, 5001))
    assert set(near.distances.tolist()) == {1}


def test_hits_grow_and_lower_the_limit() -> None:
    """Of terms 0 to 4, one was met before and one is too far; the limit is the distance that two hits reach."""
    from medsenteval.words.terms.search_kernels import _keep_hits

    seen = np.array([0, 3, 0, 0, 0], dtype=np.int32)
    tally = np.zeros(10, dtype=np.int64)
    terms, distances = np.arange(5, dtype=np.int32), np.array([4, 1, 7, 2, 6])
    hits, n, limit = _keep_hits.py_func(np.full((1, 3), 9, dtype=np.int32), 1, 3, terms, distances, 5, 6, 2, seen, tally)
    assert (n, limit) == (4, 4)
    assert hits[:4].tolist() == [[9, 9, 9], [2, 4, 0], [2, 2, 3], [2, 6, 4]]
    assert seen.tolist() == [3, 3, 3, 3, 3]
    assert tally.tolist() == [0, 0, 1, 0, 1, 0, 1, 0, 0, 0]
    _, n, limit = _keep_hits.py_func(hits, n, 3, terms, distances, 5, 4, 3, seen, tally)
    assert (n, limit) == (4, 4), "what was met counts once, and two are not three"


def test_neighbours_come_back_in_the_order_of_the_queries() -> None:
    """More queries than one call of the search takes; each is told of, and none is excluded from itself alone."""
    texts = [f"{i:04d}" for i in range(600)]
    told: list[int] = []
    found = NearestTermIndex(texts).search([599, 3, *range(500)], [1] * 502, progress=told.append)
    assert (sum(told), max(told), len(found)) == (502, 256, 502)
    for query, near in zip([599, 3, *range(500)], found, strict=True):
        assert list(zip(near.distances.tolist(), near.terms.tolist(), strict=True)) == brute_force(texts, query, 1, set())
