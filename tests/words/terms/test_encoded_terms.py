"""Terms as encoders see them: each different word once, what is known, and which measures a name means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from medsenteval.contracts import Embeddings, TokenVectors
from medsenteval.errors import UnknownNameError
from medsenteval.similarity import MEASURES
from medsenteval.words.terms import encoded_terms
from medsenteval.words.terms.encoded_terms import EncodedTerms, check_measure

VECTORS = {"heart": [1.0, 0.0], "cor": [1.0, 0.0], "skin": [0.0, 2.0]}


class Words:
    """Word vectors by name; ``calls`` notes the terms of each call."""

    name = identity = "words"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        raise NotImplementedError

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        self.calls.append(list(texts))
        words = [word for text in texts for word in text.split()]
        values = np.array([VECTORS.get(word, [0.0, 0.0]) for word in words], dtype=np.float32).reshape(-1, 2)
        known = np.array([word in VECTORS for word in words], dtype=bool)
        return TokenVectors(values, np.cumsum([0, *(len(text.split()) for text in texts)]), known)


@pytest.mark.parametrize("at_once", [20_000, 2])
def test_each_word_vector_is_kept_once(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_terms, "_TERMS_AT_ONCE", at_once)
    encoder = Words()
    found = EncodedTerms.of_words(encoder, ["heart skin", "cor", "skin x", "", "x", "cor", "skin heart skin"])
    unique = ["heart skin", "cor", "skin x", "", "x", "skin heart skin"]
    assert encoder.calls == [unique[i : i + at_once] for i in range(0, 6, at_once)]
    assert found.number == {term: i for i, term in enumerate(unique)}
    assert found.matrix.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert [found.terms[i].tolist() for i in range(6)] == [[0, 1], [0], [1], [], [], [1, 0, 1]]
    assert found.known.tolist() == [True, True, False, False, False, True]
    assert found.known_in_part.tolist() == [True, True, True, False, False, True]
    assert (found.word_vectors, found.n_encoded, found.measures) == (True, 6, MEASURES)
    numbers = found.numbers(["cor", "heart skin"])
    assert numbers.tolist() == [1, 0]
    similarities = found.similarities(["avg_cos", "max_jaccard"], numbers, found.numbers(["skin x", "cor"]))
    assert similarities["avg_cos"] == pytest.approx([0.0, 0.5 / 1.25**0.5])
    assert similarities["max_jaccard"] == pytest.approx([0.0, 1 / 3])


def test_a_text_has_the_one_vector_of_its_encoder() -> None:
    matrix = np.array([[1.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    embeddings = Embeddings(matrix, {"heart": 0, "x": 1}, n_encoded=1)
    found = EncodedTerms.of_texts(embeddings)
    assert found.known.tolist() == found.known_in_part.tolist() == [True, False]
    assert (found.word_vectors, found.n_encoded, len(found.terms)) == (False, 1, 2)
    assert found.measures == ("avg_cos", "avg_r", "avg_rho", "avg_tau")
    assert found.similarities(["avg_cos"], np.array([0, 0]), np.array([0, 1]))["avg_cos"] == pytest.approx([1.0, 0.0])


def test_names_of_measures() -> None:
    words = EncodedTerms.of_words(Words(), ["heart"])
    texts = EncodedTerms.of_texts(Embeddings(np.ones((1, 2), dtype=np.float32), {"heart": 0}))
    assert (words.measure("paper"), texts.measure("paper")) == ("fuzzy_jaccard", "avg_tau")
    assert (words.measure("paper", "avg_cos"), texts.measure("paper", "avg_cos")) == ("avg_cos", "avg_tau")
    assert (words.measure("pair_tau"), texts.measure("avg_r")) == ("pair_tau", "avg_r")
    with pytest.raises(UnknownNameError, match="no measure 'pair_r' for an encoder with one vector a term; known: paper,"):
        texts.measure("pair_r")
    with pytest.raises(UnknownNameError, match="no measure 'dice' for word vectors; known: paper, avg_cos"):
        words.measure("dice")
    for name in ("paper", *MEASURES):
        check_measure(name)
    with pytest.raises(UnknownNameError, match="no measure is called 'dice'; known: paper, avg_cos"):
        check_measure("dice")
