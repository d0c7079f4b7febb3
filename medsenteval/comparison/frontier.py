"""The compression frontier: what an encoder's score loses with fewer dimensions and fewer bits, from its cached vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.significance import NOISE_DECIMALS
from medsenteval.contracts import Result
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.encoders.derived import PRECISIONS, CachedEncoder, DerivedEncoder
from medsenteval.errors import DataMissingError, SettingsError
from medsenteval.running.job_identity import what_tells_apart
from medsenteval.running.rescoring import StoredJob, reopen


@dataclass(frozen=True)
class FrontierPoint:
    """One size of vectors, its score and loss against the full ones, with the paired interval; ``kept`` if none beats it."""

    dimension: int
    precision: str
    size: int
    score: float
    loss: float
    low: float
    high: float
    kept: bool = False


@dataclass(frozen=True)
class Frontier:
    """All sizes of one encoder's vectors on one task, the largest first.

    ``encoder`` is the encoder's name, with protocol, options and seed where results on the task differ in them.
    """

    task: str
    encoder: str
    metric: str
    unit: str
    n: int
    points: tuple[FrontierPoint, ...]


def halved(dimension: int) -> tuple[int, ...]:
    """Return a dimension, its half, and so on down to 16."""
    return (dimension, *halved(dimension // 2)) if dimension // 2 >= 16 else (dimension,)


def compression_frontier(
    results: Sequence[Result], root: Path, *, dimensions: Sequence[int] = (), resamples: int = 2_000
) -> tuple[list[Frontier], list[str]]:
    """Score every dimension at every precision for each result; also say which results could not be scored from the cache."""
    rounded = [each for each in results if each.input.get("precision", "float32") != "float32"]
    jobs, left_out = reopen([each for each in results if each not in rounded], root, EmbeddingCache())
    already = [(each, each.input["precision"]) for each in rounded]
    left_out += [f"{each.encoder}, {each.task}: its vectors are rounded to {precision} already" for each, precision in already]
    if not jobs:
        raise DataMissingError(f"no result can be scored again from the cache: {'; '.join(left_out[:3])}")
    found = []
    for job in jobs:
        of_task = [other.result for other in jobs if other.result.task == job.result.task]
        label = ", ".join([job.result.encoder, *what_tells_apart(job.result, of_task)])
        found.append(_frontier(job, label, dimensions, resamples))
    return found, left_out


def _frontier(job: StoredJob, label: str, dimensions: Sequence[int], resamples: int) -> Frontier:
    matrix, width = job.embeddings.matrix, int(job.embeddings.matrix.shape[1])
    if wrong := [each for each in dimensions if not 1 <= each <= width]:
        raise SettingsError(f"{job.result.encoder} has {width} dimensions; {wrong[0]} cannot be kept")
    variants: dict[str, tuple[int, str, int]] = {}
    scored: list[Result] = []
    for dimension, precision in product(sorted({width, *(dimensions or halved(width))}, reverse=True), PRECISIONS):
        changed = DerivedEncoder(CachedEncoder("", ""), None if dimension == width else dimension, precision=precision)
        scores = job.score(replace(job.embeddings, matrix=changed.derive(np.asarray(matrix))))
        name = f"{dimension} {precision}"
        variants[name] = (dimension, precision, changed.bytes_per_vector(dimension))
        scored.append(job.scored_again(scores, encoder=name, encoder_identity=name, synthetic=False))
    (column, *_) = compare_results(scored, resamples=resamples).headline_columns()
    points = []
    for name, variant in variants.items():
        found = column.difference(scored[0].encoder, name)
        if found is None:
            raise DataMissingError(f"{job.result.task}: {column.untested}, so that no loss can be tested")
        loss = found.interval
        points.append(FrontierPoint(*variant, column.scores[name].value, loss.estimate, loss.low, loss.high))
    points.sort(key=lambda point: (-point.size, -point.score))
    kept = tuple(replace(point, kept=not any(_beats(other, point) for other in points)) for point in points)
    return Frontier(column.label, label, column.metric, column.unit, column.n_common, kept)


def _beats(one: FrontierPoint, other: FrontierPoint) -> bool:
    """Whether vectors are no larger, score no worse but for rounding, and are better in one of the two."""
    gains = (other.size - one.size, round(one.score - other.score, NOISE_DECIMALS))
    return min(gains) >= 0 and max(gains) > 0
