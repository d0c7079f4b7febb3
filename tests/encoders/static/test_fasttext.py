"""fastText .bin models that gensim trains and writes, read by ours, by gensim and by fastText's own library."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.encoders.static import fasttext
from medsenteval.encoders.static.fasttext import FastTextEncoder, Model, _read_dictionary, subwords
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

gensim_fasttext = pytest.importorskip("gensim.models.fasttext")

WORDS = ["heart", "attack", "β-blocker", "naïve", "patient", "the", "日本語", "x", "</s>"]
UNKNOWN = ["hearts", "βlocker", "日本", "a", "ab", "<", "x" * 300, "é", "</s", "Ünï", "HEART"]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Train a tiny model and write it as fastText would."""

    def trained(**options: Any) -> Path:
        draw = random.Random(0)
        corpus = [draw.choices(WORDS, k=8) for _ in range(60)]
        settings = {"vector_size": 7, "min_count": 1, "bucket": 97, "epochs": 1, "workers": 1, "seed": 1, **options}
        model = gensim_fasttext.FastText(corpus, **settings)
        path = tmp_path_factory.mktemp("fasttext") / "tiny.bin"
        gensim_fasttext.save_facebook_model(model, str(path))
        return path

    return trained


@pytest.fixture(scope="module")
def tiny(train: Callable[..., Path]) -> Path:
    return train(min_n=3, max_n=6)


@pytest.mark.parametrize(("shortest", "longest"), [(3, 6), (1, 3), (2, 2), (0, 0)])
def test_words_have_the_vectors_of_the_reference_libraries(train: Callable[..., Path], shortest: int, longest: int) -> None:
    path = train(min_n=shortest, max_n=longest)
    encoder = load_encoder(f"fasttext:{path},tokenizer=whitespace")
    ours = dict(zip(WORDS + UNKNOWN, encoder.encode(WORDS + UNKNOWN), strict=True))
    gensim_vectors = gensim_fasttext.load_facebook_vectors(str(path))
    for word, vector in ours.items():
        if longest == 0 and word in UNKNOWN:
            assert not vector.any(), "without n-grams an unknown word has no vector"
        elif word != "</s>":  # gensim gives fastText's mark of the sentence's end n-grams that fastText does not
            assert vector == pytest.approx(gensim_vectors[word], abs=1e-5), word
    library = pytest.importorskip("fasttext").load_model(str(path))
    for word, vector in ours.items():
        assert vector == pytest.approx(library.get_word_vector(word), abs=1e-5), word


def test_sentences_are_means_whatever_stands_beside_them(tiny: Path) -> None:
    reference = gensim_fasttext.load_facebook_vectors(str(tiny))
    encoder = load_encoder(f"fasttext:{tiny},tokenizer=whitespace")
    texts = ["heart attack", "", "hearts", "naïve 日本 patient", "the " * 5000, " ".join(UNKNOWN)]
    expected = [np.mean([reference[word] for word in text.split() or ["."]], axis=0) for text in texts]
    together = encoder.encode(texts)
    assert together == pytest.approx(np.array(expected), abs=1e-5)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in reversed(texts)])[::-1])
    largest = load_encoder(f"fasttext:{tiny},tokenizer=whitespace,pooling=max").encode(["heart attack"])[0]
    assert largest == pytest.approx(np.maximum(reference["heart"], reference["attack"]), abs=1e-6)


def test_token_vectors_and_coverage(tiny: Path, train: Callable[..., Path]) -> None:
    encoder: Any = load_encoder(f"fasttext:{tiny}")
    tokens = encoder.encode_tokens(["heart hearts", "the"])
    assert tokens.offsets.tolist() == [0, 2, 3]
    assert tokens.values == pytest.approx(encoder.encode(["heart", "hearts", "the"]), abs=1e-6)
    assert encoder.coverage(["heart hearts"]) == {"tokens": 1, "distinct_tokens": 1, "texts": 1}
    without: Any = load_encoder(f"fasttext:{train(max_n=0)}")
    assert without.coverage(["heart hearts", "hearts"])["tokens"] == pytest.approx(1 / 3)


def test_case_rules(tiny: Path) -> None:
    reference = gensim_fasttext.load_facebook_vectors(str(tiny))

    def vector(case: str, word: str) -> Any:
        return load_encoder(f"fasttext:{tiny},case={case}").encode([word])[0]

    for case, word, expected in [
        ("exact", "Heart", "Heart"),
        ("lower", "Heart", "heart"),
        ("exact-then-lower", "Heart", "heart"),
        ("exact-then-lower", "Hearts", "Hearts"),  # in no case in the vocabulary: the word's own n-grams
        ("lower", "HEARTS", "hearts"),
    ]:
        assert vector(case, word) == pytest.approx(reference[expected], abs=1e-5), (case, word)


def test_the_first_word_of_a_dictionary_may_be_the_one_in_lower_case() -> None:
    matrix = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
    exact, lenient = (
        FastTextEncoder("m", Model(["heart", "lung"], matrix, 3, 4, 10, "0"), case=case)
        for case in ("exact", "exact-then-lower")
    )
    for word in ("heart", "lung"):
        assert np.array_equal(lenient.encode([word.title()]), exact.encode([word]))
        assert not np.array_equal(exact.encode([word.title()]), exact.encode([word]))


@settings(deadline=None)
@given(st.lists(st.text(min_size=0, max_size=12), min_size=1, max_size=5), st.integers(1, 4), st.integers(0, 3))
def test_ngrams_equal_a_plain_reading_of_their_definition(words: list[str], shortest: int, more: int) -> None:
    owners, buckets = subwords([f"<{word}>".encode() for word in words], shortest, shortest + more, 101)
    for i, word in enumerate(words):
        marked = f"<{word}>"
        expected = []
        for begin in range(len(marked)):
            for length in range(shortest, shortest + more + 1):
                ngram = marked[begin : begin + length]
                if len(ngram) == length and not (length == 1 and begin in (0, len(marked) - 1)):
                    hashed = 2166136261
                    for byte in ngram.encode():
                        signed = byte - 256 if byte > 127 else byte
                        hashed = ((hashed ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
                    expected.append(hashed % 101)
        assert sorted(buckets[owners == i].tolist()) == sorted(expected)


def test_short_ngrams_come_first_and_then_those_that_begin_earlier() -> None:
    def bucket(ngram: bytes) -> int:
        hashed = 2166136261
        for byte in ngram:
            hashed = (hashed ^ byte) * 16777619 & 0xFFFFFFFF
        return hashed % 1009

    owners, buckets = subwords([b"<ab>", b"", b"<c>"], 2, 3, 1009)
    assert buckets.tolist() == [bucket(ngram) for ngram in (b"<a", b"ab", b"b>", b"<ab", b"ab>", b"<c", b"c>", b"<c>")]
    assert owners.tolist() == [0] * 5 + [2] * 3
    for longest, n_buckets in ((0, 1009), (3, 0)):
        assert [each.tolist() for each in subwords([b"<ab>"], 2, longest, n_buckets)] == [[], []]


def test_identity_follows_the_file_and_the_options(tiny: Path, tmp_path: Path) -> None:
    base = load_encoder(f"fasttext:{tiny}").identity
    copy = tmp_path / "other-name.bin"
    copy.write_bytes(tiny.read_bytes())
    assert load_encoder(f"fasttext:{copy}").identity == base
    options = ["case=lower", "tokenizer=whitespace", "pooling=max"]
    assert len({base, *(load_encoder(f"fasttext:{tiny},{option}").identity for option in options)}) == 4
    changed = bytearray(tiny.read_bytes())
    changed[-40] ^= 1
    copy.write_bytes(changed)
    assert load_encoder(f"fasttext:{copy}").identity != base


def test_wrong_and_cut_files_are_named_at_once(tiny: Path, tmp_path: Path) -> None:
    content = tiny.read_bytes()
    sent2vec = content[:36] + struct.pack("<i", 4) + content[40:]
    at_matrix = content.index(struct.pack("<qq", len(WORDS) + 97, 7))
    quantised = content[: at_matrix - 1] + b"\1" + content[at_matrix:]
    path = tmp_path / "model.bin"

    def matrix_of(rows: int, columns: int, buckets: int = 97) -> bytes:
        """The model with sizes that lie."""
        head = content[:40] + struct.pack("<i", buckets) + content[44:at_matrix]
        return head[:8] + struct.pack("<i", columns) + head[12:] + struct.pack("<qq", rows, columns) + content[at_matrix + 16 :]

    def words_of(words: int, labels: int) -> bytes:
        return content[:64] + struct.pack("<iii", words + labels, words, labels) + content[76:]

    assert words_of(len(WORDS), 0) == content
    for changed, message in [
        (matrix_of(2**62, 7), "ends within its matrix of 4611686018427387904 rows"),
        (matrix_of(2**63 - 1, 2**31 - 1), "ends within its matrix"),
        (matrix_of(len(WORDS) + 97, 2**31 - 1), "ends within its matrix"),
        (matrix_of(-5, 7, -100), "its matrix is -5 x 7"),
        (matrix_of(len(WORDS) + 97, 7, -(2**31)), "its matrix is"),
        (matrix_of(len(WORDS) + 96, 7), "its matrix is"),
        (matrix_of(len(WORDS) + 97, -7), "of -7 dimensions"),
        (words_of(-1, len(WORDS) + 1), "promises -1 words"),
        (words_of(len(WORDS) + 1, -1), rf"promises {len(WORDS) + 1} words"),
        (b"heart 1 2 3\n", r"model\.bin: does not begin as a fastText .bin model does; for text vectors .* use vectors:PATH"),
        (b"a 1 2\n", "for text vectors"),
        (b"", "expected a fastText .bin model"),
        (content[:30], "ends within its description"),
        (content[:130], "ends at word"),
        (content[: at_matrix + 100], "ends within its matrix"),
        (content[: at_matrix + 16 + 4 * 7 * (len(WORDS) + 97) + 16], "ends within its matrix"),
        (content[:-1], f"{len(content)} bytes were expected, it has {len(content) - 1}; is the download complete"),
        (content + b"x", f"{len(content)} bytes were expected, it has {len(content) + 1}"),
        (b"{", "does not begin as a fastText .bin model does; expected"),
        (content[:4] + struct.pack("<i", 13) + content[8:], "version 13"),
        (sent2vec, "BioSentVec"),
        (quantised, "quantised"),
        (content[:84] + struct.pack("<q", 3) + content[92:], "quantised"),  # only these have pruned entries
    ]:
        path.write_bytes(changed)
        with pytest.raises(EncoderError, match=message):
            load_encoder(f"fasttext:{path}")
    for spec, message in [
        ("fasttext:", "fasttext: takes PATH of a fastText .bin model"),
        (f"fasttext:{tmp_path / 'none.bin'}", "cannot be read"),
        (f"fasttext:{tmp_path}", "is a folder"),
        (f"fasttext:{tiny},pooling=sif", "pooling is 'sif'"),
        (f"fasttext:{tiny},layers=3", "no option 'layers'"),
    ]:
        with pytest.raises(EncoderError, match=message):
            load_encoder(spec)


@pytest.mark.parametrize("words", [[b"heart", b"", b"x" * 20], [b"", b"a"], []])
def test_a_dictionary_is_read_and_no_byte_too_far(words: list[bytes], tmp_path: Path) -> None:
    content = b"head" + b"".join(word + b"\0" + struct.pack("<qb", 7, 0) for word in words) + b"matrix"
    (tmp_path / "model.bin").write_bytes(content)
    with open(tmp_path / "model.bin", "rb") as file:
        file.seek(4)
        assert _read_dictionary(Path("model.bin"), file, len(words)) == words
        assert file.read() == b"matrix"
        file.seek(4)
        with pytest.raises(EncoderError, match=rf"ends at word {len(words) + 1} of the {len(words) + 2}"):
            _read_dictionary(Path("model.bin"), file, len(words) + 2)


@pytest.mark.parametrize(("version", "kind", "has_ngrams"), [(11, 3, False), (12, 3, True), (11, 2, True)])
def test_supervised_models_of_the_first_versions_have_no_ngrams(
    tiny: Path, tmp_path: Path, version: int, kind: int, has_ngrams: bool
) -> None:
    content = tiny.read_bytes()
    path = tmp_path / "model.bin"
    path.write_bytes(content[:4] + struct.pack("<i", version) + content[8:36] + struct.pack("<i", kind) + content[40:])
    encoder = load_encoder(f"fasttext:{path},tokenizer=whitespace")
    assert encoder.encode(["hearts"]).any() == has_ngrams
    assert encoder.encode(["heart"]).any()


def handmade(words: list[str], *, buckets: int, longest: int, rows: int) -> bytes:
    """A model of two dimensions whose row i is (i, -i), as fastText writes it."""
    head = struct.pack("<ii", 793712314, 12) + struct.pack("<12id", 2, 5, 5, 1, 5, 1, 1, 2, buckets, 1, longest, 0, 1e-4)
    dictionary = struct.pack("<iiiqq", len(words), len(words), 0, 9, -1)
    dictionary += b"".join(word.encode() + b"\0" + struct.pack("<qb", 1, 0) for word in words)
    matrix: bytes = (np.arange(rows, dtype="<f4")[:, None] * np.array([1, -1], dtype="<f4")).tobytes()
    return head + dictionary + struct.pack("<?qq", False, rows, 2) + matrix + struct.pack("<?qq", False, 0, 2)


@pytest.mark.parametrize(
    ("buckets", "longest", "rows", "fits"),
    [(0, 0, 3, True), (5, 0, 3, True), (0, 3, 3, True), (5, 1, 8, True), (5, 1, 7, False), (5, 0, 2, False)],
)
def test_a_matrix_has_a_row_for_each_word_and_bucket(tmp_path: Path, buckets: int, longest: int, rows: int, fits: bool) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(handmade(["aa", "bb", "cc"], buckets=buckets, longest=longest, rows=rows))
    if fits:
        encoder = load_encoder(f"fasttext:{path}")
        if not buckets or not longest:
            assert encoder.encode(["bb", "cc", "cc bb", "dd"]).tolist() == [[1, -1], [2, -2], [1.5, -1.5], [0, 0]]
    else:
        with pytest.raises(EncoderError, match=rf"its matrix is {rows} x 2 for 3 words of 2 dimensions"):
            load_encoder(f"fasttext:{path}")


def test_more_distinct_words_than_a_block_keep_their_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(handmade([f"w{i}" for i in range(7)], buckets=0, longest=0, rows=7))
    for size in (1, 2, 3, 100):
        monkeypatch.setattr(fasttext, "_WORDS_A_BLOCK", size)
        encoder = load_encoder(f"fasttext:{path}")
        assert encoder.encode([f"w{i} w{i} none" for i in range(7)]).tolist() == [[i, -i] for i in range(7)]
