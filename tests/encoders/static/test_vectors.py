"""Word-vector files of every layout against gensim's reading of them, and sentence vectors against plain loops."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import os
import pickle
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from medsenteval.contracts import TokenEncoder
from medsenteval.embedding.cache import CacheError, cache_folder
from medsenteval.encoders.static import converted_vectors, vector_formats
from medsenteval.encoders.static.converted_vectors import content_digest, open_vectors
from medsenteval.encoders.static.tokens import TOKENIZERS
from medsenteval.encoders.static.vector_formats import FileOptions, read_vectors
from medsenteval.encoders.static.vectors import WordVectorEncoder, from_table, load, read_frequencies
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from tests.conftest import examples

Write = Callable[..., Path]

WORDS = {"heart": [1.0, 2.0, 3.0], "Heart": [9.0, 9.0, 9.0], ".": [0.5, 0.5, 0.5], "β-blocker": [-1.0, 0.0, 4.0]}
GLOVE = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items())


def word2vec_binary(words: dict[str, list[float]], newline: bytes) -> bytes:
    rows = [word.encode() + b" " + struct.pack(f"<{len(v)}f", *v) + newline for word, v in words.items()]
    return f"{len(words)} 3\n".encode() + b"".join(rows)


def zipped(members: dict[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return written.getvalue()


@pytest.mark.parametrize("content", [GLOVE, f"4 3\n{GLOVE}", GLOVE.replace("\n", " \r\n"),
                                     word2vec_binary(WORDS, b"\n"), word2vec_binary(WORDS, b""),
                                     gzip.compress(GLOVE.encode(), mtime=0),
                                     gzip.compress(word2vec_binary(WORDS, b"\n"), mtime=0),
                                     zipped({"only.txt": GLOVE}),
                                     GLOVE.replace(" ", "\t", 1), re.sub(r"(?m)^(\S+) ", r"\1\t", GLOVE),
                                     GLOVE.replace(" ", "\t"), GLOVE.replace(" ", "  "), GLOVE.replace("\n", "\n  "),
                                     f"4\t3\n{GLOVE}".replace(" ", "\t"), f"\ufeff{GLOVE}", f"\ufeff4 3\r\n{GLOVE}",
                                     gzip.compress(f"\ufeff{GLOVE}".encode(), mtime=0),
                                     zipped({"only.vec": f"\ufeff4 3\n{GLOVE}".replace(" 1.0", "\t1.0")})])  # fmt: skip
def test_every_layout_gives_the_same_table(write: Write, content: str | bytes) -> None:
    table = open_vectors(write({"v.any": content}) / "v.any")
    assert {word: table.matrix[row].tolist() for word, row in table.row_of.items()} == WORDS
    in_memory = from_table("memory", WORDS, list(WORDS.values()))
    assert table.sha256[:32] in in_memory.identity, "the same words and vectors have the same hash from whatever file"


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


def test_a_header_settles_what_the_lines_leave_open(write: Write) -> None:
    names = [f"grade {i}" for i in range(1, 9)]
    rows = "".join(f"{name} {i} 0.5\n" for i, name in enumerate([*names, "no grade"]))
    table = open_vectors(write({"v.vec": f"9 2\n{rows}"}) / "v.vec")
    assert list(table.row_of) == [*names, "no grade"], "words that end in a number"
    terms = "".join(f"{name} {i} 0.5\n" for i, name in enumerate(["heart attack", "lung cancer", "fever"]))
    assert list(open_vectors(write({"t.txt": terms}) / "t.txt").row_of) == ["heart attack", "lung cancer", "fever"]


@settings(deadline=None, max_examples=examples(30))
@given(
    st.lists(st.text(st.sampled_from("ab1.-é"), min_size=1, max_size=4), min_size=1, max_size=8, unique=True),
    st.integers(2, 6), st.integers(2, 6), st.booleans(), st.sampled_from([" ", "\t"]), st.booleans(),
)  # fmt: skip
def test_a_text_is_read_as_gensim_reads_it_or_refused(
    words: list[str], dimension: int, said: int, header: bool, after_word: str, mark: bool
) -> None:
    gensim = pytest.importorskip("gensim")
    vectors = np.arange(len(words) * dimension).reshape(len(words), dimension) / 8
    rows = "".join(f"{word}{after_word}{' '.join(map(str, row))}\n" for word, row in zip(words, vectors.tolist(), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.txt"
        path.write_text("\ufeff" * mark + f"{len(words)} {said}\n" * header + rows, encoding="utf-8")
        if header and said != dimension:
            with pytest.raises(EncoderError, match=rf"v\.txt:1: promises {said} numbers a word"):
                open_vectors(path)
            return
        table = open_vectors(path)
        plain = Path(folder) / "plain.txt"
        plain.write_text(rows.replace("\t", " "), encoding="utf-8")
        expected = gensim.models.KeyedVectors.load_word2vec_format(str(plain), binary=False, no_header=True)
        assert list(table.row_of) == expected.index_to_key == words
        assert np.array_equal(np.asarray(table.matrix), expected.vectors)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(2, 40), st.integers(2, 12), st.integers(1, 60), st.integers(1, 24), st.integers(0, 99), st.booleans())
@example(2, 2, 2, 2, 5, False)
def test_a_binary_file_whose_header_lies_is_refused(
    n: int, dimension: int, said_words: int, said: int, seed: int, newline: bool
) -> None:
    vectors = np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    rows = b"".join(f"w{i} ".encode() + row.tobytes() + b"\n" * newline for i, row in enumerate(vectors))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.bin"
        path.write_bytes(f"{said_words} {said}\n".encode() + rows)
        if (said_words, said) == (n, dimension):
            assert np.array_equal(np.asarray(open_vectors(path).matrix), vectors)
        else:
            with pytest.raises(EncoderError, match=r"v\.bin"):
                open_vectors(path)


def test_every_word_and_row_of_a_long_table_is_part_of_its_digest() -> None:
    words, matrix = [f"w{i}".encode() for i in range(4_100)], np.arange(8_200, dtype=np.float32).reshape(-1, 2)
    lengths = b"".join(len(word).to_bytes(4, "little") for word in words)
    whole = b"(4100, 2)" + lengths + b"".join(words) + matrix.astype("<f4").tobytes()
    assert content_digest(words, matrix) == hashlib.sha256(whole).hexdigest()
    assert content_digest(words, np.asfortranarray(matrix)) == hashlib.sha256(whole).hexdigest()


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
     (f"a 1 2\n{'b' * 90} 1\n", f"separated by blanks, got '{'b' * 60}'$"),
     ("a 1 nan\n", r"v\.txt:1"),
     ("5 2\na 1 2\n", "promises 5 words, it holds 1"),
     ("2 2\na 1 2 3 4\nb 1 2 3 4\n", r"v\.txt:1: promises 2 numbers a word, but the lines after it hold 4"),
     ("2 4\na 1 2\nb 1 2\n", r"v\.txt:1: promises 4 numbers a word, but the lines after it hold 2"),
     ("2 0\na 1 2\nb 1 2\n", r"v\.txt:1: promises 0 numbers"),
     ("11 3\nb 1 2 3\n" + "a 1 2\n" * 10, r"v\.txt:1: promises 3 numbers a word, but the lines after it hold 2"),
     (gzip.compress(b"2 2\na 1 2 3 4\nb 1 2 3 4\n", mtime=0), r"v\.txt:1: promises 2 numbers"),
     (zipped({"a.vec": "2 2\na 1 2 3 4\nb 1 2 3 4\n"}), r"v\.txt:1: promises 2 numbers"),
     ("2 2\na b\n1 c\n", r"v\.txt:2: expected a word and 2 finite numbers"),
     ("a,1,2\nb,3,4\n", r"v\.txt:1: expected a word and some finite numbers separated by blanks"),
     (word2vec_binary(WORDS, b"\n").replace(b"4 3", b"2 3", 1), r"v\.txt:1: promises 2 words of 3 numbers, but more bytes"),
     (word2vec_binary({w: v * 30 for w, v in WORDS.items()}, b"").replace(b"4 3", b"4 45", 1), r"v\.txt"),
     (word2vec_binary(WORDS, b"\n").replace(b"4 3", b"4 0", 1), r"v\.txt:1: its first line promises vectors of 0 numbers"),
     (b"\xff\xfe 1 2\n", r"v\.txt:1: not UTF-8"),
     ("", "no word vectors"),
     ("\n\n", "no word vectors in it"), ("a 1 2\nb 1_0 2\n", r"v\.txt:2: expected a word and 2 finite numbers"),
     ("a 1 2\nb 1\nc 1 2\t3\n", r"v\.txt:2"),
     (gzip.compress(GLOVE.encode(), mtime=0)[:-12], "cannot be unpacked"),
     (zipped({"a.txt": GLOVE})[:-12], "cannot be unpacked"),
     (zipped({"a.txt": GLOVE, "b.txt": GLOVE}), "holds 2 files; choose one with member=NAME: a.txt, b.txt"),
     (pickle.dumps({"a": 1}), "Python pickle"),
     (struct.pack("<i", 793712314) + b"rest", "load it with fasttext:PATH"),
     (word2vec_binary({"a": [math.nan] * 3}, b""), "the vector of word 1 is not finite"),
     ("justaword\n", r"v\.txt:1"),
     (word2vec_binary(WORDS, b"\n")[:-9], "ends, or loses its way, at word 4"),
     (word2vec_binary(WORDS, b"\n").replace(b"4 3", b"6 3", 1), "at word 5 of the 6 it promises")],
)  # fmt: skip
def test_lying_or_cut_files_are_refused_and_leave_nothing_behind(write: Write, content: str | bytes, message: str) -> None:
    path = write({"v.txt": content}) / "v.txt"
    with pytest.raises(EncoderError, match=message) as refusal:
        open_vectors(path)
    assert "v.txt" in str(refusal.value)
    assert list((cache_folder() / "vectors").iterdir()) == []


def test_missing_files_folders_and_options_are_named(tmp_path: Path, write: Write) -> None:
    with pytest.raises(
        EncoderError, match=r"none\.txt: cannot be read: No such file or directory; expected a file of word vectors$"
    ):
        load(str(tmp_path / "none.txt"))
    with pytest.raises(EncoderError, match="is a folder"):
        load(str(tmp_path))
    with pytest.raises(EncoderError, match=r"vectors: takes PATH of GloVe.*; got ''"):
        load_encoder("vectors:")
    path = str(write({"v.txt": GLOVE}) / "v.txt")
    with pytest.raises(EncoderError, match="no option 'kase'"):
        load_encoder(f"vectors:{path},kase=lower")
    for options, message in [
        ({"case": "upper"}, "case is 'upper'"),
        ({"sif_a": "0.1"}, "need pooling=sif"),
        ({"pooling": "sif", "sif_a": "-1"}, "sif_a is '-1'"),
        ({"pooling": "sif", "sif_a": "much"}, "sif_a is 'much'"),
        ({"pooling": "sif", "sif_frequencies": str(tmp_path / "none")}, "expected lines 'word count'"),
        ({"rows": "sum"}, "are for GloVe's own binary"),
        ({"vocab": "x"}, "are for GloVe's own binary"),
        ({"sif_frequencies": "x"}, "need pooling=sif, not 'mean'"),
        ({"member": "x"}, "is not a .zip"),
    ]:
        with pytest.raises(EncoderError, match=message):
            load(path, **options)


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


def test_a_zip_of_several_files_is_read_by_member(write: Write) -> None:
    path = write({"glove.zip": zipped({"g.50d.txt": "a 1 2\n", "g.100d.txt": GLOVE})}) / "glove.zip"
    assert load_encoder(f"vectors:{path},member=g.100d.txt").encode(["heart"]).tolist() == [[1, 2, 3]]
    assert load_encoder(f"vectors:{path},member=g.50d.txt").encode(["a"]).tolist() == [[1, 2]]
    with pytest.raises(EncoderError, match=r"has no member 'h\.txt'"):
        load_encoder(f"vectors:{path},member=h.txt")


def test_the_first_words_may_hold_blanks_and_others_any_byte(write: Write) -> None:
    path = write({"v.txt": ". . 1 2\nb 3 4\nat name@domain.com 5 6\n\u2028 7 8\nc 9 9\n"}) / "v.txt"
    assert list(open_vectors(path).row_of) == [". .", "b", "at name@domain.com", "\u2028", "c"]


# GloVe's own binary


def glove_binary(layout: str, n_words: int = 60, dimension: int = 4) -> tuple[dict[str, str | bytes], np.ndarray, np.ndarray]:
    """Make vectors.bin and vocab.txt as glove.c writes them, biases growing with the logarithm of the counts."""
    rng = np.random.default_rng(3)
    counts = np.sort(rng.zipf(1.3, n_words).clip(max=10**6))[::-1] + 5
    words, contexts = rng.standard_normal((2, n_words, dimension + 1))
    for part in (words, contexts):
        part[:, -1] = np.log(counts) / 2 + 0.1 * rng.standard_normal(n_words)
    rows = np.concatenate([words, contexts]) if layout == "blocks" else np.stack([words, contexts], axis=1)
    vocabulary = "".join(f"word{i} {count}\n" for i, count in enumerate(counts))
    return {"vectors.bin": rows.astype("<f8").tobytes(), "vocab.txt": vocabulary}, words[:, :-1], contexts[:, :-1]


@pytest.mark.parametrize("layout", ["blocks", "adjacent"])
@pytest.mark.parametrize("rows", ["word", "sum"])
def test_gloves_own_binary_in_both_layouts(write: Write, layout: str, rows: str) -> None:
    files, words, contexts = glove_binary(layout)
    path = write(files) / "vectors.bin"
    encoder = load_encoder(f"vectors:{path},layout={layout},rows={rows}")
    expected = words + contexts if rows == "sum" else words
    assert encoder.encode([f"word{i}" for i in range(60)]) == pytest.approx(expected, abs=1e-5)
    other = "adjacent" if layout == "blocks" else "blocks"
    with pytest.raises(
        EncoderError, match=rf"vectors\.bin: the rows do not look like layout={other}.*layout={layout}; use that"
    ):
        load_encoder(f"vectors:{path},layout={other}")


def test_gloves_own_binary_that_does_not_fit_its_vocabulary_is_refused(write: Write) -> None:
    files, words, _ = glove_binary("blocks")
    folder = write(files)
    path = folder / "vectors.bin"
    vocabulary = (folder / "vocab.txt").read_text()
    (folder / "vocab.txt").rename(folder / "words.txt")
    with pytest.raises(EncoderError, match=r"vocab\.txt: cannot be read: .*; expected a file that goes with it"):
        load_encoder(f"vectors:{path},layout=blocks")
    elsewhere = load_encoder(f"vectors:{path},layout=blocks,vocab={folder / 'words.txt'}")
    assert elsewhere.encode(["word3"])[0] == pytest.approx(words[3], abs=1e-5)
    for content, message in [
        (vocabulary + "more 7\n" * 2, "not two rows of doubles"),
        ("word\n", r"words\.txt:1: expected 'word count', got 'word'"),
    ]:
        (folder / "words.txt").write_text(content)
        with pytest.raises(EncoderError, match=message):
            load_encoder(f"vectors:{path},layout=blocks,vocab={folder / 'words.txt'}")
    with pytest.raises(EncoderError, match="layout is 'rows'"):
        open_vectors(path, FileOptions(layout="rows", vocab=str(folder / "words.txt")))


def test_words_of_unit_length_before_the_mean() -> None:
    row_of = {"a": 0, "b": 1, "nothing": 2}
    matrix = np.array([[3, 4], [0, 2], [0, 0]], dtype=np.float32)
    encoder = WordVectorEncoder("v", row_of, matrix, source="s", pooling="unit-mean")
    rows = encoder.encode(["a", "a b", "a nothing", "b unknown", "nothing"])
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.9], [0.3, 0.4], [0, 1], [0, 0]]))
    assert encoder.identity == "vectors-s-exact-then-lower-words-unit-mean"
    assert encoder.vocabulary == row_of


@pytest.mark.parametrize(
    ("head", "is_binary"),
    [
        (b"1 1\nw\xe9rd 5\n", False),  # Latin-1, whose lines end in numbers
        (b"1 2\nw\xe9rd 5 x 7\n", False),
        (b"2 2\n\xe9\xe9\xe9\xe9\xe9\xe9\n9 9\nx 9 9", True),
        (b"2 2\nword \xe9\xe9\xe9\xe9\xe9\xe9", True),
        (b"2 2\nword 1 2\tx\r\n", False),
        (b"2 2\nword 1 2\x1f", True),
        ("1 2\nwörd x ö".encode(), False),
        ("1 2\nwörd x öö".encode()[:-1], False),  # the head ends within a letter
    ],
)
def test_text_is_told_from_a_binary_by_its_bytes_and_numbers(head: bytes, is_binary: bool) -> None:
    assert vector_formats._is_binary(head) is is_binary


def test_a_first_line_of_two_whole_numbers_is_a_header_unless_they_are_absurd() -> None:
    nines = b"9" * 18
    assert vector_formats._header(nines + b"\t" + nines + b" \r") == (10**18 - 1, 10**18 - 1)
    for line in (nines + b"9 2", b"2 " + nines + b"9", b"2", b"2 3 4", b"-2 3", b"2 3.0", b"", b"two 3"):
        assert vector_formats._header(line) is None


@pytest.mark.parametrize("value", [np.nan, 1e300])  # the latter beyond what float32 holds
def test_gloves_own_binary_with_a_vector_that_is_not_finite_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    monkeypatch.setattr(vector_formats, "_LINES_A_BLOCK", 25)
    files, *_ = glove_binary("blocks")
    rows = np.frombuffer(bytes(files["vectors.bin"]), "<f8").reshape(120, 5).copy()  # type: ignore[arg-type]
    rows[30, 0] = value
    path = write({**files, "vectors.bin": rows.tobytes()}) / "vectors.bin"
    with pytest.raises(EncoderError, match=r"vectors\.bin: a vector among words 26 to 50 is not finite"):
        load_encoder(f"vectors:{path},layout=blocks")


def test_a_file_that_changes_while_it_is_read_is_not_converted(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write({"v.txt": GLOVE}) / "v.txt"

    def longer(source: Path, options: FileOptions) -> Any:
        with source.open("a") as file:
            file.write("more 1 2 3\n")
        return vector_formats.read_vectors(source, options)

    monkeypatch.setattr(converted_vectors, "read_vectors", longer)
    with pytest.raises(EncoderError, match=r"v\.txt: changed while it was read; try again when it is complete"):
        open_vectors(path)
    assert list((cache_folder() / "vectors").iterdir()) == []


# The converted copy


@pytest.mark.slow
def test_two_processes_may_convert_at_once(write: Write) -> None:
    path = write({"v.txt": "".join(f"w{i} {i} {i / 2}\n" for i in range(20_000))}) / "v.txt"
    spec = f"vectors:{path}"
    code = f"from medsenteval.registry import load_encoder; print(load_encoder({spec!r}).encode(['w7 w9'])[0].tolist())"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == ["[8.0, 4.0]"] * 3
    assert [copy.name.startswith(".") for copy in (cache_folder() / "vectors").iterdir()] == [False]


def test_a_damaged_copy_is_named_and_an_abandoned_one_removed(write: Write) -> None:
    path = write({"v.txt": GLOVE}) / "v.txt"
    abandoned = cache_folder() / "vectors" / ".converting-old"
    abandoned.mkdir(parents=True)
    os.utime(abandoned, (0, 0))
    open_vectors(path)
    (copy,) = (cache_folder() / "vectors").iterdir()
    for damaged in ("matrix.f32", "meta.json"):
        content = (copy / damaged).read_bytes()
        (copy / damaged).write_bytes(content[:20])
        with pytest.raises(EncoderError, match="delete this folder to convert again"):
            open_vectors(path)
        (copy / damaged).write_bytes(content)
    assert open_vectors(path).row_of == {word: row for row, word in enumerate(WORDS)}


class Trap:
    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.made),)


def test_a_pickle_in_place_of_a_copys_words_is_not_run(write: Write, tmp_path: Path) -> None:
    path = write({"v.txt": GLOVE}) / "v.txt"
    open_vectors(path)
    (copy,) = (cache_folder() / "vectors").iterdir()
    made = tmp_path / "made"
    (copy / "meta.json").write_bytes(pickle.dumps(Trap(made)))
    with pytest.raises(EncoderError, match="the converted copy is damaged"):
        open_vectors(path)
    assert not made.exists()


def test_a_cache_that_cannot_be_written_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"v.txt": GLOVE, "occupied": "a file"})
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(folder / "occupied"))
    with pytest.raises(EncoderError, match="MEDSENTEVAL_CACHE names another folder"):
        open_vectors(folder / "v.txt")


def test_opening_reads_the_converted_copy_alone(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}".encode() for i in range(3000)] + [b"\xff", b"\xfe", "β".encode()]
    vectors = rng.standard_normal((len(words), 3)).astype(np.float32)
    rows = b"".join(word + b" " + vector.tobytes() for word, vector in zip(words, vectors, strict=True))
    path = write({"v.bin": f"{len(words)} 3\n".encode() + rows}) / "v.bin"
    first = open_vectors(path)
    monkeypatch.setattr(converted_vectors, "read_vectors", None)
    table = open_vectors(path)
    assert table.row_of == first.row_of
    assert [table.row_of[word] for word in ("w0", "w2999", "β")] == [0, 2999, 3002]
    assert len(table.row_of) == len(words), "words that are not UTF-8 stay different from one another"
    assert np.array_equal(table.matrix, vectors)


# Sentence vectors


def plain_mean(text: str, tokenizer: str, case: str) -> list[float]:
    found = []
    for token in TOKENIZERS[tokenizer](text) or ["."]:
        forms = {"exact": [token], "lower": [token.lower()], "exact-then-lower": [token, token.lower()]}[case]
        found += [WORDS[form] for form in forms if form in WORDS][:1]
    return np.mean(found, axis=0).tolist() if found else [0.0] * 3


PIECES = st.sampled_from([*WORDS, "HEART", "Β-BLOCKER", "lung", "İ", "ΣΑΣ", "日本", "heart.heart", "-", "'", "\ud800", "\0"])


@settings(deadline=None)
@given(
    st.lists(st.lists(PIECES, max_size=8).map(" ".join), min_size=1, max_size=8),
    st.sampled_from(["words", "whitespace"]),
    st.sampled_from(["exact", "lower", "exact-then-lower"]),
)
def test_means_equal_a_plain_loop_whatever_stands_beside_them(texts: list[str], tokenizer: str, case: str) -> None:
    matrix = np.array(list(WORDS.values()), dtype=np.float32)
    row_of = {word: i for i, word in enumerate(WORDS)}
    encoder = WordVectorEncoder("v", row_of, matrix, source="x", case=case, tokenizer=tokenizer)
    together = encoder.encode(texts)
    assert together == pytest.approx(np.array([plain_mean(text, tokenizer, case) for text in texts]), abs=1e-5)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in reversed(texts)])[::-1])


def test_very_long_texts_and_no_texts(write: Write) -> None:
    encoder = load(str(write({"v.txt": GLOVE}) / "v.txt"))
    long = "heart . lung " * 40_000
    assert encoder.encode([long, "x" * 1_000_000, "heart"]) == pytest.approx(
        np.array([[0.75, 1.25, 1.75], [0, 0, 0], [1, 2, 3]]), abs=1e-5
    )
    assert encoder.encode([]).shape == (0, 3)


def test_token_vectors_follow_the_contract(write: Write) -> None:
    encoder = load(str(write({"v.txt": GLOVE}) / "v.txt"))
    assert isinstance(encoder, TokenEncoder)
    tokens = encoder.encode_tokens(["heart lung", "", "."])
    assert tokens.offsets.tolist() == [0, 2, 3, 4]
    assert tokens.known.tolist() == [True, False, True, True]
    assert tokens.values.tolist() == [WORDS["heart"], [0, 0, 0], WORDS["."], WORDS["."]]


def test_rows_in_any_order_and_tables_with_more_rows_than_words() -> None:
    matrix = np.array([[0, 0], [1, 1], [2, 2], [3, 3]], dtype=np.float32)
    encoder = WordVectorEncoder("v", {"c": 3, "a": 1}, matrix, source="s")
    assert encoder.encode(["a", "c", "a c"]).tolist() == [[1, 1], [3, 3], [2, 2]]
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.encode(["c a", "b"]).tolist() == [[2, 2], [0, 0]], "workers get encoders without a name as pickles"
    for rows in ([[1.0]], [[1.0], [2.0], [3.0]], [1.0, 2.0]):
        with pytest.raises(EncoderError, match=r"2 words with an array of shape .*: expected one vector a word"):
            from_table("v", ["a", "b"], rows)
    with pytest.raises(EncoderError, match="hold a word twice"):
        from_table("v", ["a", "a"], [[1.0], [2.0]])


# Smooth inverse frequency

SIF_TEXTS = ["heart lung Heart .", "heart", ". .", "β-blocker heart", "", "lung", "heart"]


def plain_sif(texts: list[str], weight: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """SIF written out as its paper has it: weighted means, then the first singular direction taken away."""
    rows = []
    for text in texts:
        known = [token for token in TOKENIZERS["words"](text) or ["."] if token in WORDS]
        rows.append(np.sum([weight[t] * np.array(WORDS[t]) for t in known], axis=0) / len(known) if known else np.zeros(3))
    matrix = np.array(rows)
    common = np.linalg.svd(matrix, full_matrices=False)[2][:1]
    return matrix, matrix - matrix @ common.T @ common


@pytest.mark.parametrize("source", ["zipf", "list"])
def test_sif_equals_the_paper_written_out(write: Write, source: str) -> None:
    folder = write({"v.txt": GLOVE, "counts.txt": "heart 50\n. 900\nother 50\n"})
    options = {"pooling": "sif", "sif_a": "0.01"}
    if source == "list":
        options["sif_frequencies"] = str(folder / "counts.txt")
        # "Heart" is not listed and counts as "heart"; a word listed in no form has the weight 1.
        probability = {"heart": 0.05, "Heart": 0.05, ".": 0.9, "β-blocker": 0.0}
    else:
        probability = {word: 1 / (rank * (1 + 1 / 2 + 1 / 3 + 1 / 4)) for rank, word in enumerate(WORDS, start=1)}
    averages, expected = plain_sif(SIF_TEXTS, {word: 0.01 / (0.01 + p) for word, p in probability.items()})
    encoder = load(str(folder / "v.txt"), **options)
    assert encoder.encode(SIF_TEXTS) == pytest.approx(averages, abs=1e-5), "before prepare nothing is removed"
    encoder.prepare(SIF_TEXTS)
    together = encoder.encode(SIF_TEXTS)
    assert together == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in SIF_TEXTS]))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_common_component_is_the_same_in_slices_of_any_size(
    write: Write, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    encoder = load(str(write({"v.txt": GLOVE}) / "v.txt"), pooling="sif")
    encoder.prepare(SIF_TEXTS)
    whole = encoder.encode(SIF_TEXTS)
    monkeypatch.setattr("medsenteval.encoders.static.vectors._TEXTS_A_SLICE", size)
    encoder.prepare([])  # nothing is learnt from no texts
    assert np.array_equal(encoder.encode(SIF_TEXTS), whole)
    encoder.prepare(SIF_TEXTS)
    assert encoder.encode(SIF_TEXTS) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("content", ["", "heart\n", "heart many\n", "heart -1\n", "heart 0\n", b"\xff 3\n"])
def test_lists_of_frequencies_are_checked(write: Write, content: str | bytes) -> None:
    folder = write({"v.txt": GLOVE, "counts.txt": content})
    with pytest.raises(EncoderError, match=r"counts\.txt.*'word count'"):
        load(str(folder / "v.txt"), pooling="sif", sif_frequencies=str(folder / "counts.txt"))


# Identity

OPTIONS = st.fixed_dictionaries(
    {
        "case": st.sampled_from(["exact", "lower", "exact-then-lower"]),
        "tokenizer": st.sampled_from(["words", "whitespace"]),
        "pooling": st.sampled_from(["mean", "max", "sif"]),
        "sif_a": st.sampled_from([0.001, 0.01]),
    }
)


@settings(deadline=None)
@given(OPTIONS, OPTIONS, st.sampled_from([WORDS, {**WORDS, "heart": [1.0, 2.0, 3.5]}]), st.booleans())
def test_identity_changes_with_what_changes_vectors_and_only_then(
    a: dict[str, Any], b: dict[str, Any], words: dict[str, list[float]], prepare: bool
) -> None:
    def made(table: dict[str, list[float]], options: dict[str, Any]) -> WordVectorEncoder:
        source = from_table("t", table, list(table.values())).identity.split("-")[1]
        matrix = np.array(list(table.values()), dtype=np.float32)
        return WordVectorEncoder("t", {word: i for i, word in enumerate(table)}, matrix, source=source, **options)

    def effective(table: dict[str, list[float]], options: dict[str, Any]) -> tuple[Any, ...]:
        always = (str(table), options["case"], options["tokenizer"], options["pooling"])
        if options["pooling"] != "sif":
            return always
        return (*always, options["sif_a"])

    first, second = made(WORDS, a), made(words, b)
    if prepare:
        first.prepare(SIF_TEXTS)
        second.prepare(SIF_TEXTS[::-1])  # the same texts in another order
    assert (first.identity == second.identity) == (effective(WORDS, a) == effective(words, b))
    if first.identity == second.identity:
        assert np.array_equal(first.encode(SIF_TEXTS), second.encode(SIF_TEXTS))


def test_identity_follows_the_frequencies_but_not_the_texts_that_sif_was_fitted_to(write: Write) -> None:
    folder = write({"v.txt": GLOVE, "a.txt": "heart 5\n. 9\n", "b.txt": ". 9\nheart 5\n", "c.txt": "heart 6\n. 9\n"})
    lists = [
        load(str(folder / "v.txt"), pooling="sif", sif_frequencies=str(folder / name)) for name in ("a.txt", "b.txt", "c.txt")
    ]
    assert lists[0].identity == lists[1].identity != lists[2].identity
    before = lists[0].identity
    lists[0].prepare(SIF_TEXTS)
    # What prepare saw is the engine's to remember: it keeps the vectors under the texts of the data set.
    assert lists[0].identity == before


# Real vectors


@pytest.mark.realdata
def test_real_glove_vectors(glove_file: Path) -> None:
    encoder = load_encoder(f"vectors:{glove_file}")
    wanted = Counter(TOKENIZERS["words"]("The patient had a heart attack ."))
    rows: dict[str, np.ndarray] = {}
    with open(glove_file, encoding="utf-8") as lines:
        for line in lines:
            word = line.split(" ", 1)[0]
            if word in wanted or word in {"the", "cardiac", "guitar"}:
                rows[word] = np.array(line.split()[1:], dtype=np.float64)
    forms = [token if token in rows else token.lower() for token in wanted]
    expected = np.mean([rows[form] for form in forms if form in rows], axis=0)
    assert len(rows) > 6
    assert encoder.encode(["The patient had a heart attack."])[0] == pytest.approx(expected, abs=1e-5)
    heart, cardiac, guitar = encoder.encode(["heart", "cardiac", "guitar"])
    assert np.dot(heart, cardiac) / np.linalg.norm(cardiac) > np.dot(heart, guitar) / np.linalg.norm(guitar)


@pytest.mark.skipif(os.name != "posix", reason="owners and rights as POSIX has them")
def test_a_converted_copy_that_others_can_change_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "v.txt"
    source.write_text("heart 1 2\nlung 3 4\n")
    load_encoder(f"vectors:{source}")
    [copy] = (tmp_path / "cache" / "vectors").iterdir()
    assert [stat.S_IMODE(place.stat().st_mode) for place in (copy.parent, copy)] == [0o700, 0o700]
    for place in (tmp_path / "cache", copy.parent, copy, copy / "matrix.f32"):
        mode = place.stat().st_mode
        place.chmod(mode | 0o002)
        with pytest.raises(CacheError, match="other users can write here, and so change scores"):
            load_encoder(f"vectors:{source}")
        place.chmod(mode)
    load_encoder(f"vectors:{source}")
    shutil.move(copy, tmp_path / "elsewhere")
    copy.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="links inside the cache are not followed"):
        load_encoder(f"vectors:{source}")


# Files in blocks of any size


def blocks_of(path: Path) -> list[tuple[list[str], list[list[float]]]]:
    return [([word.decode() for word in words], rows.tolist()) for words, rows in read_vectors(path, FileOptions())]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_a_word2vec_binary_is_read_in_blocks(write: Write, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(vector_formats, "_LINES_A_BLOCK", size)
    words = {"a": [1.0, 2.0, 3.0], "": [4.0, 5.0, 6.0], "d": [7.0, 8.0, 9.0], "e": [0.0, 0.0, 0.5]}
    path = write({"v.bin": word2vec_binary(words, b"")}) / "v.bin"
    blocks = blocks_of(path)
    assert [len(found) for found, _ in blocks] == [size] * (4 // size) + [4 % size] * bool(4 % size)
    assert [word for found, _ in blocks for word in found] == list(words)
    assert [row for _, rows in blocks for row in rows] == list(words.values())
    words["e"][1] = math.nan
    path.write_bytes(word2vec_binary(words, b"\n"))
    with pytest.raises(EncoderError, match=r"the vector of word 4 is not finite; is the dimension really 3\?"):
        blocks_of(path)
    path.write_bytes(word2vec_binary(words, b"")[:-1])
    with pytest.raises(EncoderError, match="ends, or loses its way, at word 4 of the 4 it promises"):
        blocks_of(path)


@pytest.mark.parametrize("size", [1, 2, 3, 30])
@pytest.mark.parametrize("end", ["", "\n"])
def test_text_is_read_in_blocks_of_whole_lines(write: Write, monkeypatch: pytest.MonkeyPatch, size: int, end: str) -> None:
    monkeypatch.setattr(vector_formats, "_LINES_A_BLOCK", size)
    monkeypatch.setattr(vector_formats, "_LONGEST_LINE", 6)
    path = write({"v.txt": f"a 1\nb 2\n\nc 3{end}"}) / "v.txt"
    blocks = blocks_of(path)
    assert [word for words, _ in blocks for word in words] == ["a", "b", "c"]
    assert [row for _, rows in blocks for row in rows] == [[1.0], [2.0], [3.0]]
    path.write_text("a 1\nb 2\nc x\n")
    with pytest.raises(EncoderError, match=r"v\.txt:3: expected a word and 1 finite numbers separated by blanks, got 'c x'"):
        blocks_of(path)
    path.write_text("a 1\nb 2\nc 3.5\n")
    with pytest.raises(EncoderError, match=r"v\.txt:3: a line of more than 6 bytes"):
        blocks_of(path)


@pytest.mark.parametrize(("near", "refused"), [(0.09, False), (0.11, True)])
def test_a_layout_is_refused_where_the_other_agrees_better_by_a_tenth(
    write: Write, monkeypatch: pytest.MonkeyPatch, near: float, refused: bool
) -> None:
    files, *_ = glove_binary("blocks", n_words=10)
    path = write(files) / "vectors.bin"
    said = iter([0.5, 0.5 + near])
    monkeypatch.setattr("scipy.stats.spearmanr", lambda *_: SimpleNamespace(statistic=next(said)))
    if refused:
        with pytest.raises(EncoderError, match=r"a rank correlation of 0\.50, but of 0\.61 with layout=adjacent"):
            load_encoder(f"vectors:{path},layout=blocks")
    else:
        assert load_encoder(f"vectors:{path},layout=blocks").encode(["word1"]).shape == (1, 4)


def test_few_or_equal_counts_say_nothing_about_a_layout(write: Write) -> None:
    files, *_ = glove_binary("blocks", n_words=9)
    assert load_encoder(f"vectors:{write(files) / 'vectors.bin'},layout=adjacent").encode(["word1"]).any()
    files, *_ = glove_binary("blocks", n_words=12)
    files["vocab.txt"] = "".join(f"word{i} 7\n" for i in range(12))
    assert load_encoder(f"vectors:{write(files, 'equal') / 'vectors.bin'},layout=adjacent").encode(["word1"]).any()


def test_sif_by_default_weighs_by_a_thousandth_and_removes_one_component(write: Write) -> None:
    path = write({"v.txt": GLOVE}) / "v.txt"
    plain, said = (load_encoder(f"vectors:{path},pooling=sif{more}") for more in ("", ",sif_a=0.001"))
    table = open_vectors(path)
    direct = WordVectorEncoder("v", table.row_of, table.matrix, source=table.sha256[:32], pooling="sif")
    assert plain.identity == said.identity == direct.identity
    assert plain.identity.endswith("-sif-0.001-zipf-1")
    for wrong in ("0", "inf", "nan", "-1"):
        with pytest.raises(EncoderError, match=f"vectors: sif_a is '{wrong}'; it must be a number from 1e-12"):
            load_encoder(f"vectors:{path},pooling=sif,sif_a={wrong}")


def test_frequencies_are_words_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.txt"
    path.write_text("\ufeffheart 3\n\nof\t1\nheart 2\nnew york 0\nzero 4\n", "utf-8")
    found = read_frequencies(path)
    assert found == {"heart": 5, "of": 1, "new york": 0, "zero": 4}
    row_of = {word: row for row, word in enumerate(["Heart", "of", "absent", "new york"])}
    encoder = WordVectorEncoder("v", row_of, np.ones((4, 2), np.float32), source="s", frequencies=found, pooling="sif")
    assert encoder._probabilities.tolist() == [0.5, 0.1, 0, 0]
    path.write_text("heart 0.25\nof 0\n", "utf-8")
    assert read_frequencies(path) == {"heart": 0.25, "of": 0}
    for content, message in [
        ("heart 3\nof -1\n", r"counts\.txt:2: expected 'word count', got 'of -1'"),
        ("heart inf\n", "counts.txt:1: expected"),
        ("heart nan\n", "counts.txt:1: expected"),
        ("3\n", "counts.txt:1: expected"),
        ("heart 0\n", "no counts in it"),
        ("", "no counts in it"),
    ]:
        path.write_text(content, "utf-8")
        with pytest.raises(EncoderError, match=message):
            read_frequencies(path)


def test_of_two_processes_that_convert_at_once_the_second_discards_its_copy(write: Write) -> None:
    path = write({"v.txt": GLOVE}) / "v.txt"
    made: list[Path] = []

    def convert(scratch: Path) -> dict[str, Any]:
        (scratch / "rows").write_text("second")
        if made:  # what another process did meanwhile
            made[0].mkdir(parents=True)
            (made[0] / "rows").write_text("first")
            (made[0] / "meta.json").write_text('{"made": "first"}')
        return {"made": "second"}

    first, meta = converted_vectors.converted_folder([path], "x", "v", convert)
    assert meta == {"source": str(path), "made": "second"}
    shutil.rmtree(first)
    made.append(first)
    again, meta = converted_vectors.converted_folder([path], "x", "v", convert)
    assert (again, meta, (again / "rows").read_text()) == (first, {"made": "first"}, "first")
    assert [each.name for each in first.parent.iterdir()] == [first.name]
    (first / "meta.json").unlink()
    made.clear()
    with pytest.raises(EncoderError, match=r"v\.txt: cannot be converted in "):
        converted_vectors.converted_folder([path], "x", "v", convert)
    assert [each.name for each in first.parent.iterdir()] == [first.name]


@pytest.mark.parametrize("n_words", [1, 4096, 4097, 9000])
def test_a_table_is_known_by_its_words_and_numbers_whatever_their_order_in_memory(n_words: int) -> None:
    words = [f"wörd {i}".encode() for i in range(n_words)]
    matrix = np.arange(2 * n_words, dtype=np.float32).reshape(n_words, 2)
    lengths = np.array([len(word) for word in words], dtype="<i4").tobytes()
    expected = hashlib.sha256(f"({n_words}, 2)".encode() + lengths + b"".join(words) + matrix.tobytes()).hexdigest()
    assert converted_vectors.content_digest(words, matrix) == expected
    assert converted_vectors.content_digest(words, np.asfortranarray(matrix)) == expected
    named = from_table("v", [word.decode() for word in words], matrix)
    assert named.identity == f"vectors-{expected[:32]}-exact-then-lower-words-mean"


@pytest.mark.parametrize("change", ["size", "time", "path", "options", "nothing"])
def test_a_copy_belongs_to_a_file_as_it_is_and_to_how_it_was_read(write: Write, change: str) -> None:
    path = write({"v.zip": zipped({"a.txt": GLOVE})}) / "v.zip"
    open_vectors(path, FileOptions(member="a.txt"))
    if change == "size":
        path.write_bytes(zipped({"a.txt": GLOVE + "more 1 2 3\n"}))
    elif change == "time":
        os.utime(path, ns=(1, 1))
    elif change == "path":
        path = path.rename(path.with_name("w.zip"))
    words = open_vectors(path, FileOptions(member="" if change == "options" else "a.txt")).row_of
    assert list(words) == [*WORDS, *(["more"] if change == "size" else [])]
    assert len(list((cache_folder() / "vectors").iterdir())) == (1 if change == "nothing" else 2)


@pytest.mark.parametrize(("word", "is_one"), [("abcd", True), ("abcde", False), ("abcdefgh", False)])
def test_a_binary_whose_words_have_no_end_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, word: str, is_one: bool
) -> None:
    monkeypatch.setattr(vector_formats, "_MAX_WORD_BYTES", 5)
    path = write({"v.bin": word2vec_binary({"a": [0.1, 0.2, 0.3], word: [1.0, 2.0, 0.1]}, b"")}) / "v.bin"
    if is_one:
        assert [found for found, _ in blocks_of(path)] == [["a", word]]
    else:
        with pytest.raises(EncoderError, match=r"v\.bin: ends, or loses its way, at word 2 of the 2 it promises"):
            blocks_of(path)


def test_the_first_word_of_a_binary_may_be_empty(write: Write) -> None:
    words = {"": [1.0, 2.0, 0.1], "a": [3.0, 4.0, 0.1]}
    path = write({"v.bin": word2vec_binary(words, b"")}) / "v.bin"
    ((found, rows),) = blocks_of(path)
    assert (found, np.round(rows, 5).tolist()) == (list(words), list(words.values()))
