"""Duplicates, leaks and ceilings: against brute force, and on data whose leaks are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.cli.main import main
from medsenteval.contracts import Dataset, Split
from medsenteval.datasets import near_duplicates as module
from medsenteval.datasets.description import describe_dataset
from medsenteval.datasets.locate import load_dataset
from medsenteval.datasets.near_duplicates import near_duplicates, word_set
from medsenteval.datasets.quality import quality_lines
from medsenteval.registry import task
from medsenteval.settings import Settings
from tests.conftest import examples


def brute_force(sets: Sequence[set[str]], threshold: float) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, j in combinations(range(len(sets)), 2)
        if sets[i] and sets[j] and len(sets[i] & sets[j]) >= threshold * len(sets[i] | sets[j]) - 1e-12
    ]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sets(st.sampled_from("abcdefghij"), max_size=9), max_size=25),
    st.sampled_from([0.2, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]),
)
def test_near_duplicates_are_those_of_brute_force(sets: list[set[str]], threshold: float) -> None:
    expected = brute_force(sets, threshold)
    assert list(map(tuple, near_duplicates(sets, threshold).tolist())) == expected
    for first in {0, len(sets) // 3, len(sets)}:
        across = [(i, j) for i, j in expected if i < first <= j]
        assert list(map(tuple, near_duplicates(sets, threshold, first).tolist())) == across


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    sets = [{f"w{i}" for i in rng.integers(0, 14, rng.integers(1, 9))} for _ in range(400)]
    whole = near_duplicates(sets, 0.6).tolist()
    assert len(whole) > 20
    monkeypatch.setattr(module, "_BLOCK", 50)
    assert near_duplicates(sets, 0.6).tolist() == whole
    assert list(map(tuple, whole)) == brute_force(sets, 0.6)


def test_words_are_compared_without_case_and_sides_apart() -> None:
    assert word_set("A b, B.") == {"a", "b"}
    assert word_set("?!") == {"?!"}
    assert word_set("a", "a") == {"a", "\x1fa"}


def split(texts: Sequence[str], labels: Sequence[int], texts2: Sequence[str] | None = None) -> Split:
    return Split(
        ids=tuple(f"r{i}" for i in range(len(texts))),
        texts=tuple(texts),
        texts2=None if texts2 is None else tuple(texts2),
        labels=np.array(labels),
    )


LONG = "one two three four five six seven eight nine ten"


def test_contradictions_bound_the_accuracy() -> None:
    (said,) = quality_lines(Dataset("x", {"all": split(["a b", "A b", "a b", "c d e", ""], [0, 1, 0, 1, 1])}))
    assert said == (
        "all: 5 rows; 1 empty text(s); 2 row(s) repeat an earlier one; "
        "3 row(s) have the same text and another label or score (first: r0 and r1); "
        "1 of them no encoder can get right: the best possible accuracy is 80.00"
    )


def test_near_duplicates_need_both_sides_alike() -> None:
    almost = LONG.replace("ten", "eleven")
    (said,) = quality_lines(Dataset("x", {"all": split([LONG, almost, "other"], [0, 1, 0])}))
    assert said == "all: 3 rows; 2 row(s) have a near duplicate; 2 of them with another label"
    pairs = split([LONG, almost, LONG], [0, 0, 0], ["what is it", "what is it", "who knows that"])
    assert quality_lines(Dataset("x", {"all": pairs})) == ["all: 3 rows; 2 row(s) have a near duplicate"]


def test_what_training_has_seen_is_counted() -> None:
    data = Dataset(
        "x",
        {
            "train": split([LONG, "a b c", "p q"], [0, 1, 1]),
            "test": split(["A b c", "P q", f"{LONG} more", "new text"], [1, 0, 0, 0]),
        },
    )
    seen = "2 row(s) (50.00%) are in train word for word, 1 of them with another label or score; 1 (25.00%) nearly"
    assert quality_lines(data)[2:] == [f"test against train: {seen}"]
    apart = Dataset("x", {"train": split(["a b c"], [0]), "test": split(["p q"], [0])})
    assert quality_lines(apart)[1:] == [
        "test: 1 rows; no duplicates, no contradictions",
        "test against train: no row of it is in training",
    ]


def test_scores_have_a_ceiling_too() -> None:
    scores = np.array([1.0, 3.0, 0.0, 4.0])
    pairs = Split(ids=tuple("abcd"), texts=("x", "x", "y", "z"), texts2=("u", "u", "v", "w"), scores=scores)
    (said,) = quality_lines(Dataset("x", {"all": pairs}))
    best = np.corrcoef(np.array([2.0, 2.0, 0.0, 4.0]), scores)[0, 1]
    assert said == (
        "all: 4 rows; 1 row(s) repeat an earlier one; 2 row(s) have the same text and another label or score (first: a and b); "
        f"the best possible Pearson correlation is {best:.4f}"
    )


@pytest.mark.realdata
def test_the_known_contradictions_of_rqe_are_found(realdata: Path) -> None:
    train, test, across = quality_lines(load_dataset(task("RQE"), realdata, Settings()))
    assert "(first: pid 94 and pid 95); 1 of them no encoder can get right" in train
    assert "; 1,460 pair(s) of twice the same text; " in train
    assert "(first: pid 184 and pid 300); 1 of them no encoder can get right: the best possible accuracy is 99.67" in test
    assert across == "test against train: no row of it is in training"


def test_the_report_is_printed_beside_scores_and_by_itself(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(
        main, ["run", "-t", "BIOSSES,BioASQ", "-o", str(tmp_path), "--quiet", "--quality"], catch_exceptions=False
    )
    assert outcome.exit_code == 0
    assert "Quality: BIOSSES: all: 100 rows" in outcome.stdout
    assert "Quality: BioASQ: test against train:" in outcome.stdout
    outcome = CliRunner().invoke(main, ["data", "show", "RQE", "BIOSSES"], catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "\ntrain: 400 rows" in outcome.stdout
    assert "\nall: 100 rows" in outcome.stdout


def test_examples_are_spread_over_a_split_and_cut_beyond_a_hundred_letters() -> None:
    texts = ["a" * 100, "b" * 101, "c", "d", "e"]
    data = Dataset("x", {"train": split(texts, [0, 1, 1, 1, 1]), "test": split([], [])}, label_names=("no", "yes"))
    said = describe_dataset(data, 3).splitlines()
    assert said[said.index("Examples of train:") + 1 :] == [f"  r0 [no] {'a' * 100}", "  r2 [yes] c", "  r4 [yes] e"]
    assert f"  r1 [yes] {'b' * 97}..." in describe_dataset(data, 9)
    assert "Examples" not in describe_dataset(data, 0)
    assert any(line.split()[:6] == ["train", "5", "1", "1", "1", "5"] and line.endswith("80.00 % accuracy") for line in said)


def test_pairs_of_texts_that_are_equal_or_empty_are_counted() -> None:
    pairs = split(["A", "b", "", "d"], [0, 1, 0, 1], ["a", "c", "", "D"])
    (said,) = quality_lines(Dataset("x", {"train": pairs}))
    assert said == "train: 4 rows; 2 empty text(s); 3 pair(s) of twice the same text"


def test_a_split_without_contradictions_has_no_ceiling() -> None:
    for scores in ([1.0], [2.0, 2.0], []):
        texts = tuple("abc"[: len(scores)])
        part = Split(ids=texts, texts=texts, texts2=texts, scores=np.array(scores))
        assert "the best possible" not in quality_lines(Dataset("x", {"all": part}))[0]
    assert quality_lines(Dataset("x", {"all": split([], [])})) == ["all: 0 rows; no duplicates, no contradictions"]


def test_quick_reports_look_for_equal_texts_alone_and_subsets_are_not_training_data() -> None:
    data = {"train": split([LONG], [0]), "test": split([f"{LONG} more", LONG], [0, 0])}
    word_for_word = "test against train: 1 row(s) (50.00%) are in train word for word"
    assert quality_lines(Dataset("x", data))[2] == f"{word_for_word}; 1 (50.00%) nearly"
    assert quality_lines(Dataset("x", data), near=False)[2:] == [word_for_word]
    assert len(quality_lines(Dataset("x", {"a": data["train"], "b": data["test"]}))) == 2
