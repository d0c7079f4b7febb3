"""Decoding against every sequence there is."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.words.tagging.tag_schemes import Transitions, allowed_transitions, seen_transitions
from medsenteval.words.tagging.viterbi import decode
from tests.conftest import examples


def best_by_force(scores: NDArray[np.float64], rules: Transitions) -> tuple[float, list[int]]:
    """Try every sequence and return the best allowed one with its score."""
    best: tuple[float, list[int]] = (-np.inf, [])
    for tags in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        steps = itertools.pairwise(tags)
        if rules.first[tags[0]] and rules.last[tags[-1]] and all(rules.following[a, b] for a, b in steps):
            total = float(sum(scores[i, tag] for i, tag in enumerate(tags)))
            if total > best[0]:
                best = (total, list(tags))
    return best


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 10**6), st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_equals_brute_force(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = np.log(rng.dirichlet(np.full(5, 0.5), offsets[-1]) + 1e-12)
    tags = decode(scores, offsets, allowed_transitions(1))
    for begin, end in itertools.pairwise(offsets):
        assert tags[begin:end].tolist() == best_by_force(scores[begin:end], allowed_transitions(1))[1]


def test_seen_transitions_bind_too() -> None:
    # Only O O and one two-token entity have been seen, so a single-token entity cannot be decoded.
    rules = seen_transitions(np.array([0, 1, 3, 0], dtype=np.int16), np.array([0, 4]), 1)
    rng = np.random.default_rng(5)
    for _ in range(20):
        scores = np.log(rng.dirichlet(np.ones(5), 5))
        assert decode(scores, np.array([0, 5]), rules).tolist() == best_by_force(scores, rules)[1]
    certain = np.log(np.full((1, 5), 1e-9))
    certain[0, 4] = 0.0
    assert decode(certain, np.array([0, 1]), rules).tolist() == [0]


def test_the_best_tag_of_each_token_alone_would_break_the_scheme() -> None:
    # Each token alone prefers B, I, O; the published code, without back-trace, returns that.
    scores = np.log(np.array([[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.5, 0.2, 0.1], [0.7, 0.1, 0.05, 0.1, 0.05]]))
    assert scores.argmax(axis=1).tolist() == [1, 2, 0]
    assert decode(scores, np.array([0, 3]), allowed_transitions(1)).tolist() == [1, 3, 0]


def test_no_sentence_at_all() -> None:
    assert len(decode(np.zeros((0, 5)), np.array([0]), allowed_transitions(1))) == 0


def test_of_equally_good_sequences_the_smaller_tags_come_last() -> None:
    rules = Transitions(np.ones(2, dtype=bool), np.array([[False, True], [True, False]]), np.ones(2, dtype=bool))
    for lengths, expected in (([3], [0, 1, 0]), ([2, 1], [1, 0, 0]), ([1, 2], [0, 1, 0])):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        assert decode(np.zeros((3, 2)), offsets, rules).tolist() == expected
