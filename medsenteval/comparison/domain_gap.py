"""What happens to an encoder between general and biomedical text: each biomedical task beside its general counterparts.

Tasks have different ceilings and different trivial answers, so scores are compared as the share of the way from the best
constant answer (0) to a perfect one (1). The gap is the counterparts' mean share minus the biomedical task's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Final

from medsenteval.contracts import Result
from medsenteval.errors import SettingsError
from medsenteval.running.job_identity import one_for_each_job
from medsenteval.support.grouping import grouped

#: Biomedical task -> its general counterparts: the same kind of question under the same kind of protocol.
COUNTERPARTS: Final[dict[str, tuple[str, ...]]] = {
    "MedNLI": ("SNLI",),
    "RQE": ("MRPC",),
    "PubMed20K": ("TREC",),
    "PICO": ("TREC",),
    "VaccineSA": ("SST5", "MR", "CR"),
    "CitationSA": ("SST5", "MR", "CR"),
    "ClinicalSTS": ("STSBenchmarkCosine", "STS12", "STS13", "STS14", "STS15", "STS16"),
    "BIOSSES": ("STSBenchmarkCosine", "STS12", "STS13", "STS14", "STS15", "STS16"),
}


@dataclass(frozen=True)
class Share:
    """A score as the share of the way from the best constant answer to a perfect one, with its interval."""

    task: str
    metric: str
    score: float
    unit: str
    value: float
    low: float
    high: float
    protocol: str

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class DomainGap:
    """One encoder on one biomedical task and its counterparts; ``gap`` above 0 means that the general tasks go better."""

    encoder: str
    biomedical: Share
    general: tuple[Share, ...]
    gap: float
    low: float
    high: float
    notes: tuple[str, ...]

    @property
    def general_value(self) -> float:
        return fmean(share.value for share in self.general)


def share_of_way(value: float, baseline: float, unit: str) -> float:
    """Return how much of the way from the best constant answer (0) to a perfect one (1) a score has gone."""
    perfect = 100.0 if unit == "percent" else 1.0
    # Where one answer is always right there is no way to go.
    return (value - baseline) / (perfect - baseline) if baseline < perfect else 0.0


def domain_gaps(results: Sequence[Result]) -> list[DomainGap]:
    """Return the gap of every encoder on every biomedical task that has a result and at least one counterpart's."""
    # Scores of probes that saw a part of the training rows belong on learning curves.
    whole = [result for result in one_for_each_job(results)[0] if "draws" not in result.protocol]
    found = grouped(((result.encoder, result.task), result) for result in whole)
    gaps = []
    for encoder, (task, counterparts) in product(dict.fromkeys(name for name, _ in found), COUNTERPARTS.items()):
        ours, *general = [found.get((encoder, name), []) for name in (task, *counterparts)]
        if ours and any(general):
            firsts, several = [each[0] for each in general if each], [each[0] for each in (ours, *general) if len(each) > 1]
            gap = _gap(encoder, ours[0], firsts, counterparts)
            notes = [f"{r.task} under {r.protocol}, {r.probe}, seed {r.seed}, the first of several" for r in several]
            gaps.append(replace(gap, notes=(*gap.notes, *notes)))
    if not gaps:
        wanted = "; ".join(f"{task} - {', '.join(general)}" for task, general in COUNTERPARTS.items())
        raise SettingsError(f"no encoder has results of a biomedical task and of a general counterpart ({wanted})")
    return gaps


def paired_gaps(
    gaps: Sequence[DomainGap], general: str, in_domain: str
) -> list[tuple[DomainGap, DomainGap, tuple[float, float, float]]]:
    """Return for each task the gaps of a general and an in-domain encoder, and what the latter closes, with its interval."""
    known = dict.fromkeys(gap.encoder for gap in gaps)
    for name in (general, in_domain):
        if name not in known:
            raise SettingsError(f"no encoder {name!r} with a domain gap; there are {', '.join(known)}")
    found = {(gap.encoder, gap.biomedical.task): gap for gap in gaps}
    pairs = []
    for task in COUNTERPARTS:
        if (first := found.get((general, task))) and (second := found.get((in_domain, task))):
            half = math.hypot((first.high - first.low) / 2, (second.high - second.low) / 2)
            closed = first.gap - second.gap
            pairs.append((first, second, (closed, closed - half, closed + half)))
    return pairs


def _gap(encoder: str, biomedical: Result, general: Sequence[Result], wanted: Sequence[str]) -> DomainGap:
    ours, *shares = map(_share, (biomedical, *general))
    notes = []
    if missing := [name for name in wanted if name not in {share.task for share in shares}]:
        notes.append(f"without {', '.join(missing)}")
    if len(kinds := {share.protocol.split("-")[0] for share in (*shares, ours)}) > 1:
        notes.append(f"protocols {', '.join(sorted(kinds))}")
    if any(result.synthetic != biomedical.synthetic for result in general):
        notes.append("synthetic beside real data")
    notes += [f"{result.task}: {caution}" for result in (biomedical, *general) for caution in result.cautions]
    gap = fmean(share.value for share in shares) - ours.value
    # Intervals are taken as symmetric, and as independent, for different tasks share no items. The mean of k scores has
    # 1/k of the sum of squares under the root.
    half = math.hypot(ours.half, math.sqrt(sum(share.half**2 for share in shares)) / len(shares))
    return DomainGap(encoder, ours, tuple(shares), gap, gap - half, gap + half, tuple(notes))


def _share(result: Result) -> Share:
    metric = result.metric(result.headline[0])
    value, low, high = (share_of_way(end, metric.baseline, metric.unit) for end in (metric.value, metric.low, metric.high))
    return Share(result.task, metric.name, metric.value, metric.unit, value, low, high, result.protocol)
