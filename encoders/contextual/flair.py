"""Flair's contextual string embeddings (Akbik et al., 2018), from the language-model files that flair ships.

The files are read and run by torch alone. flair itself takes long to import, excludes transformers 5, and opens its files
with a pickle that may run any code; here nothing but tensors, plain values and the character dictionary can be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.embedding.pooling import POOLINGS, pool
from medsenteval.encoders.contextual.checkpoint import choose_device, passes
from medsenteval.encoders.contextual.transformer import EMPTY_TEXT
from medsenteval.encoders.fingerprint import hash_state_dict
from medsenteval.encoders.model_files import check_choices, joined_files, torch_file_fault
from medsenteval.errors import EncoderError, import_extra

#: Bounds what texts that run together take, about 40 kB a character in the official models; a longer text runs alone.
_TEXTS_PER_PASS: Final = 32
_CHARACTERS_PER_PASS: Final = 1 << 14
_WHERE_FROM: Final = (
    "expected is a language model of flair, such as pubmed-forward.pt from "
    "https://flair.informatik.hu-berlin.de/resources/embeddings/flair/"
)
#: Far above every model.
_MOST_LAYERS: Final = 64
#: flair drops zero-width characters, line and paragraph separators, and reads what was meant for Windows as that.
_REPAIRED: Final = {
    **dict.fromkeys(map(ord, "\u200c\u200b\ufe0f\ufeff\u2028\u2029")),
    **{code: bytes([code]).decode("windows-1252", "ignore") for code in range(0x80, 0x9A)},
}


class LanguageModel:
    """One character-level language model: an embedding, a recurrent network and, in some, a projection.

    What is stored is checked on the way; KeyError, TypeError, ValueError, AttributeError and RuntimeError say what is wrong.
    """

    def __init__(self, stored: Mapping[str, Any], device: str) -> None:
        import torch
        from torch import nn

        from medsenteval.encoders.contextual.torch_file import Characters

        weights, dictionary = stored["state_dict"], stored["dictionary"]
        if not isinstance(dictionary, Characters):
            raise ValueError("its dictionary is not one of characters")
        n_characters = len(dictionary.idx2item)
        self.numbers: dict[str, int] = {item.decode("utf-8"): number for item, number in dictionary.item2idx.items()}
        if not all(type(number) is int and 0 <= number < n_characters for number in self.numbers.values()):
            raise ValueError("its dictionary has other numbers than those of its characters")
        self.is_forward = bool(stored["is_forward_lm"])
        self.delimiter: str = stored.get("document_delimiter", "\n")
        kind, projected = stored.get("recurrent_type", "lstm"), stored["nout"]
        hidden_size, n_layers, embedding_size = (stored[size] for size in ("hidden_size", "nlayers", "embedding_size"))
        if not 1 <= n_layers <= _MOST_LAYERS:
            raise ValueError(f"it has {n_layers} layers")
        if not isinstance(self.delimiter, str) or not isinstance(kind, str) or kind.lower() not in ("lstm", "gru"):
            raise ValueError(f"its recurrent network is a {str(kind)[:200]!r} (known: lstm, gru), or texts have no delimiter")
        recurrent = nn.LSTM if kind.lower() == "lstm" else nn.GRU
        self.dimension = hidden_size if projected is None else projected
        # The decoder predicts the next character and has no part in a vector.
        weights = {key: value for key, value in weights.items() if not key.startswith("decoder.")}
        # Made without storage, which would be taken for whatever sizes the file promises.
        with torch.device("meta"):
            self._modules = nn.ModuleDict({"encoder": nn.Embedding(n_characters, embedding_size)})
            self._modules["rnn"] = recurrent(embedding_size, hidden_size, n_layers)
            if projected is not None:
                self._modules["proj"] = nn.Linear(hidden_size, projected)
        self._modules.load_state_dict({key: value.float().contiguous() for key, value in weights.items()}, assign=True)
        if not all(torch.isfinite(value).all() for value in weights.values()):
            raise ValueError("its weights hold NaN or infinity")
        self._modules.requires_grad_(False).eval().to(device)
        self._device = device
        settings = (self.is_forward, sorted(self.numbers.items()), self.delimiter, recurrent.__name__, n_layers)
        self.fingerprint = hashlib.sha256(f"{hash_state_dict(weights)}|{settings!r}".encode()).hexdigest()

    def token_vectors(self, texts: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """Return for each text, a list of tokens, the state behind each token: behind the blank after it, read either way."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        lines = [" ".join(tokens) for tokens in texts]
        places = [self._places(tokens) for tokens in texts]
        strings = [f"{self.delimiter}{line if self.is_forward else line[::-1]} " for line in lines]
        vectors = [np.empty((0, self.dimension), dtype=np.float32)] * len(texts)
        lengths = list(map(len, strings))
        for chosen in passes(lengths, "cpu", most_texts=_TEXTS_PER_PASS, most_tokens=_CHARACTERS_PER_PASS):
            # What stands behind a string's end is never looked at, as the network reads in one direction only.
            numbered = [torch.tensor([self.numbers.get(character, 0) for character in strings[i]]) for i in chosen]
            with torch.inference_mode():
                output, _ = self._modules["rnn"](self._modules["encoder"](pad_sequence(numbered).to(self._device)))
                states = (self._modules["proj"](output) if "proj" in self._modules else output).cpu().numpy()
            for column, i in enumerate(chosen):
                vectors[i] = states[places[i], column]
        return vectors

    def _places(self, tokens: Sequence[str]) -> NDArray[np.intp]:
        lengths = np.array([len(token) + 1 for token in tokens], dtype=np.intp)
        ends = np.cumsum(lengths if self.is_forward else lengths[::-1])
        return np.asarray(ends if self.is_forward else ends[::-1]) + len(self.delimiter) - 1


class FlairEncoder:
    """One language model, or a forward and a backward one stacked; the sentence vector is pooled over tokens.

    These are split at blanks, as MedSentEval gave texts to flair; a text without any is encoded as ".", since flair has no
    vector for an empty sentence.
    """

    def __init__(self, models: Sequence[LanguageModel], name: str, pooling: str = "mean") -> None:
        self.name = name
        self.identity = f"flair-{'+'.join(model.fingerprint[:32] for model in models)}-pooling={pooling}"
        self.dimension = sum(model.dimension for model in models)
        self._models = models
        self._pooling = pooling

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return pool(self.encode_tokens(texts), self._pooling) if texts else np.empty((0, self.dimension), dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        tokens = [text.translate(_REPAIRED).split() or [EMPTY_TEXT] for text in texts]
        stacked = zip(*(model.token_vectors(tokens) for model in self._models), strict=True)
        return TokenVectors.of([np.hstack(vectors) for vectors in stacked])


def load(argument: str, pooling: str = "mean", device: str = "auto") -> FlairEncoder:
    """Load ``flair:FORWARD.pt+BACKWARD.pt`` or one of the two."""
    check_choices("flair", pooling=(pooling, POOLINGS))
    files = joined_files(argument)
    for file in files:
        if fault := torch_file_fault(file) if file.is_file() else "there is no file of this name":
            raise EncoderError(f"flair: {file}: {fault}; {_WHERE_FROM}")
    import_extra("torch", "flair:", "flair")
    models = [_read(file, choose_device(device)) for file in files]
    if len(models) == 2 and models[0].is_forward == models[1].is_forward:
        direction = "forward" if models[0].is_forward else "backward"
        raise EncoderError(f"flair: {files[0]} and {files[1]} are both {direction} models; expected is one of each direction")
    return FlairEncoder(models, "+".join(file.stem for file in files), pooling)


def _read(file: Path, device: str) -> LanguageModel:
    from medsenteval.encoders.contextual.torch_file import read_torch_file

    stored = read_torch_file(file, _WHERE_FROM)
    try:
        return LanguageModel(stored if isinstance(stored, dict) else {}, device)
    except (KeyError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else f"what no language model does: {error}"
        raise EncoderError(f"flair: {file} holds {what}; {_WHERE_FROM}") from error
