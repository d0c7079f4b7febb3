"""sentence-transformers models, from a model hub's ID or a folder, with their own pooling and native vectors."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from copy import copy
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.encoders.contextual import checkpoint
from medsenteval.encoders.contextual.checkpoint import Prompts
from medsenteval.encoders.contextual.lazy_model import LazyModel, content_key
from medsenteval.encoders.contextual.model_folder import check_modules, find_model, model_name
from medsenteval.encoders.contextual.peft_adapter import PeftAdapter
from medsenteval.encoders.derived import DerivedEncoder
from medsenteval.encoders.fingerprint import hash_config, hash_state_dict, hash_tokenizer
from medsenteval.encoders.model_files import check_choices, environment, whole_number
from medsenteval.errors import EncoderError, import_extra

_KIND: Final = "sentence-transformers"
_DTYPES: Final = ("", "float32", "bfloat16", "float16")
#: What each backend needs beside sentence-transformers.
_BACKENDS: Final = {"torch": (), "onnx": ("onnxruntime", "optimum.onnxruntime"), "openvino": ("openvino", "optimum.intel")}
_POOLER: Final = re.compile(r"\d+\.(auto_)?model\.pooler\.")


class SentenceTransformerEncoder:
    """A sentence-transformers model, loaded when it first encodes; texts, the empty one included, stand behind the prompt."""

    def __init__(self, lazy: LazyModel, name: str, prompts: Prompts, role: str = "") -> None:
        self.name = name
        self._lazy = lazy
        self._prompts = prompts
        # Only a model that routes texts by their role gives another vector for another role under the same prompt.
        self._role = role if lazy.facts["routes"] else ""
        routed = f"-role={self._role}" if self._role else ""
        described = lazy.facts["described"]
        # Always False: normalised vectors are derived from these. Stored results hold identities with this word.
        self.identity = f"{described}-normalize=False-{prompts}{routed}" if described else ""

        self.dimension: int = lazy.facts["dimension"]
        # ONNX Runtime and OpenVINO divide a batch among threads of their own.
        self.keeps_threads: bool = lazy.facts["backend"] != "torch"

    @property
    def sees(self) -> dict[str, Any]:
        facts = self._lazy.facts
        shown = {key: facts[key] for key in ("max_length", "dtype", "pooling")} | {"prompt": self._prompts.default}
        return shown | ({"backend": facts["backend"]} if self.keeps_threads else {})

    @property
    def concurrent_batches(self) -> bool:
        """A model in evaluation mode has no state, and its tokeniser changes only when it is called otherwise than before."""
        return not self.keeps_threads and str(self._lazy.model.device) == "cpu"

    def for_use(self, task: str, role: str) -> SentenceTransformerEncoder:
        return SentenceTransformerEncoder(self._lazy, self.name, Prompts(self._prompts.chosen(task, role)), role)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        model, sound = self._lazy.model, checkpoint.without_surrogates(texts)
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        longest = self._lazy.facts["max_length"] or 1 << 20
        # About four letters make a token; to count them would be to tokenise twice.
        for places in checkpoint.passes([min(len(text) // 4 + 2, longest) for text in sound], str(model.device)):
            # Passed by position: version 6 renamed the parameter. The prompt is given even when empty, since None would stand
            # for the model's default one; some models leave the prompt's pieces out of their mean.
            rows[places] = model.encode(
                [sound[place] for place in places],
                prompt=self._prompts.default,
                batch_size=len(places),
                show_progress_bar=False,
                convert_to_numpy=True,
                **({"task": self._role} if self._role else {}),
            )
        return rows

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has behind the prompt, those that are cut off included; 0 where nothing is cut."""
        tokenizer = getattr(self._lazy.model, "tokenizer", None)
        if self._lazy.facts["max_length"] is None or tokenizer is None:
            return [0] * len(texts)
        lowered = getattr(self._lazy.model[0], "do_lower_case", False)
        whole = [(self._prompts.default + text).strip() for text in checkpoint.without_surrogates(texts)]
        return checkpoint.count_tokens(tokenizer, [text.lower() for text in whole] if lowered else whole)


def from_model(model: Any) -> Encoder:
    """Wrap a loaded SentenceTransformer with its own length, dimension and prompts, named by its card or folder.

    One with code or adapters of its own, or weights outside of torch, has no identity: they cannot be hashed.
    """
    card, inner = getattr(model, "model_card_data", None), _transformer_of(model[0])
    named = getattr(card, "model_id", None) or getattr(getattr(inner, "config", None), "_name_or_path", None) or ""
    whole = copy(model)  # the caller's own keeps its dimension
    facts = _facts(whole)
    name = model_name(named) or describe_model(model)[: len(_KIND) + 9]
    return _derived(SentenceTransformerEncoder(LazyModel(lambda: whole, facts), name, _prompts(facts)), facts["kept"])


def _derived(encoder: SentenceTransformerEncoder, dimension: int | None, unit: bool = False) -> Encoder:
    """Return an encoder of so many leading coordinates of the same vectors, of length one if ``unit``."""
    # All of the coordinates is what an absent option means too, and must have the same identity.
    cut = dimension if dimension is not None and dimension < encoder.dimension else None
    return DerivedEncoder(encoder, cut, unit) if unit or cut is not None else encoder


def _facts(model: Any) -> dict[str, Any]:
    """Return everything that is asked of a model before it encodes, from now on whole vectors, whatever part is wanted."""
    kept, model.truncate_dim = model.truncate_dim, None
    # Version 6 shortened the name.
    width = (getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension)()
    pooling = (module.get_config_dict() for module in model if type(module).__name__ == "Pooling")
    settings: dict[str, Any] = next(pooling, {})
    length = model.max_seq_length if _transformer_of(model[0]) is not None else None
    own_code = not all(type(part).__module__.startswith("sentence_transformers.") for part in (model, *model))
    adapted = any(getattr(_transformer_of(module), "_hf_peft_config_loaded", False) for module in model)
    backend = getattr(model, "backend", "torch")
    return {
        # Of other code, adapters and graphs weights and settings do not say all.
        "described": "" if own_code or adapted or backend != "torch" else describe_model(model),
        "backend": backend,
        "prompts": {key: text for key, text in (model.prompts or {}).items() if text is not None},
        "default_prompt": model.default_prompt_name or "",
        "routes": any(type(module).__name__ in ("Router", "Asym") for module in model),
        "max_length": length if isinstance(length, int) else None,
        "dtype": str(getattr(model, "dtype", None) or "").removeprefix("torch."),
        "pooling": _pooling_of(settings),
        "dimension": int(width or model.encode(["."]).shape[1]),
        "kept": kept,
    }


def _pooling_of(settings: dict[str, Any]) -> str:
    """Return how a module pools; versions before 5.5 write a switch for each way."""
    switched = [key.removeprefix("pooling_mode_") for key, value in settings.items() if value is True and "mode_" in key]
    return "+".join(switched) or str(settings.get("pooling_mode", ""))


def _prompts(
    facts: dict[str, Any], prompt: str | None = None, query: str | None = None, document: str | None = None, tasks: str = ""
) -> Prompts:
    """Return the prompts that options give, and for the rest those that the model brings along, as the library chooses them."""
    if prompt is None:  # one that is given without a role is meant for every text
        stored: dict[str, str] = facts["prompts"]
        prompt = stored[facts["default_prompt"]] if facts["default_prompt"] else ""
        query = stored.get("query") or None if query is None else query
        named = (stored.get(name) for name in ("document", "passage", "corpus"))
        document = next(filter(None, named), None) if document is None else document
    return Prompts.given(_KIND, prompt, query, document, tasks)


def describe_model(model: Any) -> str:
    """Return everything about a model that decides its whole vectors, but for what a call to ``encode`` says."""
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
    return f"{_KIND}-{digest.hexdigest()[:32]}-max_length={model.max_seq_length}"


def load(
    argument: str,
    normalize: str = "no",
    prompt: str | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    task_prompts: str = "",
    dimension: str = "",
    max_length: str = "",
    dtype: str = "",
    device: str = "auto",
    backend: str = "torch",
    file_name: str = "",
    adapter: str = "",
) -> Encoder:
    """Load ``sentence-transformers:ID_OR_PATH``; docs/encoders.md explains the options."""
    check_choices(_KIND, normalize=(normalize, ("no", "yes")), dtype=(dtype, _DTYPES), backend=(backend, _BACKENDS))
    if backend != "torch" and (dtype or adapter):
        raise EncoderError(f"sentence-transformers: dtype and adapter are for backend=torch, not for backend={backend}")
    path = PurePosixPath(file_name)
    if file_name and (backend == "torch" or path.is_absolute() or ".." in path.parts or "\\" in file_name):
        raise EncoderError(f"{_KIND}: file_name is {file_name!r}; it names a graph of onnx or openvino in the folder")
    first = whole_number(_KIND, "dimension", dimension, least=1) if dimension else None
    longest = whole_number(_KIND, "max_length", max_length, least=1) if max_length else 0
    folder, source, revision = find_model(argument, _KIND)
    check_modules(folder, weights=not revision and backend == "torch")
    where = f"sentence-transformers:{argument}"
    change = PeftAdapter(adapter, _KIND) if adapter else None
    options = {"kind": _KIND, "max_length": max_length, "dtype": dtype, "backend": backend, "file_name": file_name}
    options["adapter"] = change.key if change else ""

    def load_model() -> tuple[Any, dict[str, Any]]:
        arguments = {"torch_dtype": dtype} if dtype else {"file_name": file_name} if file_name else {}
        model = _load_model(source, revision, checkpoint.choose_device(device), backend, arguments)
        if change is not None:
            held = "model" if "model" in model[0]._modules else "auto_model"
            setattr(model[0], held, change.merged_into(_transformer_of(model[0])))
        if longest:
            inner = _transformer_of(model[0])
            if inner is None:
                raise EncoderError(f"{where}: max_length is {longest}, but a {type(model[0]).__name__} has none; leave it out")
            checkpoint.check_length(longest, inner, model.tokenizer, where)
            model.max_seq_length = longest
        facts = _facts(model)
        if backend != "torch":
            # A graph's weights cannot be asked for: the files that it comes from stand for it.
            content = content_key(folder, revision, {"file_name": file_name})[:32]
            facts["described"] = f"{_KIND}-{backend}-{content}-max_length={model.max_seq_length}"
        return model, facts

    lazy = LazyModel.remembered(folder, revision, options, load_model)
    prompts = _prompts(lazy.facts, prompt, query_prompt, document_prompt, task_prompts)
    if first and first > lazy.facts["dimension"]:
        raise EncoderError(f"{where}: dimension is {first}, but the model's vectors have {lazy.facts['dimension']}")
    name = model_name(str(source)) + (f"+{change.name}" if change else "")
    return _derived(SentenceTransformerEncoder(lazy, name, prompts), first or lazy.facts["kept"], normalize == "yes")


def _load_model(source: str, revision: dict[str, str], device: str, backend: str, arguments: dict[str, str]) -> Any:
    with environment("USE_TF", "0"):  # TensorFlow, which transformers 4 would import, takes seconds
        library = import_extra("sentence_transformers", f"{_KIND}:", "transformers", _KIND)
    for module in _BACKENDS[backend]:
        import_extra(module, f"backend={backend}", backend)
    options = {"device": device, "backend": backend, "model_kwargs": arguments, **revision}
    try:
        return library.SentenceTransformer(source, trust_remote_code=False, **options).eval()
    except Exception as error:  # the library lets through whatever its parsers raise
        raise EncoderError(f"sentence-transformers: {source!r} could not be loaded: {error}") from error


def _transformer_of(module: Any) -> Any:
    """Return the transformer inside a module, None for a module of another kind."""
    inner = getattr(module, "auto_model", None) or getattr(module, "model", None)
    return inner if hasattr(inner, "config") else None
