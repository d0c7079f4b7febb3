"""Word-vector files of every layout against gensim's reading of them, and sentence vectors against plain loops."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval import compiling
from medsenteval.cache import cache_folder
from medsenteval.contracts import TokenEncoder
from medsenteval.encoders import vector_files
from medsenteval.encoders.tokens import token_store
from medsenteval.encoders.vector_files import open_vectors
from medsenteval.encoders.vector_formats import FileOptions
from medsenteval.encoders.vectors import TOKENIZERS, WordVectorEncoder, from_table, load
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

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
                                     zipped({"only.txt": GLOVE})])  # fmt: skip
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
     ("\n\n", "cannot be read"),
     ("a 1 2\nb 1\nc 1 2\t3\n", r"v\.txt:2"),
     (gzip.compress(GLOVE.encode(), mtime=0)[:-12], "cannot be unpacked"),
     (zipped({"a.txt": GLOVE})[:-12], "cannot be unpacked"),
     (zipped({"a.txt": GLOVE, "b.txt": GLOVE}), "holds 2 files; choose one with member=NAME: a.txt, b.txt"),
     (pickle.dumps({"a": 1}), "Python pickle"),
     (struct.pack("<i", 793712314) + b"rest", "load it with fasttext:PATH"),
     (word2vec_binary({"a": [math.nan] * 3}, b""), "the vector of word 1 is not finite"),
     ("justaword\n", r"v\.txt:1"),
     (word2vec_binary(WORDS, b"\n")[:-9], "ends within the vector of word 4"),
     (word2vec_binary(WORDS, b"\n").replace(b"4 3", b"6 3", 1), "at word 5 of the 6 it promises")],
)  # fmt: skip
def test_lying_or_cut_files_are_refused_and_leave_nothing_behind(write: Write, content: str | bytes, message: str) -> None:
    path = write({"v.txt": content}) / "v.txt"
    started = time.perf_counter()
    with pytest.raises(EncoderError, match=message) as refusal:
        open_vectors(path)
    assert time.perf_counter() - started < 1
    assert "v.txt" in str(refusal.value)
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
        load_encoder(f"vectors:{path},kase=lower")
    for options, message in [
        ({"case": "upper"}, "case is 'upper'"),
        ({"sif_a": "0.1"}, "need pooling=sif"),
        ({"pooling": "sif", "sif_a": "-1"}, "sif_a is -1"),
        ({"pooling": "sif", "sif_a": "much"}, "sif_a is 'much'"),
        ({"pooling": "sif", "sif_components": "9"}, "at most the dimension 3"),
        ({"pooling": "sif", "sif_frequencies": str(tmp_path / "none")}, "expected lines 'word count'"),
        ({"rows": "sum"}, "are for GloVe's own binary"),
        ({"layout": "blocks", "check": "perhaps"}, "check is 'perhaps'"),
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
    assert load_encoder(f"vectors:{path},layout={other},check=no").identity != encoder.identity


def test_gloves_own_binary_that_does_not_fit_its_vocabulary_is_refused(write: Write) -> None:
    files, words, _ = glove_binary("blocks")
    folder = write(files)
    path = folder / "vectors.bin"
    (folder / "vocab.txt").rename(folder / "words.txt")
    with pytest.raises(EncoderError, match=r"vocab\.txt: cannot be read"):
        load_encoder(f"vectors:{path},layout=blocks")
    elsewhere = load_encoder(f"vectors:{path},layout=blocks,vocab={folder / 'words.txt'}")
    assert elsewhere.encode(["word3"])[0] == pytest.approx(words[3], abs=1e-5)
    for content, message in [
        (files["vocab.txt"] + "more 7\n" * 2, "not two rows of doubles"),
        ("word\n", "lines 'word count'"),
    ]:  # type: ignore[operator]
        (folder / "words.txt").write_text(content)
        with pytest.raises(EncoderError, match=message):
            load_encoder(f"vectors:{path},layout=blocks,vocab={folder / 'words.txt'}")
    with pytest.raises(EncoderError, match="layout is 'rows'"):
        open_vectors(path, FileOptions(layout="rows", vocab=str(folder / "words.txt")))


# The converted copy


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
    for damaged in ("matrix.f32", "slots.npy", "meta.json"):
        content = (copy / damaged).read_bytes()
        (copy / damaged).write_bytes(content[:20])
        vector_files._mapped.cache_clear()
        with pytest.raises(EncoderError, match="delete this folder to convert again"):
            open_vectors(path)
        (copy / damaged).write_bytes(content)
    assert open_vectors(path).row_of == {word: row for row, word in enumerate(WORDS)}


def test_a_cache_that_cannot_be_written_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"v.txt": GLOVE, "occupied": "a file"})
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(folder / "occupied"))
    with pytest.raises(EncoderError, match="MEDSENTEVAL_CACHE names another folder"):
        open_vectors(folder / "v.txt")


def test_opening_is_fast_and_holds_no_vocabulary(write: Write) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(100_000)]
    vectors = rng.standard_normal((100_000, 3)).astype(np.float32)
    content = b"100000 3\n" + b"".join(w.encode() + b" " + v.tobytes() for w, v in zip(words, vectors, strict=True))
    path = write({"v.bin": content}) / "v.bin"
    open_vectors(path)
    vector_files._mapped.cache_clear()
    started = time.perf_counter()
    table = open_vectors(path)
    assert time.perf_counter() - started < 0.1
    rows = table.row_of.rows([*words, "none"])
    assert rows.tolist() == [*range(100_000), -1]
    assert np.array_equal(table.matrix, vectors)


# Sentence vectors


def plain_mean(text: str, tokenizer: str, case: str) -> list[float]:
    found = []
    for token in TOKENIZERS[tokenizer](text) or ["."]:
        forms = {"exact": [token], "lower": [token.lower()], "exact-then-lower": [token, token.lower()]}[case]
        found += [WORDS[form] for form in forms if form in WORDS][:1]
    return np.mean(found, axis=0).tolist() if found else [0.0] * 3  # type: ignore[no-any-return]


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


@settings(deadline=None)
@given(
    st.lists(st.lists(PIECES, max_size=8).map(" ".join), min_size=1, max_size=8),
    st.sampled_from(["words", "whitespace"]),
    st.sampled_from(["exact", "lower", "exact-then-lower"]),
    st.sampled_from(["mean", "max", "sif", "unit-mean"]),
)
def test_compiled_loops_change_no_bit_and_no_identity(texts: list[str], tokenizer: str, case: str, pooling: str) -> None:
    pytest.importorskip("numba")
    matrix = np.random.default_rng(0).standard_normal((len(WORDS), 5)).astype(np.float32)
    vectors, identities = [], []
    for tokens_worth_loading in (0, 1 << 62):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiling, "_TOKENS_WORTH_LOADING", tokens_worth_loading)
            token_store.cache_clear()
            row_of = {word: i for i, word in enumerate(WORDS)}
            encoder = WordVectorEncoder("v", row_of, matrix, source="x", case=case, tokenizer=tokenizer, pooling=pooling)
            vectors.append(encoder.encode(texts).tobytes())
            identities.append(encoder.identity)
    assert vectors[0] == vectors[1]
    assert identities[0] == identities[1]


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
    encoder = WordVectorEncoder("v", {"c": 3, "a": 1}, matrix, source="")
    assert encoder.encode(["a", "c", "a c"]).tolist() == [[1, 1], [3, 3], [2, 2]]
    assert encoder.identity == ""
    with pytest.raises(EncoderError, match="hold a word twice"):
        from_table("v", ["a", "a"], [[1.0], [2.0]])


# Smooth inverse frequency

SIF_TEXTS = ["heart lung Heart .", "heart", ". .", "β-blocker heart", "", "lung", "heart"]


def plain_sif(texts: list[str], weight: dict[str, float], directions: int) -> tuple[np.ndarray, np.ndarray]:
    """SIF written out as its paper has it: weighted means, then the first singular directions taken away."""
    rows = []
    for text in texts:
        known = [token for token in TOKENIZERS["words"](text) or ["."] if token in WORDS]
        rows.append(np.sum([weight[t] * np.array(WORDS[t]) for t in known], axis=0) / len(known) if known else np.zeros(3))
    matrix = np.array(rows)
    common = np.linalg.svd(matrix, full_matrices=False)[2][:directions]
    return matrix, matrix - matrix @ common.T @ common


@pytest.mark.parametrize(("source", "components"), [("zipf", 1), ("list", 1), ("zipf", 2), ("list", 0)])
def test_sif_equals_the_paper_written_out(write: Write, source: str, components: int) -> None:
    folder = write({"v.txt": GLOVE, "counts.txt": "heart 50\n. 900\nother 50\n"})
    options = {"pooling": "sif", "sif_components": str(components), "sif_a": "0.01"}
    if source == "list":
        options["sif_frequencies"] = str(folder / "counts.txt")
        # "Heart" is not listed and counts as "heart"; a word listed in no form has the weight 1.
        probability = {"heart": 0.05, "Heart": 0.05, ".": 0.9, "β-blocker": 0.0}
    else:
        probability = {word: 1 / (rank * (1 + 1 / 2 + 1 / 3 + 1 / 4)) for rank, word in enumerate(WORDS, start=1)}
    averages, expected = plain_sif(SIF_TEXTS, {word: 0.01 / (0.01 + p) for word, p in probability.items()}, components)
    encoder = load(str(folder / "v.txt"), **options)
    assert encoder.encode(SIF_TEXTS) == pytest.approx(averages, abs=1e-5), "before prepare nothing is removed"
    encoder.prepare(SIF_TEXTS)
    together = encoder.encode(SIF_TEXTS)
    assert together == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in SIF_TEXTS]))


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
        "sif_components": st.sampled_from([0, 1, 2]),
    }
)


@settings(deadline=None)
@given(OPTIONS, OPTIONS, st.sampled_from([WORDS, {**WORDS, "heart": [1.0, 2.0, 3.5]}]), st.booleans())
def test_identity_changes_with_what_changes_vectors_and_only_then(a: dict, b: dict, words: dict, prepare: bool) -> None:
    def made(table: dict[str, list[float]], options: dict) -> WordVectorEncoder:
        source = from_table("t", table, list(table.values())).identity.split("-")[1]
        matrix = np.array(list(table.values()), dtype=np.float32)
        return WordVectorEncoder("t", {word: i for i, word in enumerate(table)}, matrix, source=source, **options)

    def effective(table: dict[str, list[float]], options: dict) -> tuple:
        always = (str(table), options["case"], options["tokenizer"], options["pooling"])
        if options["pooling"] != "sif":
            return always
        return (*always, options["sif_a"], options["sif_components"])

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
def test_real_glove_vectors() -> None:
    named = os.environ.get("MEDSENTEVAL_GLOVE")
    if not named:
        pytest.skip("MEDSENTEVAL_GLOVE names no file of GloVe vectors (see shared/tools/real-glove)")
    encoder = load_encoder(f"vectors:{named}")
    wanted = Counter(TOKENIZERS["words"]("The patient had a heart attack ."))
    rows: dict[str, np.ndarray] = {}
    with open(named, encoding="utf-8") as lines:
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
