"""Universal Sentence Encoder and other text encoders of TensorFlow Hub: TF2 SavedModels and TF1 hub modules.

A folder is read by TensorFlow alone; only an address needs tensorflow_hub, which fetches and unpacks it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.fingerprint import hash_files
from medsenteval.errors import EncoderError, MissingExtraError

__all__ = ["UniversalSentenceEncoder", "load"]

_EXPECTED: Final = (
    "expected is an unpacked TensorFlow Hub model: saved_model.pb and, beside it, the folders variables/ and assets/"
)
#: Operations by which a graph would run Python code or reach for files of its own choice; no text encoder needs them.
_REFUSED: Final = frozenset(("EagerPyFunc", "PyFunc", "PyFuncStateless", "ReadFile", "WriteFile", "MatchingFiles"))
_OUTPUTS: Final = ("default", "outputs")


class UniversalSentenceEncoder:
    """A TensorFlow text encoder with its native vectors; texts, the empty one included, are passed as they are."""

    def __init__(self, function: Callable[[list[str]], Any], name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self._function = function

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one native row for each text."""
        return np.asarray(self._function(list(texts)), dtype=np.float32)


def load(argument: str, signature: str = "", output: str = "") -> UniversalSentenceEncoder:
    """Load ``use:PATH`` or ``use:https://tfhub.dev/...``.

    A TF2 model is called as it is, a TF1 module by its signature ``default``; ``signature`` names another one, and ``output``
    one of several results.
    """
    if not argument:
        raise EncoderError("use needs a model: use:PATH or use:https://tfhub.dev/google/universal-sentence-encoder/4")
    folder = _fetched(argument) if argument.startswith(("http://", "https://")) else Path(argument).expanduser()
    files = _checked_files(folder)
    tensorflow = _import_tensorflow()
    try:
        loaded = tensorflow.saved_model.load(str(folder), tags=_tags(folder))
    except EncoderError:
        raise
    except Exception as error:  # TensorFlow's own classes of errors share no narrower base
        raise EncoderError(f"use: {folder} could not be loaded: {error}; {_EXPECTED}") from error
    function, chosen = _text_function(tensorflow, loaded, folder, signature, output)
    name = argument.rstrip("/").removeprefix("https://tfhub.dev/").replace("/", "-") if "://" in argument else folder.name
    # The call and the signature of one model may differ, so which of them was chosen is part of the identity.
    return UniversalSentenceEncoder(function, name, f"use-{hash_files(files)[:32]}-{chosen}")


def _fetched(address: str) -> Path:
    try:
        with _quiet_tensorflow():
            import tensorflow_hub
    except ImportError as error:
        raise MissingExtraError("use: with an address", "tensorflow-hub", "use") from error
    try:
        return Path(tensorflow_hub.resolve(address))
    except Exception as error:  # whatever the network, the server or the archive brings
        raise EncoderError(
            f"use: {address} could not be fetched: {error}; a folder with the unpacked model works too"
        ) from error


@contextmanager
def _quiet_tensorflow() -> Iterator[None]:
    """Spare the user TensorFlow's notes on its own start, unless a level was chosen; warnings and errors stay."""
    chosen = "TF_CPP_MIN_LOG_LEVEL" in os.environ
    if not chosen:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
    try:
        yield
    finally:
        if not chosen:
            del os.environ["TF_CPP_MIN_LOG_LEVEL"]


def _import_tensorflow() -> Any:
    try:
        with _quiet_tensorflow():
            import tensorflow
    except ImportError as error:
        raise MissingExtraError("use:", "tensorflow-cpu", "use") from error
    return tensorflow


def _checked_files(folder: Path) -> list[Path]:
    """Return the files that decide a vector, in a fixed order, after the checks that need no TensorFlow."""
    graph = folder / "saved_model.pb"
    if not folder.is_dir():
        raise EncoderError(f"use: {folder} is {'a file' if folder.exists() else 'no folder'}; {_EXPECTED}")
    if not graph.is_file():
        raise EncoderError(f"use: {folder} has no saved_model.pb; {_EXPECTED}")
    if not _is_whole_protobuf(graph):
        raise EncoderError(f"use: {graph} is cut off or is no SavedModel; {_EXPECTED}")
    variables = folder / "variables"
    shards = sorted(variables.glob("variables.data-*"))
    if variables.is_dir() and any(variables.iterdir()):
        announced = int(shards[0].name.rpartition("-")[2]) if shards else 1
        if not (variables / "variables.index").is_file() or len(shards) != announced:
            raise EncoderError(
                f"use: {variables} is not whole: {len(shards)} of {announced} data files; expected are variables.index and "
                f"variables.data-00000-of-{announced:05}"
            )
    inner = [file for name in ("variables", "assets") for file in sorted((folder / name).rglob("*")) if file.is_file()]
    return [graph, *inner]


def _is_whole_protobuf(file: Path) -> bool:
    """Tell whether a SavedModel's outer fields, a version number and graphs with their lengths, end where the file ends."""
    size = file.stat().st_size
    graphs = 0
    with file.open("rb") as stream:

        def number() -> int:
            value = shift = 0
            while byte := stream.read(1):
                value |= (byte[0] & 0x7F) << shift
                if byte[0] < 0x80:
                    return value
                shift += 7
            raise EOFError

        try:
            while stream.tell() < size:
                tag = number()
                if tag == 0x08:  # field 1, the version of the schema
                    number()
                elif tag == 0x12:  # field 2, a graph
                    stream.seek(number(), os.SEEK_CUR)
                    graphs += 1
                else:
                    return False
            return graphs > 0 and stream.tell() == size
        except (EOFError, OverflowError, OSError):
            return False


def _tags(folder: Path) -> list[str] | None:
    """Return the tags of the graph for inference, after refusing operations that no text encoder needs."""
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    model.ParseFromString((folder / "saved_model.pb").read_bytes())
    for graph in model.meta_graphs:
        bodies = [graph.graph_def.node, *(function.node_def for function in graph.graph_def.library.function)]
        operations = {node.op for nodes in bodies for node in nodes}
        refused = sorted(operations & _REFUSED)
        if refused:
            raise EncoderError(f"use: the graph in {folder} holds the operation {refused[0]}, which no text encoder needs")
        if any(operation.startswith("Sentencepiece") for operation in operations):
            _register_sentencepiece(folder)
    found = [set(graph.meta_info_def.tags) for graph in model.meta_graphs]
    if len(found) == 1:
        return None
    # A TF1 module has one graph without tags for inference and one tagged "train".
    for wanted in (set(), {"serve"}):
        if wanted in found:
            return sorted(wanted)
    raise EncoderError(f"use: {folder} has graphs with the tags {found}; expected is one without tags or tagged 'serve'")


def _register_sentencepiece(folder: Path) -> None:
    """Import the package whose import teaches TensorFlow the operations of the multilingual encoders."""
    try:
        import tensorflow_text  # noqa: F401
    except ImportError as error:
        raise EncoderError(
            f"use: {folder} splits words by SentencePiece; install it with: pip install tensorflow-text"
        ) from error


def _text_function(
    tensorflow: Any, loaded: Any, folder: Path, signature: str, output: str
) -> tuple[Callable[[list[str]], Any], str]:
    """Return the function from texts to rows, and what of the model it calls."""
    signatures = dict(getattr(loaded, "signatures", {}))
    if signature and signature not in signatures:
        raise EncoderError(f"use: {folder} has no signature {signature!r}; it has {', '.join(sorted(signatures)) or 'none'}")
    if callable(loaded) and not signature:
        probe = _called(lambda: loaded(tensorflow.constant(["."])), folder)
        if not isinstance(probe, dict):
            if output:
                raise EncoderError(f"use: {folder} has a single output, so output={output} cannot be chosen; leave it out")
            return (lambda texts: loaded(tensorflow.constant(texts, tensorflow.string)).numpy()), "call"
        key = _output_key(probe, output, folder)
        return (lambda texts: loaded(tensorflow.constant(texts, tensorflow.string))[key].numpy()), f"call-{key}"
    name = signature or next((known for known in ("default", "serving_default") if known in signatures), "")
    if not name:
        raise EncoderError(
            f"use: {folder} cannot be called and has no signature 'default'; it has {', '.join(sorted(signatures)) or 'none'}"
        )
    function = signatures[name]
    inputs = function.structured_input_signature[1]
    if len(inputs) != 1 or next(iter(inputs.values())).dtype != tensorflow.string:
        described = ", ".join(f"{key}: {spec.dtype.name}" for key, spec in inputs.items())
        raise EncoderError(f"use: the signature {name!r} of {folder} takes ({described}); expected is one input of texts")
    key = _output_key(function.structured_outputs, output, folder)
    (argument,) = inputs
    return (lambda texts: function(**{argument: tensorflow.constant(texts, tensorflow.string)})[key].numpy()), f"{name}-{key}"


def _called(call: Callable[[], Any], folder: Path) -> Any:
    try:
        return call()
    except Exception as error:  # a wrong input raises ValueError or TypeError, a broken graph TensorFlow's own classes
        raise EncoderError(f"use: the model in {folder} does not take a list of texts: {error}") from error


def _output_key(outputs: dict[str, Any], wanted: str, folder: Path) -> str:
    candidates = [wanted] if wanted else [*_OUTPUTS, *(outputs if len(outputs) == 1 else ())]
    for key in candidates:
        if key in outputs:
            return key
    raise EncoderError(f"use: {folder} has the outputs {', '.join(sorted(outputs))}; choose one with output=NAME")
