"""How long a job will take, by what earlier ones took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from medsenteval.contracts import Result

__all__ = ["Estimate", "estimate_job", "in_words"]


@dataclass(frozen=True)
class Estimate:
    """Seconds for encoding and fitting; None where no earlier result tells."""

    encode: float | None = None
    fit: float | None = None

    @property
    def seconds(self) -> float | None:
        return None if self.encode is None or self.fit is None else self.encode + self.fit


def estimate_job(
    earlier: Sequence[Result], identity: str, encoder: str, task: str, probe: str, n_texts: int, n_missing: int
) -> Estimate:
    """Estimate a job of ``n_texts`` of which ``n_missing`` are not encoded.

    Encoding goes by the same encoder's texts per second on any task, fitting by the same task with the same probe, in
    proportion to its texts; the same encoder's own fits count before those of others, whose vectors may be longer.
    """

    def own(result: Result) -> bool:
        return result.encoder_identity == identity if identity else result.encoder == encoder

    encoded = [result for result in earlier if own(result) and result.performance.get("texts_encoded")]
    seconds = sum(result.timings.get("encode", 0.0) for result in encoded)
    rate = sum(result.performance["texts_encoded"] for result in encoded) / seconds if seconds else None
    fitted = [result for result in earlier if result.task == task and result.probe == probe and result.performance.get("texts")]
    alike = [result for result in fitted if own(result)] or fitted
    fits = [result.timings.get("fit", 0.0) * n_texts / result.performance["texts"] for result in alike]
    return Estimate(
        encode=0.0 if not n_missing else n_missing / rate if rate else None,
        fit=median(fits) if fits else None,
    )


def in_words(seconds: float) -> str:
    """Say a time as a person would plan with it."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"
