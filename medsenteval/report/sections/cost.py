"""What the scores cost: time, speed and memory of each encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medsenteval.contracts import Result


@dataclass(frozen=True)
class EncoderCost:
    """Sums over an encoder's results; ``per_second`` counts texts that were encoded, not those found in the cache."""

    encoder: str
    dimension: int
    n_results: int
    read: float
    encode: float
    fit: float
    texts_encoded: int
    per_second: float | None
    peak_memory_mb: float | None
    unknown: float


def encoder_costs(results: Sequence[Result], encoders: Sequence[str]) -> tuple[EncoderCost, ...]:
    """Return a line for each encoder, in the order given."""
    return tuple(_cost(encoder, [result for result in results if result.encoder == encoder]) for encoder in encoders)


def _cost(encoder: str, results: Sequence[Result]) -> EncoderCost:
    encoded = [result for result in results if result.performance.get("texts_encoded", 0) > 0]
    texts = sum(int(result.performance["texts_encoded"]) for result in encoded)
    seconds = sum(result.timings.get("encode", 0.0) for result in encoded)
    phases = [sum(result.timings.get(phase, 0.0) for result in results) for phase in ("read", "encode", "fit")]
    peaks = [result.performance["peak_memory_mb"] for result in results if "peak_memory_mb" in result.performance]
    unknown = max(result.coverage.get("zero_vectors", 0.0) for result in results)
    speed = texts / seconds if texts and seconds else None
    return EncoderCost(encoder, results[0].dimension, len(results), *phases, texts, speed, max(peaks, default=None), unknown)
