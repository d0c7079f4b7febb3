"""mteb 2, both ways: our encoders and tasks there, and its tasks here, run by its own code with our encoders.

``mteb.evaluate(as_mteb_model("biobert"), [as_mteb_task("BIOSSES")])``; ``run -t mteb:NFCorpus``. Retrieval and reranking keep
the score of every query, and similarity tasks of one part the cosine of every pair, so that intervals and paired tests are
those of our own tasks. Of other kinds mteb gives no answers item by item: their score stands alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Encoder, Metric, Scores, Split, Task
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.embedding.embed import encode_batches, for_use
from medsenteval.encoders.adapt import as_encoder
from medsenteval.encoders.mteb_model import LANGUAGE, NO_IDENTITY, MtebEncoder, import_mteb, mteb_metadata
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataError, DataMissingError, EncoderError, UnknownNameError
from medsenteval.interop.mteb_results import metric_in_mteb, mteb_scores, name_in_mteb
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import Means, WeightedScore, bootstrap, correlations, mean_share_interval, share_interval
from medsenteval.tasks.similarity import concatenate_splits

#: mteb's name of a score of a whole task -> pytrec_eval's name of it for one query.
_PER_QUERY: Final = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P", "hit_rate": "success"}


def _metadata(task: Task, kind: str, main_score: str, dataset: Dataset, *, same: bool = False) -> Any:
    """Describe a task to mteb, by mteb's own name only if the score means the ``same``; the revision hashes what was read."""
    described = f"{task.name} of MedSentEval: {task.family}, {task.protocol}."
    return mteb_metadata(name_in_mteb(task.name, same=same), described, kind, main_score, dataset.fingerprint[:12])


def as_mteb_model(encoder: Any, name: str = "") -> Any:
    """Give mteb anything that this toolkit can encode with; the model's name there is ``medsenteval/NAME``."""
    import_mteb()
    from mteb.models import ModelMeta
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ScoringFunction

    ours = as_encoder(encoder, name)
    if getattr(ours, "sees", {}).get("precision") == "int8":
        raise EncoderError(f"{ours.name}: precision=int8 counts steps over all texts of a task, which mteb gives in parts")
    label = (name or ours.name).replace("/", "__")
    known = {"name": f"medsenteval/{label}", "revision": ours.identity or NO_IDENTITY, "languages": [LANGUAGE]}
    meta = ModelMeta.create_empty(overwrites={**known, "similarity_fn_name": ScoringFunction.COSINE})

    class Model(AbsEncoder):  # type: ignore[misc]
        """An encoder of MedSentEval's behind mteb's interface."""

        mteb_model_meta = meta

        def encode(self, inputs: Any, **options: Any) -> NDArray[np.float32]:
            texts = [text for batch in inputs for text in batch["text"]]
            # For encoders with prompts for queries, documents or single tasks.
            kind = getattr(options.get("prompt_type"), "value", options.get("prompt_type")) or ""
            task = getattr(options.get("task_metadata"), "name", "")
            used = for_use(ours, task, kind)
            return np.concatenate([part.rows for part in encode_batches(used, texts, 128, task or label)])

    return Model()


def as_mteb_task(name: str, data: str | Path | None = None, settings: Settings | None = None) -> Any:
    """Return one of our tasks as an mteb task, which ``mteb.evaluate`` runs with any of its models.

    Similarity tasks are scored by mteb, by the cosine over all pairs, where both agree; all others by us.
    """
    task = registry.task(name)
    chosen = settings or Settings()
    dataset = load_dataset(task, data_root(data), chosen)
    import_mteb()
    if task.family == "similarity":
        return _sts_task(task, dataset, same=not (dataset.synthetic or dataset.incomplete or chosen.limit))
    return _own_task(task, dataset, chosen)


def _bridged(base: type, metadata: Any, data: Any, **attributes: Any) -> Any:
    """Return an mteb task of this class on data that is here already."""

    def load_data(self: Any, *arguments: Any, **options: Any) -> None:
        self.dataset, self.data_loaded = data, True

    return type("BridgedTask", (base,), {"metadata": metadata, "load_data": load_data, **attributes})()


def _own_task(task: Task, dataset: Dataset, settings: Settings) -> Any:
    """Return a task of ours that is scored by us."""
    from mteb.abstasks.abstask import AbsTask

    def evaluate(self: Any, model: Any, split: str = "test", subsets_to_run: Any = None, **options: Any) -> dict[str, Any]:
        result = evaluate_task(task, dataset, MtebEncoder(model), settings)
        return {"default": {**mteb_scores(result), "signature": result.signature}}

    def not_offered(self: Any, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError("evaluate does all of it, and the data is not ours to publish")

    abstract = ("_evaluate_subset", "_calculate_descriptive_statistics_from_split", "_push_dataset_to_hub")
    main_score = metric_in_mteb(task.name, task.protocol_under(settings), task.metrics[0])
    kind = "Classification" if task.labels or dataset.label_names else "STS"
    metadata = _metadata(task, kind, main_score, dataset)
    return _bridged(AbsTask, metadata, {"test": dataset}, evaluate=evaluate, **dict.fromkeys(abstract, not_offered))


def _sts_task(task: Task, dataset: Dataset, *, same: bool) -> Any:
    """Return a similarity task of ours that is scored by mteb."""
    import datasets
    from mteb.abstasks import AbsTaskSTS

    split = concatenate_splits(list(dataset.splits.values()))
    assert split.scores is not None
    rows = {"sentence1": list(split.texts), "sentence2": list(split.texts2 or ()), "score": split.scores.tolist()}
    metadata = _metadata(task, "STS", "cosine_spearman", dataset, same=same)
    bounds = {"min_score": float(np.min(split.scores)), "max_score": float(np.max(split.scores))}
    return _bridged(AbsTaskSTS, metadata, {"test": datasets.Dataset.from_dict(rows)}, **bounds)


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
            kept = folder if inner.metadata.type == "STS" else None
            options = {"cache": None, "prediction_folder": kept, "show_progress_bar": False}
            (found,) = mteb.evaluate(as_mteb_model(dataset.encoder), [inner], **options).task_results
            pairs = _pairs(inner, Path(folder))
    finally:
        if original is not None:
            del inner.task_specific_scores
    main, name = inner.metadata.main_score, task.metrics[0]
    value = float(np.mean([scores["main_score"] for split in found.scores.values() for scores in split]))
    items, score = _items(main, name, by_query, pairs)
    notes: tuple[str, ...] = ()
    # Nothing is known of how far the score could move, so all that it could be is the interval.
    low, high = -1.0 if name in ("pearson", "spearman") else 0.0, 1.0
    if score is None:
        notes = ("scored by mteb, which gives no answers item by item here: no interval and no paired test",)
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
        interval = drawn.interval(confidence=CONFIDENCE, method="fisher")
        return interval.low, interval.high
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


def _pairs(inner: Any, folder: Path) -> list[tuple[list[float], list[float]]]:
    """Return the cosines of pairs that mteb wrote into the folder and their gold scores, for each part of a similarity task."""
    stored = [json.loads(file.read_text("utf-8")) for file in folder.rglob("*.json")]
    return [
        (file[subset][split]["cosine_scores"], list(data["score"])) for file in stored for subset, split, data in _parts(inner)
    ]


def _items(
    main: str, name: str, by_query: Mapping[str, Mapping[str, float]], pairs: Sequence[tuple[list[float], list[float]]] = ()
) -> tuple[dict[str, list[Any]], WeightedScore | None]:
    """Return the items and the score as a function of their weights, or none where mteb keeps no answers."""
    named = re.fullmatch(r"(\w+)_at_(\d+)", main)
    key = f"{_PER_QUERY[named[1]]}_{named[2]}" if named and named[1] in _PER_QUERY else ""
    if by_query and all(key in found for found in by_query.values()):
        values = [float(found[key]) for found in by_query.values()]
        # mteb's score is the mean over subsets and splits, as ours is over folds.
        parts = [query.rsplit("/", 1)[0] for query in by_query]
        folds = list(map(list(dict.fromkeys(parts)).index, parts))
        return {"id": list(by_query), name: values, "fold": folds}, Means.of(np.array([values]), np.array(folds, dtype=np.intp))
    # A mean of the correlations of several parts is not the correlation of their pairs.
    if len(pairs) == 1 and name in ("pearson", "spearman"):
        ((predicted, gold),) = pairs
        score = correlations(name, np.array(predicted), np.array(gold))  # type: ignore[arg-type]
        return {"id": list(map(str, range(score.n))), "gold": gold, "predicted": predicted}, score
    return {}, None
