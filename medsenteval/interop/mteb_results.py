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

from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.contracts import Result
from medsenteval.errors import DataError
from medsenteval.support.atomic_files import file_name_of, write_atomically

#: The version whose form we write.
_WRITTEN_AS: Final = "2.0.0"

#: Similarities as mteb called them before 1.11, and since.
_OLD_NAMES: Final = {"cos_sim": "cosine", "dot": "dot", "euclidean": "euclidean", "manhattan": "manhattan", "max": "max"}

#: What mteb's loader asks of a model_meta.json and results do not tell.
_UNKNOWN_TO_US: Final = (
    "loader", "release_date", "languages", "n_parameters", "memory_usage_mb", "max_tokens", "license", "open_weights",
    "public_training_code", "public_training_data", "use_instructions", "training_datasets",
)  # fmt: skip

#: Before the names of ours that mteb gives to something else: tasks, and metrics.
_OUR_TASK: Final = "MedSentEval-"
_OUR_METRIC: Final = "medsenteval_"


@dataclass(frozen=True)
class _Counterpart:
    """Our task that asks what one of mteb's asks: the ending of our metrics that mteb means, and how the data differ."""

    task: str
    ending: str = ""
    differs: str = ""


#: mteb's tasks under cosine similarity that we have too.
_COUNTERPARTS: Final = {
    "BIOSSES": _Counterpart(
        "BIOSSES",
        differs="mteb's copy is not the authors' documents: 31,313 characters and a mean rating of 2.196 there, 31,496 and "
        "2.198 here; all-MiniLM-L6-v2 has a Spearman of .8164 there and .8125 here",
    ),
    "STSBenchmark": _Counterpart(
        "STSBenchmarkCosine", differs="mteb has the original sentences, SentEval's copy is lower-cased and tokenised"
    ),
    "SICK-R": _Counterpart("SICKRelatednessCosine"),
    **{f"STS{year}": _Counterpart(f"STS{year}", ending="_pooled") for year in range(12, 17)},
}


#: The names of mteb's tasks by those of ours, and of which of our metrics mteb's are.
_THEIRS: Final = {each.task: (name, each.ending) for name, each in _COUNTERPARTS.items()}


def name_in_mteb(task: str, *, same: bool) -> str:
    """Return the name that a task of ours has in mteb: mteb's own only where the score means the ``same`` there."""
    if same and task in _THEIRS:
        return _THEIRS[task][0]
    return f"{_OUR_TASK}{task}" if task in _COUNTERPARTS else task


def metric_in_mteb(task: str, protocol: str, metric: str) -> str:
    """Return mteb's name of a metric of ours; one that mteb computes otherwise (its F1 is a macro mean) is marked as ours."""
    if metric == "acc":
        return "accuracy"
    _, ending = _THEIRS.get(task, ("", ""))
    if protocol == "cosine" and metric in (f"pearson{ending}", f"spearman{ending}"):
        return f"cosine_{metric.removesuffix(ending)}"
    return f"{_OUR_METRIC}{metric}"


@dataclass(frozen=True)
class MtebScore:
    """One subset of one split of an mteb result: all its numbers, as mteb has them (fractions)."""

    task: str
    model: str
    split: str
    subset: str
    scores: Mapping[str, float]
    mteb_version: str
    dataset_revision: str
    signature: str = ""


def mteb_scores(result: Result) -> dict[str, Any]:
    """Return a result's numbers under mteb's names and in mteb's units, the headline as ``main_score``."""
    scores = {
        metric_in_mteb(result.task, result.protocol, metric.name): metric.value / (100 if metric.unit == "percent" else 1)
        for metric in result.metrics
    }
    # mteb ranks similarity by Spearman.
    first = metric_in_mteb(result.task, result.protocol, result.headline[0])
    return {**scores, "main_score": scores.get("cosine_spearman", scores[first])}


def to_mteb(result: Result) -> dict[str, Any]:
    """Return a result as the content of an mteb result file."""
    data = re.search(r"\|(?:data|synthetic)=(\w+)", result.signature)
    # What mteb computes is by the cosine, of the whole of real data.
    same = result.protocol == "cosine" and not result.synthetic and not result.on_a_part
    # mteb keeps what it does not know: the way back to how the score was made.
    about = {"mteb_version": _WRITTEN_AS, "medsenteval_signature": result.signature}
    return {
        "dataset_revision": data[1] if data else "unknown",
        "task_name": name_in_mteb(result.task, same=same),
        "mteb_version": _WRITTEN_AS,
        "scores": {"test": [{**mteb_scores(result), "hf_subset": "default", "languages": ["eng-Latn"], **about}]},
        "evaluation_time": sum(result.timings.values()),
        "kg_co2_emissions": None,
    }


def export_results(results: Iterable[Result], folder: Path) -> list[Path]:
    """Write results as mteb lays them out: MODEL/REVISION/TASK.json and a model_meta.json beside them.

    mteb has one file for a task: another seed, protocol or option goes to a revision of its own, so that no result replaces
    another but that of the same job.
    """
    written: list[Path] = []
    for result in sorted(results, key=lambda result: (bool(result.on_a_part), result.seed)):
        name, revision = file_name_of(result.encoder), file_name_of(result.encoder_identity or "no-identity")
        content = to_mteb(result)
        model, file = folder / f"medsenteval__{name}", f"{file_name_of(content['task_name'])}.json"
        path, job = model / revision / file, _job(result.signature)
        if path.is_file() and any(_job(score.signature) != job for score in read_mteb_result(path)):
            revision = file_name_of(f"{revision} {job}")
            path = model / revision / file
        path.parent.mkdir(parents=True, exist_ok=True)
        known = {"name": f"medsenteval/{name}", "revision": revision, "embed_dim": result.dimension}
        meta = {**dict.fromkeys(_UNKNOWN_TO_US), "framework": [], "similarity_fn_name": "cosine", **known}
        write_atomically(path.parent / "model_meta.json", json.dumps(meta, indent=2))
        write_atomically(path, json.dumps(content, indent=2, allow_nan=False))
        written.append(path)
    return written


def _job(signature: str) -> str:
    """Return the part of a signature that tells a task's results of one encoder apart."""
    return signature.partition("|encoder=")[0]


def read_mteb_result(path: Path) -> list[MtebScore]:
    """Read a result file of any generation; the folders are named after the model and its revision, as mteb lays them out."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: not an mteb result: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: a JSON {type(content).__name__} where an mteb result is an object")
    name = content.get("task_name") or content.get("mteb_dataset_name")
    if not isinstance(name, str):
        raise DataError(f"{path}: neither task_name nor mteb_dataset_name: not an mteb result")
    model = path.parent.parent.name.replace("__", "/")
    entries = _current_entries(content["scores"], path) if "scores" in content else _old_entries(content)
    data = str(content.get("dataset_revision") or "unknown")
    found = []
    for split, subset, scores in entries:
        version = str(scores.get("mteb_version") or content.get("mteb_version") or "unknown")
        signature = str(scores.get("medsenteval_signature") or "")
        found.append(MtebScore(name, model, split, subset, dict(_flat(scores)), version, data, signature))
    if not found:
        raise DataError(f"{path}: an mteb result without a single score")
    return found


def _current_entries(scores: Any, path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if not isinstance(scores, dict) or not all(
        isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries) for entries in scores.values()
    ):
        raise DataError(f"{path}: 'scores' is not {{split: [subset, ...]}}")
    for split, entries in scores.items():
        yield from ((split, str(entry.get("hf_subset", "default")), entry) for entry in entries)


def _old_entries(content: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the subsets of a file from before 1.11, in which every further key with an object is a split."""
    for split, scores in content.items():
        if isinstance(scores, dict):
            subsets = {key: value for key, value in scores.items() if isinstance(value, dict) and key not in _OLD_NAMES}
            yield from ((split, subset, inner) for subset, inner in (subsets or {"default": scores}).items())


def _flat(scores: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield all numbers, those one or two levels deep under joined names, old names of similarities as the new ones."""
    for key, value in scores.items():
        if isinstance(value, Mapping) and prefix.count("_") < 2:
            yield from _flat(value, f"{prefix}{_OLD_NAMES.get(key, key)}_")
        elif (number := _number(value)) is not None and key not in ("evaluation_time", "main_score"):
            yield prefix + key, number


def _number(value: Any) -> float | None:
    # Text that says NaN is no JSON, yet Python reads it; a whole number may be too large for a float.
    return float(value) if type(value) in (int, float) and abs(value) < 1e300 else None


def read_mteb_folder(folder: Path) -> list[PublishedNumber]:
    """Read all result files below a folder as numbers to stand beside ours; tasks that share our data get our names."""
    files = [path for path in sorted(folder.rglob("*.json")) if path.name != "model_meta.json" and path.name[0] != "."]
    return [number for path in files for score in read_mteb_result(path) for number in _as_published(score, path)]


def _as_published(score: MtebScore, path: Path) -> Iterator[PublishedNumber]:
    same = _COUNTERPARTS.get(score.task) or _Counterpart(score.task.removeprefix(_OUR_TASK))
    ours = {
        **{f"cosine_{kind}": kind + same.ending for kind in ("pearson", "spearman")},
        **{_OUR_METRIC + name: name for name in ("f1", "pearson", "spearman")},
        "accuracy": "acc",
        "f1": "f1_macro",
    }
    for name, value in score.scores.items():
        if (metric := ours.get(name)) is None:
            continue
        percent = metric in ("acc", "f1", "f1_macro")
        yield PublishedNumber(
            table="mteb",
            encoder=score.model,
            task=same.task,
            metric=metric,
            value=100 * value if percent else value,
            printed=f"{value:g}",
            unit="percent" if percent else "fraction",
            protocol="cosine" if name.startswith("cosine_") else "" if score.signature else "mteb",
            how="a score of this toolkit's" if score.signature else "mteb's own protocol",
            source=f"{path.name}, mteb {score.mteb_version}",
            setting=", ".join(part for part in (score.split, score.subset) if part != "default"),
            differs="" if score.signature else same.differs,
        )
