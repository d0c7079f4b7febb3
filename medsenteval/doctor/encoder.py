"""Examining an encoder: does it keep the contract, and what does it see of a text?

Everything is called on the encoder itself, not through the engine, because the engine mends what it can (float64, torch
tensors) and stops at the first thing it cannot.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.doctor.findings import Finding
from medsenteval.embedding.embed import checked_rows
from medsenteval.errors import EncoderError
from medsenteval.running.plan import in_words

#: Texts of our own that differ in length, case, script and order of words.
PROBE_TEXTS: Final = (
    "The patient denies chest pain and shortness of breath.",
    "Aspirin lowers the risk of stroke but raises the risk of bleeding.",
    "Fever",
    "No evidence of metastatic disease was seen on the second scan of the abdomen and pelvis.",
    "Blood pressure fell from 160/95 to 128/80 mmHg after 12 weeks of treatment with 10 mg of drug A.",
    "TNF-\u03b1 and interleukin-6 were measured in serum at \u221280 \u00b0C.",
    "Is it safe to take this vaccine during pregnancy?",
    "The mutation causes loss of function in the BRCA1 gene.",
)
_REORDERED: Final = (
    ("The drug reduced pain but not fever.", "The drug reduced fever but not pain."),
    ("Diabetes causes kidney failure in some patients.", "Kidney failure causes diabetes in some patients."),
    ("The left lung is clear and the right lung is not.", "The right lung is clear and the left lung is not."),
)
#: Vectors that differ by less than this share of their length are the same but for rounding in another order.
_ROUNDING: Final = 1e-4
_UNTROUBLED: Final = 1e-6


def examine_encoder(encoder: Encoder) -> list[Finding]:
    """Return what was found; the examination stops early where vectors are missing or not numbers."""
    findings = [_identity(encoder)]
    try:
        prepare = getattr(encoder, "prepare", None)
        if prepare is not None:
            prepare(list(PROBE_TEXTS))
        returned = encoder.encode(list(PROBE_TEXTS))
        rows = checked_rows(returned, len(PROBE_TEXTS), None, "doctor")
    except Exception as error:  # whatever a stranger's code raises is a finding about it
        return [*findings, _broken(error)]
    findings.append(_type_of(returned, rows))
    for look in (_determinism, _batches, _difficult_texts, _zero_vectors, _word_order, _truncation, _speed):
        try:
            found = look(encoder, rows)
        except Exception as error:
            found = _broken(error)
        findings.append(found)
    return findings


def _identity(encoder: Encoder) -> Finding:
    if encoder.identity:
        return Finding("identity", "ok", f"{encoder.name}: {encoder.identity}")
    said = f"{encoder.name} has none: its vectors are not cached and its results are never reused"
    advice = "give the object an attribute `identity` that changes whenever a vector could, or pass identity= to evaluate"
    return Finding("identity", "note", said, advice)


def _broken(error: Exception) -> Finding:
    said, advice = str(error), "return a float32 array of shape (number of texts, dimension), row i for text i"
    if not isinstance(error, EncoderError):
        said = f"encode raised {f'{type(error).__name__}: {error}':.300}"
        advice = "encode must take any list of texts, in any order"
    elif "NaN" in said:
        advice = "look for a division by the number of known words, or a logarithm, where there is none; return zeros instead"
    return Finding("vectors", "problem", said, advice)


def _type_of(returned: Any, rows: NDArray[np.float32]) -> Finding:
    dtype = str(getattr(returned, "dtype", type(returned).__name__)).removeprefix("torch.")
    found = f"{len(rows)} texts gave shape {rows.shape}, {dtype}"
    if dtype == "float32" and isinstance(returned, np.ndarray):
        return Finding("vectors", "ok", found)
    what = dtype if isinstance(returned, np.ndarray) else f"{type(returned).__module__}.{type(returned).__name__} of {dtype}"
    advice = "runs convert it, at twice the memory or more; return np.asarray(vectors, dtype=np.float32)"
    return Finding("vectors", "problem", f"{found}: a {what}, not a NumPy array of float32", advice)


def _encoded(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float64]:
    return checked_rows(encoder.encode(list(texts)), len(texts), None, "doctor").astype(np.float64)


def _relative_gap(rows: NDArray[Any], others: NDArray[Any]) -> float:
    """Return the largest distance between two vectors of one text, as a share of its length."""
    if rows.shape != others.shape:
        return float("inf")
    lengths = np.maximum(np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1))
    gaps = np.linalg.norm(np.asarray(rows, dtype=np.float64) - others, axis=1)
    return float(np.max(np.divide(gaps, lengths, out=np.zeros_like(gaps), where=lengths > 0)))


def _determinism(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    gap = _relative_gap(rows, _encoded(encoder, PROBE_TEXTS))
    if gap == 0.0:
        return Finding("repetition", "ok", "the same texts give the same vectors to the last bit")
    if gap < _UNTROUBLED:
        said = f"a second call differs by {gap:.1e} of a vector's length: rounding in another order"
        return Finding("repetition", "note", said)
    said = f"the same texts give other vectors on a second call (by {gap:.2g} of their length)"
    advice = "the encoder is nondeterministic: switch off dropout (model.eval()), and draw random numbers from a fixed seed"
    return Finding("repetition", "problem", said, advice)


def _batches(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    one_by_one = np.concatenate([_encoded(encoder, [text]) for text in PROBE_TEXTS])
    reversed_order = _encoded(encoder, PROBE_TEXTS[::-1])[::-1]
    gap = max(_relative_gap(rows, one_by_one), _relative_gap(rows, reversed_order))
    if gap < _ROUNDING:
        return Finding("batches", "ok", f"a text's vector does not depend on its neighbours (largest gap {gap:.1e})")
    said = f"a text gets another vector alone or in another order (by {gap:.2g} of its length)"
    advice = "the encoder is batch-dependent: mask padding, and normalise by nothing that is computed over the batch"
    return Finding("batches", "problem", said, advice)


def _difficult_texts(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    cases = {
        "an empty text": "",
        "white space only": " \t ",
        "2,000 words": "pain " * 2000,
        "no known script": "\u0416\u0414\u042f \u4e2d\u6587 \U0001f600",
        "half a surrogate pair": "a \ud800 b",
    }
    refused = []
    for name, text in cases.items():
        reason = ""
        try:
            checked_rows(encoder.encode([text]), 1, rows.shape[1], "doctor")
        except Exception as error:  # whatever it is, it would have ended a run
            reason = f"{type(error).__name__}: {error!s:.120}"
        if reason:
            refused.append(f"{name} ({reason})")
    if not refused:
        return Finding("odd texts", "ok", ", ".join(cases) + ": a vector for each")
    advice = "data sets hold such texts; return a vector for them, zeros if nothing in the text is known"
    return Finding("odd texts", "problem", "no vector for " + "; ".join(refused), advice)


def _zero_vectors(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    if len(np.unique(rows, axis=0)) == 1:
        advice = "look whether the texts reach the model: wrong vocabulary, wrong column, or a constant output"
        return Finding("variety", "problem", f"all {len(rows)} texts have the same vector", advice)
    if zero := int((~rows.any(axis=1)).sum()):
        said = f"{zero} of {len(rows)} texts have a vector of zeros: nothing in them is known"
        advice = "check case and tokeniser of the vocabulary; coverage is shown with every score"
        return Finding("variety", "note", said, advice)
    return Finding("variety", "ok", "different texts have different vectors")


def _word_order(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    left, right = (_encoded(encoder, [pair[side] for pair in _REORDERED]) for side in (0, 1))
    if _relative_gap(left, right) < _ROUNDING:
        said = "sentences of the same words in another order have the same vector: a bag of words"
        advice = "expected of averaged static word vectors; of a contextual encoder it means that word order is lost on the way"
        return Finding("word order", "note", said, advice)
    return Finding("word order", "ok", "is seen")


def _truncation(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    """Find the length from which two texts that differ in their last word alone have the same vector."""
    for n_words in (32, 64, 128, 256, 512, 1024, 2048):
        beginning = "The patient was seen again. " * (n_words // 5)
        left, right = (_encoded(encoder, [beginning + end]) for end in ("Cancer was found.", "No disease."))
        if _relative_gap(left, right) < _UNTROUBLED:
            limit = getattr(encoder, "sees", {}).get("max_length")
            told = f" (max_length is {limit} tokens)" if limit else ""
            said = f"texts of {n_words} words that differ only at their end have the same vector: cut{told}"
            advice = "results count the texts that are cut, and tables mark scores with more than 1 % of them; raise max_length"
            return Finding("length", "note", said, advice)
    return Finding("length", "ok", "2,048 words are read to their end")


def _speed(encoder: Encoder, rows: NDArray[np.float32]) -> Finding:
    texts = [f"{text} {number}" for number in range(16) for text in PROBE_TEXTS]
    started = time.perf_counter()
    encoder.encode(texts)
    rate = len(texts) / max(1e-9, time.perf_counter() - started)
    whole = in_words(260_000 / rate)  # distinct sentences of the ten tasks, without PICO
    return Finding("speed", "ok", f"about {rate:,.0f} texts a second; the ten tasks without PICO would take about {whole}")
