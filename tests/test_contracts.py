"""What the shared types say of themselves: rows, splits, data sets, protocols and the marks behind a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Metric, RejectedRow, Result, Split, TokenVectors, has_word_vectors
from medsenteval.settings import Settings
from tests.comparison.results_of import word_result


def result(**changes: Any) -> Result:
    return replace(word_result("MEN", "mine", [("1", "a", "b", 1.0, 0.5)]), **changes)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (RejectedRow("f", 3, "x", "why"), "f:3: x: why"),
        (RejectedRow("f", None, "x", "why"), "f: x: why"),
        (RejectedRow("f", 0, "", "why"), "f:0: why"),
    ],
)
def test_a_rejected_row_says_where_and_why(row: RejectedRow, said: str) -> None:
    assert str(row) == said


def test_rows_are_taken_from_every_column() -> None:
    split = Split(
        ("1", "2", "3"), ("a", "b", "c"), ("d", "e", "f"), np.array([0, 1, 2]), np.array([0.5, 1.5, 2.5]), ("x", "y", "z")
    )
    taken = split.take([2, 0, 2])
    assert (taken.ids, taken.texts, taken.texts2) == (("3", "1", "3"), ("c", "a", "c"), ("f", "d", "f"))
    assert (taken.groups, len(taken)) == (("z", "x", "z"), 3)
    assert taken.labels is not None
    assert taken.scores is not None
    assert (taken.labels.tolist(), taken.scores.tolist()) == ([2, 0, 2], [2.5, 0.5, 2.5])
    plain = Split(("1", "2"), ("a", "b")).take([1])
    assert (plain.texts2, plain.labels, plain.scores, plain.groups) == (None, None, None, None)
    assert list(split.all_texts()) == list("abcdef")
    assert list(plain.all_texts()) == ["b"]
    for column in ({"texts2": ("a",)}, {"labels": np.array([1])}, {"scores": np.array([1.0])}, {"groups": ()}):
        with pytest.raises(ValueError, match=rf"column '{next(iter(column))}' has \d rows, ids has 2"):
            Split(("1", "2"), ("a", "b"), **column)
    assert len(TokenVectors(np.zeros((3, 2), dtype=np.float32), np.array([0, 1, 3]), np.ones(3, dtype=bool))) == 2


def test_a_data_set_has_the_texts_of_all_splits_and_knows_what_parts_them() -> None:
    splits = {"train": Split(("1",), ("a",), ("b",)), "test": Split(("2", "3"), ("a", "c"))}
    dataset = Dataset("T", splits)
    assert (len(dataset), list(dataset.all_texts())) == (3, ["a", "b", "a", "c"])
    assert [Dataset("T", splits, options=options).separator for options in ({}, {"legacy": "no"}, {"legacy": "yes"})] == [
        None,
        None,
        " ",
    ]


def test_whatever_can_move_a_score_changes_the_fingerprint() -> None:
    def fingerprint(labels: tuple[str, ...] = ("x", "y"), name: str = "all", **columns: Any) -> str:
        given: dict[str, Any] = {"texts": ("a", "b"), "labels": np.array([0, 1]), **columns}
        return Dataset("T", {name: Split(("1", "2"), **given)}, labels).fingerprint

    base = fingerprint()
    assert base == fingerprint()
    assert len(base) == 64
    others = [
        fingerprint(("y", "x")), fingerprint(name="train"), fingerprint(texts=("b", "a")), fingerprint(texts=("ab", "")),
        fingerprint(texts2=("a", "b")), fingerprint(groups=("a", "b")),
        fingerprint(scores=np.array([0.0, 1.0])), fingerprint(texts2=("", "ab")), fingerprint(texts=("a", "\ud800")),
    ]  # fmt: skip
    assert len({base, *others}) == len(others) + 1


def test_embeddings_have_rows_of_first_and_of_second_texts() -> None:
    matrix = np.array([[0, 0], [1, 0], [0, -1]], dtype=np.float32)
    shared = Embeddings(matrix, {"a": 0, "b": 2})
    assert (shared.rows(["b", "a", "b"]).tolist(), shared.rows2(["b", "a"]).tolist()) == ([2, 0, 2], [2, 0])
    assert shared.zero_rows.tolist() == [True, False, False]
    apart = Embeddings(matrix, {"a": 0, "b": 2}, second={"b": 1})
    assert (apart.rows(["b"]).tolist(), apart.rows2(["b"]).tolist()) == ([2], [1])
    assert (shared.n_encoded, shared.tokens) == (0, None)


@pytest.mark.parametrize(("value", "low", "mark"), [(0.6, 0.55, ""), (0.6, 0.5, "?"), (0.5, 0.4, "!"), (0.4, 0.55, "!")])
def test_a_metric_is_above_its_baseline_or_clear_of_it(value: float, low: float, mark: str) -> None:
    assert Metric("acc", value, low, 0.9, 0.5, "fraction", 10).mark == mark


@pytest.mark.parametrize(
    ("name", "settings", "protocol"),
    [
        ("RQE", Settings(), "kfold-10"),
        ("RQE", Settings(grid="wide", folds=5), "kfold-5-wide-grid"),
        ("BioASQ", Settings(grouped=True), "kfold-10-grouped-by-question"),
        ("MedNLI", Settings(folds=5), "split"),
        ("MedNLI", Settings(shots=8, draws=5), "split-shots-8-draws-5"),
        ("MedNLI", Settings(shots=8, few_shot="mteb"), "mteb-shots-8-draws-10"),
        ("RQE", Settings(train_fraction=0.25), "kfold-10-fraction-0.25-draws-10"),
        ("BIOSSES", Settings(), "cosine"),
        ("BIOSSES", Settings(similarity=lambda u, v: 0.0), "own-similarity"),
    ],
)
def test_a_protocol_is_named_by_all_that_makes_scores_incomparable(name: str, settings: Settings, protocol: str) -> None:
    task = registry.task(name)
    assert task.protocol_under(settings) == protocol
    dataset = Dataset(name, {})
    assert task.protocol_of(dataset, settings) == protocol
    assert task.protocol_of(replace(dataset, edition="2019"), settings) == f"{protocol}-2019"


@pytest.mark.parametrize(
    ("coverage", "seen", "marks"),
    [
        ({}, {}, ""),
        ({"tokens": 0.5}, {"texts_cut_share": 0.01, "trained_on": "no"}, ""),
        ({"tokens": 0.49}, {}, "‡"),
        ({}, {"texts_cut_share": 0.011}, "§"),
        ({}, {"texts_cut_share": None, "trained_on": "yes"}, "¶"),
        ({"tokens": 0.0}, {"texts_cut_share": 1.0, "trained_on": "yes"}, "‡§¶"),
        ({}, {"trained_on": "perhaps"}, ""),
    ],
)
def test_a_score_is_marked_where_care_is_needed(coverage: dict[str, float], seen: dict[str, Any], marks: str) -> None:
    found = result(coverage=coverage, input=seen)
    assert found.marks == marks
    said = {
        "‡": "the encoder knows less than half of this task's words",
        "§": "more than 1 % of the texts were longer than the encoder reads, and cut",
        "¶": "the encoder was trained on this task's data, as declared",
    }
    assert found.cautions == [said[mark] for mark in marks]
    assert found.trained_on == (seen.get("trained_on") if seen.get("trained_on") in ("yes", "no") else "unknown")


def test_a_score_on_a_part_says_so() -> None:
    assert (result().on_a_part, result().cautions) == ("", [])
    part = result(signature="MEN@1|cosine|limit=20|incomplete|data=abc")
    said = "scored on a part of the data (limit=20, incomplete): no score for publication"
    assert (part.on_a_part, part.cautions) == (said, [said])
    assert repr(result(synthetic=True)) == (
        "<Result of mine on MEN: spearman 0.5 [0, 1], pearson 0.25 [0, 1], n 1, synthetic data>"
    )
    assert repr(result()).endswith(", n 1>")
    assert result().to_json()["schema"] == 1
    assert result().metric("pearson").value == 0.25


@pytest.mark.parametrize(
    ("value", "low", "mark"),
    [(0.6, 0.51, ""), (0.6, 0.5, "?"), (0.6, 0.4, "?"), (0.5, 0.4, "!"), (0.4, 0.3, "!"), (np.nan, np.nan, "!")],
)
def test_a_score_that_is_not_surely_above_the_baseline_is_marked(value: float, low: float, mark: str) -> None:
    assert Metric("acc", value, low, 1.0, 0.5, "fraction", 9).mark == mark


def test_word_vectors_are_those_of_encoders_that_say_so() -> None:
    class Tokens:
        name = identity = "tokens"

        def encode(self, texts: Any) -> Any:
            raise AssertionError("nothing is encoded here")

        encode_tokens = encode

    class Words(Tokens):
        context_free = True

    assert (has_word_vectors(Tokens()), has_word_vectors(Words())) == (False, True)
