"""Splitting, numbering and looking up of words against Python's own strings and dicts."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.encoders.static import tokens
from medsenteval.encoders.static.tokens import TOKENIZERS, TokenisedTexts, TokenReader
from medsenteval.encoders.static.word_index import Vocabulary, as_bytes

ANY_TEXT = st.text(
    st.one_of(st.characters(max_codepoint=127), st.sampled_from("-'’ \n\t_aA1.βΣİß\x1c\x85\xa0\ud800日")), max_size=30
)
ANY_WORD = st.text(st.sampled_from("ab\0é日\ud800"), max_size=20) | st.text(st.sampled_from("ab"), min_size=60, max_size=70)


def reader(tokenizer: str) -> TokenReader:
    """Make a reader for which a word's row is its number of characters, and longer words are unknown."""

    def look_up(words: list[str]) -> NDArray[np.int32]:
        return np.array([len(word) if len(word) < 5 else -1 for word in words], dtype=np.int32)

    return TokenReader(tokenizer, look_up)


def as_lists(tokenised: TokenisedTexts) -> list[list[str]]:
    named = [tokenised.words[i] for i in tokenised.ids.tolist()]
    assert tokenised.rows[tokenised.ids].tolist() == [len(word) if len(word) < 5 else -1 for word in named]
    return [named[a:b] for a, b in zip(tokenised.offsets[:-1], tokenised.offsets[1:], strict=True)]


@settings(deadline=None)
@given(st.lists(st.lists(ANY_TEXT, max_size=12), max_size=4), st.sampled_from(sorted(TOKENIZERS)))
def test_texts_are_split_as_the_plain_tokeniser_splits_them(batches: list[list[str]], tokenizer: str) -> None:
    read = reader(tokenizer).read
    for texts in [*batches, *batches]:
        expected = [TOKENIZERS[tokenizer](text) or ["."] for text in texts]
        assert as_lists(read(texts)) == expected
        assert as_lists(read(texts[::-1])) == expected[::-1]


def test_every_character_is_classed_as_the_plain_tokeniser_does() -> None:
    characters = [chr(i) for i in range(0x3100)]
    texts = [f"a{c}b {c} a{c}{c}b{c}" for c in characters]
    for tokenizer, split in TOKENIZERS.items():
        assert as_lists(reader(tokenizer).read(texts)) == [split(text) for text in texts]


def test_each_distinct_token_is_looked_up_once() -> None:
    asked: list[str] = []

    def look_up(words: list[str]) -> NDArray[np.int32]:
        asked.extend(words)
        return np.zeros(len(words), dtype=np.int32)

    read = TokenReader("words", look_up).read
    for texts in (["heart heart, lung."], ["lung heart", "", "liver"], ["heart"]):
        read(texts)
    assert asked == ["heart", ",", "lung", ".", "liver"]


def test_a_reader_that_was_interrupted_starts_afresh() -> None:
    def look_up(words: list[str]) -> NDArray[np.int32]:
        return np.array([1 // (word != "bad") for word in words], dtype=np.int32)

    interrupted = TokenReader("whitespace", look_up)
    interrupted.read(["a b"])
    with pytest.raises(ZeroDivisionError):
        interrupted.read(["c bad", "a b"])
    found = interrupted.read(["c", "d e", "a b"])
    assert [found.words[i] for i in found.ids.tolist()] == ["c", "d", "e", "a", "b"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MOST_PIECES_KEPT", 100)
    bounded = reader("whitespace")
    first = bounded.read(["a b"])
    for i in range(50):
        texts = [f"w{i} x{j}" for j in range(10)]
        found = bounded.read(texts)
        assert as_lists(found) == [text.split() for text in texts]
        assert len(found.words) <= 120
    assert as_lists(first) == [["a", "b"]], "what was handed out stays valid"


def test_threads_share_a_reader() -> None:
    shared = reader("words")
    texts = [[f"t{k} w{i} w{i * k}" for i in range(2000)] for k in range(6)]
    found: dict[int, list[list[str]]] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: as_lists(shared.read(texts[k]))})) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[k] == [text.split() for text in texts[k]] for k in range(6))


@settings(deadline=None)
@given(st.lists(ANY_WORD, unique=True, max_size=40), st.lists(ANY_WORD, max_size=40))
def test_a_vocabulary_answers_as_a_dict(known: list[str], asked: list[str]) -> None:
    expected = {word: i for i, word in enumerate(known)}
    vocabulary = Vocabulary.of(map(as_bytes, known))
    assert vocabulary.rows([*known, *asked]).tolist() == [expected.get(word, -1) for word in [*known, *asked]]
    assert vocabulary.in_bytes() == [as_bytes(word) for word in known]
    assert len(vocabulary) == len(known)
    if not any("\ud800" in word for word in known):
        assert dict(vocabulary) == expected


def test_a_vocabulary_of_many_words_is_the_same_when_mapped(tmp_path: Path) -> None:
    words = [f"wörd{i * i}" * (1 + i % 3) for i in range(20_000)]
    Vocabulary.of(map(as_bytes, words)).save(tmp_path)
    vocabulary = Vocabulary.open(tmp_path)
    assert vocabulary.rows(words).tolist() == list(range(20_000))
    assert vocabulary.rows(["wörd", "", "wörd2", "x"]).tolist() == [-1] * 4
    assert list(vocabulary) == words


def test_a_vocabulary_reads_like_a_dict() -> None:
    vocabulary = Vocabulary.of(map(as_bytes, ["heart", "β"]))
    assert vocabulary == {"heart": 0, "β": 1}
    assert vocabulary.get("lung") is None
    assert "β" in vocabulary
    with pytest.raises(KeyError):
        vocabulary["lung"]
