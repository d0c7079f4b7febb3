"""Encoders and tasks of ours in mteb 2: ``mteb.evaluate(as_mteb_model("biobert"), [as_mteb_task("BIOSSES")])``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Task
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.embedding.embed import encode_batches, for_use
from medsenteval.encoders.adapt import as_encoder
from medsenteval.encoders.mteb_model import LANGUAGE, NO_IDENTITY, MtebEncoder, import_mteb, mteb_metadata
from medsenteval.engine import evaluate_task
from medsenteval.errors import EncoderError, SettingsError
from medsenteval.interop.mteb_results import metric_in_mteb, mteb_scores, name_in_mteb
from medsenteval.settings import Settings
from medsenteval.tasks.similarity import concatenate_splits


def _metadata(task: Task, kind: str, main_score: str, dataset: Dataset, *, same: bool = False) -> Any:
    """Describe a task to mteb, by mteb's own name only if the score means the ``same``; the revision hashes what was read."""
    described = f"{task.name} of MedSentEval: {task.family}, {task.protocol}."
    return mteb_metadata(name_in_mteb(task.name, same=same), described, kind, main_score, dataset.fingerprint[:12])


def as_mteb_model(encoder: Any, name: str = "") -> Any:
    """Give mteb anything that this toolkit can encode with; the model's name there is ``medsenteval/NAME``."""
    import_mteb()
    import torch
    from mteb.models import ModelMeta
    from mteb.models.model_meta import ScoringFunction

    ours = as_encoder(encoder, name)
    if getattr(ours, "sees", {}).get("precision") == "int8":
        raise EncoderError(f"{ours.name}: precision=int8 counts steps over all texts of a task, which mteb gives in parts")
    label = (name or ours.name).replace("/", "__")
    known = {"name": f"medsenteval/{label}", "revision": ours.identity or NO_IDENTITY, "languages": [LANGUAGE]}
    meta = ModelMeta.create_empty(overwrites={**known, "similarity_fn_name": ScoringFunction.COSINE})

    class Model:
        """An encoder of MedSentEval's behind mteb's interface."""

        mteb_model_meta = meta

        def encode(self, inputs: Any, **options: Any) -> NDArray[np.float32]:
            texts = [text for batch in inputs for text in batch["text"]]
            # For encoders with prompts for queries, documents or single tasks.
            kind = getattr(options.get("prompt_type"), "value", options.get("prompt_type")) or ""
            task = getattr(options.get("task_metadata"), "name", "")
            used = for_use(ours, task, kind)
            return np.concatenate([part.rows for part in encode_batches(used, texts, 128, task or label)])

        def similarity(self, first: Any, second: Any) -> torch.Tensor:
            return _unit(first) @ _unit(second).T

        def similarity_pairwise(self, first: Any, second: Any) -> torch.Tensor:
            return (_unit(first) * _unit(second)).sum(dim=-1)

    def _unit(rows: Any) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.as_tensor(rows), dim=-1)

    return Model()


def as_mteb_task(name: str, data: str | Path | None = None, settings: Settings | None = None, *, protocol: str = "") -> Any:
    """Return one of our tasks as an mteb task, which ``mteb.evaluate`` runs with any of its models.

    With ``protocol`` "medsenteval", the default for tasks that train a probe, the score is ours. With "mteb" it is mteb's: the
    cosine over all pairs for similarity tasks (where both agree), its few-shot logistic regression for single texts.
    """
    task = registry.task(name)
    chosen = settings or Settings()
    dataset = load_dataset(task, data_root(data), chosen)
    way = protocol or ("mteb" if task.family == "similarity" else "medsenteval")
    if way == "medsenteval":
        return _own_task(task, dataset, chosen)
    if way != "mteb":
        raise SettingsError(f"the protocol is {protocol!r}; it can be medsenteval or mteb")
    if task.family == "similarity":
        return _sts_task(task, dataset, same=not (dataset.synthetic or dataset.incomplete or chosen.limit))
    if task.family == "classification" and {"train", "test"} <= set(dataset.splits):
        return _classification_task(task, dataset)
    raise SettingsError(f"mteb has no protocol of its own for {task.name} ({task.family}, {task.protocol}); use 'medsenteval'")


def _bridged(base: type, metadata: Any, data: Any, **attributes: Any) -> Any:
    """Return an mteb task of this class on data that is here already."""

    def load_data(self: Any, *arguments: Any, **options: Any) -> None:
        self.dataset, self.data_loaded = data, True

    return type("BridgedTask", (base,), {"metadata": metadata, "load_data": load_data, **attributes})()


def _own_task(task: Task, dataset: Dataset, settings: Settings) -> Any:
    """Return a task of ours that is scored by us."""
    import_mteb()
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


def _classification_task(task: Task, dataset: Dataset) -> Any:
    """Return a classification task of ours under mteb's few-shot protocol."""
    import datasets
    from mteb.abstasks import AbsTaskClassification

    splits = {name: dataset.splits[name] for name in ("train", "test")}
    columns = {name: {"text": list(each.texts), "label": np.asarray(each.labels).tolist()} for name, each in splits.items()}
    parts = datasets.DatasetDict({name: datasets.Dataset.from_dict(each) for name, each in columns.items()})
    return _bridged(AbsTaskClassification, _metadata(task, "Classification", "accuracy", dataset), parts)
