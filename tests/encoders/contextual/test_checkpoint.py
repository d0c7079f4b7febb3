"""Lengths that a model takes, texts that a tokeniser can read, and prompts as a specification gives them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from medsenteval.encoders.contextual.checkpoint import Prompts, check_length, length_limit, passes, without_surrogates
from medsenteval.errors import EncoderError


def model(positions: Any, **modules: tuple[int, int | None]) -> Any:
    named = {name: SimpleNamespace(num_embeddings=n, padding_idx=padding) for name, (n, padding) in modules.items()}
    return SimpleNamespace(config=SimpleNamespace(max_position_embeddings=positions), named_modules=lambda: named.items())


def test_positions_are_those_of_the_settings_less_what_padding_takes() -> None:
    assert length_limit(model(512)) == 512
    assert length_limit(model(514, position_embeddings=(514, 1))) == 512
    assert length_limit(model(514, inner_position_embeddings=(514, 0))) == 513
    assert length_limit(model(100, position_embeddings=(514, 1))) == 100
    assert length_limit(model(512, position_embeddings=(512, None), word_embeddings=(9, 0))) == 512
    for relative in (None, 0, -1, "many"):
        assert length_limit(model(relative)) is None
    graph = SimpleNamespace(config=SimpleNamespace(max_position_embeddings=1))
    assert (length_limit(graph), length_limit(SimpleNamespace(config=SimpleNamespace()))) == (1, None)


def test_a_length_has_room_for_one_piece_and_is_within_the_positions() -> None:
    tokenizer: Any = SimpleNamespace(num_special_tokens_to_add=lambda: 2)
    for length in (3, 12):
        check_length(length, model(12), tokenizer, "here")
    check_length(10**6, model(None), tokenizer, "here")
    check_length(4, model(12), tokenizer, "here", marks=1)
    for length, marks, positions, reason in (
        (2, 0, 12, "max_length is 2, but this model takes from 3 to 12; give max_length=12"),
        (13, 0, 12, "max_length is 13, but this model takes from 3 to 12; give max_length=12"),
        (3, 1, 12, "max_length is 3, but this model takes from 4 to 12; give max_length=12"),
        (2, 0, None, "max_length is 2, but this model takes from 3; give max_length=3"),
    ):
        with pytest.raises(EncoderError, match=f"^here: {reason}$"):
            check_length(length, model(positions), tokenizer, "here", marks=marks)


def test_only_half_surrogate_pairs_are_replaced() -> None:
    texts = ["plain", "β\U0001f600", "\ud800", "a\udfffb\ud83d", "\ue000\ud7ff"]
    assert without_surrogates(texts) == ["plain", "β\U0001f600", "\ufffd", "a\ufffdb\ufffd", "\ue000\ud7ff"]


def test_a_pass_is_filled_up_to_its_limits() -> None:
    assert list(passes([5, 1, 3, 2], "cpu", most_texts=9, most_tokens=6)) == [[1, 3], [2], [0]]
    assert list(passes([2, 2, 2, 2], "cpu", most_texts=9, most_tokens=6)) == [[0, 1, 2], [3]]
    assert list(passes([2, 2, 2, 2], "cuda", most_texts=3, most_tokens=6)) == [[0, 1, 2], [3]]
    assert list(passes([9, 9], "cuda", most_texts=3, most_tokens=6)) == [[0, 1]]
    assert list(passes([9], "cpu", most_texts=3, most_tokens=6)) == [[0]]
    assert list(passes([], "cpu")) == []
    assert [len(places) for places in passes([1] * 130, "cpu")] == [64, 64, 2]
    assert [len(places) for places in passes([100] * 11, "cpu")] == [5, 5, 1]


def test_a_tasks_own_prompt_replaces_all_but_that_of_documents() -> None:
    given = Prompts.given("x", "any: ", "q: ", None, '{"rqe": "own: "}')
    assert [given.chosen("BIOSSES", role) for role in ("", "query", "document")] == ["any: ", "q: ", "any: "]
    assert [given.chosen("RQE", role) for role in ("", "query", "document")] == ["own: ", "own: ", "any: "]
    with_documents = Prompts.given("x", "", None, "d: ", '{"RQE": "own: "}')
    assert [with_documents.chosen("RQE", role) for role in ("", "query", "document")] == ["own: ", "own: ", "d: "]
    assert Prompts.given("x", "", "", None, "").roles == {"query": ""}


def test_prompts_are_told_apart_by_all_that_they_hold() -> None:
    assert str(Prompts.given("x", "", None, None, "")) == "prompt=''"
    assert str(Prompts.given("x", "a", "a", "d", "")) == "prompt='a'-document_prompt='d'"
    many = Prompts.given("x", "a", "q", "d", '{"RQE": "r", "BIOSSES": "b"}')
    assert str(many) == "prompt='a'-document_prompt='d'-query_prompt='q'-prompt for biosses='b'-prompt for rqe='r'"


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ("{", "x: task_prompts is not JSON: .*expected {'RQE': 'prompt'} in JSON"),
        ("[1]", r"x: task_prompts is '\[1\]'; expected a JSON object from names of tasks to prompts"),
        ('{"RQE": 1}', "x: task_prompts is .*; expected a JSON object"),
    ],
)
def test_prompts_of_tasks_are_an_object_of_texts(tasks: str, reason: str) -> None:
    with pytest.raises(EncoderError, match=reason):
        Prompts.given("x", "", None, None, tasks)
