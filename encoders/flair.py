"""Flair's contextual string embeddings (Akbik et al., 2018), from the language-model files that flair ships.

The files are read and run by torch alone. flair itself takes long to import, excludes transformers 5, and opens its files
with a pickle that may run any code; here nothing but tensors, plain values and the character dictionary can be read.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.encoders.fingerprint import hash_state_dict
from medsenteval.encoders.transformer import EMPTY_TEXT, choose_device
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.pooling import POOLINGS, pool

__all__ = ["FlairEncoder", "LanguageModel", "load"]

_TEXTS_PER_PASS: Final = 32
#: Characters that go through the network at once; bounds the memory that a long text takes, and changes nothing else.
_CHARACTERS_PER_PASS: Final = 512
_REQUIRED: Final = ("state_dict", "dictionary", "is_forward_lm", "hidden_size", "nlayers", "embedding_size", "nout")
_WHERE_FROM: Final = (
    "expected is a language model of flair, such as pubmed-forward.pt from "
    "https://flair.informatik.hu-berlin.de/resources/embeddings/flair/"
)
#: flair drops these from every text (zero-width characters, line and paragraph separators).
_DROPPED: Final = dict.fromkeys(map(ord, "\u200c\u200b\ufe0f\ufeff\u2028\u2029"))


class LanguageModel:
    """One character-level language model: an embedding, a recurrent network and, in some, a projection."""

    def __init__(self, stored: Mapping[str, Any], file: Path, device: str) -> None:
        from torch import nn

        self.is_forward = bool(stored["is_forward_lm"])
        self.numbers: dict[str, int] = {item.decode("utf-8"): number for item, number in stored["dictionary"].item2idx.items()}
        self.delimiter: str = stored.get("document_delimiter", "\n")
        recurrent = {"lstm": nn.LSTM, "gru": nn.GRU}.get(str(stored.get("recurrent_type", "lstm")).lower())
        if recurrent is None:
            raise EncoderError(f"flair: {file} has a recurrent network of type {stored['recurrent_type']!r}; known: lstm, gru")
        hidden_size, projected = int(stored["hidden_size"]), stored["nout"]
        self._modules = nn.ModuleDict(
            {
                "encoder": nn.Embedding(len(stored["dictionary"].idx2item), int(stored["embedding_size"])),
                "rnn": recurrent(int(stored["embedding_size"]), hidden_size, int(stored["nlayers"])),
            }
        )
        if projected is not None:
            self._modules["proj"] = nn.Linear(hidden_size, int(projected))
        self.dimension = hidden_size if projected is None else int(projected)
        # The decoder predicts the next character and has no part in a vector.
        weights = {key: value for key, value in stored["state_dict"].items() if not key.startswith("decoder.")}
        try:
            self._modules.load_state_dict(weights)
        except RuntimeError as error:
            raise EncoderError(f"flair: the weights in {file} do not fit the sizes stored beside them: {error}") from error
        self._modules.requires_grad_(False).eval().to(device)
        self._device = device
        settings = (self.is_forward, sorted(self.numbers.items()), self.delimiter, recurrent.__name__, int(stored["nlayers"]))
        self.fingerprint = hashlib.sha256(f"{hash_state_dict(weights)}|{settings!r}".encode()).hexdigest()

    def token_vectors(self, texts: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """Return for each text, a list of tokens, the state behind each token: behind the blank after it, read either way."""
        lines = [" ".join(tokens) for tokens in texts]
        places = [self._places(tokens) for tokens in texts]
        strings = [f"{self.delimiter}{line if self.is_forward else line[::-1]} " for line in lines]
        vectors = [np.empty((len(where), self.dimension), dtype=np.float32) for where in places]
        order = sorted(range(len(strings)), key=lambda i: len(strings[i]))
        for start in range(0, len(order), _TEXTS_PER_PASS):
            chosen = order[start : start + _TEXTS_PER_PASS]
            self._run([strings[i] for i in chosen], [places[i] for i in chosen], [vectors[i] for i in chosen])
        return vectors

    def _places(self, tokens: Sequence[str]) -> NDArray[np.intp]:
        lengths = np.array([len(token) + 1 for token in tokens], dtype=np.intp)
        ends = np.cumsum(lengths if self.is_forward else lengths[::-1])
        return np.asarray(ends if self.is_forward else ends[::-1]) + len(self.delimiter) - 1

    def _run(self, strings: Sequence[str], places: Sequence[NDArray[np.intp]], vectors: Sequence[NDArray[np.float32]]) -> None:
        """Read the strings together and write the states at the wanted places into the rows of ``vectors``."""
        import torch

        width = max(map(len, strings))
        # What stands behind a string's end is never looked at, as the network reads in one direction only.
        characters = np.zeros((width, len(strings)), dtype=np.int64)
        for column, string in enumerate(strings):
            characters[: len(string), column] = [self.numbers.get(character, 0) for character in string]
        state = None
        with torch.inference_mode():
            for start in range(0, width, _CHARACTERS_PER_PASS):
                piece = torch.from_numpy(characters[start : start + _CHARACTERS_PER_PASS]).to(self._device)
                output, state = self._modules["rnn"](self._modules["encoder"](piece), state)
                if "proj" in self._modules:
                    output = self._modules["proj"](output)
                states = output.cpu().numpy()
                for column, (where, rows) in enumerate(zip(places, vectors, strict=True)):
                    here = (where >= start) & (where < start + _CHARACTERS_PER_PASS)
                    rows[here] = states[where[here] - start, column]


class FlairEncoder:
    """One language model, or a forward and a backward one stacked; the sentence vector is pooled over blank-separated tokens.

    A text without any token is encoded as ".", since flair has no vector for an empty sentence.
    """

    def __init__(self, models: Sequence[LanguageModel], name: str, pooling: str = "mean") -> None:
        self.name = name
        self.identity = f"flair-{'+'.join(model.fingerprint[:32] for model in models)}-pooling={pooling}"
        self._models = models
        self._pooling = pooling

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one pooled row for each text."""
        if not texts:
            return np.empty((0, sum(model.dimension for model in self._models)), dtype=np.float32)
        return pool(self.encode_tokens(texts), self._pooling)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """Return the stacked vectors of all tokens, text after text; all of them count as known."""
        tokens = [_tokens(text) for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in tokens])]).astype(np.intp)
        if not tokens:
            return TokenVectors(np.empty((0, 0), dtype=np.float32), offsets, np.empty(0, dtype=np.bool_))
        values = np.hstack([np.concatenate(model.token_vectors(tokens)) for model in self._models])
        return TokenVectors(values, offsets, np.ones(len(values), dtype=np.bool_))


def _tokens(text: str) -> list[str]:
    """Split at blanks, as MedSentEval gave texts to flair, after flair's own repair of problem characters."""

    def repair(match: re.Match[str]) -> str:
        return bytes([ord(match[0])]).decode("windows-1252", "ignore")

    return re.sub("[\u0080-\u0099]", repair, text.translate(_DROPPED)).split() or [EMPTY_TEXT]


def load(argument: str, pooling: str = "mean", device: str = "auto") -> FlairEncoder:
    """Load ``flair:FORWARD.pt+BACKWARD.pt`` or one of the two, options ``pooling=mean|max`` and ``device=auto|cpu|cuda``."""
    if pooling not in POOLINGS:
        raise EncoderError(f"flair: pooling is {pooling!r}; it can be {' or '.join(POOLINGS)}")
    files = _files(argument)
    for file in files:
        _check_file(file)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("flair:", "torch", "flair") from error
    models = [_read(file, choose_device(device)) for file in files]
    if len(models) == 2 and models[0].is_forward == models[1].is_forward:
        direction = "forward" if models[0].is_forward else "backward"
        raise EncoderError(f"flair: {files[0]} and {files[1]} are both {direction} models; expected is one of each direction")
    return FlairEncoder(models, "+".join(file.stem for file in files), pooling)


def _files(argument: str) -> list[Path]:
    """Split at the + that parts two existing files, since a file's name may hold one too."""
    if not argument:
        raise EncoderError("flair needs files: flair:FORWARD.pt+BACKWARD.pt, or one of the two")
    whole = Path(argument).expanduser()
    parted = [
        [Path(argument[: match.start()]).expanduser(), Path(argument[match.end() :]).expanduser()]
        for match in re.finditer(r"\+", argument)
    ]
    if whole.exists() or not parted:
        return [whole]
    return next((pair for pair in parted if all(file.exists() for file in pair)), parted[0])


def _check_file(file: Path) -> None:
    """Judge a file by its first and last bytes, before torch is imported."""
    if not file.is_file():
        raise EncoderError(f"flair: there is no file {file}; {_WHERE_FROM}")
    with file.open("rb") as stream:
        start = stream.read(2)
    if start == b"PK" and not zipfile.is_zipfile(file):
        raise EncoderError(f"flair: {file} is cut off: the end of its archive is missing; {_WHERE_FROM}")
    if start != b"PK" and start[:1] != b"\x80":
        raise EncoderError(f"flair: {file} is not a file that torch.save wrote; {_WHERE_FROM}")


def _read(file: Path, device: str) -> LanguageModel:
    import torch

    try:
        # torch's own weights_only reader knows pickle protocol 2 alone and flair writes protocol 4, so the same restriction
        # is made here: _Unpickler knows a short list of names and refuses every other.
        stored = torch.load(file, map_location="cpu", pickle_module=_PICKLE, weights_only=False)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise EncoderError(f"flair: {file} could not be read: {error}; {_WHERE_FROM}") from error
    absent = [key for key in _REQUIRED if key not in stored] if isinstance(stored, dict) else list(_REQUIRED)
    if absent:
        raise EncoderError(f"flair: {file} holds no {absent[0]!r}; {_WHERE_FROM}")
    dictionary = stored["dictionary"]
    if not isinstance(dictionary, _Dictionary) or not hasattr(dictionary, "item2idx") or not hasattr(dictionary, "idx2item"):
        raise EncoderError(f"flair: the dictionary in {file} is not one of characters; {_WHERE_FROM}")
    return LanguageModel(stored, file, device)


class _Dictionary:
    """Stands for flair.data.Dictionary: characters and their numbers."""

    item2idx: dict[bytes, int]
    idx2item: list[bytes]


class _Unpickler(pickle.Unpickler):
    """Finds only what a language model consists of; any other name in the file, and with it any other code, is refused."""

    def find_class(self, module: str, name: str) -> Any:
        import codecs

        import torch

        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("collections", "defaultdict"): defaultdict,
            ("builtins", "int"): int,
            ("__builtin__", "int"): int,
            ("__builtin__", "long"): int,  # what protocol 2 calls int
            ("_codecs", "encode"): codecs.encode,  # how protocol 2 writes bytes
            ("flair.data", "Dictionary"): _Dictionary,
            ("torch._utils", "_rebuild_tensor_v2"): torch._utils._rebuild_tensor_v2,
            ("torch._utils", "_rebuild_parameter"): torch._utils._rebuild_parameter,
        }
        if (module, name) in known:
            return known[module, name]
        if module in ("torch", "torch.storage") and re.fullmatch(r"\w+Storage", name):
            return getattr(torch, name) if hasattr(torch, name) else getattr(torch.storage, name)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no part of a language model")


def _load_restricted(stream: Any, **options: Any) -> Any:
    return _Unpickler(stream, **options).load()


#: What torch.load asks of a pickle module.
_PICKLE: Final = SimpleNamespace(__name__="restricted", Unpickler=_Unpickler, load=_load_restricted)
