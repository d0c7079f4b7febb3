"""Universal Sentence Encoder and other text encoders of TensorFlow Hub: TF2 SavedModels and TF1 hub modules.

A folder is read by TensorFlow alone; only an address needs tensorflow_hub, which fetches and unpacks it.

A graph is a program, and some operations reach files and the network by names that the graph computes, from the texts too. So
a graph may consist of the operations in tensorflow_operations.toml alone, and it can neither run Python, nor write, nor read
anything but its own files. What is loaded is a copy of it in which those for saving are replaced by nothing; those that read
take plain names of the model's own files, and only while it is loaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.fingerprint import hash_files
from medsenteval.encoders.model_files import environment
from medsenteval.errors import EncoderError, import_extra
from medsenteval.support.atomic_files import scratch_folder
from medsenteval.support.toml_files import packaged_toml

#: Spares the user TensorFlow's notes on its own start; warnings and errors stay.
_QUIET: Final = ("TF_CPP_MIN_LOG_LEVEL", "1")
_EXPECTED: Final = "expected is an unpacked TensorFlow Hub model: saved_model.pb beside the folders variables/ and assets/"


@dataclass(eq=False)
class UniversalSentenceEncoder:
    """A TensorFlow text encoder with its native vectors; texts, the empty one included, are passed as they are."""

    name: str
    identity: str
    encode: Callable[[Sequence[str]], NDArray[np.float32]]


def load(argument: str) -> UniversalSentenceEncoder:
    """Load ``use:PATH`` or ``use:https://tfhub.dev/...``; a TF2 model is called as it is, a TF1 module by its signature."""
    is_address = argument.startswith(("http://", "https://"))
    folder = _fetched(argument) if is_address else Path(argument).expanduser()
    files = checked_files(folder)
    function, chosen = _text_function(_load_saved_model(folder), folder)
    name = argument.rstrip("/").removeprefix("https://tfhub.dev/").replace("/", "-") if "://" in argument else folder.name
    # The call and the signature of one model may differ, so which of them was chosen is part of the identity.
    return UniversalSentenceEncoder(name, f"use-{hash_files(files)[:32]}-{chosen}", function)


def _text_function(loaded: Any, folder: Path) -> tuple[Callable[[Sequence[str]], NDArray[np.float32]], str]:
    """Return the function from texts to rows, and what of the model it calls."""
    tensorflow = import_tensorflow()
    if callable(loaded):
        # Of the functions for inputs of several kinds that a model may hold, the one that is checked is the one that is called.
        texts, name = tensorflow.TensorSpec([None], tensorflow.string), "call"
        function = _called(lambda: loaded.__call__.get_concrete_function(texts), folder)
    else:
        signatures = dict(getattr(loaded, "signatures", {}))
        name = next((name for name in ("default", "serving_default") if name in signatures), "")
        if not name:
            held = ", ".join(sorted(signatures)) or "none"
            raise EncoderError(f"use: {folder} has no signature default or serving_default; it has {held}")
        function = signatures[name]
        inputs = {key: spec.dtype.name for key, spec in function.structured_input_signature[1].items()}
        if list(inputs.values()) != ["string"]:
            raise EncoderError(f"use: the signature {name!r} of {folder} takes {inputs}; expected is one input of texts")
    _check_function(function, folder)

    def run(texts: Sequence[str]) -> Any:
        return function(tensorflow.constant(list(texts), tensorflow.string))

    probe = _called(lambda: run(["."]), folder)
    if not isinstance(probe, dict):
        return (lambda texts: np.asarray(run(texts), dtype=np.float32)), name
    key = next((key for key in (probe if len(probe) == 1 else ("default", "outputs")) if key in probe), None)
    if key is None:
        raise EncoderError(f"use: {folder} has the outputs {', '.join(sorted(probe))}; expected is one, or one called default")
    return (lambda texts: np.asarray(run(texts)[key], dtype=np.float32)), f"{name}-{key}"


def _called(call: Callable[[], Any], folder: Path) -> Any:
    try:
        return call()
    except Exception as error:  # a wrong input raises ValueError or TypeError, a broken graph TensorFlow's own classes
        raise EncoderError(f"use: the model in {folder} does not take a list of texts: {error}") from error


def _fetched(address: str) -> Path:
    """Return the folder into which tensorflow_hub has fetched and unpacked a model."""
    with environment(*_QUIET):
        tensorflow_hub = import_extra("tensorflow_hub", "use: with an address", "use", "tensorflow-hub")
    try:
        return Path(tensorflow_hub.resolve(address))
    except Exception as error:  # whatever the network, the server or the archive brings
        raise EncoderError(f"use: {address} could not be fetched: {error}; give a folder with the unpacked model") from error


def import_tensorflow() -> Any:
    """Return TensorFlow, or say which package is missing."""
    with environment(*_QUIET):
        return import_extra("tensorflow", "use:", "use")


def _load_saved_model(folder: Path) -> Any:
    """Return the loaded model, after its graphs were checked; what is then called must pass ``_check_function``."""
    tensorflow = import_tensorflow()
    from tensorflow.core.protobuf import saved_model_pb2

    model, graph = saved_model_pb2.SavedModel(), folder / "saved_model.pb"
    try:
        model.ParseFromString(graph.read_bytes())
        if not model.meta_graphs:
            raise ValueError("it holds no graph")
    except Exception as error:  # protobuf's own class of errors
        raise EncoderError(f"use: {graph} is cut off or is no SavedModel: {error}; {_EXPECTED}") from error
    where = f"use: the graph in {folder}"
    for part in model.meta_graphs:
        _disarm(part, where)
    tags = _tags(model, where)
    with scratch_folder() as scratch:
        (scratch / "saved_model.pb").write_bytes(model.SerializeToString())
        for inner in filter(Path.is_dir, (folder / "variables", folder / "assets")):
            _link(inner, scratch / inner.name)
        try:
            return tensorflow.saved_model.load(str(scratch), tags=tags)
        except Exception as error:  # TensorFlow's own classes of errors share no narrower base
            raise EncoderError(f"use: {folder} could not be loaded: {error}; {_EXPECTED}") from error


def _link(part: Path, place: Path) -> None:
    try:
        os.symlink(part.resolve(), place, target_is_directory=True)
    except OSError:  # on Windows not everyone may make links
        shutil.copytree(part, place)


def _check_function(function: Any, folder: Path) -> None:
    """Refuse a function of a loaded model that would read files when it is called: by their names it could pass texts on."""
    graph = function.graph.as_graph_def()
    with_files = _operations()["reading"] | _operations()["saving"]
    for node in (*graph.node, *(node for inner in graph.library.function for node in inner.node_def)):
        if node.op in with_files:
            raise EncoderError(f"use: the graph in {folder} would read files while it encodes, by {node.op}")


@cache
def _operations() -> dict[str, frozenset[str]]:
    """Return the names of the operations that may be in a graph, by family."""
    listed = packaged_toml("medsenteval.encoders", "tensorflow_operations.toml")
    return {family: frozenset(names.split()) for family, names in listed.items()}


def _disarm(graph: Any, where: str) -> None:
    """Take saving out of a graph and refuse it if it holds unknown operations, or reads other files than the model's."""
    families = _operations()
    library = {function.signature.name: function.node_def for function in graph.graph_def.library.function}
    allowed = frozenset(library).union(*families.values())
    assets = _assets(graph, where)
    readers = set()
    for name, nodes in (("", graph.graph_def.node), *library.items()):
        produced = {node.name: node for node in nodes}
        for node in nodes:
            if node.op not in allowed:
                remedy = "name one that needs TensorFlow Text (multilingual ones do) as code of yours, python:MODULE:OBJECT"
                raise EncoderError(f"{where} holds the operation {node.op}, which is not known to be harmless; {remedy}")
            if node.op in families["saving"]:
                node.op = "NoOp"
                del node.input[:]
                node.attr.clear()
            elif node.op in families["reading"]:
                readers.add(name)
                file = node.input[0 if node.op == "RestoreV2" else 1] if len(node.input) > 1 else ""
                if not _is_plain(file, produced, assets):
                    raise EncoderError(f"{where} reads by {node.op} a file that is not its own")
    for name, nodes in library.items():
        if any(not readers.isdisjoint(_functions_of(node)) for node in nodes):
            raise EncoderError(f"{where} reads files by names that its function {name} computes")
    objects = graph.object_graph_def
    for name, function in objects.concrete_functions.items():
        held = [objects.nodes[i] for i in function.bound_inputs if i < len(objects.nodes)]
        if name in readers and any(each.WhichOneof("kind") == "constant" for each in held):
            raise EncoderError(f"{where} reads a file that is not its own, by its function {name}")


def _assets(graph: Any, where: str) -> frozenset[str]:
    """Return the names of the nodes that stand for the files in assets/, all of which must be inside it."""
    from tensorflow.core.protobuf import meta_graph_pb2

    assets = list(graph.asset_file_def)
    listed = "saved_model_assets"  # by TF1; to ask for an absent one would make it
    for packed in graph.collection_def[listed].any_list.value if listed in graph.collection_def else ():
        assets.append(meta_graph_pb2.AssetFileDef())
        packed.Unpack(assets[-1])
    for asset in assets:
        path = PurePosixPath(asset.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in asset.filename or ":" in asset.filename:
            raise EncoderError(f"{where} has the vocabulary {asset.filename}, which is not in its folder assets/")
    return frozenset(asset.tensor_info.name.partition(":")[0] for asset in assets)


def _is_plain(name: str, produced: dict[str, Any], assets: frozenset[str]) -> bool:
    """Tell whether a file's name is one that the loader gives, or a constant without any folder; never one computed."""
    for _ in range(10):
        name = name.partition(":")[0]
        node = produced.get(name)
        # What no node produces is an argument of the function.
        if name in assets or node is None or node.op == "Placeholder":
            return bool(name) and not name.startswith("^")
        if node.op == "Const":
            return not any(mark in node.attr["value"].tensor.SerializeToString() for mark in (b"/", b"\\"))
        if node.op not in ("Identity", "PlaceholderWithDefault") or not node.input:
            return False
        name = node.input[0]
    return False


def _functions_of(node: Any) -> Iterator[str]:
    """Yield the functions that a node calls."""
    yield node.op
    for value in node.attr.values():
        yield value.func.name
        yield from (function.name for function in value.list.func)


def _tags(model: Any, where: str) -> list[str] | None:
    """Return the tags of the graph for inference."""
    found = [set(graph.meta_info_def.tags) for graph in model.meta_graphs]
    # A TF1 module has one graph without tags for inference and one tagged "train".
    if len(found) > 1 and set() not in found and {"serve"} not in found:
        raise EncoderError(f"{where} has the tags {found}; expected is one without tags or tagged 'serve'")
    return None if len(found) == 1 else [] if set() in found else ["serve"]


def checked_files(folder: Path) -> list[Path]:
    """Return the files that decide a vector, in a fixed order, after the checks that need no TensorFlow."""
    graph = folder / "saved_model.pb"
    if not folder.is_dir():
        raise EncoderError(f"use: {folder} is {'a file' if folder.exists() else 'no folder'}; {_EXPECTED}")
    if not graph.is_file():
        raise EncoderError(f"use: {folder} has no saved_model.pb; {_EXPECTED}")
    variables = folder / "variables"
    held = [path.name for path in variables.glob("*")]
    if held and not ("variables.index" in held and any(name.startswith("variables.data-") for name in held)):
        raise EncoderError(f"use: {variables} is not whole; expected are variables.index and variables.data-00000-of-00001")
    inner = [file for name in ("variables", "assets") for file in sorted((folder / name).rglob("*")) if file.is_file()]
    return [graph, *inner]
