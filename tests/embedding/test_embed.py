"""Texts become rows once each, in any batch size, and an encoder that breaks its contract is told how."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from medsenteval.contracts import Split
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import (
    Encoded,
    cached_embeddings,
    checked_rows,
    embed_texts,
    encode_batches,
    store_for,
    texts_in_roles,
)
from medsenteval.encoders.adapt import BatcherEncoder
from medsenteval.encoders.derived import DerivedEncoder
from medsenteval.errors import EncoderError
from tests.conftest import CountingEncoder


@given(st.lists(st.text(max_size=12), min_size=1, max_size=40), st.integers(1, 50))
def test_rows_belong_to_their_texts_whatever_the_batch_size(texts: list[str], batch_size: int) -> None:
    encoder = CountingEncoder()
    embeddings = embed_texts(encoder, texts, batch_size=batch_size, task_name="T")
    expected = CountingEncoder().encode(texts)
    assert np.array_equal(embeddings.matrix[embeddings.rows(texts)], expected)
    assert sum(map(len, encoder.batches)) == len(set(texts)) == len(embeddings.matrix)
    assert max(map(len, encoder.batches)) <= batch_size


def test_batches_go_from_short_to_long(counting: CountingEncoder) -> None:
    embed_texts(counting, ["a b c", "a", "", "a b"], batch_size=2, task_name="T")
    assert counting.batches == [["", "a"], ["a b", "a b c"]]


class Returns:
    name, identity = "bad", ""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)

    def encode(self, texts: Any) -> Any:
        return self.values.pop(0)


@pytest.mark.parametrize(
    ("returned", "message"),
    [(np.zeros((3, 4)), r"RQE, batch 0: .*shape \(3, 4\) for 2 texts"),
     (np.zeros(2), r"shape \(2,\) for 2 texts"),
     (np.zeros((2, 0)), r"shape \(2, 0\)"),
     (np.array([[1.0, np.nan], [0, 0]]), "NaN or infinity in 1 of 2 rows .*first in row 0"),
     (np.full((2, 2), 1e300), "NaN or infinity in 2 of 2 rows"),
     (np.array([["a"], ["b"]]), "array of <U1"),
     (np.array([[None], [1]], dtype=object), "array of object"),
     (None, "array of object"),
     ([[1.0], [1.0, 2.0]], "RQE, batch 0: .*a list that is no matrix of numbers")],
)  # fmt: skip
def test_broken_batches_are_named_with_task_batch_and_shape(returned: Any, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        embed_texts(Returns(returned), ["x", "y"], batch_size=2, task_name="RQE")


def test_a_changing_width_is_refused() -> None:
    with pytest.raises(EncoderError, match=r"RQE, batch 1: .*width 3, but 2"):
        embed_texts(Returns(np.zeros((1, 2)), np.zeros((1, 3))), ["x", "y z"], batch_size=1, task_name="RQE")


def test_lists_tensors_and_sparse_matrices_are_rows() -> None:
    torch = pytest.importorskip("torch")
    values = [[1.0, 0.0], [0.5, -2.0]]
    dense = torch.tensor(values)
    given = [values, dense, dense.requires_grad_(), dense.bfloat16(), dense.half(), dense.double(), list(dense), tuple(dense),
             list(dense.bfloat16()), dense.to_sparse(), dense.to_sparse_csr(), sparse.csr_matrix(values),
             list(map(np.array, values))]  # fmt: skip
    for returned in given:
        rows = checked_rows(returned, 2, 2, "T")
        assert rows.dtype == np.float32
        assert rows.tolist() == values
    assert checked_rows(torch.tensor([[1, 2]]), 1, None, "T").tolist() == [[1.0, 2.0]]
    assert checked_rows([[1, 2]], 1, None, "T").dtype == np.float32


def test_tensors_that_are_no_rows_are_refused_with_task_and_batch() -> None:
    torch = pytest.importorskip("torch")
    ragged = [torch.zeros(2), torch.zeros(3)]
    nested = torch.nested.nested_tensor(ragged)
    for returned in (
        ragged,
        nested,
        [torch.zeros(1, 3)] * 2,
        torch.zeros(2, 2).to("meta"),
        torch.zeros(2, 2, dtype=torch.cfloat),
    ):
        with pytest.raises(EncoderError, match="RQE, batch 0: "):
            embed_texts(Returns(returned), ["x", "y"], batch_size=2, task_name="RQE")


class Concurrent(CountingEncoder):
    """Encodes batches side by side: a later one waits until an earlier one was begun."""

    concurrent_batches = True

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.threads.add(threading.get_ident())
        time.sleep(0.001)
        return super().encode(texts)


@pytest.mark.parametrize("n_texts", [1, 6, 7, 101])
def test_batches_side_by_side_are_all_encoded_and_stay_in_order(n_texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medsenteval.embedding.embed.available_cores", lambda: 3)
    texts = [f"{'ab' * number} c" for number in range(n_texts)]
    encoder = Concurrent()
    parts = list(encode_batches(encoder, texts, 3, "T"))
    assert np.array_equal(Encoded.joined(enumerate(parts)).rows, CountingEncoder().encode(texts))
    assert (len(parts), len(encoder.batches)) == (-(-n_texts // 3), -(-n_texts // 3))
    assert len(encoder.threads) >= min(2, len(encoder.batches))


def test_code_that_is_not_ours_keeps_its_threads_and_ours_has_one_for_each_product(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from medsenteval.encoders.adapt import as_encoder
    from medsenteval.registry import load_encoder
    from tests.encoders.contextual.test_transformer import save_bert

    seen: list[int] = []

    def function(texts: list[Any]) -> Any:
        seen.append(torch.get_num_threads())
        return np.ones((len(texts), 2))

    class Own:
        name, identity, encode = "own", "", staticmethod(function)

    ours = load_encoder(f"transformers:{save_bert(tmp_path / 'bert')}")
    tokenize = ours._pieces  # type: ignore[attr-defined]

    def watched(texts: list[str]) -> Any:
        seen.append(torch.get_num_threads())
        return tokenize(texts)

    ours._pieces = watched  # type: ignore[attr-defined]
    batcher = (lambda params, batch: function(batch), None)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for thing, threads in ((function, 3), (Own(), 3), (SimpleNamespace(encode=function), 3), (batcher, 3), (ours, 1)):
            seen.clear()
            embed_texts(as_encoder(thing), TEXTS, batch_size=3, task_name="T")
            assert set(seen) == {threads}
    finally:
        torch.set_num_threads(before)


class Remote:
    """Workers that forget a block, or give one of another width or length."""

    def __init__(self, lost: int | None = None, wider: int | None = None, shorter: int | None = None) -> None:
        self.lost, self.wider, self.shorter = lost, wider, shorter

    def __call__(self, units: Sequence[Sequence[str]], batch_size: int, task_name: str) -> Any:
        for number in reversed(range(len(units))):
            if number != self.lost:
                rows = CountingEncoder().encode(units[number])
                rows = np.repeat(rows, 2, axis=1) if number == self.wider else rows[number == self.shorter :]
                yield number, Encoded(rows, np.zeros(len(rows), dtype=np.uint32))


def test_units_from_workers_are_all_there_and_of_one_width(counting: CountingEncoder, tmp_path: Path) -> None:
    texts = [f"{'ab' * number} c" for number in range(300)]

    def embed(remote: Any, cache: EmbeddingCache | None = None) -> Any:
        return embed_texts(counting, texts, batch_size=50, task_name="T", remote=remote, cache=cache)

    for cache in (None, EmbeddingCache(tmp_path)):
        found = embed(Remote(), cache)
        assert np.array_equal(found.matrix[found.rows(texts)], CountingEncoder().encode(texts))
    assert counting.batches == []
    with pytest.raises(EncoderError, match="no rows for 1 of 2 units"):
        embed(Remote(lost=1))
    with pytest.raises(EncoderError, match="T: the encoder returned width 27, but 54"):
        embed(Remote(wider=1))
    with pytest.raises(EncoderError, match="T: 149 rows came back for unit 0"):
        embed(Remote(shorter=0))


def test_vectors_of_all_texts_come_from_the_cache_alone(counting: CountingEncoder, tmp_path: Path) -> None:
    cache, texts = EmbeddingCache(tmp_path), ["b b", "a", "b b", "c"]
    assert cached_embeddings(cache, "counting-1", texts) is None
    stored = embed_texts(counting, texts, batch_size=2, task_name="T", cache=cache)
    found = cached_embeddings(cache, "counting-1", texts)
    assert found is not None
    assert np.array_equal(found.matrix, stored.matrix)
    assert (found.row_of, found.n_encoded) == ({"a": 0, "c": 1, "b b": 2}, 0)
    assert cached_embeddings(cache, "counting-1", [*texts, "d"]) is None
    assert cached_embeddings(cache, "counting-2", texts) is None

    class Learns(CountingEncoder):
        def prepare(self, texts: list[str]) -> None:
            self.learned = texts

    learner = Learns()
    learner.identity = "learner"
    embed_texts(learner, texts, batch_size=2, task_name="T", cache=cache)
    assert learner.learned == texts, "repetitions included"
    assert cached_embeddings(cache, "learner", ["c", "b b", "b b", "a"]) is not None
    for others in (["c", "b b", "a"], ["c", "b b", "b b"], texts * 2):
        assert cached_embeddings(cache, "learner", others) is None


def test_a_derived_encoder_s_vectors_are_kept_with_those_of_its_source(counting: CountingEncoder, tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    stores = [store_for(cache, DerivedEncoder(counting, 3), ["a"]), store_for(cache, counting, ["b"])]
    assert stores == [cache.store("counting-1")] * 2
    assert store_for(
        cache, BatcherEncoder(lambda params, batch: batch, None, None, name="b", identity="b"), ["a"]
    ) != cache.store("b")


class ByRole(CountingEncoder):
    """Another encoder for documents; queries and other texts are treated alike."""

    def __init__(self, identity: str) -> None:
        super().__init__()
        self.identity = identity

    def for_use(self, task: str, role: str) -> CountingEncoder:
        other = CountingEncoder()
        other.identity = self.identity and f"{self.identity}-{task}-{'document' if role == 'document' else ''}"
        return other


def roles_of(roles: tuple[str, str], encoder: Any, texts2: bool = True) -> list[tuple[str, str, list[str]]]:
    split = Split(("1", "2"), ("a", "b"), ("c", "a") if texts2 else None)
    dataset: Any = SimpleNamespace(splits={"test": split}, all_texts=lambda: [*split.texts, *(split.texts2 or ())])
    task: Any = SimpleNamespace(name="T", roles=roles)
    return [(role, used.identity, texts) for role, used, texts in texts_in_roles(task, dataset, encoder)]


def test_texts_are_told_apart_by_role_only_where_an_encoder_does(counting: CountingEncoder) -> None:
    everything = ["a", "b", "c", "a"]
    assert roles_of(("query", "document"), counting) == [("query", "counting-1", everything)]
    assert roles_of(("query", "document"), ByRole("r")) == [
        ("query", "r-T-", ["a", "b"]), ("document", "r-T-document", ["c", "a"])
    ]  # fmt: skip
    assert roles_of(("query", "document"), ByRole("r"), texts2=False)[1] == ("document", "r-T-document", [])
    assert roles_of(("query", "query"), ByRole("r")) == [("query", "r-T-", everything)]
    assert roles_of(("query", ""), ByRole("r")) == [("query", "r-T-", everything)], "one identity, one encoder"
    assert roles_of(("query", ""), ByRole("")) == [("query", "", ["a", "b"]), ("", "", ["c", "a"])]


@pytest.mark.parametrize(
    ("batch_size", "preferred", "units"),
    [(50, 0, [150, 150]), (128, 0, [128, 128, 44]), (127, 0, [254, 46]), (200, 0, [200, 100]), (7, 150, [150, 150])],
)
def test_workers_get_whole_batches_in_units_of_some_hundred_texts(
    counting: CountingEncoder, batch_size: int, preferred: int, units: list[int]
) -> None:
    counting.preferred_batch = preferred  # type: ignore[attr-defined]
    seen: list[tuple[list[int], int, str]] = []

    def remote(asked: Sequence[Sequence[str]], size: int, task: str) -> Any:
        seen.append((list(map(len, asked)), size, task))
        return Remote()(asked, size, task)

    progress: Any = Counts()
    texts = [f"{'ab' * number} c" for number in range(300)]
    embed_texts(counting, texts, batch_size=batch_size, task_name="T", remote=remote, progress=progress)
    assert seen == [(units, batch_size, "T")]
    assert (progress.expected, sorted(progress.done)) == ([300], sorted(units))


class Counts:
    """A progress that only counts."""

    def __init__(self) -> None:
        self.expected: list[int] = []
        self.done: list[int] = []
        self.expect_texts, self.encoded = self.expected.append, self.done.append


@pytest.mark.parametrize(("asked", "preferred", "sizes"), [(3, 0, [3, 3, 1]), (3, 5, [5, 2]), (6, 5, [6, 1])])
def test_a_batch_has_as_many_texts_as_an_encoder_prefers(
    counting: CountingEncoder, asked: int, preferred: int, sizes: list[int]
) -> None:
    counting.preferred_batch = preferred  # type: ignore[attr-defined]
    counting.token_counts = lambda texts: [len(text) for text in texts]  # type: ignore[attr-defined]
    texts = [f"{'x' * number}" for number in range(7)]
    progress: Any = Counts()
    found = embed_texts(counting, texts, batch_size=asked, task_name="T", progress=progress)
    assert (list(map(len, counting.batches)), progress.expected, progress.done) == (sizes, [7], sizes)
    assert found.tokens is not None
    assert (found.tokens.tolist(), found.tokens.dtype, found.n_encoded) == (list(range(7)), np.dtype(np.uint32), 7)
    del counting.token_counts  # type: ignore[attr-defined]
    found = embed_texts(counting, texts, batch_size=asked, task_name="T")
    assert found.tokens is not None
    assert found.tokens.tolist() == [0] * 7


@pytest.mark.parametrize("cached", [False, True])
def test_what_is_learned_from_one_job_s_texts_is_not_used_for_another_s(cached: bool, tmp_path: Path) -> None:
    class Learns:
        name, identity, known = "learns", "learns", 0

        def prepare(self, texts: list[str]) -> None:
            self.known = len(texts)

        def encode(self, texts: list[str]) -> Any:
            if not others:
                others.append(threading.Thread(target=embed, args=(["x"],)))
                others[0].start()
                others[0].join(0.2)  # the other job must wait; if it did not, it would be done by then
            return [[self.known]] * len(texts)

    def embed(texts: list[str]) -> None:
        found = embed_texts(encoder, texts, batch_size=1, task_name="T", cache=EmbeddingCache(tmp_path) if cached else None)
        rows.append(found.matrix.tolist())

    encoder: Any = Learns()
    others: list[threading.Thread] = []
    rows: list[Any] = []
    embed(["a", "b", "c"])
    others[0].join()
    assert rows == [[[3], [3], [3]], [[1]]]


def test_nothing_to_encode_is_an_error(counting: CountingEncoder) -> None:
    with pytest.raises(EncoderError, match="no text"):
        embed_texts(counting, [], batch_size=2, task_name="T")


TEXTS = ["fever", "no fever", "acute pain of the chest", "", "the patient has no pain", "pain " * 30, "β-blockers", "a"] * 3


@pytest.mark.parametrize("options", ["", ",pooling=max", ",pooling=unit-mean", ",pooling=sif", ",tokenizer=whitespace"])
def test_static_vectors_are_the_same_to_the_last_bit_in_any_batch(options: str, tmp_path: Path) -> None:
    from medsenteval.registry import load_encoder

    rng = np.random.default_rng(1)
    words = sorted({word for text in TEXTS for word in text.split()})
    rows = [" ".join([word, *(f"{value:.5f}" for value in rng.normal(size=16))]) for word in words]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    for spec in (f"vectors:{path}{options}", "lexical"):
        encoder = load_encoder(spec)
        getattr(encoder, "prepare", lambda texts: None)(TEXTS)
        whole = encoder.encode(TEXTS)
        for size in (1, 2, 7):
            parts = [encoder.encode(TEXTS[start : start + size]) for start in range(0, len(TEXTS), size)]
            assert np.array_equal(np.concatenate(parts), whole)


def test_neural_vectors_are_the_same_on_any_number_of_cores_and_close_in_any_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    from medsenteval.registry import load_encoder
    from tests.encoders.contextual.test_transformer import save_bert

    encoder = load_encoder(f"transformers:{save_bert(tmp_path / 'bert')}")
    distinct = [f"{text} {number}" for number in range(12) for text in TEXTS[:8]]

    def rows(cores: int, batch_size: int) -> Any:
        monkeypatch.setattr("medsenteval.embedding.embed.available_cores", lambda: cores)
        return embed_texts(encoder, distinct, batch_size=batch_size, task_name="x").matrix

    usual = rows(1, 16)
    for cores in (2, 4):
        assert np.array_equal(rows(cores, 16), usual)
    for size in (1, 7, 128):
        assert rows(2, size) == pytest.approx(usual, abs=1e-5)
