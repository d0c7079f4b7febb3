"""Biomedical probing tasks: the labels are what the rules say, the classes even, the text anyone's."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import medsenteval
from medsenteval import registry
from medsenteval.contracts import Dataset
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.errors import DataError
from medsenteval.registry import TASK_GROUPS
from medsenteval.settings import Settings
from medsenteval.tasks.diagnostics.biomedical_probing import (
    _evened,
    _sentences,
    has_abbreviation,
    has_number,
    is_medical,
    length_rule,
    shift_rule,
    tense,
    word_rule,
)
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder

Write = Callable[..., Path]


def read(name: str, root: Path | None = None) -> Dataset:
    return load_dataset(registry.task(name), root or sample_root(), Settings(allow_incomplete=True))


@pytest.mark.parametrize(
    ("sizes", "most", "kept"),
    [((10, 50), 1000, (10, 10)), ((10, 50, 29), 1000, (10, 30, 29)), ((10, 50, 29), 60, (10, 20, 20)), ((0, 5), 9, (0, 4))],
)
def test_large_classes_are_cut(sizes: tuple[int, ...], most: int, kept: tuple[int, ...]) -> None:
    """To the size of the smaller of two, to three times the smallest of several, and to an even part of the most."""
    labels = tuple("abc"[: len(sizes)])
    rows = {
        label: [(Path(label), 3 * number, label) for number in range(size)] for label, size in zip(labels, sizes, strict=True)
    }
    chosen = _evened(rows, labels, most)
    assert tuple(Counter(label for label, _ in chosen)[label] for label in labels) == kept
    assert all(label == text for label, (_, _, text) in chosen)
    assert [place for _, (_, place, _) in chosen] == sorted(place for _, (_, place, _) in chosen)


def test_the_same_rows_are_drawn_and_shifted_everywhere() -> None:
    """Scores on other rows do not compare: who draws others gives the tasks another version."""
    rows = {"a": [(Path(), 10 * i, "") for i in range(10)], "b": [(Path(), 10 * i + 1, "") for i in range(3)]}
    chosen = [(label, line) for label, (_, line, _) in _evened(rows, ("a", "b"), 99)]
    assert chosen == [("a", 0), ("b", 1), ("b", 11), ("b", 21), ("a", 30), ("a", 40)]
    split = read("BioBigramShift").splits["train"]
    assert split.labels is not None
    said = json.dumps([split.texts, split.labels.tolist()])
    assert hashlib.sha256(said.encode()).hexdigest()[:12] == "65cc4bf6c29b"


@pytest.mark.parametrize("name", TASK_GROUPS["bio-probing"])
def test_classes_are_even_and_sentences_distinct(name: str) -> None:
    dataset = read(name)
    assert set(dataset.splits) == {"train", "dev", "test"}
    labels = dataset.splits["train"].labels
    assert labels is not None
    counts = Counter(labels.tolist())
    assert len(counts) == len(dataset.label_names) >= 2
    assert max(counts.values()) <= (1 if len(counts) == 2 else 3) * min(counts.values())
    for split in dataset.splits.values():
        assert len(set(split.texts)) == len(split)


def test_lengths_fall_into_bins_that_the_training_sentences_fill() -> None:
    rule = length_rule(["w " * n for n in range(1, 61)])
    names = [rule("w " * n)[0] for n in (1, 10, 11, 60, 500)]  # type: ignore[index]
    assert names == ["0: 0-10 words", "0: 0-10 words", "1: 11-20 words", "5: over 50 words", "5: over 50 words"]
    dataset = read("BioLength")
    split = dataset.splits["test"]
    assert split.labels is not None
    for text, label in zip(split.texts, split.labels, strict=True):
        span = dataset.label_names[label].partition(": ")[2].removesuffix(" words")
        words = len(text.split())
        low, high = (int(span.removeprefix("over ")) + 1, 10**9) if "over" in span else map(int, span.split("-"))
        assert low <= words <= high


def test_a_shifted_sentence_has_two_neighbours_swapped() -> None:
    rule, seen = shift_rule(1), Counter[str]()
    for i in range(200):
        sentence = f"the drug number{i} lowers blood pressure well in adults ."
        found = rule(sentence)
        assert found == rule(sentence), "the same sentence always has the same fate"
        assert found is not None
        label, text = found
        seen[label] += 1
        words, changed = sentence.split(), text.split()
        different = [place for place in range(len(words)) if words[place] != changed[place]]
        if label == "original":
            assert text == sentence
        else:
            first, second = different
            assert second == first + 1
            assert (words[first], words[second]) == (changed[second], changed[first])
    assert 70 < seen["shifted"] < 130
    assert rule("1 2 3 4") is None


def test_the_first_word_the_last_and_equal_ones_stay_where_they_are() -> None:
    words = ["one", "two", "three", "four", "five"]
    swapped = Counter(shift_rule(seed)(" ".join(words)) for seed in range(60))
    texts = {"original": "one two three four five", "first": "one three two four five", "second": "one two four three five"}
    assert set(swapped) == {("original", texts["original"]), ("shifted", texts["first"]), ("shifted", texts["second"])}
    assert {shift_rule(seed)("one same same four five") for seed in range(30)} == {
        ("original", "one same same four five"), ("shifted", "one same four same five"),
    }  # fmt: skip
    assert {shift_rule(seed)("one 2 three four5 five .") for seed in range(30)} == {None}
    assert shift_rule(1)("one two three") is None


def test_tense_is_told_by_auxiliaries() -> None:
    assert tense("Patients were randomised .") == ("past", "Patients were randomised .")
    assert tense("The drug is safe .") == ("present", "The drug is safe .")
    assert tense("It was found that the drug is safe .") is None
    assert tense("Design and setting .") is None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [("We saw 12 men", True), ("about @ mg", True), ("In two groups", True), ("no one-off", True), ("often stoned", False)],
)
def test_numbers_are_digits_at_signs_or_words(sentence: str, expected: bool) -> None:
    assert has_number(sentence) == ("number" if expected else "no number", sentence)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [("HIV infection", True), ("of mRNA levels", True), ("IL6 rose", True), ("The Lancet", False), ("pain", False)],
)
def test_an_abbreviation_has_two_capitals(sentence: str, expected: bool) -> None:
    assert has_abbreviation(sentence) == ("abbreviation" if expected else "no abbreviation", sentence)


def test_medical_terms_are_found_and_asked_for_one_at_a_time() -> None:
    assert is_medical("appendicitis")
    assert is_medical("metformin")
    assert not is_medical("patient")
    sentences = ["gastritis was seen", "neuropathy was seen"] * 12 + ["anemia was seen"] * 3
    rule = word_rule(sentences)
    assert rule("severe gastritis here") == ("gastritis", "severe gastritis here")
    assert rule("gastritis and neuropathy") is None, "two terms"
    assert rule("anemia was seen") is None, "too rare to be a class"
    # Ten sentences with a term are enough, and a term that stands twice in a sentence counts once.
    assert word_rule(["gastritis"] * 10)("gastritis") == ("gastritis", "gastritis")
    assert word_rule(["gastritis and gastritis"] * 9)("gastritis") is None


def test_the_fifty_most_frequent_terms_are_asked_for_by_name_where_counts_are_equal() -> None:
    names = [f"{first}{second}itis" for first in "abcdefgh" for second in "lmnopqr"][:51]
    rule = word_rule([name for name in reversed(names) for _ in range(10)])
    assert [name for name in names if rule(name) is None] == names[50:]
    ahead = word_rule([*(name for name in names for _ in range(10)), names[50]])
    assert [name for name in names if ahead(name) is None] == names[49:50]


def test_a_bag_of_words_cannot_see_a_shift_but_sees_tense() -> None:
    def bag(texts: list[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 499), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) * len(word) % 499] += 1
        return rows

    results = medsenteval.evaluate(bag, tasks=["BioBigramShift", "BioTense"])
    assert results["BioBigramShift"].metric("acc").low <= 50.0 + 8.0
    assert not results["BioTense"].metric("acc").mark


def test_any_text_in_that_format_will_do(write: Write) -> None:
    rows = "".join(f"{('x', 'y')[i % 2]}\tWord number{i} {'is' if i % 2 else 'was'} here again .\n" for i in range(40))
    text = f"###1\n{rows}no tab in this line at all\nshort\ta b\n\n"
    root = write({f"bio-probing/{part}.txt": text for part in ("train", "dev", "test")})
    dataset = read("BioTense", root)
    assert len(dataset.splits["train"]) == 40
    assert dataset.label_names == ("past", "present")
    assert "train.txt:42" in str(dataset.rejected[0])


def test_a_part_has_no_more_rows_than_sentevals(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"x\tWord number{i} {'is' if i % 2 else 'was'} here again .\n" for i in range(40))
    root = write({f"bio-probing/{part}.txt": rows for part in ("train", "dev", "test")})
    most = {"train": 12, "dev": 6, "test": 5}
    monkeypatch.setattr("medsenteval.tasks.diagnostics.biomedical_probing._MOST_ROWS", most)
    assert {part: len(split) for part, split in read("BioTense", root).splits.items()} == {"train": 12, "dev": 6, "test": 4}


def test_sentences_of_five_words_are_taken_once(write: Write) -> None:
    text = (
        "###1\nA\tthis is just five words\nB\tit is four words\n\nC\t this is just five words \nno tab\nD\ta tab\tin the text\n"
    )
    builder = DatasetBuilder("T", write({"train.txt": text}))
    found = [(number, said) for _, number, said in _sentences(builder, "train")]
    assert found == [(2, "this is just five words"), (7, "a tab\tin the text")]
    assert [str(row) for row in builder.rejected] == ["train.txt:6: expected HEADING, a tab and the sentence"]


def test_text_that_does_not_show_the_property_is_refused(write: Write) -> None:
    text = "x\tall of this is in the present\n" * 3
    root = write({f"bio-probing/{part}.txt": text for part in ("train", "dev", "test")})
    with pytest.raises(DataError, match="show 1 class"):
        read("BioTense", root)
