"""Vectors made from others after encoding: leading coordinates, unit length, and the precisions of vector databases."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import medsenteval
from medsenteval import Settings, registry
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import embed_texts
from medsenteval.encoders.derived import DerivedEncoder, DualEncoder
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from tests.conftest import CountingEncoder

FINITE = st.floats(-100, 100, width=32)


@given(arrays(np.float32, st.tuples(st.integers(2, 20), st.integers(1, 19)), elements=FINITE))
def test_quantised_vectors_are_those_of_sentence_transformers(rows: Any) -> None:
    quantization = pytest.importorskip("sentence_transformers.util.quantization")
    with np.errstate(all="ignore"):
        int8 = quantization.quantize_embeddings(rows, "int8")
    ubinary = quantization.quantize_embeddings(rows, "ubinary")
    bits = np.unpackbits(ubinary, axis=1)[:, : rows.shape[1]].astype(int)
    source = CountingEncoder()
    assert np.array_equal(DerivedEncoder(source, precision="int8").derive(rows), int8)
    assert np.array_equal(DerivedEncoder(source, precision="ubinary").derive(rows), 2 * bits - 1)
    assert DerivedEncoder(source, precision="ubinary").bytes_per_vector(rows.shape[1]) == ubinary.shape[1]


@pytest.mark.parametrize(("precision", "size"), [("int8", 100), ("ubinary", 13), ("float32", 400)])
def test_scores_equal_quantising_first_and_scoring_then(precision: str, size: int) -> None:
    """Pearson and Spearman of the cosine, computed here with sentence-transformers' quantisation and scipy."""
    quantization = pytest.importorskip("sentence_transformers.util.quantization")
    settings = Settings(resamples=100, allow_incomplete=True)
    (split,) = load_dataset(registry.task("BIOSSES"), sample_root(), settings).splits.values()
    texts = sorted({*split.texts, *(split.texts2 or ())})
    plain = load_encoder("lexical,dimension=100").encode(texts)
    rows = quantization.quantize_embeddings(plain, precision).astype(np.float64)
    if precision == "ubinary":
        rows = 2.0 * np.unpackbits(rows.astype(np.uint8), axis=1)[:, :100] - 1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    place = {text: i for i, text in enumerate(texts)}
    cosines = [float(rows[place[a]] @ rows[place[b]]) for a, b in zip(split.texts, split.texts2 or (), strict=True)]
    assert split.scores is not None
    result = medsenteval.evaluate(f"lexical,dimension=100,precision={precision}", "BIOSSES", settings=settings)["BIOSSES"]
    assert result.metric("pearson").value == pytest.approx(stats.pearsonr(cosines, split.scores)[0], abs=1e-6)
    assert result.metric("spearman").value == pytest.approx(stats.spearmanr(np.round(cosines, 12), split.scores)[0], abs=1e-6)
    assert result.input["bytes_per_vector"] == size


def test_parts_and_precisions_of_one_encoder_share_its_vectors(tmp_path: Path) -> None:
    cache, texts = EmbeddingCache(tmp_path), [f"text {'a' * i}" for i in range(50)]
    whole = CountingEncoder()
    rows = embed_texts(whole, texts, batch_size=10, task_name="T", cache=cache)
    parts: list[dict[str, Any]] = [{"dimension": 5}, {"dimension": 7, "normalize": True}, {"precision": "int8"}]
    for changes in parts:
        source = CountingEncoder()
        derived = DerivedEncoder(source, **changes)
        found = embed_texts(derived, texts, batch_size=10, task_name="T", cache=cache)
        assert source.batches == []
        assert np.array_equal(found.matrix, derived.derive(rows.matrix))
        assert derived.identity != source.identity
    assert len(cache.stores()) == 1
    unit = DerivedEncoder(CountingEncoder(), 7, True).derive(rows.matrix)
    lengths = np.linalg.norm(rows.matrix[:, :7], axis=1, keepdims=True)
    assert np.allclose(unit * lengths, rows.matrix[:, :7], atol=1e-5)


def test_a_precision_that_does_not_exist_is_refused() -> None:
    with pytest.raises(EncoderError, match="precision is 'int4'; it can be float32 or int8 or ubinary"):
        load_encoder("lexical,precision=int4")


def test_a_copy_is_the_same_encoder_under_a_name_of_its_own() -> None:
    derived = DerivedEncoder(CountingEncoder(), 3, True, "int8")
    other = copy(derived)
    other.name = "mine"
    assert (other.name, derived.name, other.identity) == ("mine", "counting", derived.identity)
    assert other.for_use("T", "query") is other
    assert other.sees == {"precision": "int8"}
    assert DerivedEncoder(CountingEncoder(), 3).sees == {}


def test_a_dual_encoder_is_what_its_parts_are() -> None:
    query, document = (DerivedEncoder(CountingEncoder(), width, precision="int8") for width in (3, 4))
    texts = ["a", "b c", "d"]
    for symmetric, part in (("query", query), ("document", document)):
        dual = DualEncoder(query, document, symmetric)
        assert (dual.name, dual.sees) == ("counting+counting", {"precision": "int8"})
        assert dual.identity == f"dual-{symmetric}({query.identity})({document.identity})"
        assert np.array_equal(dual.encode(texts), part.encode(texts))
        for role, wanted in (("", part), ("query", query), ("document", document)):
            assert np.array_equal(dual.for_use("T", role).encode(texts), wanted.encode(texts))
    assert not hasattr(DualEncoder(query, document), "token_budget")
    nameless: Any = CountingEncoder()
    nameless.identity = ""
    nameless.dimension = 7
    duals = [DualEncoder(query, nameless, symmetric) for symmetric in ("query", "document")]
    assert [dual.dimension for dual in duals] == [None, 7]
    assert DualEncoder(query, nameless).identity == DualEncoder(nameless, query).identity == ""
