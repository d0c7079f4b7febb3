"""Checkpoint folders of transformers and sentence-transformers: found, and checked before a library opens them.

Neither library runs a checkpoint's own code unless it is told to, but settings inside a checkpoint can tell it to fetch and run
a kernel from a model hub, or to read files from anywhere. These settings are therefore read here first.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, Final

from medsenteval.encoders.model_files import read_json, torch_file_fault
from medsenteval.errors import EncoderError, import_extra

__all__ = ["check_model_folder", "check_settings", "find_model", "model_name"]

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
    if not argument:
        raise EncoderError(f"{kind} needs a model: {kind}:ID or {kind}:PATH")
    path = Path(argument).expanduser()
    if path.is_dir():
        return path, str(path), {}
    if path.exists():
        raise EncoderError(f"{kind}: {argument} is a file; expected is the folder with config.json, weights and tokeniser")
    if path.is_absolute() or argument[0] in ".~" or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", argument):
        raise EncoderError(f"{kind}: there is no folder {argument}, and it cannot be the ID of a model hub")
    hub = import_extra("huggingface_hub", f"{kind}:", "transformers", "huggingface-hub")
    try:
        folder = Path(hub.snapshot_download(argument, allow_patterns=["*.json"]))
    except Exception as error:  # whatever the network, the hub or its cache brings
        raise EncoderError(f"{kind}: {argument!r} could not be loaded: {error}") from error
    return folder, argument, {"revision": folder.name}


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
        fault = _safetensors_fault(part) if part.suffix == ".safetensors" else torch_file_fault(part)
        if fault:
            raise EncoderError(f"{kind}: {part} is not whole or not a file of its kind: {fault}")


def check_settings(folder: Path, kind: str) -> None:
    """Refuse a folder without config.json, and settings that would run other code or read other files than the folder's."""
    if not (folder / "config.json").is_file():
        raise EncoderError(f"{kind}: {folder} has no config.json; expected is a folder as save_pretrained writes it")
    if (folder / "adapter_config.json").is_file():
        raise EncoderError(
            f"{kind}: {folder} holds an adapter (adapter_config.json), which changes a model from elsewhere; "
            f"name both: {kind}:MODEL,adapter={folder}"
        )
    for file in (folder / name for name in _SETTINGS):
        if not file.is_file():
            continue
        for depth, key, value in _entries(read_json(file, dict, kind)):
            # A kernel of the hub is written as owner/name, and its import runs it.
            if key.endswith(("attn_implementation", "experts_implementation")) and "/" in str(value):
                raise EncoderError(
                    f"{kind}: {file} asks by {key} for the kernel {value}; code that comes with a model is not run"
                )
            # At the top it is ignored, or the model refused; below, transformers would ask at the terminal whether to run it.
            if key == "auto_map" and depth:
                raise EncoderError(
                    f"{kind}: {file} names classes of its own by auto_map; code that comes with a model is not run"
                )
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
            waiting += [(depth + 1, inner) for inner in value.values()]
        elif isinstance(value, list):
            waiting += [(depth + 1, inner) for inner in value]


def _leads_outside(name: str, folder: Path) -> bool:
    try:
        return os.path.exists(name) and not Path(os.path.abspath(name)).is_relative_to(os.path.abspath(folder))
    except ValueError:  # a name that no file can have
        return False


def _parts(index: Path, kind: str) -> list[Path]:
    """Return the files that an index of weights lists, all of them beside it."""
    listed = read_json(index, dict, kind).get("weight_map")
    names = set(map(str, listed.values())) if isinstance(listed, dict) else {""}
    for name in names:
        if PurePath(name).name != name or not name or "\\" in name:
            raise EncoderError(f"{kind}: {index} lists {name!r}; expected are names of files beside it under weight_map")
    return [index.parent / name for name in sorted(names)]


def _safetensors_fault(file: Path) -> str:
    """Say what is wrong with a safetensors file, judged by its header and its size; nothing if all is well."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        header_size = int.from_bytes(stream.read(8), "little")
        if header_size + 8 > size:
            return f"its {size} bytes cannot hold the header of {header_size} bytes that it announces"
        try:
            header = json.loads(stream.read(header_size))
            ends = [int(entry["data_offsets"][1]) for key, entry in header.items() if key != "__metadata__"]
        except (ValueError, AttributeError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
            return f"its header is not that of safetensors ({error})"
    expected = 8 + header_size + max(ends, default=0)
    return "" if size == expected else f"it has {size} bytes where its header promises {expected}"
