"""Checkpoint folders of transformers and sentence-transformers: found, and checked before a library opens them.

Neither library runs a checkpoint's own code unless it is told to, but settings inside a checkpoint can tell it to fetch and run
a kernel from a model hub, or to read files from anywhere. These settings are therefore read here first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Final

from medsenteval.encoders.model_files import read_json, torch_file_fault
from medsenteval.errors import EncoderError, import_extra
from medsenteval.support.toml_files import packaged_toml

_NOT_RUN: Final = "code that comes with a model is not run"
_WEIGHTS: Final = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
#: Names of folders, and titles of cards, that do not tell one model from another.
_SAYS_NOTHING: Final = re.compile(r"models?|checkpoints?|snapshots?|SentenceTransformer|[0-9a-f]{40}", re.IGNORECASE)
_SETTINGS: Final = (
    "config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json", "generation_config.json",
    "special_tokens_map.json", "added_tokens.json",
)  # fmt: skip


def find_model(argument: str, kind: str) -> tuple[Path, str, dict[str, str]]:
    """Return the folder with a model's settings, and what a library is to load: folder or hub ID, with its revision.

    Of a model of the hub only the JSON files are fetched here; its revision is then fixed, so that what is checked is what is
    loaded.
    """
    path = Path(argument).expanduser()
    if path.is_dir():
        return path, str(path), {}
    if path.exists():
        raise EncoderError(f"{kind}: {argument} is a file; expected is the folder with config.json, weights and tokeniser")
    if path.is_absolute() or argument[0] in ".~" or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", argument):
        raise EncoderError(f"{kind}: there is no folder {argument}, and it cannot be the ID of a model hub")
    folder = fetch_from_hub(kind, argument, ["*.json"])
    return folder, argument, {"revision": folder.name}


def fetch_from_hub(kind: str, model: str, patterns: list[str], **revision: str) -> Path:
    """Return the folder into which files of a model of the hub were fetched, or had been."""
    hub = import_extra("huggingface_hub", f"{kind}:", "transformers", "huggingface-hub")
    try:
        return Path(hub.snapshot_download(model, allow_patterns=patterns, **revision))
    except Exception as error:  # whatever the network, the hub or its cache brings
        raise EncoderError(f"{kind}: {model!r} could not be loaded: {error}") from error


def model_name(source: str) -> str:
    """Name a model by its ID or folder; a folder called "model" or by a hash, by its card's title or the folder around it."""
    path = Path(source).expanduser()
    if not source or not path.is_dir():
        return path.name
    path = Path(os.path.abspath(path))
    while _SAYS_NOTHING.fullmatch(path.name):
        card = path / "README.md"
        title = re.search(r"^# +(\S+)\s*$", card.read_text("utf-8", "replace"), re.MULTILINE) if card.is_file() else None
        if title is not None and not _SAYS_NOTHING.fullmatch(title[1]):
            return title[1].rpartition("/")[2]
        path = path.parent
    return path.name.rpartition("--")[2]


def check_model_folder(folder: Path, kind: str) -> None:
    """Raise an EncoderError unless the folder holds safe settings and whole PyTorch weights; nothing heavy is imported."""
    check_settings(folder, kind)
    weights = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        others = [name.name for name in folder.iterdir() if re.search(r"\.(ckpt|h5|msgpack|onnx|index)", name.name)]
        hint = f"; {others[0]} is of another framework and must be converted" if others else ""
        raise EncoderError(f"{kind}: {folder} has no weights; expected is one of {', '.join(_WEIGHTS)}{hint}")
    for part in _parts(weights, kind) if weights.suffix == ".json" else [weights]:
        if not part.is_file():
            raise EncoderError(f"{kind}: {part} is missing, but {weights.name} lists it")
        fault = _safetensors_fault(part, kind) if part.suffix == ".safetensors" else torch_file_fault(part)
        if fault:
            raise EncoderError(f"{kind}: {part} is not whole or not a file of its kind: {fault}")


def check_settings(folder: Path, kind: str) -> None:
    """Refuse a folder without config.json, and settings that would run other code or read other files than the folder's."""
    if not (folder / "config.json").is_file():
        raise EncoderError(f"{kind}: {folder} has no config.json; expected is a folder as save_pretrained writes it")
    if (folder / "adapter_config.json").is_file():
        both = f"name both: {kind}:MODEL,adapter={folder}"
        raise EncoderError(f"{kind}: {folder} holds an adapter (adapter_config.json), which changes another model; {both}")
    for file in (folder / name for name in _SETTINGS):
        if not file.is_file():
            continue
        for depth, key, value in _entries(read_json(file, dict, kind)):
            # A kernel of the hub is written as owner/name, and its import runs it.
            if key.endswith(("attn_implementation", "experts_implementation")) and "/" in str(value):
                raise EncoderError(f"{kind}: {file} asks by {key} for the kernel {value}; {_NOT_RUN}")
            # At the top it is ignored, or the model refused; below, transformers would ask at the terminal whether to run it.
            if key == "auto_map" and depth:
                raise EncoderError(f"{kind}: {file} names classes of its own by auto_map; {_NOT_RUN}")
            # Such paths remain in real files from where they were made; they matter only where they lead somewhere.
            if key.endswith("_file") and isinstance(value, str) and _leads_outside(value, folder):
                raise EncoderError(f"{kind}: {file} names by {key} the file {value}, which is not in the model's folder")
    for index in folder.glob("*.index.json"):
        _parts(index, kind)


def _entries(settings: dict[str, Any]) -> Iterator[tuple[int, str, Any]]:
    """Yield depth, key and value of every entry, nested ones included."""
    waiting: list[tuple[int, Any]] = [(0, settings)]
    while waiting:
        depth, value = waiting.pop()
        if isinstance(value, dict):
            yield from ((depth, key, inner) for key, inner in value.items())
            value = list(value.values())
        if isinstance(value, list):
            waiting += [(depth + 1, inner) for inner in value]


def _leads_outside(name: str, folder: Path) -> bool:
    return os.path.exists(name) and not Path(os.path.abspath(name)).is_relative_to(os.path.abspath(folder))


def _parts(index: Path, kind: str) -> list[Path]:
    """Return the files that an index of weights lists, all of them beside it."""
    listed = read_json(index, dict, kind).get("weight_map")
    names = set(map(str, listed.values())) if isinstance(listed, dict) else {""}
    for name in names:
        if PurePath(name).name != name or not name or "\\" in name:
            raise EncoderError(f"{kind}: {index} lists {name!r}; expected are names of files beside it under weight_map")
    return [index.parent / name for name in sorted(names)]


def _safetensors_fault(file: Path, kind: str) -> str:
    """Say what is wrong with a safetensors file, judged by its header and its size; nothing if all is well."""
    safetensors = import_extra("safetensors", f"{kind}:", "transformers")
    try:
        with safetensors.safe_open(file, framework="np"):
            return ""
    except (OSError, safetensors.SafetensorError) as error:
        return str(error)


_KIND: Final = "sentence-transformers"
#: The library's modules under the names that its versions gave them.
_MODULE: Final = re.compile(r"sentence_transformers\.(?:models|base\.modules|sentence_transformer\.modules)(?:\.\w+)?\.(\w+)")


@cache
def _allowed() -> dict[str, re.Pattern[str]]:
    """Return what settings may name, by its heading in checkpoint_settings.toml."""
    listed = packaged_toml("medsenteval.encoders", "checkpoint_settings.toml")
    return {heading: re.compile("|".join(names)) for heading, names in listed.items()}


def is_allowed(heading: str, name: Any) -> bool:
    """Whether a name is one of those that checkpoint_settings.toml lists under a heading."""
    return isinstance(name, str) and _allowed()[heading].fullmatch(name) is not None


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
    if known is None or not is_allowed("modules", known[1]):
        raise EncoderError(f"{_KIND}: {listing} names {name}, not one of sentence_transformers' modules for text; {_NOT_RUN}")
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
        key, heading = ("activation_function", "activations") if kind == "Dense" else ("tokenizer_class", "splitters")
        file = folder / ("config.json" if kind == "Dense" else "wordembedding_config.json")
        name = read_json(file, dict, _KIND).get(key, "")
        if name and not is_allowed(heading, name):
            raise EncoderError(f"{_KIND}: {file} names by {key} the class {name}; {_NOT_RUN}")


def _check_options(file: Path, options: dict[str, Any]) -> None:
    """Refuse options of a transformer beyond the known ones: some make pickles run, or read and write files anywhere."""
    wrong = [key for key in options if not is_allowed("options", key)]
    for key, inner in options.items():
        held = inner if isinstance(inner, dict) else {key: inner}
        if key == "modality_config":
            methods = [str(way.get("method")) if isinstance(way, dict) else "" for way in held.values()]
            wrong += [method for method in methods if not re.fullmatch(r"forward|get_\w+_features", method)]
        elif key.endswith("args") and key != "processing_kwargs":
            # A kernel of the hub is written as owner/name, and its import runs it.
            wrong += [name for name, value in held.items() if not is_allowed("arguments", name) or "/" in str(value)]
    if wrong:
        raise EncoderError(f"{_KIND}: {file} sets {', '.join(map(repr, wrong))}, which text encoders do not need; remove it")
