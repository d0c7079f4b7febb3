"""A finished score with everything needed to trust or repeat it, and its place on disk."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from medsenteval import __version__
from medsenteval.contracts import Dataset, Metric, Scores, Task
from medsenteval.errors import DataError
from medsenteval.settings import Settings

__all__ = ["SCHEMA", "Result", "load_results", "make_result", "save_result"]

#: Raised whenever the meaning of a stored field changes.
SCHEMA: Final = 1


@dataclass(frozen=True, eq=False)
class Result:
    """One encoder on one task: scores at full precision, per-item predictions, provenance.

    ``signature`` is one line that holds everything that can move the score; two results are comparable when theirs differ
    only in the encoder. ``headline`` names the metrics that the paper's table shows.
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
    signature: str
    synthetic: bool
    notes: tuple[str, ...]
    rejected: tuple[str, ...]
    files: tuple[str, ...]
    label_names: tuple[str, ...]
    coverage: Mapping[str, float]
    timings: Mapping[str, float]
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
        return cls(**fields)


def make_result(
    task: Task,
    dataset: Dataset,
    scores: Scores,
    settings: Settings,
    *,
    encoder: str,
    identity: str,
    dimension: int,
    coverage: Mapping[str, float],
    timings: Mapping[str, float],
) -> Result:
    """Join scores with where they came from."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    versions = {"medsenteval": __version__, **libraries, "python": platform.python_version()}
    return Result(
        task=task.name,
        encoder=encoder,
        encoder_identity=identity,
        dimension=dimension,
        metrics=scores.metrics,
        headline=task.metrics,
        n_train=scores.n_train,
        n_test=scores.n_test,
        protocol=scores.protocol,
        probe=scores.probe,
        signature=_signature(task, dataset, scores, settings, identity or f"{encoder} (no identity)", versions),
        synthetic=dataset.synthetic,
        notes=dataset.notes,
        rejected=tuple(map(str, dataset.rejected)),
        files=dataset.files,
        label_names=dataset.label_names,
        coverage=coverage,
        timings=timings,
        versions=versions,
        items=scores.items,
        details=scores.details,
        senteval=scores.senteval,
    )


def _signature(
    task: Task, dataset: Dataset, scores: Scores, settings: Settings, encoder: str, versions: Mapping[str, str]
) -> str:
    tolerance = scores.details.get("fits", {}).get("tolerance")
    training = ",".join(f"{key}={value}" for key, value in sorted(settings.training.items()))
    parts = [
        f"{task.name}@{task.version}",
        *(f"{name}={value}" for name, value in sorted(dataset.options.items())),
        scores.protocol,
        scores.probe + (f"(tol={tolerance:g})" if tolerance else "") + (f"({training})" if training else ""),
        f"seed={settings.seed}",
        *([f"limit={settings.limit}"] if settings.limit else []),
        f"{'synthetic' if dataset.synthetic else 'data'}={dataset.fingerprint[:12]}",
        f"encoder={encoder}",
        ",".join(f"{name}={number}" for name, number in versions.items() if name != "python"),
    ]
    return "|".join(parts)


def result_path(folder: Path, result: Result) -> Path:
    """Return where a result belongs: a folder an encoder, a file a task and signature."""
    encoder = re.sub(r"[^\w.-]+", "_", result.encoder).strip("._") or "encoder"
    key = hashlib.sha256(result.signature.encode()).hexdigest()[:8]
    return folder / encoder / f"{result.task}.{key}.json"


def save_result(folder: Path, result: Result) -> Path:
    """Write a result under a temporary name, flush it and rename it, so that no reader ever sees half of it."""
    path = result_path(folder, result)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(prefix=".writing-", suffix=".json", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(result.to_json(), stream, ensure_ascii=False, indent=1, allow_nan=False)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
    return path


def load_results(folder: Path) -> list[Result]:
    """Read every result below a folder, in order of path."""
    results = []
    for path in sorted(folder.rglob("*.json")):
        if path.name.startswith("."):
            continue
        try:
            results.append(Result.from_json(json.loads(path.read_text("utf-8"))))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path}: not a result of this toolkit: {error}") from error
    return results
