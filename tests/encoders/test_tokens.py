"""The vectorised splitting, interning and look-up of words against Python's own strings and dicts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval import compiling
from medsenteval.encoders import tokens, words
from medsenteval.encoders.tokens import TOKENIZERS, TokenisedTexts, TokenStore, lowered
from medsenteval.encoders.words import PackedWords, Vocabulary, WordIndex, as_bytes, pack

ANY_TEXT = st.text(
    st.one_of(st.characters(max_codepoint=127), st.sampled_from("-'’ \n\t_aA1.βΣİß\x1c\x85\xa0\ud800日")), max_size=30
)
ANY_WORD = st.text(st.sampled_from("ab\0é日"), max_size=20) | st.text(st.sampled_from("ab"), min_size=60, max_size=70)


@contextmanager
def numba_for(everything: bool) -> Iterator[pytest.MonkeyPatch]:
    """Use the compiled loops for everything, or for nothing."""
    if everything:
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "_TOKENS_WORTH_LOADING", 0 if everything else 1 << 62)
        yield patch


def as_lists(tokenised: TokenisedTexts) -> list[list[str]]:
    words = tokenised.types.words()
    named = [words.word(i).decode("utf-8", "surrogatepass") for i in tokenised.ids.tolist()]
    return [named[a:b] for a, b in zip(tokenised.offsets[:-1], tokenised.offsets[1:], strict=True)]


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=12), st.sampled_from(sorted(TOKENIZERS)), st.integers(1, 60), st.booleans())
def test_texts_are_split_as_the_plain_tokeniser_splits_them(texts: list[str], tokenizer: str, group: int, numba: bool) -> None:
    with numba_for(numba) as patch:
        patch.setattr(tokens, "_CHARACTERS_A_GROUP", group)
        store = TokenStore(tokenizer)
        expected = [TOKENIZERS[tokenizer](text) for text in texts]
        assert as_lists(store.tokenise(texts)) == expected
        assert as_lists(store.tokenise(texts[::-1])) == expected[::-1], "and again from what was kept, in another order"
        assert as_lists(store.tokenise(texts).with_full_stops()) == [found or ["."] for found in expected]


@pytest.mark.parametrize("numba", [False, True])
def test_every_ascii_character_is_classed_as_the_plain_tokeniser_does(numba: bool) -> None:
    texts = [f"a{chr(i)}b {chr(i)} a{chr(i)}{chr(i)}b{chr(i)}" for i in range(128)]
    with numba_for(numba):
        for tokenizer, split in TOKENIZERS.items():
            assert as_lists(TokenStore(tokenizer).tokenise(texts)) == [split(text) for text in texts]


@settings(deadline=None)
@given(st.lists(st.lists(ANY_TEXT, max_size=8), max_size=6), st.sampled_from(sorted(TOKENIZERS)), st.lists(st.booleans()))
def test_plain_code_and_compiled_loops_take_turns_on_one_table(
    batches: list[list[str]], tokenizer: str, compiled: list[bool]
) -> None:
    store = TokenStore(tokenizer)
    for numba, texts in zip([*compiled, *[True] * 6], batches, strict=False):
        with numba_for(numba):
            assert as_lists(store.tokenise(texts)) == [TOKENIZERS[tokenizer](text) for text in texts]


def test_a_store_that_was_interrupted_starts_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    store = TokenStore("whitespace")
    store.tokenise(["a b"])
    with monkeypatch.context() as patch:
        patch.setattr(tokens, "_groups", lambda texts, lengths: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.tokenise(["c", "a b"])
    assert as_lists(store.tokenise(["c", "d e", "a b"])) == [["c"], ["d", "e"], ["a", "b"]]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MAX_TOKENS_KEPT", 100)
    store = TokenStore("whitespace")
    first = store.tokenise(["a b"])
    for i in range(50):
        texts = [f"w{i} x{j}" for j in range(10)]
        assert as_lists(store.tokenise(texts)) == [text.split() for text in texts]
        assert store._n_ids <= 120
    assert as_lists(first) == [["a", "b"]], "what was handed out stays valid"


@settings(deadline=None)
@given(st.lists(ANY_WORD, unique=True, max_size=40), st.lists(ANY_WORD, max_size=40), st.booleans(), st.booleans())
def test_the_index_answers_as_a_dict(known: list[str], asked: list[str], collide: bool, numba: bool) -> None:
    def one_hash(words: PackedWords, first: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return np.full(len(words), 7, dtype=np.uint64)

    with numba_for(numba) as patch:
        loops = compiling.loops_worth_loading(words._LOOPS, 1)
        assert (loops is not None) == numba
        if collide and not numba:  # the worst hash there is must cost time only
            patch.setattr(PackedWords, "hashes", one_hash)
        expected = {word: i for i, word in enumerate(known)}
        vocabulary = Vocabulary.of(known)
        assert vocabulary.rows([*known, *asked]).tolist() == [expected.get(word, -1) for word in [*known, *asked]]
        assert dict(vocabulary) == expected or any("\ud800" in word for word in known)
        grown = WordIndex.empty()
        numbers = [grown.add(pack(map(as_bytes, part)), loops).tolist() for part in (asked, known, asked)]
        assert numbers[0] == numbers[2]
        assert len(grown) == len({*asked, *known})
        taken_in = grown.words()
        named = [taken_in.word(i).decode() for i in (*numbers[0], *numbers[1])]
        assert named == [*asked, *known]


@pytest.mark.parametrize("numba", [False, True])
def test_the_index_grows_to_many_words(numba: bool) -> None:
    named = [f"word{i * i}" * (1 + i % 3) for i in range(20_000)]
    index = WordIndex.empty()
    with numba_for(numba):
        loops = compiling.loops_worth_loading(words._LOOPS, 1)
        for begin in range(0, len(named), 777):
            index.add(pack(map(as_bytes, named[begin : begin + 777])), loops)
        index.add(pack(map(as_bytes, named[::-1])), loops)
        found = index.find(pack(map(as_bytes, named)))
        assert sorted(found.tolist()) == list(range(20_000))
        assert (index.find(pack([b"word", b"", b"word2"])) == -1).all()
    with numba_for(False):
        assert np.array_equal(index.find(pack(map(as_bytes, named))), found), "both hash alike"


def test_the_compiled_loops_hash_as_numpy_does() -> None:
    pytest.importorskip("numba")
    from medsenteval.encoders import token_kernels

    packed = pack([bytes(range(1, 1 + n)) * (1 + n // 200) for n in range(120)])
    first = packed.block(0)
    windows, starts, lengths = packed.as_asked()
    found = [token_kernels._hash(windows, starts[i], lengths[i], first[i]) for i in range(len(packed))]
    assert found == packed.hashes(first).tolist()


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=20))
def test_lower_case_is_that_of_str(words: list[str]) -> None:
    low = lowered(pack(map(as_bytes, words)))
    assert [low.word(i) for i in range(len(low))] == [as_bytes(word.lower()) for word in words]


def test_threads_share_a_store() -> None:
    store = TokenStore("words")
    texts = [[f"t{k} w{i} w{i * k}" for i in range(2000)] for k in range(6)]
    found: dict[int, list[list[str]]] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: as_lists(store.tokenise(texts[k]))})) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[k] == [text.split() for text in texts[k]] for k in range(6))


def test_a_vocabulary_reads_like_a_dict() -> None:
    vocabulary = Vocabulary.of(["heart", "β"])
    assert vocabulary == {"heart": 0, "β": 1}
    assert vocabulary.get("lung") is None
    assert "β" in vocabulary
    with pytest.raises(KeyError):
        vocabulary["lung"]
