"""The embedded encoder: deterministic for ever, independent of neighbours, and above chance on every sample task."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import medsenteval
from medsenteval.encoders.lexical import LexicalEncoder
from medsenteval.errors import EncoderError
from medsenteval.registry import TASK_GROUPS, load_encoder


def test_vectors_do_not_depend_on_neighbours_and_are_finite_for_anything() -> None:
    encoder = LexicalEncoder()
    texts = ["", ".", "β-blockers ≥ 5 µg", "x" * 5000, "the patient denies chest pain"]
    together = encoder.encode(texts)
    assert np.isfinite(together).all()
    for i, text in enumerate(texts):
        assert np.array_equal(encoder.encode([text])[0], together[i])
    assert together[1].any()


def test_vectors_are_the_same_on_every_machine_and_version() -> None:
    """A change of this hash is a protocol change: every lexical score moves."""
    rows = LexicalEncoder().encode(["The patient denies chest pain.", "No fever"])
    assert hashlib.sha256(np.round(rows * 1000).astype("<i4").tobytes()).hexdigest()[:16] == "9a4584357f779593"


def test_similar_texts_are_nearer_than_others() -> None:
    a, b, c = LexicalEncoder().encode(["acute chest pain today", "chest pain, acute", "vaccines are free of charge"])
    assert a @ b > a @ c


def test_wrong_specifications_are_refused() -> None:
    for spec, message in (
        ("lexical:x", "lexical: takes no argument: hashed words.*; got 'x'"),
        ("lexical,dimension=many", "dimension is 'many'; it must be a whole number from 2"),
        ("lexical,dimension=1", "dimension is '1'; it must be a whole number from 2"),
    ):
        with pytest.raises(EncoderError, match=message):
            load_encoder(spec)


@pytest.mark.slow
def test_every_sample_task_is_above_its_baseline() -> None:
    results = medsenteval.evaluate("lexical")
    assert list(results) == list(TASK_GROUPS["sentence"])
    for result in results.values():
        assert result.synthetic
        for name in result.headline:
            assert result.metric(name).mark != "!", (result.task, name)
