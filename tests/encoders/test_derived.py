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
from medsenteval.encoders.derived import PRECISIONS, DerivedEncoder, DualEncoder, derived_from_cache
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


def test_what_was_derived_is_part_of_the_identity_and_read_from_it() -> None:
    rows = np.array([[3, -4, 9], [0, 0, 5], [6, 8, 1]], dtype=np.float32)
    for changes, told in (
        ({}, ""), ({"dimension": 2}, "-first=2"), ({"normalize": True}, "-unit"), ({"precision": "int8"}, "-int8"),
        ({"dimension": 2, "normalize": True, "precision": "ubinary"}, "-first=2-unit-ubinary"),
    ):  # fmt: skip
        derived = DerivedEncoder(CountingEncoder(), **changes)
        assert derived.identity == f"counting-1{told}"
        again = derived_from_cache("other", derived.identity)
        assert (again.name, again.identity, again.source.identity) == ("other", derived.identity, "counting-1")
        assert np.array_equal(again.derive(rows), derived.derive(rows))
        with pytest.raises(EncoderError, match="other: 2 texts are not in the cache, and no encoder is called here"):
            again.encode(["a", "b"])
    unit = DerivedEncoder(CountingEncoder(), 2, True)
    assert unit.derive(rows) == pytest.approx(np.array([[0.6, -0.8], [0, 0], [0.6, 0.8]]))
    assert unit.derive(rows).dtype == np.float32
    assert [DerivedEncoder(CountingEncoder(), precision=each).bytes_per_vector(9) for each in PRECISIONS] == [36, 9, 2]
    nameless: Any = CountingEncoder()
    nameless.identity = ""
    assert DerivedEncoder(nameless, 2).identity == ""


def test_steps_of_int8_go_from_the_least_to_the_greatest_value_of_each_coordinate() -> None:
    rows = np.array([[0, 7, -255], [1, 7, 0], [255, 7, 255], [254, 7, 254]], dtype=np.float32)
    steps = DerivedEncoder(CountingEncoder(), precision="int8").derive(rows)
    assert steps.tolist() == [[-128, -128, -128], [-127, -128, -1], [127, -128, 127], [126, -128, 126]]


def test_what_is_asked_of_the_source_is_its_to_say() -> None:
    source: Any = CountingEncoder()
    source.coverage = lambda texts: {"tokens": 0.5}
    source.encode_tokens = lambda texts: None
    derived = DerivedEncoder(source, 3)
    assert derived.coverage(["a"]) == {"tokens": 0.5}
    assert not hasattr(derived, "encode_tokens"), "tokens would have the width of the source"
    assert not hasattr(derived, "_anything")
    assert not hasattr(derived, "prepare")


def test_a_derived_encoder_treats_roles_as_its_source_does() -> None:
    query, document = CountingEncoder(), CountingEncoder()
    query.identity, document.identity = "q", "d"
    derived = DerivedEncoder(DualEncoder(query, document), 3, True, "int8")
    derived.name = "mine"
    used = derived.for_use("T", "document")
    assert (used.name, used.identity) == ("mine", "d-first=3-unit-int8")


def test_dual_takes_two_specifications() -> None:
    for spec in ("dual", "dual,query=lexical", "dual,document=lexical"):
        with pytest.raises(EncoderError, match="dual takes two specifications"):
            load_encoder(spec)
    with pytest.raises(EncoderError, match="dual: symmetric is 'x'; it can be query or document"):
        load_encoder("dual,query=lexical,document=lexical,symmetric=x")
    dual = load_encoder('dual,query="lexical,dimension=8",document="lexical,dimension=9",symmetric=document')
    assert dual.encode(["a"]).shape == (1, 9)
    assert load_encoder('dual,query="lexical,dimension=8",document="lexical,dimension=9"').encode(["a"]).shape == (1, 8)


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
