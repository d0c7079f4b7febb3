"""A finished score with everything needed to trust or repeat it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Final

from medsenteval import __version__
from medsenteval.contracts import Dataset, Encoder, Metric, Scores, Task
from medsenteval.errors import DataError
from medsenteval.probes import describe_probe
from medsenteval.settings import Settings

__all__ = ["SCHEMA", "Result", "make_result", "signature_of"]

#: Raised whenever the meaning of a stored field changes.
SCHEMA: Final = 1


@dataclass(frozen=True, eq=False)
class Result:
    """One encoder on one task: scores at full precision, per-item predictions, provenance.

    ``signature`` is one line that holds everything that can move the score; two results are comparable when theirs differ
    only in the encoder. ``headline`` names the metrics that the paper's table shows. ``timings`` are seconds for each phase;
    ``performance`` says how many texts were encoded in them and the peak memory of the process.
    """

    task: str
    encoder: str
    encoder_identity: str
    dimension: int
    metrics: tuple[Metric, ...]
    headline: tuple[str, ...]
    n_train: int
    n_test: int
    protocol: str
    probe: str
    seed: int
    signature: str
    synthetic: bool
    notes: tuple[str, ...]
    rejected: tuple[str, ...]
    files: tuple[str, ...]
    label_names: tuple[str, ...]
    coverage: Mapping[str, float]
    timings: Mapping[str, float]
    performance: Mapping[str, float]
    versions: Mapping[str, str]
    items: Mapping[str, Any]
    details: Mapping[str, Any]
    senteval: Mapping[str, Any]

    def metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Result:
        if stored.get("schema") != SCHEMA:
            raise DataError(f"a result of schema {stored.get('schema')!r}; this version reads schema {SCHEMA}")
        fields = {key: value for key, value in stored.items() if key != "schema"}
        fields["metrics"] = tuple(Metric(**metric) for metric in fields["metrics"])
        for name in ("headline", "notes", "rejected", "files", "label_names"):
            fields[name] = tuple(fields[name])
        result = cls(**fields)
        _check_types(result)
        return result


def _check_types(result: Result) -> None:
    """Refuse a stored result whose fields are not what tables and comparisons count on."""
    for metric in result.metrics:
        numbers = (metric.value, metric.low, metric.high, metric.baseline, metric.n)
        if not all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in numbers):
            raise ValueError(f"the metric {metric.name!r} holds something other than numbers")
        if not isinstance(metric.name, str) or metric.unit not in ("percent", "fraction"):
            raise ValueError(f"no metric of this toolkit: {metric.name!r} in {metric.unit!r}")
    texts = (result.task, result.encoder, result.encoder_identity, result.protocol, result.probe, result.signature)
    if not all(isinstance(text, str) for text in texts) or not set(result.headline) <= {
        metric.name for metric in result.metrics
    }:
        raise ValueError("its names are not texts, or its headline names a metric that it does not hold")
    if not all(isinstance(number, int) for number in (result.dimension, result.n_train, result.n_test, result.seed)):
        raise ValueError("its counts are not whole numbers")


def _versions() -> dict[str, str]:
    return {"medsenteval": __version__, **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")}}


def _probe_name(task: Task, settings: Settings) -> str:
    if not task.uses_probe:
        return "none"
    # mteb's few-shot protocol brings its own logistic regression, whatever probe is set.
    return "mteb" if settings.few_shot == "mteb" else settings.probe


def signature_of(task: Task, dataset: Dataset, encoder: Encoder, settings: Settings) -> str:
    """Return the signature that a result will have; it is known before anything is encoded."""
    trained = _probe_name(task, settings) != "none"
    parts = [
        f"{task.name}@{task.version}",
        *(f"{name}={value}" for name, value in sorted(dataset.options.items())),
        task.protocol_under(settings),
        describe_probe(settings, task.training, len(dataset)) if trained else "none",
        f"seed={settings.seed}",
        *([f"limit={settings.limit}"] if settings.limit else []),
        f"{'synthetic' if dataset.synthetic else 'data'}={dataset.fingerprint[:12]}",
        f"encoder={encoder.identity or f'{encoder.name} (no identity)'}",
        ",".join(f"{name}={number}" for name, number in _versions().items()),
    ]
    return "|".join(parts)


def make_result(
    task: Task,
    dataset: Dataset,
    scores: Scores,
    settings: Settings,
    encoder: Encoder,
    *,
    dimension: int,
    coverage: Mapping[str, float],
    timings: Mapping[str, float],
    performance: Mapping[str, float],
) -> Result:
    """Join scores with where they came from."""
    return Result(
        task=task.name,
        encoder=encoder.name,
        encoder_identity=encoder.identity,
        dimension=dimension,
        metrics=scores.metrics,
        headline=task.metrics,
        n_train=scores.n_train,
        n_test=scores.n_test,
        protocol=task.protocol_under(settings),
        probe=_probe_name(task, settings),
        seed=settings.seed,
        signature=signature_of(task, dataset, encoder, settings),
        synthetic=dataset.synthetic,
        notes=(*dataset.notes, *scores.notes),
        rejected=tuple(map(str, dataset.rejected)),
        files=dataset.files,
        label_names=dataset.label_names,
        coverage=coverage,
        timings=timings,
        performance=performance,
        versions={**_versions(), "python": platform.python_version()},
        items=scores.items,
        details=scores.details,
        senteval=scores.senteval,
    )
