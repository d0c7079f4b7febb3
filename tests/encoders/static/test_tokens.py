"""Splitting, numbering and looking up of words against Python's own strings and dicts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.encoders.static.tokens import CASES, TOKENIZERS, TokenisedTexts, look_up, tokenise

ANY_TEXT = st.text(
    st.one_of(st.characters(max_codepoint=127), st.sampled_from("-'’ \n\t_aA1.βΣİß\x1c\x85\xa0\ud800日")), max_size=30
)
ANY_WORD = st.text(st.sampled_from("abAB\0éÉ日\ud800"), max_size=4) | st.text(st.sampled_from("ab"), min_size=60, max_size=70)


def as_lists(tokenised: TokenisedTexts) -> list[list[str]]:
    named = [tokenised.words[i] for i in tokenised.ids.tolist()]
    return [named[a:b] for a, b in zip(tokenised.offsets[:-1], tokenised.offsets[1:], strict=True)]


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=12), st.sampled_from(sorted(TOKENIZERS)), st.sampled_from(["", ".", "no text"]))
def test_texts_are_split_as_the_plain_tokeniser_splits_them(texts: list[str], tokenizer: str, empty: str) -> None:
    expected = [TOKENIZERS[tokenizer](text) or empty.split() for text in texts]
    found = tokenise(iter(texts), tokenizer, empty)
    assert as_lists(found) == expected
    assert found.words == list(dict.fromkeys(token for tokens in expected for token in tokens)), "each token once"


def test_every_character_is_classed_as_the_plain_tokeniser_does() -> None:
    characters = [chr(i) for i in range(0x3100)]
    texts = [f"a{c}b {c} a{c}{c}b{c}" for c in characters]
    for tokenizer, split in TOKENIZERS.items():
        assert as_lists(tokenise(texts, tokenizer)) == [split(text) for text in texts]


@settings(deadline=None)
@given(st.lists(ANY_WORD, unique=True, max_size=40), st.lists(ANY_WORD, max_size=40), st.sampled_from(CASES))
def test_words_are_looked_up_by_case(known: list[str], asked: list[str], case: str) -> None:
    row_of = {word: row for row, word in enumerate(known)}
    forms = {"exact": lambda word: [word], "lower": lambda word: [word.lower()]}
    expected = [
        next((row_of[form] for form in forms.get(case, lambda word: [word, word.lower()])(word) if form in row_of), -1)
        for word in [*known, *asked]
    ]
    assert look_up([*known, *asked], row_of, case).tolist() == expected


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=12), st.sets(ANY_WORD))
def test_coverage_is_that_of_plain_counts(texts: list[str], known: set[str]) -> None:
    part = tokenise(texts, "words", empty="")
    known |= set(part.words[::2])
    tokens = [TOKENIZERS["words"](text) for text in texts]
    flat = [token for each in tokens for token in each]
    assert part.coverage(look_up(part.words, dict.fromkeys(known, 0), "exact") >= 0) == {
        "tokens": sum(token in known for token in flat) / max(1, len(flat)),
        "distinct_tokens": len(known & set(flat)) / max(1, len(set(flat))),
        "texts": sum(any(token in known for token in each) for each in tokens) / max(1, len(texts)),
    }
