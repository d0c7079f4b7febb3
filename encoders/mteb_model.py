"""Models that mteb implements, as encoders: ``mteb:MODEL`` (extra ``mteb``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.errors import EncoderError, MissingExtraError

__all__ = ["LANGUAGE", "MtebEncoder", "import_mteb", "load", "mteb_metadata"]

LANGUAGE: Final = "eng-Latn"


def import_mteb() -> Any:
    """Import mteb, or say how to install it."""
    try:
        import mteb
    except ModuleNotFoundError as error:
        raise MissingExtraError("the bridge to mteb", "mteb", "mteb") from error
    return mteb


def mteb_metadata(name: str, description: str, kind: str, main_score: str, revision: str) -> Any:
    """Return mteb's description of a task, without which its models do not encode."""
    import_mteb()
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name=name,
        description=description,
        type=kind,
        eval_splits=["test"],
        eval_langs=[LANGUAGE],
        main_score=main_score,
        # mteb would load this from the hub; our tasks bring their own files.
        dataset={"path": f"medsenteval/{name}", "revision": revision},
    )


class MtebEncoder:
    """A model of mteb's as an Encoder; prompts that a model has for single tasks are not used."""

    def __init__(self, model: Any, name: str = "") -> None:
        meta = model.mteb_model_meta
        self.name = name or (meta.name if meta is not None and meta.name else type(model).__name__)
        revision = getattr(meta, "revision", None)
        # Without a revision the same name can mean other weights tomorrow.
        self.identity = f"mteb:{meta.name}@{revision}" if meta is not None and meta.name and revision else ""
        self._model = model
        self._metadata = mteb_metadata("medsenteval", "texts of a MedSentEval task", "STS", "cosine_spearman", "any")

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from datasets import Dataset
        from torch.utils.data import DataLoader

        batches = DataLoader(Dataset.from_dict({"text": list(texts)}), batch_size=len(texts))
        rows = self._model.encode(batches, task_metadata=self._metadata, hf_split="test", hf_subset="default")
        return np.asarray(rows, dtype=np.float32)


def load(argument: str, revision: str = "") -> Encoder:
    """Load ``mteb:MODEL``, any model that mteb has an implementation for."""
    if not argument:
        raise EncoderError("mteb needs the name of a model, for example mteb:sentence-transformers/all-MiniLM-L6-v2")
    mteb = import_mteb()
    try:
        model = mteb.get_model(argument, revision=revision or None)
    except Exception as error:
        # Models are arbitrary code and fail in arbitrary ways; what they say is shown, not hidden.
        raise EncoderError(f"mteb cannot load {argument!r}: {type(error).__name__}: {error}") from error
    return MtebEncoder(model)
