"""Whatever can encode becomes an Encoder: functions, objects, vectors in memory, SentEval pairs, importable names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval.contracts import Encoder, TokenEncoder
from medsenteval.encoders.adapt import as_encoder
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from tests.conftest import CountingEncoder


def lengths(texts: list[str]) -> list[list[int]]:
    return [[len(text), 1] for text in texts]


class Model:
    def encode(self, texts: list[str]) -> Any:
        return np.array(lengths(texts))


def test_functions_and_objects_with_encode() -> None:
    for thing, name in ((lengths, "lengths"), (Model(), "Model")):
        encoder = as_encoder(thing)
        assert isinstance(encoder, Encoder)
        assert (encoder.name, encoder.identity) == (name, "")
        assert np.asarray(encoder.encode(("ab",))).tolist() == [[2, 1]]


def test_an_encoder_and_a_specification_pass_through(counting: CountingEncoder) -> None:
    assert as_encoder(counting) is counting
    assert as_encoder("lexical").name == "lexical"


def test_plain_dicts_and_keyed_vectors_are_averaged() -> None:
    vectors = {"heart": [1.0, 0.0], "rate": [0.0, 1.0]}
    from_dict = as_encoder(vectors)
    assert isinstance(from_dict, TokenEncoder)
    assert from_dict.encode(["heart rate", "Heart"]).tolist() == [[0.5, 0.5], [1, 0]]
    with pytest.raises(EncoderError, match=r"0 words with an array of shape \(0,\): expected one vector a word"):
        as_encoder({})
    for odd in ([1.0, 2.0], "ab", None):
        with pytest.raises(EncoderError, match="the vectors of vectors are not all of one length"):
            as_encoder({"a": [1.0], "b": odd})
    gensim = pytest.importorskip("gensim")
    keyed = gensim.models.KeyedVectors(2)
    keyed.add_vectors(list(vectors), list(vectors.values()))
    from_gensim = as_encoder(keyed)
    assert from_gensim.encode(["heart rate"]).tolist() == [[0.5, 0.5]]
    assert from_gensim.identity == from_dict.identity


def test_senteval_pairs_get_params_and_tokens() -> None:
    def prepare(params: Any, samples: list[list[str]]) -> None:
        params.longest = max(map(len, samples))

    def batcher(params: Any, batch: list[list[str]]) -> Any:
        return np.array([[len(tokens) / params.longest] for tokens in batch])

    encoder = as_encoder((batcher, prepare))
    encoder.prepare(["a b", "a b c d"])  # type: ignore[attr-defined]
    assert encoder.encode(["a b", ""]).tolist() == [[0.5], [0.0]]


@pytest.mark.parametrize(
    "thing", [3, (1, 2), {}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": [float("nan")]}, (lengths, lengths, lengths)]
)
def test_what_cannot_encode_is_refused(thing: Any) -> None:
    with pytest.raises(EncoderError):
        as_encoder(thing)


def test_python_objects_are_found_beside_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_encoders.py").write_text(
        "class Pack:\n    @staticmethod\n    def f(texts): return [[len(t)] for t in texts]\n"
        "class Model:\n    def encode(self, texts): return [[1.0] for t in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert np.asarray(load_encoder("python:my_own_encoders:Pack.f").encode(["abc"])).tolist() == [[3]]
    assert load_encoder("python:my_own_encoders:Model").name == "Model"
    for wrong in ("python:my_own_encoders", "python:no_such_module:x", "python:my_own_encoders:Nothing"):
        with pytest.raises(EncoderError):
            load_encoder(wrong)
