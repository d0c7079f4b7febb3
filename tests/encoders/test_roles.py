"""Roles and prompts: what a task says of its texts reaches the encoder, and any prompt survives every way in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import medsenteval
from medsenteval import Settings, registry
from medsenteval.contracts import Encoder
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.encoders.adapt import as_encoder
from medsenteval.encoders.contextual.checkpoint import Prompts
from medsenteval.errors import EncoderError, SettingsError
from medsenteval.registry import add_options, load_encoder, parse_encoder_spec
from medsenteval.running.suite_file import read_suite, what_needs_trust

QUICK = Settings(folds=3, resamples=100, allow_incomplete=True)
NASTY = 'Instruct: Given a claim, retrieve "similar" claims, name=x\nQuery=\\n\t: '


class ByRole:
    """Knows the answer to a question from the snippet alone, if it is told which text is which."""

    name, identity = "by-role", ""

    def __init__(self, role: str | None = None) -> None:
        self.role = role
        self.seen: dict[str, set[str]] = {}

    def for_use(self, task: str, role: str) -> ByRole:
        other = ByRole(role)
        self.seen.setdefault(f"{task}:{role}", set())
        other.texts = self.seen[f"{task}:{role}"]  # type: ignore[attr-defined]
        return other

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        seen: set[str] = getattr(self, "texts", set())
        seen.update(texts)
        signs = {"query": 1.0, "document": -1.0, "": 0.0, None: 0.0}
        rows = np.ones((len(texts), 4), dtype=np.float32)
        rows[:, 0] = signs[self.role]
        rows[:, 1] = [len(text) for text in texts]
        return rows


def test_a_tasks_roles_reach_the_encoder_and_vectors_do_not_mix() -> None:
    encoder = ByRole()
    results = medsenteval.evaluate(encoder, "BioASQ,RQE,BIOSSES", settings=QUICK)
    assert set(encoder.seen) == {"BioASQ:query", "BioASQ:document", "RQE:query", "BIOSSES:"}
    assert not encoder.seen["BioASQ:query"] & encoder.seen["BioASQ:document"]
    assert "|roles=query/document|" in results["BioASQ"].signature
    assert "roles=" not in results["BIOSSES"].signature


def test_the_same_text_in_two_roles_has_two_vectors() -> None:
    from dataclasses import replace

    from medsenteval.contracts import Dataset, Split
    from medsenteval.engine import evaluate_task

    sts = registry.task("BIOSSES")
    texts = ("fever", "pain", "fever", "cough")
    split = Split(tuple("abcd"), texts, texts[::-1], scores=np.array([1.0, 2.0, 3.0, 5.0]))
    dataset = Dataset("Made", {"test": split})

    def cosines(roles: tuple[str, str]) -> list[float]:
        result = evaluate_task(replace(sts, roles=roles), dataset, ByRole(), QUICK)
        return [float(value) for value in result.items["predicted"]]

    def expected(first: float, second: float) -> list[float]:
        rows = [np.array([[sign, len(a), 1, 1] for a in side]) for sign, side in ((first, texts), (second, texts[::-1]))]
        products = (rows[0] * rows[1]).sum(axis=1)
        return list(products / np.linalg.norm(rows[0], axis=1) / np.linalg.norm(rows[1], axis=1))

    assert cosines(("query", "document")) == pytest.approx(expected(1, -1), abs=1e-6)
    assert cosines(("query", "query")) == pytest.approx(expected(1, 1), abs=1e-6)
    assert cosines(("", "")) == pytest.approx(expected(0, 0), abs=1e-6)


def test_objects_with_encode_query_and_encode_document_are_asked_by_role() -> None:
    def rows(value: float) -> Any:
        return lambda texts: np.full((len(texts), 2), value)

    thing = SimpleNamespace(encode=rows(0.0), encode_query=rows(1.0), encode_document=rows(2.0))
    encoder: Any = as_encoder(thing, identity="mine")
    found = [float(encoder.for_use("BioASQ", role).encode(["x"])[0, 0]) for role in ("", "query", "document")]
    assert found == [0.0, 1.0, 2.0]
    assert len({encoder.for_use("BioASQ", role).identity for role in ("", "query", "document")}) == 3


def test_two_models_make_one_encoder() -> None:
    words = 'dual,query="lexical,dimension=32",document="lexical,dimension=32,name=other",name=pair'
    encoder: Any = load_encoder(words)
    assert encoder.name == "pair"
    assert encoder.for_use("T", "query").name == "lexical"
    assert encoder.for_use("T", "document").name == "other"
    assert np.array_equal(encoder.encode(["fever"]), load_encoder("lexical,dimension=32").encode(["fever"]))
    uneven: Any = load_encoder('dual,query="lexical,dimension=32",document="lexical,dimension=64",symmetric=document')
    assert uneven.encode(["fever"]).shape == (1, 64)
    with pytest.raises(EncoderError, match="different widths: 32 for queries, 64 for documents"):
        medsenteval.evaluate(uneven, "BioASQ", settings=QUICK)
    for wrong in ("dual", "dual:x,query=lexical,document=lexical", "dual,query=lexical,document=lexical,symmetric=x"):
        with pytest.raises(EncoderError, match="dual"):
            load_encoder(wrong)


def test_prompts_are_chosen_by_task_and_role() -> None:
    prompts = Prompts.given("k", "all: ", "q: ", None, '{"rqe": "same question? ", "BioASQ": "answer: "}')
    chosen = [prompts.chosen(task, role) for task in ("BIOSSES", "RQE", "bio-asq") for role in ("", "query", "document")]
    asked = ["all: ", "q: ", "all: ", "same question? ", "same question? ", "all: ", "answer: ", "answer: ", "all: "]
    assert chosen == asked
    assert str(prompts) != str(Prompts("all: ", {"query": "q: "}))
    for wrong in ("{", "[1]", '{"a": 1}'):
        with pytest.raises(EncoderError, match="task_prompts"):
            Prompts.given("k", "", None, None, wrong)


@given(st.text(), st.text(), st.sampled_from(["vectors:a,b.txt", "lexical", "endpoint:https://h:1/v1#m"]))
def test_any_text_survives_a_specification(prompt: str, name: str, spec: str) -> None:
    kind, argument, options = parse_encoder_spec(spec)
    assert parse_encoder_spec(add_options(spec, {"prompt": prompt, "name": name})) == (
        kind,
        argument,
        {**options, "prompt": prompt, "name": name},
    )


def test_plain_values_are_written_as_before() -> None:
    assert add_options("vectors:a.txt", {"case": "lower", "pooling": "max"}) == "vectors:a.txt,case=lower,pooling=max"
    assert parse_encoder_spec("vectors:a,b.txt,case=lower") == ("vectors", "a,b.txt", {"case": "lower"})
    assert parse_encoder_spec('x:y,prompt="a, b=c",k=1')[2] == {"prompt": "a, b=c", "k": "1"}


def test_encoders_are_described_in_tables_of_a_suite_file(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(
        '[[encoders]]\nencoder = "sentence-transformers:some/model"\nnormalize = true\ndimension = 64\n'
        'prompt = """Instruct: a, "b"=c\nQuery: """\n[encoders.task_prompts]\nRQE = "same, or not?"\n'
        '[[encoders]]\nencoder = "lexical"\n'
    )
    first, second = read_suite(path).encoders
    assert second == "lexical"
    assert parse_encoder_spec(first) == (
        "sentence-transformers",
        "some/model",
        {
            "normalize": "yes",
            "dimension": "64",
            "prompt": 'Instruct: a, "b"=c\nQuery: ',
            "task_prompts": '{"RQE": "same, or not?"}',
        },
    )
    for wrong in ("[[encoders]]\nprompt = 'x'", "[[encoders]]\nencoder = 3", "[[encoders]]\nencoder = 'lexical'\nx = [1]"):
        path.write_text(wrong)
        with pytest.raises(SettingsError, match="encoder"):
            read_suite(path)
    path.write_text("encoders = ['dual,query=lexical,document=\"python:os:system\"', 'dual,query=lexical,document=lexical']")
    assert len(what_needs_trust(read_suite(path))) == 1


def test_a_prompt_with_commas_quotes_and_newlines_reaches_the_model_and_the_signature(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from tests.encoders.contextual.test_sentence_transformer import save_model

    folder = save_model(tmp_path / "tiny")
    spec = add_options(f"sentence-transformers:{folder}", {"prompt": NASTY, "query_prompt": "fever, "})
    encoder: Any = load_encoder(spec)
    assert repr(NASTY) in encoder.identity
    assert encoder.sees["prompt"] == NASTY
    plain: Encoder = load_encoder(f"sentence-transformers:{folder},prompt=")
    assert np.allclose(encoder.encode(["cough"]), plain.encode([NASTY + "cough"]), atol=1e-6)
    assert np.allclose(encoder.for_use("BioASQ", "query").encode(["cough"]), plain.encode(["fever, cough"]), atol=1e-6)
    assert np.array_equal(encoder.for_use("BioASQ", "document").encode(["cough"]), encoder.encode(["cough"]))
    result = medsenteval.evaluate(spec, "BIOSSES", settings=QUICK)["BIOSSES"]
    assert repr(NASTY) in result.signature
    assert result.input["prompt"] == NASTY
    assert result.input["pooling"].startswith("mean")


class Counted:
    """Counts a token for each word and sees so many of them."""

    identity = ""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.sees = {"max_length": limit}

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


def test_texts_of_each_role_are_measured_by_the_limit_of_their_own_model() -> None:
    from medsenteval.encoders.derived import DualEncoder

    task = registry.task("BioASQ")
    result = medsenteval.evaluate(DualEncoder(Counted("q", 5), Counted("d", 12)), [task], settings=QUICK)["BioASQ"]
    splits = load_dataset(task, data_root(None), QUICK).splits.values()
    sides = ({text for split in splits for text in split.texts}, {text for split in splits for text in split.texts2 or ()})
    lengths = [(len(text.split()), limit) for side, limit in zip(sides, (5, 12), strict=True) for text in side]
    lost = [max(words - limit, 0) for words, limit in lengths]
    assert 0 < result.input["texts_cut"] == sum(map(bool, lost)) < len(lost)
    assert result.input["texts_cut_share"] == sum(map(bool, lost)) / len(lost)
    assert result.input["tokens_lost_share"] == pytest.approx(sum(lost) / sum(words for words, _ in lengths))
    assert (result.input["query_max_length"], result.input["document_max_length"]) == (5, 12)
    assert "max_length" not in result.input
