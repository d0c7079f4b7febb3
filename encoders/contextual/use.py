"""Universal Sentence Encoder and other text encoders of TensorFlow Hub: TF2 SavedModels and TF1 hub modules.

A folder is read by TensorFlow alone; only an address needs tensorflow_hub, which fetches and unpacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.contextual import saved_model
from medsenteval.encoders.fingerprint import hash_files
from medsenteval.errors import EncoderError


@dataclass(eq=False)
class UniversalSentenceEncoder:
    """A TensorFlow text encoder with its native vectors; texts, the empty one included, are passed as they are."""

    name: str
    identity: str
    function: Callable[[list[str]], Any]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self.function(list(texts)), dtype=np.float32)


def load(argument: str, signature: str = "", output: str = "") -> UniversalSentenceEncoder:
    """Load ``use:PATH`` or ``use:https://tfhub.dev/...``.

    A TF2 model is called as it is, a TF1 module by its signature ``default``; ``signature`` names another one, and ``output``
    one of several results.
    """
    if not argument:
        raise EncoderError("use needs a model: use:PATH or use:https://tfhub.dev/google/universal-sentence-encoder/4")
    is_address = argument.startswith(("http://", "https://"))
    folder = saved_model.fetched(argument) if is_address else Path(argument).expanduser()
    files = saved_model.checked_files(folder)
    loaded = saved_model.load_saved_model(folder)
    function, chosen = _text_function(loaded, folder, signature, output)
    name = argument.rstrip("/").removeprefix("https://tfhub.dev/").replace("/", "-") if "://" in argument else folder.name
    # The call and the signature of one model may differ, so which of them was chosen is part of the identity.
    return UniversalSentenceEncoder(name, f"use-{hash_files(files)[:32]}-{chosen}", function)


def _text_function(loaded: Any, folder: Path, signature: str, output: str) -> tuple[Callable[[list[str]], Any], str]:
    """Return the function from texts to rows, and what of the model it calls."""
    tensorflow = saved_model.import_tensorflow()
    if callable(loaded) and not signature:
        # Of the functions for inputs of several kinds that a model may hold, the one that is checked is the one that is called.
        texts = tensorflow.TensorSpec([None], tensorflow.string)
        name, argument = "call", ""
        function = _called(lambda: loaded.__call__.get_concrete_function(texts), folder)
    else:
        signatures = dict(getattr(loaded, "signatures", {}))
        name = signature or ("serving_default" if "default" not in signatures else "default")
        if name not in signatures:
            raise EncoderError(f"use: {folder} has no signature {name!r}; it has {', '.join(sorted(signatures)) or 'none'}")
        function = signatures[name]
        inputs = {key: spec.dtype.name for key, spec in function.structured_input_signature[1].items()}
        if list(inputs.values()) != ["string"]:
            raise EncoderError(f"use: the signature {name!r} of {folder} takes {inputs}; expected is one input of texts")
        (argument,) = inputs
    saved_model.check_function(function, folder)

    def run(texts: list[str]) -> Any:
        given = tensorflow.constant(texts, tensorflow.string)
        return function(**{argument: given}) if argument else function(given)

    probe = _called(lambda: run(["."]), folder)
    if not isinstance(probe, dict):
        if output:
            raise EncoderError(f"use: {folder} has a single output, so output={output} cannot be chosen; leave it out")
        return (lambda texts: run(texts).numpy()), name
    candidates = [output] if output else ["default", "outputs", *(probe if len(probe) == 1 else ())]
    key = next((key for key in candidates if key in probe), None)
    if key is None:
        raise EncoderError(f"use: {folder} has the outputs {', '.join(sorted(probe))}; choose one with output=NAME")
    return (lambda texts: run(texts)[key].numpy()), f"{name}-{key}"


def _called(call: Callable[[], Any], folder: Path) -> Any:
    try:
        return call()
    except Exception as error:  # a wrong input raises ValueError or TypeError, a broken graph TensorFlow's own classes
        raise EncoderError(f"use: the model in {folder} does not take a list of texts: {error}") from error
