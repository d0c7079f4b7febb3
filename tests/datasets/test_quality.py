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
from medsenteval.datasets.quality import describe_quality, examine_quality
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


def test_a_threshold_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        near_duplicates([{"a"}], 0.0)


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
    found = examine_quality(Dataset("x", {"all": split(["a b", "A b", "a b", "c d e", ""], [0, 1, 0, 1, 1])})).splits[0]
    assert (found.n_repeated, found.n_contradicted, found.n_impossible, found.n_empty) == (2, 3, 1, 1)
    assert found.ceiling == pytest.approx(80.0)
    assert found.example == "r0 and r1"


def test_near_duplicates_need_both_sides_alike() -> None:
    almost = LONG.replace("ten", "eleven")
    found = examine_quality(Dataset("x", {"all": split([LONG, almost, "other"], [0, 1, 0])})).splits[0]
    assert (found.n_near, found.n_near_opposed) == (2, 2)
    pairs = split([LONG, almost, LONG], [0, 0, 0], ["what is it", "what is it", "who knows that"])
    assert examine_quality(Dataset("x", {"all": pairs})).splits[0].n_near == 2


def test_what_training_has_seen_is_counted() -> None:
    data = Dataset(
        "x",
        {
            "train": split([LONG, "a b c", "p q"], [0, 1, 1]),
            "test": split(["A b c", "P q", f"{LONG} more", "new text"], [1, 0, 0, 0]),
        },
    )
    report = examine_quality(data)
    (cross,) = report.across
    assert (cross.n, cross.n_exact, cross.n_exact_opposed, cross.n_near) == (4, 2, 1, 1)
    said = "\n".join(describe_quality(report))
    seen = "2 row(s) (50.00%) are in train word for word, 1 of them with another label or score; 1 (25.00%) nearly"
    assert f"test against train: {seen}" in said


def test_scores_have_a_ceiling_too() -> None:
    scores = np.array([1.0, 3.0, 0.0, 4.0])
    pairs = Split(ids=tuple("abcd"), texts=("x", "x", "y", "z"), texts2=("u", "u", "v", "w"), scores=scores)
    (found,) = examine_quality(Dataset("x", {"all": pairs})).splits
    best = np.array([2.0, 2.0, 0.0, 4.0])
    assert found.ceiling == pytest.approx(np.corrcoef(best, scores)[0, 1])
    assert found.n_contradicted == 2
    assert "the best possible Pearson correlation is" in describe_quality(examine_quality(Dataset("x", {"all": pairs})))[0]


@pytest.mark.realdata
def test_the_known_contradictions_of_rqe_are_found(realdata: Path) -> None:
    report = examine_quality(load_dataset(task("RQE"), realdata, Settings()))
    train, test = report.splits
    assert (train.example, test.example) == ("pid 94 and pid 95", "pid 184 and pid 300")
    assert (train.n_impossible, test.n_impossible, train.n_equal_sides) == (1, 1, 1_460)
    assert (report.across[0].n_exact, report.across[0].n_near) == (0, 0)


def test_the_report_is_printed_beside_scores_and_by_itself(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(
        main, ["run", "-t", "BIOSSES,BioASQ", "-o", str(tmp_path), "--quiet", "--quality"], catch_exceptions=False
    )
    assert outcome.exit_code == 0
    assert "Quality: BIOSSES: all: 100 rows" in outcome.stdout
    assert "Quality: BioASQ: test against train:" in outcome.stdout
    outcome = CliRunner().invoke(main, ["data", "quality", "RQE", "BIOSSES"], catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "RQE: train: 400 rows" in outcome.stdout
    assert "Jaccard similarity of 0.8" in outcome.stdout


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
    (found,) = examine_quality(Dataset("x", {"train": pairs})).splits
    assert (found.n_empty, found.n_equal_sides, found.n_near, found.n_repeated) == (2, 3, 0, 0)
    assert (found.ceiling, found.example) == (100.0, "")
    (said,) = describe_quality(examine_quality(Dataset("x", {"train": pairs})))
    assert said == "train: 4 rows; 2 empty text(s); 3 pair(s) of twice the same text"


def test_a_split_of_one_score_or_of_none_has_no_ceiling() -> None:
    for scores in ([1.0], [2.0, 2.0], []):
        texts = tuple("abc"[: len(scores)])
        part = Split(ids=texts, texts=texts, texts2=texts, scores=np.array(scores))
        assert examine_quality(Dataset("x", {"all": part})).splits[0].ceiling is None
    assert examine_quality(Dataset("x", {"all": split([], [])})).splits[0].ceiling is None


def test_quick_reports_look_for_equal_texts_alone_and_subsets_are_not_training_data() -> None:
    data = {"train": split([LONG], [0]), "test": split([f"{LONG} more", LONG], [0, 0])}
    assert [each.n_near for each in examine_quality(Dataset("x", data)).across] == [1]
    assert [(each.n_near, each.n_exact) for each in examine_quality(Dataset("x", data), near=False).across] == [(0, 1)]
    assert examine_quality(Dataset("x", {"a": data["train"], "b": data["test"]})).across == ()
