"""Entities and their counts against conlleval's rules token by token, and against seqeval."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.statistics import f1_share_interval, share_interval
from medsenteval.words.tagging.entity_spans import RATES, Rate, count_matches, find_entities, rate_interval, rate_of
from medsenteval.words.tagging.tag_schemes import tag_names
from tests.words.tagging.conll import conlleval_chunks, conlleval_counts

TYPES = ("Gene", "Cell")
NAMES = tag_names(TYPES)

#: Any tags in any order: broken sequences too, as a dictionary predicts them.
corpora = st.lists(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=7), min_size=1, max_size=6)


def flat(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(list(map(len, sentences)))])
    return np.array(list(itertools.chain(*sentences)), dtype=np.int16), offsets


def named(sentences: list[list[int]]) -> list[list[str]]:
    return [[NAMES[tag] for tag in sentence] for sentence in sentences]


@given(corpora)
def test_entities_are_those_of_conlleval(corpus: list[list[tuple[int, int]]]) -> None:
    sentences = [[tag for tag, _ in sentence] for sentence in corpus]
    tags, offsets = flat(sentences)
    found = find_entities(tags, offsets)
    spans = zip(found.sentence, found.first, found.last, found.kind, strict=True)
    seen = {(s, first - offsets[s], last - offsets[s], TYPES[kind]) for s, first, last, kind in spans}
    assert seen == {(s, *chunk) for s, sentence in enumerate(named(sentences)) for chunk in conlleval_chunks(sentence)}
    assert len(found) == len(seen)


@settings(deadline=None)
@given(corpora)
def test_counts_are_those_of_conlleval_and_of_seqeval(corpus: list[list[tuple[int, int]]]) -> None:
    pytest.importorskip("seqeval")
    from seqeval.metrics import f1_score, precision_score, recall_score

    gold, predicted = ([[pair[side] for pair in sentence] for sentence in corpus] for side in (0, 1))
    (gold_tags, offsets), (predicted_tags, _) = flat(gold), flat(predicted)
    counts = count_matches(find_entities(gold_tags, offsets), find_entities(predicted_tags, offsets), len(corpus))
    assert counts.tolist() == list(map(list, conlleval_counts(named(gold), named(predicted))))
    total = counts.sum(axis=0)
    for rate, theirs in zip(RATES, (f1_score, precision_score, recall_score), strict=True):
        assert float(rate_of(total, rate)) == pytest.approx(theirs(named(gold), named(predicted), zero_division=0), abs=1e-12)


def test_entities_of_one_kind() -> None:
    tags, offsets = flat([[4, 8, 0], [1, 3, 8]])
    found = find_entities(tags, offsets)
    assert found.of_kind(1).first.tolist() == [1, 5]
    assert found.of_kind(0).last.tolist() == [0, 4]


def test_rates_without_anything_to_count_are_zero() -> None:
    nothing = np.zeros(3, dtype=np.int64)
    assert [float(rate_of(nothing, rate)) for rate in RATES] == [0, 0, 0]
    assert [float(rate_of(np.array([3, 1, 5]), rate)) for rate in RATES] == [0.5, 0.75, 0.375]


@pytest.mark.parametrize("rate", ["f1", "precision", "recall"])
def test_the_interval_is_that_of_resampled_sentences(rate: Rate) -> None:
    """Sentences that are right or wrong as a whole vary more than single entities do; all runs are much alike."""
    rng = np.random.default_rng(1)
    sizes, right = rng.integers(0, 6, size=300), rng.random(300) < 0.6
    found = np.where(right, sizes, 0)
    one = np.stack([found, sizes - found, np.maximum(sizes - found - 1, 0)], axis=1)
    counts = np.stack([one, one, np.roll(one, 1, axis=0)])
    low, high = rate_interval(counts, rate, confidence=0.9)
    drawn = rng.integers(0, 300, size=(3000, 300))
    means = rate_of(counts[:, drawn].sum(axis=2), rate).mean(axis=0)
    assert (low, high) == pytest.approx(np.quantile(means, [0.05, 0.95]), abs=0.006)
    assert low < rate_of(counts.sum(axis=1), rate).mean() < high


@pytest.mark.parametrize("rate", ["f1", "precision", "recall"])
def test_a_perfect_rate_counts_sentences_with_entities(rate: Rate) -> None:
    counts = np.array([[[3, 0, 0], [0, 0, 0], [1, 0, 0], [2, 0, 0]]])
    low = 0.05 ** (1 / 3)
    assert rate_interval(counts, rate, confidence=0.9) == pytest.approx((2 * low / (1 + low) if rate == "f1" else low, 1.0))
    assert rate_interval(np.zeros((1, 4, 3), dtype=np.int64), rate, confidence=0.9) == (0.0, 1.0)


def test_one_sentence_alone_has_no_spread_of_its_own() -> None:
    low, high = rate_interval(np.array([[[3, 1, 0]]]), "precision", confidence=0.9)
    assert 0 < low < 0.75 < high < 1


def test_the_spread_between_sentences_is_that_of_a_sample() -> None:
    """Two sentences, found 3 of 4 and 1 of 4: the ratio's variance is 2 / (2 - 1) times the sum of squared influences."""
    counts = np.array([[[3, 1, 0], [1, 3, 0]]])
    variance = 2 * ((3 - 0.5 * 4) ** 2 + (1 - 0.5 * 4) ** 2) / 8**2
    expected = share_interval(0.5, 8.0, confidence=0.9, variance=variance)
    assert rate_interval(counts, "precision", confidence=0.9) == pytest.approx(expected)
    counts = np.array([[[3, 1, 2], [1, 3, 0]]])
    rate = 8 / (8 + 6)
    variance = 2 * ((6 - rate * 9) ** 2 + (2 - rate * 5) ** 2) / 14**2
    expected = f1_share_interval(rate, 10.0, confidence=0.9, variance=variance)
    assert rate_interval(counts, "f1", confidence=0.9) == pytest.approx(expected)
