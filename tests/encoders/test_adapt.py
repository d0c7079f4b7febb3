"""Whatever can encode becomes an Encoder: functions, objects, vectors in memory, SentEval pairs, importable names."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval.contracts import Encoder, TokenEncoder
from medsenteval.encoders.adapt import BatcherEncoder, FunctionEncoder, as_encoder
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
        with pytest.raises(EncoderError, match="the vectors of vectors are not numbers, all of one length"):
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
    ("thing", "message"),
    [
        (3, "cannot encode with a int; give a specification such as 'lexical'"),
        ((1, 2), r"SentEval's \(batcher, prepare\), got 2 item\(s\): \(1, 2\)"),
        ((1, None), r"got 2 item\(s\)"),
        ((lengths, 3), r"got 2 item\(s\)"),
        ((lengths, lengths, lengths), r"got 3 item\(s\): \(<function lengths"),
        ((lengths,), r"got 1 item\(s\)"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "not numbers, all of one length"),
        ({"a": [float("nan")]}, "hold NaN or infinity"),
        ({7: [1.0]}, "the vectors of vectors are named by 7, a int; expected are words"),
    ],
)
def test_what_cannot_encode_is_refused(thing: Any, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        as_encoder(thing)


def test_a_batcher_may_prepare_nothing_and_has_its_name() -> None:
    def batcher(params: Any, batch: list[list[str]]) -> Any:
        return [[len(tokens)] for tokens in batch]

    encoder: Any = as_encoder((batcher, None))
    encoder.prepare(["a"])
    assert (encoder.name, encoder.identity) == ("test_a_batcher_may_prepare_nothing_and_has_its_name.<locals>.batcher", "")
    assert encoder.encode(["a  b", "c"]) == [[2], [1]]
    assert BatcherEncoder(batcher, None, encoder.params, name="mine", separator=" ").name == "mine"
    assert BatcherEncoder(batcher, None, encoder.params, separator=" ").encode(["a  b"]) == [[3]]


def test_an_object_has_its_own_name_and_one_without_names_that_of_its_class() -> None:
    for name, expected in (("mine", "mine"), ("", "Model"), (3, "Model"), (None, "Model")):
        model = Model()
        model.name = name  # type: ignore[attr-defined]
        assert as_encoder(model).name == expected
        assert as_encoder(model, name="other").name == "other"
        assert as_encoder(model.encode).name == "Model.encode"


def test_roles_are_part_of_an_identity_where_there_is_one() -> None:
    for identity, expected in (("", ""), ("v1", "v1-role=query")):
        encoder = FunctionEncoder(lengths, "f", identity, by_role={"query": lambda texts: [[7.0] for _ in texts]})
        query = encoder.for_use("T", "query")
        assert (query.name, query.identity) == ("f", expected)
        assert query.encode(["a"]) == [[7.0]]
        assert encoder.for_use("T", "document") is encoder
        assert encoder.for_use("T", "") is encoder


def test_an_encoder_that_cannot_be_changed_is_not_renamed(counting: CountingEncoder) -> None:
    @dataclass(frozen=True)
    class Frozen:
        name: str = "frozen"
        identity: str = ""

        def encode(self, texts: Any) -> Any:
            return counting.encode(texts)

    assert as_encoder(Frozen()).name == "frozen"
    with pytest.raises(EncoderError, match="a Frozen cannot be given another name or identity: cannot assign to field 'name'"):
        as_encoder(Frozen(), name="other")
    named, identified = as_encoder(lengths, identity="v1"), as_encoder(counting, identity="v1")
    assert (named.name, named.identity, identified.identity) == ("lengths", "v1", "counting-1")
    assert identified is counting


def test_python_objects_are_found_beside_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_encoders.py").write_text(
        "class Pack:\n    @staticmethod\n    def f(texts): return [[len(t)] for t in texts]\n"
        "class Model:\n    def encode(self, texts): return [[1.0] for t in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert np.asarray(load_encoder("python:my_own_encoders:Pack.f").encode(["abc"])).tolist() == [[3]]
    assert load_encoder("python:my_own_encoders:Model").name == "Model"
    searched = list(sys.path)
    for wrong, message in (
        ("my_own_encoders", "python needs MODULE:OBJECT, got 'my_own_encoders'"),
        (":x", "python needs MODULE:OBJECT, got ':x'"),
        ("my_own_encoders:", "python needs MODULE:OBJECT, got 'my_own_encoders:'"),
        ("no_such_module:x", "python:no_such_module:x cannot be imported: No module named 'no_such_module'"),
        ("my_own_encoders:Nothing", "python:my_own_encoders:Nothing cannot be imported: .* has no attribute 'Nothing'"),
    ):
        with pytest.raises(EncoderError, match=message):
            load_encoder(f"python:{wrong}")
    assert sys.path == searched
    (tmp_path / "my_vectors.py").write_text(
        "table = {'a': [1.0]}\nclass Named:\n    name, identity = 'n', 'i'\n    encode = len\n"
    )
    assert load_encoder("python:my_vectors:table").name == "table"
    assert load_encoder("python:my_vectors:Named").name == "n"
