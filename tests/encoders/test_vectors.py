"""Word-vector files of every layout against gensim's reading of them, and pooling against a plain loop."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medsenteval.cache import cache_folder
from medsenteval.contracts import TokenVectors
from medsenteval.encoders.vector_files import open_vectors
from medsenteval.encoders.vectors import load
from medsenteval.errors import EncoderError, SettingsError
from medsenteval.pooling import pool

Write = Callable[..., Path]

WORDS = {"heart": [1.0, 2.0, 3.0], "Heart": [9.0, 9.0, 9.0], ".": [0.5, 0.5, 0.5], "β-blocker": [-1.0, 0.0, 4.0]}
GLOVE = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items())


def word2vec_binary(words: dict[str, list[float]], newline: bytes) -> bytes:
    rows = [word.encode() + b" " + struct.pack(f"<{len(v)}f", *v) + newline for word, v in words.items()]
    return f"{len(words)} 3\n".encode() + b"".join(rows)


@pytest.mark.parametrize("content", [GLOVE, f"4 3\n{GLOVE}", GLOVE.replace("\n", " \r\n"),
                                     word2vec_binary(WORDS, b"\n"), word2vec_binary(WORDS, b"")])  # fmt: skip
def test_every_layout_gives_the_same_table(write: Write, content: str | bytes) -> None:
    table = open_vectors(write({"v.any": content}) / "v.any")
    assert {word: table.matrix[row].tolist() for word, row in table.row_of.items()} == WORDS


@pytest.mark.parametrize("binary", [True, False])
def test_files_written_by_gensim_are_read_as_gensim_reads_them(tmp_path: Path, binary: bool) -> None:
    gensim = pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    vectors = gensim.models.KeyedVectors(25)
    vectors.add_vectors([f"word{i}é" for i in range(300)], rng.standard_normal((300, 25)).astype(np.float32))
    vectors.save_word2vec_format(str(tmp_path / "v"), binary=binary)
    table = open_vectors(tmp_path / "v")
    expected = gensim.models.KeyedVectors.load_word2vec_format(str(tmp_path / "v"), binary=binary)
    assert list(table.row_of) == expected.index_to_key
    assert np.array_equal(np.asarray(table.matrix), expected.vectors)


def test_words_with_blanks_and_duplicates_as_in_glove_840b(write: Write) -> None:
    table = open_vectors(write({"g.txt": "a 1 2\n. . . 3 4\na 9 9\n"}) / "g.txt")
    assert table.row_of == {"a": 0, ". . .": 1}
    assert table.matrix.tolist() == [[1, 2], [3, 4]]
    assert table.duplicates == 1


def test_the_second_opening_maps_the_converted_copy_and_a_changed_file_is_converted_again(write: Write) -> None:
    path = write({"v.txt": "a 1 2\n"}) / "v.txt"
    first = open_vectors(path)
    copies = list((cache_folder() / "vectors").iterdir())
    assert len(copies) == 1
    assert isinstance(open_vectors(path).matrix, np.memmap)
    assert json.loads((copies[0] / "meta.json").read_text())["sha256"] == first.sha256
    path.write_text("a 1 2\nb 3 4\n")
    assert len(open_vectors(path).row_of) == 2
    assert open_vectors(path).sha256 != first.sha256


@pytest.mark.parametrize(
    ("content", "message"),
    [("a 1 2\nb 1\n", r"v\.txt:2: expected a word and 2 finite numbers"),
     ("a 1 2\nb 1 x\n", r"v\.txt:2"),
     ("a 1 nan\n", r"v\.txt:1"),
     ("5 2\na 1 2\n", "promises 5 words, it holds 1"),
     (b"\xff\xfe 1 2\n", r"v\.txt:1: not UTF-8"),
     ("", "no word vectors"),
     ("justaword\n", r"v\.txt:1"),
     (word2vec_binary(WORDS, b"\n")[:-9], "ends within the vector of word 4"),
     (word2vec_binary(WORDS, b"\n").replace(b"4 3", b"6 3", 1), "at word 5 of the 6 it promises")],
)  # fmt: skip
def test_lying_or_cut_files_are_refused_and_leave_nothing_behind(write: Write, content: str | bytes, message: str) -> None:
    path = write({"v.txt": content}) / "v.txt"
    with pytest.raises(EncoderError, match=message):
        open_vectors(path)
    assert list((cache_folder() / "vectors").iterdir()) == []


def test_missing_files_folders_and_options_are_named(tmp_path: Path, write: Write) -> None:
    with pytest.raises(EncoderError, match="cannot be read"):
        load(str(tmp_path / "none.txt"))
    with pytest.raises(EncoderError, match="is a folder"):
        load(str(tmp_path))
    with pytest.raises(EncoderError, match="needs a file"):
        load("")
    path = str(write({"v.txt": GLOVE}) / "v.txt")
    with pytest.raises(EncoderError, match="no option 'kase'"):
        load(path, kase="lower")
    with pytest.raises(EncoderError, match="case is 'upper'"):
        load(path, case="upper")


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [[(9 + 1) / 2, (9 + 2) / 2, (9 + 3) / 2], [1, 2, 3], [0.5] * 3, [0] * 3, [-0.25, 0.25, 2.25]]),
     ({"case": "exact"}, [[5, 5.5, 6], [0] * 3, [0.5] * 3, [0] * 3, [-0.25, 0.25, 2.25]]),
     ({"case": "lower"}, [[1, 2, 3], [1, 2, 3], [0.5] * 3, [0] * 3, [-0.25, 0.25, 2.25]]),
     ({"tokenizer": "whitespace"}, [[5, 5.5, 6], [1, 2, 3], [0.5] * 3, [0] * 3, [0] * 3]),
     ({"pooling": "max"}, [[9, 9, 9], [1, 2, 3], [0.5] * 3, [0] * 3, [0.5, 0.5, 4]])],
)  # fmt: skip
def test_sentences_are_pooled_over_known_words(write: Write, options: dict[str, str], expected: list[list[float]]) -> None:
    encoder = load(str(write({"v.txt": GLOVE}) / "v.txt"), **options)
    texts = ["Heart heart", "HEART", "", "unknown words", "β-blocker."]
    assert encoder.encode(texts).tolist() == expected


def test_coverage_counts_tokens_types_and_texts(write: Write) -> None:
    encoder = load(str(write({"v.txt": GLOVE}) / "v.txt"))
    assert encoder.coverage(["heart heart lung", "lung"]) == {"tokens": 0.5, "distinct_tokens": 0.5, "texts": 0.5}


def test_identity_follows_content_and_options(write: Write) -> None:
    folder = write({"a.txt": GLOVE, "b.txt": GLOVE, "c.txt": GLOVE.replace("4.0", "4.5")})
    identity = {name: load(str(folder / name)).identity for name in ("a.txt", "b.txt", "c.txt")}
    assert identity["a.txt"] == identity["b.txt"] != identity["c.txt"]
    assert load(str(folder / "a.txt"), case="lower").identity != identity["a.txt"]


@given(st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=20), st.sampled_from(["mean", "max"]), st.integers(0, 99))
def test_pooling_equals_a_plain_loop(known: list[list[bool]], how: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = np.array([k for text in known for k in text], dtype=bool)
    values = rng.standard_normal((len(mask), 3)).astype(np.float32)
    offsets = np.cumsum([0, *map(len, known)]).astype(np.intp)
    pooled = pool(TokenVectors(values, offsets, mask), how)
    for i in range(len(known)):
        rows = values[offsets[i] : offsets[i + 1]][mask[offsets[i] : offsets[i + 1]]]
        expected = np.zeros(3) if len(rows) == 0 else rows.mean(axis=0) if how == "mean" else rows.max(axis=0)
        assert pooled[i] == pytest.approx(expected, abs=1e-6)


def test_an_unknown_pooling_is_refused() -> None:
    empty = TokenVectors(np.zeros((0, 2), np.float32), np.zeros(2, np.intp), np.zeros(0, bool))
    with pytest.raises(SettingsError, match="pooling is 'median'"):
        pool(empty, "median")
