"""Stored results as jobs that can be scored again: each with its task, data and settings, and its vectors from the cache."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Result, Scores, Task
from medsenteval.datasets.locate import load_dataset
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import cached_embeddings
from medsenteval.encoders.derived import derived_from_cache
from medsenteval.engine import signature_of
from medsenteval.errors import MedSentEvalError, SettingsError, UnknownNameError
from medsenteval.running.job_identity import comparability
from medsenteval.settings import PROBES, Settings
from medsenteval.tasks.reading.column_roles import COLUMN_ROLES

#: Families whose scores depend on nothing but one vector for each text.
_FAMILIES = ("classification", "pair classification", "probing", "similarity", "relatedness")


@dataclass(frozen=True, eq=False)
class StoredJob:
    """A stored result with all that its score was made from."""

    result: Result
    task: Task
    dataset: Dataset
    settings: Settings
    embeddings: Embeddings

    def score(self, embeddings: Embeddings, settings: Settings | None = None) -> Scores:
        """Score other vectors of the same texts, or the same under other settings."""
        return self.task.evaluate(self.task, self.dataset, embeddings, settings or self.settings)

    def scored_again(self, scores: Scores, **changes: Any) -> Result:
        """Return the result with other scores, without the notes on the first ones."""
        items, details = dict(scores.items), dict(scores.details)
        return replace(self.result, metrics=scores.metrics, items=items, details=details, notes=(), **changes)


def read_again(result: Result, root: Path) -> tuple[Task, Dataset, Settings] | str:
    """Return the task of a result, its data as the run read it and the run's settings, or the reason why they cannot be had.

    The data must be the same to the last byte: an id of other data may mean another text.
    """
    parts = dict(part.split("=", 1) for part in result.signature.partition("|encoder=")[0].split("|") if "=" in part)
    try:
        task = _task_of(result, parts, root)
        settings = _settings_of(result, task, parts)
        dataset = load_dataset(task, root, settings)
    except UnknownNameError:
        return "its texts are not in the data folder"
    except MedSentEvalError as error:
        return f"the data cannot be read: {error}"
    if parts.get("synthetic" if dataset.synthetic else "data") != dataset.fingerprint[:12]:
        return f"the data in {root.name} is not that of the run"
    return task, dataset, settings


def _task_of(result: Result, parts: Mapping[str, str], root: Path) -> Task:
    """Return the task of a result; a user's own file is read again if it is in the data folder."""
    kind, _, name = result.task.partition(":")
    # A result may be a stranger's: its task names no file outside of the data folder.
    if kind == "file" and not PurePath(name).is_absolute() and ".." not in PurePath(name).parts and (root / name).exists():
        columns = {role: parts[role].replace("%7C", "|").replace("%25", "%") for role in COLUMN_ROLES if role in parts}
        protocol = result.protocol.partition("-")[0]
        return registry.own_task(root / name, **columns, **({"protocol": protocol} if result.probe != "none" else {}))
    return registry.task(registry.canonical_task_name(result.task))


def _settings_of(result: Result, task: Task, parts: Mapping[str, str]) -> Settings:
    """Read settings off a result; ``_reopen`` checks that they give its signature."""
    found: dict[str, Any] = {"seed": result.seed, "allow_incomplete": True}
    found["task_options"] = {task.name: {name: parts[name] for name in task.options if name in parts}}
    if "limit" in parts:
        if not re.fullmatch(r"[0-9]{1,15}", parts["limit"]):
            raise SettingsError(f"its signature names the limit {parts['limit'][:40]!r}, which is no number of rows")
        found["limit"] = int(parts["limit"])
    if result.probe in PROBES:
        found["probe"] = result.probe
        found["grid"] = "wide" if "-wide-grid" in result.protocol else "senteval"
        found["grouped"] = "-grouped-by-" in result.protocol
        if folds := re.match(r"(?:kfold|nested)-([0-9]{1,9})", result.protocol):
            found["folds"] = int(folds[1])
    return Settings(**found)


def reopen(results: Sequence[Result], root: Path, cache: EmbeddingCache) -> tuple[list[StoredJob], list[str]]:
    """Return results with their data and vectors, and of each that cannot be scored again from the cache the reason why."""
    read: dict[str, tuple[Task, Dataset, Settings] | str] = {}
    jobs, left_out = [], []
    for result in results:
        how = result.signature.partition("|encoder=")[0]
        if how not in read:
            read[how] = read_again(result, root)
        found = _reopen(result, read[how], cache)
        if isinstance(found, str):
            left_out.append(f"{result.encoder}, {result.task}: {found}")
        else:
            jobs.append(found)
    return jobs, left_out


def _reopen(result: Result, again: tuple[Task, Dataset, Settings] | str, cache: EmbeddingCache) -> StoredJob | str:
    if not result.encoder_identity:
        return "the encoder has no identity, so that none of its vectors are cached"
    if isinstance(again, str):
        return again
    task, dataset, settings = again
    if task.family not in _FAMILIES:
        return f"tasks of the family {task.family!r} are not scored from one vector for each text"
    texts = list(dataset.all_texts())
    # Vectors under the whole identity are the encoder's own, though its name end as those of derived ones do ("mini-int8").
    whole = cached_embeddings(cache, result.encoder_identity, texts)
    encoder = derived_from_cache(result.encoder, result.encoder_identity)
    if not result.signature.startswith(signature_of(task, dataset, encoder, settings).partition("|encoder=")[0] + "|"):
        return f"it was scored in a way that its file does not tell ({comparability(result)})"
    if whole is not None:
        return StoredJob(result, task, dataset, settings, whole)
    stored = cached_embeddings(cache, encoder.source.identity, texts)
    if stored is None:
        return "not all of its vectors are in the cache (another cache folder, pruned, or a prompt for each role)"
    return StoredJob(result, task, dataset, settings, replace(stored, matrix=encoder.derive(stored.matrix)))
