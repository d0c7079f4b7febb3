"""Tasks of mteb's, run by mteb's own code with our encoders: ``run -t mteb:NFCorpus`` (extra ``mteb``).

Retrieval and reranking keep the score of every query, and similarity tasks the cosine of every pair, so that intervals and
paired tests are those of our own tasks. Of other kinds mteb gives no answers item by item: their score stands alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Encoder, Metric, Scores, Split, Task
from medsenteval.encoders.mteb_model import import_mteb
from medsenteval.errors import DataError, DataMissingError, UnknownNameError
from medsenteval.interop.mteb import as_mteb_model
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import Means, WeightedScore, bootstrap, correlations, mean_share_interval, share_interval

#: mteb's name of a score of a whole task -> pytrec_eval's name of it for one query.
_PER_QUERY: Final = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P", "hit_rate": "success"}


@dataclass(frozen=True, eq=False)
class MtebDataset(Dataset):
    """The data of a task of mteb's; ``encoder`` is whom it is asked, filled in by ``for_encoder``."""

    inner: Any = None
    encoder: Encoder | None = None

    def for_encoder(self, encoder: Encoder) -> MtebDataset:
        return replace(self, encoder=encoder)

    @cached_property
    def fingerprint(self) -> str:
        source = self.inner.metadata.dataset
        described = [self.inner.metadata.name, source.get("path"), source.get("revision"), super().fingerprint]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def mteb_task(name: str) -> Task:
    """Return the task that mteb has under this name."""
    mteb = import_mteb()
    try:
        return as_task(mteb.get_task(name))
    except KeyError as error:
        raise UnknownNameError(f"mteb has no task {name!r}: {error.args[0] if error.args else error}") from error


def as_task(inner: Any) -> Task:
    """Return an mteb task as one of ours, scored by mteb."""
    about = inner.metadata

    def read(folder: Path, options: Mapping[str, str]) -> Dataset:
        try:
            inner.load_data()
        except (OSError, ValueError) as error:
            raise DataMissingError(f"mteb:{about.name}: mteb cannot load the data: {error}") from error
        texts = tuple(dict.fromkeys(_texts(inner)))
        if not texts:
            raise DataError(f"mteb:{about.name}: no text was found in its data; is it a task on images or sound?")
        split = Split(ids=tuple(map(str, range(len(texts)))), texts=texts)
        return MtebDataset(name=f"mteb:{about.name}", splits={"test": split}, inner=inner)

    return Task(
        name=f"mteb:{about.name}",
        version="1",
        family=f"mteb {about.type}",
        protocol="mteb",
        uses_probe=False,
        # Correlations of cosines are what our similarity tasks are scored by.
        metrics=(about.main_score.removeprefix("cosine_"),),
        folders=(),
        read=read,
        evaluate=_evaluate,
        citation=str(about.bibtex_citation or about.reference or ""),
        licence=str(about.license or "not stated"),
        access="unknown",
        obtain="mteb downloads it; `pip install 'medsenteval[mteb]'`",
    )


def _parts(inner: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield (subset, split, data) of what mteb evaluates."""
    for subset in inner.hf_subsets:
        for split in inner.eval_splits:
            data = inner.dataset.get(subset, inner.dataset)
            if split in data:
                yield subset, split, data[split]


def _texts(inner: Any) -> Iterator[str]:
    """Yield the texts that are asked about: queries, or every column of texts; mteb encodes the rest itself."""
    for _, _, data in _parts(inner):
        rows = data["queries"] if isinstance(data, Mapping) and "queries" in data else data
        for name in getattr(rows, "column_names", ()):
            yield from (value for value in rows[name] if isinstance(value, str) and name not in ("id", "_id"))


def _evaluate(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    if not isinstance(dataset, MtebDataset) or dataset.encoder is None:
        raise DataError(f"{task.name}: mteb encodes itself and needs the encoder; score it in this process")
    if settings.limit is not None:
        raise DataError(f"{task.name}: mteb scores all of a data set; leave out --limit")
    mteb, inner = import_mteb(), dataset.inner
    by_query: dict[str, dict[str, float]] = {}
    original = getattr(inner, "task_specific_scores", None)

    def noticing(scores: dict[str, dict[str, float]], *arguments: Any, hf_split: str, hf_subset: str, **options: Any) -> Any:
        by_query.update({f"{hf_subset}/{hf_split}/{query}": found for query, found in scores.items()})
        assert original is not None
        return original(scores, *arguments, hf_split=hf_split, hf_subset=hf_subset, **options)

    if original is not None:
        inner.task_specific_scores = noticing
    try:
        with TemporaryDirectory() as folder:
            options = {"cache": None, "prediction_folder": folder, "show_progress_bar": False}
            (found,) = mteb.evaluate(as_mteb_model(dataset.encoder), [inner], **options).task_results
            pairs = _pairs(inner, Path(folder))
    finally:
        if original is not None:
            del inner.task_specific_scores
    main, name = inner.metadata.main_score, task.metrics[0]
    parts = [scores["main_score"] for split in found.scores.values() for scores in split]
    value = float(np.mean(parts))
    items, score = _items(main, name, by_query, pairs)
    notes: tuple[str, ...] = ()
    # Nothing is known of how far the score could move, so all that it could be is the interval.
    low, high = -1.0 if name in ("pearson", "spearman") else 0.0, 1.0
    if score is None or (pairs is not None and len(parts) > 1):
        items, notes = {}, ("scored by mteb, which gives no answers item by item here: no interval and no paired test",)
    else:
        estimate = float(score(np.ones((1, score.n)))[0, 0])
        # mteb rounds to five digits; a larger difference would mean that these are not the answers behind its score.
        if abs(estimate - value) > 2e-5:
            raise DataError(f"{task.name}: mteb says {main} {value}, and the answers that it keeps give {estimate}")
        value, (low, high) = estimate, _interval(score, estimate, settings)
    n = len(items.get("id", ())) or len(embeddings.matrix)
    return Scores(
        metrics=(Metric(name, value, low, high, _best_constant(inner), "fraction", n),),
        n_train=0,
        n_test=n,
        items=items,
        senteval={name: value, "ntest": n},
        details={"mteb": mteb.__version__, "main_score": main},
        notes=notes,
    )


def _interval(score: WeightedScore, value: float, settings: Settings) -> tuple[float, float]:
    """Return the interval of a score as our own tasks have it: one that holds with few items, too."""
    if not isinstance(score, Means):
        drawn = bootstrap(score, resamples=settings.resamples, rng=np.random.default_rng(settings.seed))
        found = drawn.interval(confidence=CONFIDENCE, method="fisher")
        return found.low, found.high
    parts = [score.values[0][fold] for fold in score.folds]
    if len(parts) == 1:
        return mean_share_interval(parts[0], confidence=CONFIDENCE)
    variance = sum(float(part.var()) / max(len(part) - 1, 1) for part in parts) / len(parts) ** 2
    return share_interval(value, score.n, confidence=CONFIDENCE, variance=variance)


def _best_constant(inner: Any) -> float:
    """Return what the best constant answer scores: for accuracy the share of the most frequent class, else 0.

    Of pairs that are ranked all at once, every threshold takes all: the average precision is the share of the positive ones.
    """
    kind, name = inner.metadata.main_score.rpartition("_")[2], getattr(inner, "label_column_name", "label")
    if kind not in ("accuracy", "ap"):
        return 0.0
    columns = [data[name] for _, _, data in _parts(inner) if name in getattr(data, "column_names", ())]
    # Some older sets of pairs have one row, with all labels in it.
    counted = [Counter(each for row in column for each in (row if isinstance(row, list) else [row])) for column in columns]
    shares = [(counts[1] if kind == "ap" else max(counts.values())) / counts.total() for counts in counted]
    return float(np.mean(shares)) if shares else 0.0


def _items(
    main: str, name: str, by_query: Mapping[str, Mapping[str, float]], pairs: tuple[list[float], list[float]] | None
) -> tuple[dict[str, list[Any]], WeightedScore | None]:
    """Return the items and the score as a function of their weights, or none where mteb keeps no answers."""
    named = re.fullmatch(r"(\w+)_at_(\d+)", main)
    key = f"{_PER_QUERY[named[1]]}_{named[2]}" if named and named[1] in _PER_QUERY else ""
    if by_query and all(key in found for found in by_query.values()):
        values = [float(found[key]) for found in by_query.values()]
        # mteb's score is the mean over subsets and splits, as ours is over folds.
        parts = [query.rsplit("/", 1)[0] for query in by_query]
        folds = list(map(list(dict.fromkeys(parts)).index, parts))
        items: dict[str, list[Any]] = {"id": list(by_query), name: values, "fold": folds}
        return items, Means.of(np.array([values]), np.array(folds, dtype=np.intp))
    if pairs is not None and name in ("pearson", "spearman"):
        score = correlations(name, *map(np.array, pairs))  # type: ignore[arg-type]
        return {"id": [str(number) for number in range(score.n)], "gold": pairs[1], "predicted": pairs[0]}, score
    return {}, None


def _pairs(inner: Any, folder: Path) -> tuple[list[float], list[float]] | None:
    """Return the cosines that mteb kept of a similarity task, and the gold scores."""
    if inner.metadata.type != "STS":
        return None
    (file,) = folder.rglob(f"*{inner.metadata.name}*predictions.json")
    stored = json.loads(file.read_text("utf-8"))
    cosines: list[float] = []
    gold: list[float] = []
    for subset, split, data in _parts(inner):
        cosines.extend(map(float, stored[subset][split]["cosine_scores"]))
        gold.extend(map(float, data["score"]))
    return cosines, gold
