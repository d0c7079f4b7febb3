"""mteb's result files, written and read without mteb, in every form that they have had.

before 1.11       the scores of a split at the top level, similarities nested ("cos_sim": {"spearman": ...}), subsets perhaps
1.11 to 1.12.47   "scores": {split: [{"hf_subset", "languages", "main_score", ...}]}, pair classification still nested
from 1.12.48      the same, flat
2.x               each subset with its own "mteb_version"; "date" and "evaluation_phases" may follow
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError
from medsenteval.published.numbers import PublishedNumber
from medsenteval.results import Result
from medsenteval.writing import write_atomically

__all__ = ["METRIC_NAMES", "MtebScore", "export_results", "mteb_scores", "read_mteb_folder", "read_mteb_result", "to_mteb"]

#: The version whose form we write.
_WRITTEN_AS: Final = "2.0.0"

#: Our metrics and mteb's names for them; mteb counts accuracy and F1 from 0 to 1.
METRIC_NAMES: Final = {"acc": "accuracy", "f1": "f1", "pearson": "cosine_pearson", "spearman": "cosine_spearman"}

#: Similarities as mteb called them before 1.11, and since.
_OLD_NAMES: Final = {"cos_sim": "cosine", "dot": "dot", "euclidean": "euclidean", "manhattan": "manhattan", "max": "max"}

#: mteb's tasks on data that we have too, with our name; its scores are of its own protocols.
_SAME_DATA: Final = {
    "BIOSSES": "BIOSSES",
    "STSBenchmark": "STSBenchmarkCosine",
    "SICK-R": "SICKRelatedness",
    **{f"STS{year}": f"STS{year}" for year in range(12, 17)},
}


@dataclass(frozen=True)
class MtebScore:
    """One subset of one split of an mteb result: all its numbers, as mteb has them (fractions)."""

    task: str
    model: str
    revision: str
    split: str
    subset: str
    main_score: float | None
    scores: Mapping[str, float]
    mteb_version: str
    dataset_revision: str


def mteb_scores(result: Result) -> dict[str, Any]:
    """Return a result's numbers under mteb's names and in mteb's units, the headline as ``main_score``."""
    scores: dict[str, Any] = {}
    for metric in result.metrics:
        value = metric.value / 100 if metric.unit == "percent" else metric.value
        scores[METRIC_NAMES.get(metric.name, metric.name)] = value
    # mteb ranks similarity by Spearman.
    names = [METRIC_NAMES.get(name, name) for name in result.headline]
    main = "cosine_spearman" if "cosine_spearman" in names else names[0]
    return {**scores, "main_score": scores[main]}


def to_mteb(result: Result) -> dict[str, Any]:
    """Return a result as the content of an mteb result file."""
    data = re.search(r"\|(?:data|synthetic)=(\w+)", result.signature)
    scores = {
        **mteb_scores(result),
        "hf_subset": "default",
        "languages": ["eng-Latn"],
        "mteb_version": _WRITTEN_AS,
        # mteb keeps what it does not know: the way back to how the score was made.
        "medsenteval_signature": result.signature,
    }
    return {
        "dataset_revision": data[1] if data else "unknown",
        "task_name": result.task,
        "mteb_version": _WRITTEN_AS,
        "scores": {"test": [scores]},
        "evaluation_time": sum(result.timings.values()),
        "kg_co2_emissions": None,
    }


def export_results(results: Iterable[Result], folder: Path) -> list[Path]:
    """Write results as mteb lays them out: MODEL/REVISION/TASK.json and a model_meta.json beside them."""
    written = []
    for result in results:
        name = f"medsenteval__{_safe(result.encoder)}"
        # An identity is too long for a folder's name; its hash is in our own store's names, its start suffices here.
        revision = _safe(result.encoder_identity)[:60] or "no-identity"
        place = folder / name / revision
        place.mkdir(parents=True, exist_ok=True)
        meta = {"name": f"medsenteval/{_safe(result.encoder)}", "revision": revision, "embed_dim": result.dimension}
        write_atomically(place / "model_meta.json", json.dumps(meta, indent=2))
        write_atomically(place / f"{result.task}.json", json.dumps(to_mteb(result), indent=2, allow_nan=False))
        written.append(place / f"{result.task}.json")
    return written


def _safe(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text).strip("._")


def read_mteb_result(path: Path) -> list[MtebScore]:
    """Read a result file of any generation; the folders are named after the model and its revision, as mteb lays them out."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: not an mteb result: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: a JSON {type(content).__name__} where an mteb result is an object")
    name = content.get("task_name") or content.get("mteb_dataset_name")
    if not isinstance(name, str):
        raise DataError(f"{path}: neither task_name nor mteb_dataset_name: not an mteb result")
    model, revision = path.parent.parent.name.replace("__", "/"), path.parent.name
    entries = _current_entries(content["scores"], path) if "scores" in content else _old_entries(content)
    found = [
        MtebScore(
            task=name,
            model=model,
            revision=revision,
            split=split,
            subset=subset,
            main_score=_number(scores.get("main_score")),
            scores=dict(_flat(scores)),
            mteb_version=str(scores.get("mteb_version") or content.get("mteb_version") or "unknown"),
            dataset_revision=str(content.get("dataset_revision") or "unknown"),
        )
        for split, subset, scores in entries
    ]
    if not found:
        raise DataError(f"{path}: an mteb result without a single score")
    return found


def _current_entries(scores: Any, path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if not isinstance(scores, dict) or not all(isinstance(entries, list) for entries in scores.values()):
        raise DataError(f"{path}: 'scores' is not {{split: [subset, ...]}}")
    for split, entries in scores.items():
        for entry in entries:
            yield split, str(entry.get("hf_subset", "default")), entry


def _old_entries(content: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the subsets of a file from before 1.11, in which every further key with an object is a split."""
    for split, scores in content.items():
        if not isinstance(scores, dict):
            continue
        subsets = {key: value for key, value in scores.items() if isinstance(value, dict) and key not in _OLD_NAMES}
        for subset, inner in (subsets or {"default": scores}).items():
            yield split, subset, inner


def _flat(scores: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield all numbers, nested ones under joined names, old names of similarities as the new ones."""
    for key, value in scores.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{_OLD_NAMES.get(key, key)}_")
        elif (number := _number(value)) is not None and key not in ("evaluation_time", "main_score"):
            yield prefix + key, number


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_mteb_folder(folder: Path) -> list[PublishedNumber]:
    """Read all result files below a folder as numbers to stand beside ours; tasks that share our data get our names."""
    numbers: list[PublishedNumber] = []
    for path in sorted(folder.rglob("*.json")):
        if path.name == "model_meta.json" or path.name.startswith("."):
            continue
        for score in read_mteb_result(path):
            numbers.extend(_as_published(score, path))
    return numbers


def _as_published(score: MtebScore, path: Path) -> Iterator[PublishedNumber]:
    ours = {theirs: name for name, theirs in METRIC_NAMES.items()}
    pooled = re.fullmatch(r"STS1[2-6]", score.task) is not None
    for name, value in score.scores.items():
        if name not in ours:
            continue
        metric = ours[name] + ("_pooled" if pooled and name.startswith("cosine_") else "")
        percent = metric in ("acc", "f1")
        yield PublishedNumber(
            table="mteb",
            encoder=score.model,
            task=_SAME_DATA.get(score.task, score.task),
            metric=metric,
            value=100 * value if percent else value,
            printed=f"{value:g}",
            unit="percent" if percent else "fraction",
            protocol="cosine" if name.startswith("cosine_") else "mteb",
            how="mteb's own protocol",
            source=f"{path.name}, mteb {score.mteb_version}",
            setting=", ".join(part for part in (score.split, score.subset) if part != "default"),
            note=f"data revision {score.dataset_revision[:12]}",
        )
