"""Folders of sentence-transformers models, checked before the library opens them: what their settings would import or read."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

from medsenteval.encoders.contextual.model_folder import check_model_folder, check_settings
from medsenteval.encoders.model_files import read_json
from medsenteval.errors import EncoderError

__all__ = ["check_modules"]

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


def check_modules(folder: Path, *, weights: bool) -> None:
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
