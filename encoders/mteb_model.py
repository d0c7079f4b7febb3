"""Models that mteb implements, as encoders: ``mteb:MODEL`` (extra ``mteb``)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from copy import copy
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.encoders.contextual import sentence_transformer
from medsenteval.encoders.fingerprint import hash_state_dict
from medsenteval.encoders.model_files import is_a
from medsenteval.errors import EncoderError, import_extra

LANGUAGE: Final = "eng-Latn"
#: The revision of an encoder of ours without an identity, and what mteb says where it knows none.
NO_IDENTITY: Final = "no-identity"
_NO_REVISION: Final = (None, "", NO_IDENTITY, "no_revision_available")
#: Settings of a model's wrapper that are part of its identity.
_PLAIN: Final = (str, int, float, dict, list, tuple, type(None))


def import_mteb() -> Any:
    """Import mteb, or say how to install it."""
    return import_extra("mteb", "the bridge to mteb", "mteb")


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
    """A model of mteb's as an Encoder; texts with a role reach it as mteb's queries and documents.

    Prompts that a model has for single tasks of mteb's are not used.
    """

    keeps_threads = True

    def __init__(self, model: Any) -> None:
        meta, inner = model.mteb_model_meta, getattr(model, "model", None)
        named = getattr(meta, "name", None)
        # What mteb calls a model that came without a name; a folder is no name either.
        if named == "no_model_name/available" or (named and os.path.isdir(named)):
            named = None
        weights, hashed, own_name = _weights(inner)
        self.name = named or own_name or type(model).__name__
        revision = None if getattr(meta, "revision", None) in _NO_REVISION else meta.revision
        attributes = getattr(model, "__dict__", {}).items()
        settings = {key: value for key, value in attributes if isinstance(value, _PLAIN) and key != "device"}
        described = json.dumps([settings, weights], skipkeys=True, default=lambda value: type(value).__name__)
        # With neither a revision nor all that makes its vectors in sight, the same name can mean another model tomorrow.
        known = hashed or (named and revision)
        self.identity = f"mteb:{named}@{revision}-{hashlib.sha256(described.encode()).hexdigest()[:32]}" if known else ""
        self._model = model
        self._role = ""
        self._metadata = mteb_metadata("medsenteval", "texts of a MedSentEval task", "STS", "cosine_spearman", "any")

    def for_use(self, task: str, role: str) -> MtebEncoder:
        if not role:
            return self
        other = copy(self)
        other._role = role
        other.identity = f"{self.identity}-role={role}" if self.identity else ""
        return other

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from datasets import Dataset
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        batches = DataLoader(Dataset.from_dict({"text": list(texts)}), batch_size=len(texts))
        role = {"prompt_type": PromptType(self._role)} if self._role else {}
        rows = self._model.encode(batches, task_metadata=self._metadata, hf_split="test", hf_subset="default", **role)
        return np.asarray(rows, dtype=np.float32)


def _weights(inner: Any) -> tuple[str, bool, str]:
    """Return a description of the model inside a wrapper, whether it says all about its vectors, and its name."""
    if is_a(inner, "sentence_transformers", "SentenceTransformer"):
        encoder = sentence_transformer.from_model(inner)
        described = encoder.identity or f"{sentence_transformer.describe_model(inner)}-{inner.truncate_dim}"
        return described, bool(encoder.identity), encoder.name
    return hash_state_dict(inner) if is_a(inner, "torch.nn", "Module") else "", False, ""


def load(argument: str, revision: str = "") -> Encoder:
    """Load ``mteb:MODEL``, any model that mteb has an implementation for."""
    mteb = import_mteb()
    try:
        model = mteb.get_model(argument, revision=revision or None)
    except Exception as error:
        # Models are arbitrary code and fail in arbitrary ways; what they say is shown, not hidden.
        raise EncoderError(f"mteb cannot load {argument!r}: {type(error).__name__}: {error}") from error
    return MtebEncoder(model)
