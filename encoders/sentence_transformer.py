"""sentence-transformers models, from a model hub's ID or a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import EncoderError, MissingExtraError

__all__ = ["SentenceTransformerEncoder", "load"]


class SentenceTransformerEncoder:
    """A loaded sentence-transformers model with its own pooling; texts are passed as they are."""

    def __init__(self, model: Any, name: str, *, normalize: bool = False, prompt: str = "") -> None:
        self.name = name
        self._model = model
        self._normalize = normalize
        self._prompt = prompt
        self.identity = f"sentence-transformers-{_fingerprint(model)}-normalize={normalize}-prompt={prompt!r}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        prompted = [self._prompt + text for text in texts]
        # Passed by position: version 6 renamed the parameter.
        rows = self._model.encode(
            prompted,
            batch_size=max(1, len(prompted)),
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=self._normalize,
        )
        return np.asarray(rows, dtype=np.float32)


def _fingerprint(model: Any) -> str:
    """Hash what decides a vector: modules with their settings, tokeniser and every weight."""
    digest = hashlib.sha256(f"{model}|{model.max_seq_length}".encode())
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    digest.update(tokenizer.to_str().encode() if tokenizer is not None else repr(model.tokenizer).encode())
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(_uint8()).numpy().tobytes())
    return digest.hexdigest()[:32]


def _uint8() -> Any:
    import torch

    return torch.uint8


def load(argument: str, normalize: str = "no", prompt: str = "", device: str = "auto") -> SentenceTransformerEncoder:
    """Load ``sentence-transformers:ID_OR_PATH``, options ``normalize=yes|no``, ``prompt=TEXT``, ``device=cpu|cuda|auto``."""
    if not argument:
        raise EncoderError("sentence-transformers needs a model: sentence-transformers:ID or sentence-transformers:PATH")
    if normalize not in ("yes", "no"):
        raise EncoderError(f"sentence-transformers: normalize is {normalize!r}; it can be yes or no")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("sentence-transformers:", "sentence-transformers", "transformers") from error
    if argument[0] in "./~\\" and not Path(argument).expanduser().is_dir():
        raise EncoderError(f"sentence-transformers: there is no folder {argument}")
    try:
        model = SentenceTransformer(argument, device=None if device == "auto" else device)
    except (OSError, ValueError) as error:
        raise EncoderError(f"sentence-transformers: {argument!r} could not be loaded: {error}") from error
    return SentenceTransformerEncoder(model, Path(argument).name, normalize=normalize == "yes", prompt=prompt)
