"""Does the ranking survive? Scores again, from cached vectors alone, as others would prepare and test the same vectors.

A conclusion is that one encoder is significantly better than another on a task. Under each check it holds (still significant),
is open (no longer significant, but as large a lead as before is within the interval), or is gone (the interval excludes it).
Mu and Viswanath 2018 (ICLR) remove one direction for each hundred dimensions; Su et al. 2021 (arXiv:2103.15316) whiten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import numpy as np

from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.significance import Column
from medsenteval.contracts import Result, Scores
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import DataMissingError, SettingsError
from medsenteval.running.job_identity import comparability, one_for_each_job
from medsenteval.running.rescoring import StoredJob, reopen
from medsenteval.support.arrays import Floats, Singles
from medsenteval.tasks.classification import evaluate_neighbours

#: Whitening with fewer texts than this for each dimension makes directions of noise as long as all others.
TEXTS_PER_DIMENSION: Final = 5
#: Directions with a smaller share of the largest variance are rounding.
_LEAST: Final = 1e-10


Outcome = Literal["holds", "open", "gone", ""]

#: What is done to the vectors or to the protocol, in the order of the table.
CHECKS: Final = (
    "unit length", "centred", "whitened", "no top directions", "projected", "nearest neighbours", "grouped folds", "other seed",
)  # fmt: skip

_RESAMPLES: Final = 2_000
#: Fits stop at ten times the gradient of a run's, in half of its time; at most one or two predictions of a thousand differ.
_TOLERANCE: Final = 1e-3


@dataclass(frozen=True)
class Conclusion:
    """One encoder's significant lead over another on a task, and what became of it under each check; "" where none applies."""

    task: str
    metric: str
    unit: str
    winner: str
    loser: str
    lead: float
    outcomes: Mapping[str, Outcome]
    leads: Mapping[str, float]

    @property
    def gone(self) -> tuple[str, ...]:
        return tuple(check for check, outcome in self.outcomes.items() if outcome == "gone")

    @property
    def holds(self) -> bool:
        return all(outcome in ("holds", "") for outcome in self.outcomes.values())


@dataclass(frozen=True)
class Audit:
    """All conclusions with what became of them, the encoders, and what could not be audited.

    ``encoders`` have their sizes and the share of their vectors' variance in the first direction, the mean over their tasks.
    """

    encoders: Mapping[str, tuple[int, float]]
    conclusions: tuple[Conclusion, ...]
    left_out: tuple[str, ...]
    projected_to: int


def audit_results(
    results: Sequence[Result], root: Path, *, level: float = 0.05, announce: Callable[[str], object] = lambda message: None
) -> Audit:
    """Score stored results again under every check that applies to their task; no encoder is called."""
    chosen, notes = one_for_each_job(results)
    first_seed = {comparability(each): each.seed for each in sorted(chosen, key=lambda each: -each.seed)}
    chosen = [each for each in chosen if each.seed == first_seed[comparability(each)]]
    jobs, left_out = reopen(chosen, root, EmbeddingCache())
    if any(job.dataset.synthetic for job in jobs):
        raise SettingsError(
            "an audit asks whether a ranking survives, and synthetic data ranks nobody; name results on real data"
        )
    n_encoders = len({job.result.encoder for job in jobs})
    if n_encoders < 2:
        why = f": {'; '.join(left_out[:3])}" if left_out else ""
        raise DataMissingError(f"an audit needs two encoders whose vectors are in the cache{why}")
    # Corrections multiply the smallest p value, one in so many resamples, by the number of pairs.
    compare = partial(compare_results, level=level, resamples=max(_RESAMPLES, 50 * n_encoders * (n_encoders - 1)))
    dimension = min(job.embeddings.matrix.shape[1] for job in jobs)
    scored: dict[str, list[Result]] = {check: [] for check in CHECKS}
    shares: dict[str, list[float]] = {}
    for number, job in enumerate(jobs, start=1):
        announce(f"{number} of {len(jobs)}: {job.result.task}, {job.result.encoder}")
        axes = principal_axes(np.asarray(job.embeddings.matrix))
        variances = axes[1]
        # 1 / dimension where all directions have the same variance, 1 where one has all, 0 where there is none.
        shares.setdefault(job.result.encoder, []).append(variances[0] / max(variances.sum(), np.finfo(float).tiny))
        for check, scores in check_job(job, axes, dimension):
            scored[check].append(replace(job.result, notes=()) if scores is None else job.scored_again(scores))
    plain = compare([job.result for job in jobs])
    compared = {check: compare(found).headline_columns() for check, found in scored.items() if found}
    columns = {check: {column.key: column for column in found} for check, found in compared.items()}
    conclusions = [
        _conclusion(column, winner, loser, {check: found.get(column.key) for check, found in columns.items()}, level)
        for column in plain.headline_columns()
        for winner in column.tested
        for loser in column.beaten_by(winner, level)
    ]
    encoders = {name: (plain.sizes[name], float(np.mean(found))) for name, found in shares.items()}
    return Audit(encoders, tuple(conclusions), (*notes, *left_out), dimension)


def principal_axes(vectors: Singles) -> tuple[Floats, Floats, Floats]:
    """Return the centred vectors, the variances along their principal directions, the largest first, and the directions."""
    centred: Floats = vectors - vectors.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh((centred.T @ centred) / len(centred))
    return centred, np.maximum(variances[::-1], 0.0), directions[:, ::-1]


def changed_vectors(
    vectors: Singles, axes: tuple[Floats, Floats, Floats], dimension: int
) -> Iterator[tuple[str, Floats | Singles]]:
    """Yield what the first five checks make of vectors: the very same ones where there is nothing to change."""
    centred, variances, directions = axes
    width = vectors.shape[1]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    yield "unit length", vectors if np.abs(norms - 1).max() < 1e-6 else vectors / np.where(norms > 0, norms, 1)
    yield "centred", centred
    if len(vectors) >= TEXTS_PER_DIMENSION * width:
        kept = variances > _LEAST * variances[0]
        yield "whitened", centred @ (directions[:, kept] / np.sqrt(variances[kept]))
    top = directions[:, : max(1, round(width / 100))]
    yield "no top directions", centred - (centred @ top) @ top.T
    yield "projected", vectors if dimension >= width else centred @ directions[:, :dimension]


def check_job(job: StoredJob, axes: tuple[Floats, Floats, Floats], dimension: int) -> list[tuple[str, Scores | None]]:
    """Return the scores under every check that can be made of a job; None for those that it has already."""
    task, settings, vectors = job.task, job.settings, np.asarray(job.embeddings.matrix)
    if settings.probe == "exact":
        settings = settings.with_changes(tolerance=_TOLERANCE)
    # The cosine does not see lengths; the intercept of a probe, which has no penalty, makes up for any mean.
    pairs = any(split.texts2 for split in job.dataset.splits.values())
    unseen = ""
    if not task.uses_probe:
        unseen = "unit length"
    elif settings.probe == "exact" and not pairs:
        unseen = "centred"
    found: list[tuple[str, Scores | None]] = []
    for check, changed in changed_vectors(vectors, axes, dimension):
        if check != unseen:
            matrix = np.ascontiguousarray(changed, dtype=np.float32)
            found.append((check, None if changed is vectors else job.score(replace(job.embeddings, matrix=matrix), settings)))
    if task.uses_probe and task.protocol in ("split", "kfold", "nested"):
        found.append(("nearest neighbours", evaluate_neighbours(task, job.dataset, job.embeddings, settings)))
    groups = [split.groups for split in job.dataset.splits.values()]
    if task.protocol in ("kfold", "nested") and all(groups) and not settings.grouped:
        found.append(("grouped folds", job.score(job.embeddings, settings.with_changes(grouped=True))))
    if task.protocol in ("kfold", "relatedness"):
        found.append(("other seed", job.score(job.embeddings, settings.with_changes(seed=settings.seed + 1))))
    return found


def _conclusion(column: Column, winner: str, loser: str, checks: Mapping[str, Column | None], level: float) -> Conclusion:
    before = column.difference(winner, loser)
    assert before is not None
    lead = before.interval.estimate
    outcomes: dict[str, Outcome] = dict.fromkeys(checks, "")
    leads = {}
    for check, other in checks.items():
        if other is None or (after := other.difference(winner, loser)) is None:
            continue
        leads[check] = after.interval.estimate
        # A lead at least as large as before is still possible where the interval reaches it.
        still = loser in other.beaten_by(winner, level)
        outcomes[check] = "holds" if still else "open" if after.interval.high >= lead else "gone"
    return Conclusion(column.label, column.metric, column.unit, winner, loser, lead, outcomes, leads)
