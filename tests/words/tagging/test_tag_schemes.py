"""Tag schemes: what each allows, all to IOBES and back, and which tag may follow which."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medsenteval.words.tagging.tag_schemes import (
    SCHEMES,
    TagError,
    allowed_transitions,
    as_iob,
    parse_tags,
    seen_transitions,
    tag_names,
)
from tests.words.tagging.conll import conlleval_chunks, in_scheme

TYPES = ("Gene", "Cell")
NAMES = tag_names(TYPES)


def named(numbers: np.ndarray) -> list[str]:
    return [NAMES[number] for number in numbers]


@st.composite
def iob2_sentences(draw: st.DrawFn) -> list[str]:
    """Entities and gaps in any order, as valid IOB2."""
    tags: list[str] = []
    for kind, length in draw(st.lists(st.tuples(st.sampled_from(["O", *TYPES]), st.integers(1, 4)), min_size=1, max_size=6)):
        tags += ["O"] * length if kind == "O" else [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
    return tags


def test_names_and_numbers_agree() -> None:
    assert NAMES == ("O", "B-Gene", "I-Gene", "E-Gene", "S-Gene", "B-Cell", "I-Cell", "E-Cell", "S-Cell")


def test_iob2_becomes_iobes() -> None:
    tags = ["B-Gene", "I-Gene", "I-Gene", "B-Gene", "O", "B-Cell", "B-Gene", "I-Gene"]
    assert named(parse_tags(tags, TYPES)) == [
        "B-Gene", "I-Gene", "E-Gene", "S-Gene", "O", "S-Cell", "B-Gene", "E-Gene",
    ]  # fmt: skip
    assert parse_tags(["B-GENE"], TYPES).tolist() == [4]  # types compare without case


def test_iob1_begins_with_i_and_parts_neighbours_with_b() -> None:
    tags = ["I-Gene", "I-Gene", "B-Gene", "I-Cell", "O", "I-Cell"]
    assert named(parse_tags(tags, TYPES, "IOB1")) == ["B-Gene", "E-Gene", "S-Gene", "S-Cell", "O", "S-Cell"]


@pytest.mark.parametrize(
    ("tags", "scheme", "position", "reason"),
    [
        (["O", "I-Gene"], "IOB2", 1, "continues nothing"),
        (["B-Cell", "I-Gene"], "IOB2", 1, "continues nothing"),
        (["B-Gene"], "IOB1", 0, "parts no two entities"),
        (["I-Cell", "B-Gene"], "IOB1", 1, "parts no two entities"),
        (["O", "B-Drug"], "IOB2", 1, "unknown entity type 'Drug'; known: Gene, Cell"),
        (["S-Gene"], "IOB2", 0, "none of IOB2: O, B, I, all but O with -TYPE"),
        (["BGene"], "IOB2", 0, "none of IOB2: O, B, I, all but O with -TYPE"),
        (["B-Gene", "o"], "IOB2", 1, "none of IOB2: O, B, I, all but O with -TYPE"),
        (["O-Gene"], "IOB2", 0, "none of IOB2"),
        (["B-"], "IOB2", 0, "none of IOB2"),
        (["B"], "IOB2", 0, "B names none of Gene, Cell"),
        (["B-Gene", "O"], "IOBES", 1, "O after B-Gene: IOBES has every entity whole, from B to E"),
        (["B-Gene", "E-Cell"], "IOBES", 1, "E-Cell after B-Gene"),
        (["B-Gene", "S-Gene"], "IOBES", 1, "S-Gene after B-Gene"),
        (["S-Gene", "I-Gene"], "IOBES", 1, "I-Gene after S-Gene"),
        (["E-Gene"], "IOBES", 0, "E-Gene at the beginning"),
        (["O", "B-Gene", "I-Gene"], "IOBES", 2, "the sentence ends with I-Gene: IOBES ends every entity with E"),
        (["B-Gene", "E-Gene"], "BILOU", 1, "none of BILOU: O, B, I, L, U"),
        (["U-Gene", "L-Gene"], "BILOU", 1, "L-Gene after U-Gene: BILOU has every entity whole, from B to L"),
    ],
)
def test_what_the_scheme_forbids_is_refused(tags: list[str], scheme: str, position: int, reason: str) -> None:
    with pytest.raises(TagError, match=reason) as caught:
        parse_tags(tags, TYPES, scheme)
    assert caught.value.position == position


@given(iob2_sentences())
def test_iobes_keeps_the_entities_and_turns_back(tags: list[str]) -> None:
    numbers = parse_tags(tags, TYPES)
    assert conlleval_chunks(named(numbers)) == conlleval_chunks(tags)
    assert named(as_iob(numbers)) == tags


@given(iob2_sentences(), st.sampled_from(SCHEMES))
def test_every_scheme_says_the_same(tags: list[str], scheme: str) -> None:
    numbers = parse_tags(tags, TYPES)
    assert parse_tags(in_scheme(numbers, scheme, NAMES), TYPES, scheme).tolist() == numbers.tolist()


@given(iob2_sentences(), st.sampled_from(SCHEMES))
def test_bare_tags_are_of_the_only_type(tags: list[str], scheme: str) -> None:
    numbers = parse_tags([tag.replace("Cell", "Gene") for tag in tags], TYPES[:1])
    bare = [tag.partition("-")[0] for tag in in_scheme(numbers, scheme, NAMES)]
    assert parse_tags(bare, TYPES[:1], scheme).tolist() == numbers.tolist()


@given(iob2_sentences())
def test_gold_sequences_are_allowed(tags: list[str]) -> None:
    numbers = parse_tags(tags, TYPES)
    rules = allowed_transitions(len(TYPES))
    assert rules.first[numbers[0]]
    assert rules.last[numbers[-1]]
    assert rules.following[numbers[:-1], numbers[1:]].all()


def test_exactly_the_sequences_that_iobes_allows_come_back_from_iob() -> None:
    rules = allowed_transitions(2)
    for length in (1, 2, 3):
        for tags in itertools.product(range(9), repeat=length):
            numbers = np.array(tags, dtype=np.int16)
            allowed = (
                rules.first[numbers[0]] and rules.last[numbers[-1]] and bool(rules.following[numbers[:-1], numbers[1:]].all())
            )
            try:
                back = parse_tags(named(as_iob(numbers)), TYPES).tolist()
            except TagError:
                back = []
            assert allowed == (back == list(tags)), named(numbers)


def test_seen_transitions_are_those_within_sentences() -> None:
    tags = np.concatenate([parse_tags(["B-Gene", "I-Gene"], TYPES), parse_tags(["O", "B-Cell"], TYPES)])
    seen = seen_transitions(tags, np.array([0, 2, 4]), len(TYPES))
    assert np.flatnonzero(seen.first).tolist() == [0, 1]
    assert np.flatnonzero(seen.last).tolist() == [0, 3, 8]
    assert np.argwhere(seen.following).tolist() == [[0, 0], [0, 8], [1, 3]]
    allowed = allowed_transitions(len(TYPES))
    assert not (seen.following & ~allowed.following).any()
