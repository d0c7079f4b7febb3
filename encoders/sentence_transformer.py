"""sentence-transformers models, from a model hub's ID or a folder, with their own pooling and native vectors."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.fingerprint import hash_config, hash_state_dict, hash_tokenizer
from medsenteval.encoders.transformer import check_model_folder, choose_device, find_model, length_limit, without_tensorflow
from medsenteval.errors import EncoderError, MissingExtraError

__all__ = ["SentenceTransformerEncoder", "load"]

_POOLER: Final = re.compile(r"\d+\.(auto_)?model\.pooler\.")


class SentenceTransformerEncoder:
    """A loaded sentence-transformers model; texts, the empty one included, are passed as they are behind the prompt."""

    def __init__(self, model: Any, name: str, *, normalize: bool = False, prompt: str = "") -> None:
        self.name = name
        self._model = model
        self._normalize = normalize
        self._prompt = prompt
        # A model in evaluation mode has no state, and a tokeniser changes its own only when it is called otherwise than before.
        self.concurrent_batches = str(model.device) == "cpu"
        self.identity = (
            f"sentence-transformers-{_fingerprint(model)}-max_length={model.max_seq_length}"
            f"-dimension={model.truncate_dim}-normalize={normalize}-prompt={prompt!r}"
        )

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one native row for each text."""
        # Passed by position: version 6 renamed the parameter. The prompt is given even when empty, since None would stand
        # for the model's default one; some models leave the prompt's pieces out of their mean.
        rows = self._model.encode(
            list(texts),
            prompt=self._prompt,
            batch_size=64,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=self._normalize,
        )
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1 if len(texts) else _dimension(self._model))


def _fingerprint(model: Any) -> str:
    """Hash what decides a vector: the modules with their settings, the tokeniser and every weight."""
    # A pooler has no part in a vector, and where the checkpoint lacks one it is random.
    weights = {key: value for key, value in model.state_dict().items() if not _POOLER.match(key)}
    digest = hashlib.sha256(hash_state_dict(weights).encode())
    for module in model:
        # The length is named in the identity itself, where an option may have changed it.
        settings = module.get_config_dict() if hasattr(module, "get_config_dict") else repr(module)
        if isinstance(settings, dict):
            settings = {key: value for key, value in settings.items() if key != "max_seq_length"}
        digest.update(f"|{type(module).__name__}{json.dumps(settings, sort_keys=True, default=str)}".encode())
        inner = _transformer_of(module)
        if inner is not None:
            digest.update(hash_config(inner.config).encode())
    tokenizer = getattr(model, "tokenizer", None)
    if tokenizer is not None:
        # A static model's tokeniser is the backend itself.
        is_bare = not hasattr(tokenizer, "backend_tokenizer") and hasattr(tokenizer, "to_str")
        digest.update((tokenizer.to_str() if is_bare else hash_tokenizer(tokenizer)).encode())
    return digest.hexdigest()[:32]


def load(
    argument: str,
    normalize: str = "no",
    prompt: str | None = None,
    prompt_name: str = "",
    dimension: str = "",
    max_length: str = "",
    device: str = "auto",
) -> SentenceTransformerEncoder:
    """Load ``sentence-transformers:ID_OR_PATH``.

    ``prompt`` is put before each text; ``prompt_name`` chooses one of those that the model brings along, whose default prompt,
    if it has one, holds when neither is given (``prompt=`` means none). ``dimension`` keeps that many leading coordinates,
    before ``normalize=yes`` makes rows of length one. ``max_length`` replaces the model's own. ``device`` is auto or a name
    that torch knows.
    """
    if normalize not in ("yes", "no"):
        raise EncoderError(f"sentence-transformers: normalize is {normalize!r}; it can be yes or no")
    for option, value in (("dimension", dimension), ("max_length", max_length)):
        if value and (not value.isdecimal() or int(value) < 1):
            raise EncoderError(f"sentence-transformers: {option} is {value!r}; it must be a whole number from 1")
    if prompt is not None and prompt_name:
        raise EncoderError("sentence-transformers: prompt and prompt_name exclude each other; give one of them")
    source = find_model(argument, "sentence-transformers")
    if isinstance(source, Path):
        _check_folder(source)
    model = _load_model(str(source), _usable_device(device))
    where = f"sentence-transformers:{argument}"
    if dimension:
        if int(dimension) > _dimension(model):
            raise EncoderError(f"{where}: dimension is {dimension}, but the model's vectors have {_dimension(model)}")
        # All of the coordinates is what an absent option means too, and must have the same identity.
        if int(dimension) < _dimension(model):
            model.truncate_dim = int(dimension)
    if max_length:
        _set_length(model, int(max_length), where)
    text = _stored_prompt(model, prompt_name, where) if prompt is None else prompt
    return SentenceTransformerEncoder(model, Path(argument).name, normalize=normalize == "yes", prompt=text)


def _usable_device(device: str) -> str:
    """Return the torch device of this name, or say which package is missing."""
    try:
        return choose_device(device)
    except ImportError as error:
        raise MissingExtraError("sentence-transformers:", "torch", "transformers") from error


def _load_model(source: str, device: str) -> Any:
    try:
        with without_tensorflow():
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("sentence-transformers:", "sentence-transformers", "transformers") from error
    try:
        return SentenceTransformer(source, device=device, trust_remote_code=False).eval()
    except Exception as error:  # the library lets through whatever its parsers raise
        raise EncoderError(f"sentence-transformers: {source!r} could not be loaded: {error}") from error


def _check_folder(folder: Path) -> None:
    """Raise an EncoderError for what can be seen without loading: gaps, cut weights, modules that bring code of their own."""
    listing = folder / "modules.json"
    if not listing.is_file():
        # A plain transformer is allowed; the library then adds its mean over all pieces.
        check_model_folder(folder, "sentence-transformers")
        return
    try:
        modules = [(str(module["type"]), str(module["path"])) for module in json.loads(listing.read_bytes())]
    except (ValueError, KeyError, TypeError) as error:
        raise EncoderError(f"sentence-transformers: {listing} is not a list of modules with type and path: {error}") from error
    for kind, path in modules:
        # Version 5 imports other classes from a local folder without asking, and importing is running.
        if not kind.startswith("sentence_transformers."):
            raise EncoderError(
                f"sentence-transformers: {listing} names the class {kind}, which is not of sentence_transformers; "
                "code that comes with a model is not run"
            )
        # Normalize has no settings, and its empty folder gets lost where folders are copied file by file.
        if path and not kind.endswith(".Normalize") and not (folder / path).is_dir():
            raise EncoderError(f"sentence-transformers: {folder / path} is missing, but {listing.name} lists it")
        if kind.endswith(".Transformer"):
            check_model_folder(folder / path, "sentence-transformers")


def _transformer_of(module: Any) -> Any:
    """Return the transformer inside a module, None for a module of another kind."""
    inner = getattr(module, "auto_model", None) or getattr(module, "model", None)
    return inner if hasattr(inner, "config") else None


def _dimension(model: Any) -> int:
    # Version 6 shortened the name.
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    told = ask()
    return int(told) if told else int(model.encode(["."]).shape[1])


def _set_length(model: Any, length: int, where: str) -> None:
    inner = _transformer_of(model[0])
    if inner is None:
        raise EncoderError(f"{where}: max_length is {length}, but a {type(model[0]).__name__} has no such limit; leave it out")
    least = model.tokenizer.num_special_tokens_to_add() + 1
    most = length_limit(inner)
    if length < least or (most is not None and length > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise EncoderError(f"{where}: max_length is {length}, but this model takes {bounds}")
    model.max_seq_length = length


def _stored_prompt(model: Any, name: str, where: str) -> str:
    prompts = {key: text for key, text in (model.prompts or {}).items() if text is not None}
    if name and name not in prompts:
        raise EncoderError(f"{where}: the model has no prompt {name!r}; it has {', '.join(prompts) or 'none'}")
    chosen = name or model.default_prompt_name
    return str(prompts[chosen]) if chosen else ""
