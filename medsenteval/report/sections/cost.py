"""What the scores cost: time, speed and memory of each encoder."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.contracts import Result


class EncoderCost:
    """Sums over an encoder's results; ``per_second`` counts texts that were encoded, not those found in the cache."""

    def __init__(self, encoder: str, results: Sequence[Result]) -> None:
        encoded = [result for result in results if result.performance.get("texts_encoded", 0) > 0]
        seconds = sum(result.timings.get("encode", 0.0) for result in encoded)
        phases = (sum(result.timings.get(phase, 0.0) for result in results) for phase in ("read", "encode", "fit"))
        peaks = [result.performance["peak_memory_mb"] for result in results if "peak_memory_mb" in result.performance]
        self.encoder, self.dimension, self.n_results = encoder, results[0].dimension, len(results)
        self.read, self.encode, self.fit = phases
        self.texts_encoded = sum(int(result.performance["texts_encoded"]) for result in encoded)
        self.per_second = self.texts_encoded / seconds if self.texts_encoded and seconds else None
        self.peak_memory_mb = max(peaks, default=None)
        self.unknown = max(result.coverage.get("zero_vectors", 0.0) for result in results)
