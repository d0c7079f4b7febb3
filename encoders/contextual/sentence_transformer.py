"""sentence-transformers models, from a model hub's ID or a folder, with their own pooling and native vectors."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.encoders.contextual.checkpoint import (
    choose_device,
    count_tokens,
    length_limit,
    without_surrogates,
    without_tensorflow,
)
from medsenteval.encoders.contextual.lazy_model import LazyModel, check_installed
from medsenteval.encoders.contextual.model_folder import (
    check_model_folder,
    check_settings,
    find_model,
    model_name,
    read_json,
)
from medsenteval.encoders.contextual.prompts import ROLES, Prompts
from medsenteval.encoders.derived import DerivedEncoder
from medsenteval.encoders.fingerprint import hash_config, hash_state_dict, hash_tokenizer
from medsenteval.errors import EncoderError, MissingExtraError

__all__ = ["SentenceTransformerEncoder", "describe_model", "from_model", "load"]

_KIND: Final = "sentence-transformers"
#: The library's modules from texts to vectors, under the names that its versions gave them.
_MODULE: Final = re.compile(
    r"sentence_transformers\.(?:models|base\.modules|sentence_transformer\.modules)(?:\.\w+)?\."
    r"(Asym|BoW|CLIPModel|CNN|Dense|Dropout|LSTM|LayerNorm|Normalize|Pooling|Router|StaticEmbedding|Transformer"
    r"|WeightedLayerPooling|WordEmbeddings|WordWeights)"
)
_ACTIVATION: Final = re.compile(r"torch\.nn\.modules\.(activation\.[A-Z]\w*|linear\.Identity)")
_SPLITTER: Final = re.compile(
    r"sentence_transformers\.(models|sentence_transformer\.modules)\.tokenizer(\.\w+)?\.(Whitespace|Phrase)Tokenizer"
)
#: What sentence_bert_config.json may hold, and what its model_args, tokenizer_args and config_args may.
_OPTIONS: Final = re.compile(
    r"(config|model|processor|tokenizer)_(kw)?args|do_lower_case|max_seq_length|modality_config|module_output_name"
    r"|processing_kwargs|transformer_task|unpad_inputs"
)
_ARGUMENTS: Final = re.compile(
    r"add_(bos_token|eos_token|pooling_layer|prefix_space)|attn_implementation|clean_up_tokenization_spaces|do_lower_case"
    r"|(torch_)?dtype|fix_mistral_regex|is_causal|low_cpu_mem_usage|(model_)?max_length|(padding|truncation)(_side)?|unpad_inputs"
    r"|use_(bidirectional_attention|fast|memory_efficient_attention|safetensors)"
)
_POOLER: Final = re.compile(r"\d+\.(auto_)?model\.pooler\.")


class SentenceTransformerEncoder:
    """A sentence-transformers model, loaded when it first encodes; texts, the empty one included, stand behind the prompt."""

    def __init__(self, lazy: LazyModel, name: str, prompts: Prompts, *, normalize: bool = False, role: str = "") -> None:
        self.name = name
        self._lazy = lazy
        self._prompts = prompts
        self._normalize = normalize
        # Only a model that routes texts by their role gives another vector for another role under the same prompt.
        self._role = role if lazy.facts["routes"] else ""
        routed = f"-role={self._role}" if self._role else ""
        described = lazy.facts["described"]
        self.identity = f"{described}-normalize={normalize}-{prompts}{routed}" if described else ""

    @property
    def sees(self) -> dict[str, Any]:
        """What of a text the model sees, and how."""
        facts = self._lazy.facts
        return {key: facts[key] for key in ("max_length", "dtype", "pooling")} | {"prompt": self._prompts.default}

    @property
    def concurrent_batches(self) -> bool:
        """A model in evaluation mode has no state, and its tokeniser changes only when it is called otherwise than before."""
        return str(self._lazy.model.device) == "cpu"

    def for_use(self, task: str, role: str) -> SentenceTransformerEncoder:
        """Return the encoder of a text of this role ("", "query" or "document") in this task."""
        prompt = self._prompts.chosen(task, role)
        return SentenceTransformerEncoder(self._lazy, self.name, Prompts(prompt), normalize=self._normalize, role=role)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one native row for each text."""
        model = self._lazy.model
        # Passed by position: version 6 renamed the parameter. The prompt is given even when empty, since None would stand
        # for the model's default one; some models leave the prompt's pieces out of their mean.
        rows = model.encode(
            without_surrogates(texts),
            prompt=self._prompts.default,
            batch_size=64,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=self._normalize,
            # Whole vectors are cached, whatever part of them is wanted.
            **({"truncate_dim": self._lazy.facts["dimension"]} if model.truncate_dim is not None else {}),
            **({"task": self._role} if self._role else {}),
        )
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), -1 if len(texts) else self._lazy.facts["dimension"])

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has behind the prompt, those that are cut off included; 0 where nothing is cut."""
        tokenizer = getattr(self._lazy.model, "tokenizer", None)
        if self._lazy.facts["max_length"] is None or tokenizer is None:
            return [0] * len(texts)
        lowered = getattr(self._lazy.model[0], "do_lower_case", False)
        whole = [(self._prompts.default + text).strip() for text in without_surrogates(texts)]
        return count_tokens(tokenizer, [text.lower() for text in whole] if lowered else whole)


def from_model(model: Any) -> Encoder:
    """Wrap a loaded SentenceTransformer with its own length, dimension and prompts, named by its card or folder.

    One with code or adapters of its own, or weights outside of torch, has no identity: they cannot be hashed.
    """
    card, inner = getattr(model, "model_card_data", None), _transformer_of(model[0])
    named = getattr(card, "model_id", None) or getattr(getattr(inner, "config", None), "_name_or_path", None) or ""
    facts = _facts(model)
    name = model_name(named) or f"sentence-transformers-{_fingerprint(model)[:8]}"
    encoder = SentenceTransformerEncoder(LazyModel.loaded(model, facts), name, _prompts(facts, "the model"))
    kept = model.truncate_dim
    return DerivedEncoder(encoder, dimension=kept) if kept is not None and kept < facts["dimension"] else encoder


def _facts(model: Any) -> dict[str, Any]:
    """Return everything that is asked of a model before it encodes."""
    pooling = next((module for module in model if type(module).__name__ == "Pooling"), None)
    length = model.max_seq_length if _transformer_of(model[0]) is not None else None
    prompts = {key: text for key, text in (model.prompts or {}).items() if text is not None}
    return {
        "described": describe_model(model) if _is_known(model) else "",
        "prompts": prompts,
        "default_prompt": model.default_prompt_name or "",
        "routes": any(type(module).__name__ in ("Router", "Asym") for module in model),
        "max_length": length if isinstance(length, int) else None,
        "dtype": str(getattr(model, "dtype", "")).removeprefix("torch."),
        "pooling": _pooling_of(pooling.get_config_dict()) if pooling is not None else "",
        "dimension": _dimension(model),
    }


def _pooling_of(settings: dict[str, Any]) -> str:
    """Return how a module pools; versions before 5.5 write a switch for each way."""
    switched = [key.removeprefix("pooling_mode_") for key, value in settings.items() if value is True and "mode_" in key]
    return "+".join(switched) or str(settings.get("pooling_mode", ""))


def _prompts(
    facts: dict[str, Any], where: str, prompt: str | None = None, prompt_name: str = "", **given: str | None
) -> Prompts:
    """Return the prompts that options give, and for the rest those that the model brings along, as the library chooses them."""
    stored: dict[str, str] = facts["prompts"]
    if prompt_name and prompt_name not in stored:
        raise EncoderError(f"{where}: the model has no prompt {prompt_name!r}; it has {', '.join(stored) or 'none'}")
    chosen = prompt_name or facts["default_prompt"]
    default = str(stored[chosen]) if prompt is None and chosen else prompt or ""
    # A prompt that is given without a role is meant for every text.
    names = {"query": ("query",), "document": ("document", "passage", "corpus")} if prompt is None and not prompt_name else {}
    own = {role: next((stored[name] for name in tried if stored.get(name)), None) for role, tried in names.items()}
    query, document = (given.get(f"{role}_prompt") for role in ROLES)
    return Prompts.given(
        _KIND,
        default,
        own.get("query") if query is None else query,
        own.get("document") if document is None else document,
        given.get("task_prompts") or "",
    )


def describe_model(model: Any) -> str:
    """Return everything about a model that decides its whole vectors, but for what a call to ``encode`` says."""
    return f"sentence-transformers-{_fingerprint(model)}-max_length={model.max_seq_length}"


def _is_known(model: Any) -> bool:
    """Whether weights and settings say all about a model's vectors."""
    own_code = not all(type(part).__module__.startswith("sentence_transformers.") for part in (model, *model))
    adapted = any(getattr(_transformer_of(module), "_hf_peft_config_loaded", False) for module in model)
    return not (own_code or adapted) and getattr(model, "backend", "torch") == "torch"


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
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    task_prompts: str = "",
    dimension: str = "",
    max_length: str = "",
    dtype: str = "",
    device: str = "auto",
) -> Encoder:
    """Load ``sentence-transformers:ID_OR_PATH``.

    ``prompt`` is put before each text; ``prompt_name`` chooses one of those that the model brings along, whose default prompt,
    if it has one, holds when neither is given (``prompt=`` means none). ``query_prompt`` and ``document_prompt`` are for texts
    to which a task gives such a role, and else those that the model has for it; ``task_prompts`` is a JSON object from names
    of tasks to prompts. ``dimension`` keeps that many leading coordinates of the same vectors, before ``normalize=yes`` makes
    rows of length one. ``max_length`` replaces the model's own. ``dtype`` is float32, bfloat16 or float16, the checkpoint's
    where it is not given; ``device`` is auto or a name that torch knows.
    """
    chosen = {"normalize": (normalize, ("yes", "no")), "dtype": (dtype, ("", "float32", "bfloat16", "float16"))}
    for option, (value, allowed) in chosen.items():
        if value not in allowed:
            raise EncoderError(f"sentence-transformers: {option} is {value!r}; it can be {' or '.join(filter(None, allowed))}")
    for option, value in (("dimension", dimension), ("max_length", max_length)):
        if value and (not value.isdecimal() or int(value) < 1):
            raise EncoderError(f"sentence-transformers: {option} is {value!r}; it must be a whole number from 1")
    if prompt is not None and prompt_name:
        raise EncoderError("sentence-transformers: prompt and prompt_name exclude each other; give one of them")
    folder, source, revision = find_model(argument, _KIND)
    _check_folder(folder, weights=not revision)
    where = f"sentence-transformers:{argument}"
    check_installed(_KIND, "torch", "sentence_transformers")

    def load_model() -> tuple[Any, dict[str, Any]]:
        model = _load_model(source, revision, _usable_device(device), dtype)
        if max_length:
            _set_length(model, int(max_length), where)
        return model, _facts(model)

    options = {"kind": _KIND, "max_length": max_length, "dtype": dtype}
    lazy = LazyModel.remembered(folder, revision, options, load_model)
    given = {"query_prompt": query_prompt, "document_prompt": document_prompt, "task_prompts": task_prompts}
    prompts = _prompts(lazy.facts, where, prompt, prompt_name, **given)
    width = lazy.facts["dimension"]
    if dimension and int(dimension) > width:
        raise EncoderError(f"{where}: dimension is {dimension}, but the model's vectors have {width}")
    name = model_name(str(source))
    # All of the coordinates is what an absent option means too, and must have the same identity.
    if dimension and int(dimension) < width:
        whole = SentenceTransformerEncoder(lazy, name, prompts)
        return DerivedEncoder(whole, dimension=int(dimension), normalize=normalize == "yes")
    return SentenceTransformerEncoder(lazy, name, prompts, normalize=normalize == "yes")


def _usable_device(device: str) -> str:
    """Return the torch device of this name, or say which package is missing."""
    try:
        return choose_device(device)
    except ImportError as error:
        raise MissingExtraError("sentence-transformers:", "torch", "transformers") from error


def _load_model(source: str, revision: dict[str, str], device: str, dtype: str = "") -> Any:
    try:
        with without_tensorflow():
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("sentence-transformers:", "sentence-transformers", "transformers") from error
    try:
        more: dict[str, Any] = {"model_kwargs": {"torch_dtype": dtype}} if dtype else {}
        return SentenceTransformer(source, device=device, trust_remote_code=False, **revision, **more).eval()
    except Exception as error:  # the library lets through whatever its parsers raise
        raise EncoderError(f"sentence-transformers: {source!r} could not be loaded: {error}") from error


def _check_folder(folder: Path, *, weights: bool) -> None:
    """Refuse what can be seen without loading: gaps, cut weights, and classes, options or paths that no text encoder needs."""
    about = folder / "config_sentence_transformers.json"
    kind = read_json(about, dict, _KIND).get("model_type", "SentenceTransformer") if about.is_file() else "SentenceTransformer"
    if kind != "SentenceTransformer":
        raise EncoderError(f"{_KIND}: {about} describes a {kind}, which gives no sentence vectors of its own")
    listing = folder / "modules.json"
    if not listing.is_file():
        # A plain transformer is allowed; the library then adds its mean over all pieces.
        _check_module(folder, "Transformer", weights)
        return
    try:
        modules = [(module["type"], module["path"]) for module in read_json(listing, list, _KIND)]
    except (KeyError, TypeError) as error:
        raise EncoderError(f"{_KIND}: {listing} is not a list of modules with type and path: {error}") from error
    for name, path in modules:
        _check_module(*_named_module(listing, name, path), weights)


def _named_module(listing: Path, name: Any, path: Any) -> tuple[Path, str]:
    """Return the folder and the class of a module that a file lists, or refuse them."""
    known = _MODULE.fullmatch(name) if isinstance(name, str) else None
    # The library imports any other class that it is told to, from a file of the folder too, and importing is running.
    if known is None:
        raise EncoderError(
            f"{_KIND}: {listing} names the class {name}, which is not one of sentence_transformers' modules for text; "
            "code that comes with a model is not run"
        )
    if not isinstance(path, str) or "\\" in path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise EncoderError(f"{_KIND}: {listing} names the folder {path!r}; expected is one inside {listing.parent}")
    # Normalize has no settings, and its empty folder gets lost where folders are copied file by file.
    if path and known[1] != "Normalize" and not os.path.isdir(listing.parent / path):  # false for names too long, too
        raise EncoderError(f"{_KIND}: {listing.parent / path} is missing, but {listing.name} lists it")
    return listing.parent / path, known[1]


def _check_module(folder: Path, kind: str, weights: bool) -> None:
    """Refuse what the settings of one module, those of modules inside it included, would have the library import or read."""
    if kind in ("Transformer", "CLIPModel"):
        (check_model_folder if weights else check_settings)(folder, _KIND)
        for file in folder.glob("sentence_*_config.json"):
            _check_options(file, read_json(file, dict, _KIND))
    elif kind in ("Router", "Asym"):
        for listing in filter(Path.is_file, (folder / "router_config.json", folder / "config.json")):
            types = read_json(listing, dict, _KIND).get("types", {})
            for path, name in types.items() if isinstance(types, dict) else [(None, types)]:
                inner, inner_kind = _named_module(listing, name, path)
                if inner == folder:
                    raise EncoderError(f"{_KIND}: {listing} names itself as a module")
                _check_module(inner, inner_kind, weights)
    elif kind in ("Dense", "WordEmbeddings"):
        key, allowed = ("activation_function", _ACTIVATION) if kind == "Dense" else ("tokenizer_class", _SPLITTER)
        file = folder / ("config.json" if kind == "Dense" else "wordembedding_config.json")
        name = read_json(file, dict, _KIND).get(key, "")
        if name and not (isinstance(name, str) and allowed.fullmatch(name)):
            raise EncoderError(f"{_KIND}: {file} names by {key} the class {name}; code that comes with a model is not run")


def _check_options(file: Path, options: dict[str, Any]) -> None:
    """Refuse options of a transformer beyond the known ones: some make pickles run, or read and write files anywhere."""
    wrong = [key for key in options if not _OPTIONS.fullmatch(key)]
    for key, inner in options.items():
        if key == "modality_config":
            ways = inner.values() if isinstance(inner, dict) else [inner]
            methods = [str(way.get("method")) if isinstance(way, dict) else "" for way in ways]
            wrong += [method for method in methods if not re.fullmatch(r"forward|get_\w+_features", method)]
        elif key.endswith("args") and key != "processing_kwargs":
            named = inner.items() if isinstance(inner, dict) else [(key, inner)]
            # A kernel of the hub is written as owner/name, and its import runs it.
            wrong += [name for name, value in named if not _ARGUMENTS.fullmatch(name) or "/" in str(value)]
    if wrong:
        raise EncoderError(f"{_KIND}: {file} sets {', '.join(map(repr, wrong))}, which text encoders do not need; remove it")


def _transformer_of(module: Any) -> Any:
    """Return the transformer inside a module, None for a module of another kind."""
    inner = getattr(module, "auto_model", None) or getattr(module, "model", None)
    return inner if hasattr(inner, "config") else None


def _dimension(model: Any) -> int:
    """Return the width of the model's whole vectors."""
    kept, model.truncate_dim = model.truncate_dim, None
    try:
        # Version 6 shortened the name.
        ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        told = ask()
        return int(told) if told else int(model.encode(["."]).shape[1])
    finally:
        model.truncate_dim = kept


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
