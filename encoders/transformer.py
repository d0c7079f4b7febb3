"""Transformer checkpoints (BERT, BioBERT, SciBERT, PubMedBERT, RoBERTa, GPT, any AutoModel), pooled over word pieces.

The defaults are MedSentEval's protocol for BERT: last layer, mean over word pieces without special tokens and padding, at
most 128 pieces with the special ones counted. Only the encoder part of a checkpoint is read; a pooler or a head plays no part.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.encoders.fingerprint import hash_config, hash_state_dict, hash_tokenizer
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.pooling import pool

__all__ = ["Reading", "TransformerEncoder", "load"]

#: What stands for a text of which no word piece is left to pool, as in the example scripts of SentEval.
EMPTY_TEXT: Final = "."

_TEXTS_PER_PASS: Final = 64
_WEIGHTS: Final = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_LAYERS: Final = re.compile(r"(last|first|-?\d+)(\+(last|first|-?\d+))*")
_CHOICES: Final = {
    "pooling": ("mean", "max", "cls"),
    "specials": ("no", "yes"),
    "case": ("checkpoint", "exact", "lower"),
    "dtype": ("float32", "bfloat16", "float16"),
}


_tokenizer_turn: Final = threading.Lock()


@dataclass(frozen=True)
class _Pieces:
    """One text as word pieces: their numbers, which of them are pooled, and segment numbers where the tokeniser has them."""

    ids: list[int]
    kept: list[bool]
    segments: list[int] | None


@dataclass(frozen=True)
class Reading:
    """How texts are read by a model: layers as numbers from 0, the embedding layer, and what of the pieces is pooled."""

    layers: tuple[int, ...]
    pooling: str = "mean"
    specials: bool = False
    max_length: int = 128
    lowercase: bool = False


class TransformerEncoder:
    """A transformer with its tokeniser; the sentence vector is pooled from the vectors of the word pieces.

    A text that leaves nothing to pool (empty, blanks or characters that the tokeniser drops) is encoded as ".".
    """

    def __init__(self, model: Any, tokenizer: Any, name: str, identity: str, reading: Reading) -> None:
        self.name = name
        self.identity = identity
        self._model = model
        self._tokenizer = tokenizer
        self._reading = reading
        # A model in evaluation mode has no state; its tokeniser has, and takes turns.
        self.concurrent_batches = str(model.device) == "cpu"
        accepted = inspect.signature(model.forward).parameters
        self._segments_accepted = "token_type_ids" in accepted
        self._extra_arguments = {"use_cache": False} if "use_cache" in accepted else {}
        # Decoders have no [CLS] and are padded on the left, which needs explicit positions; those that take none (ALiBi, state
        # spaces) are padded on the right, where a causal model never looks.
        self._left = tokenizer.cls_token_id is None and "position_ids" in accepted
        known_pads = (tokenizer.pad_token_id, getattr(model.config, "pad_token_id", None), tokenizer.eos_token_id, 0)
        self._pad = next(number for number in known_pads if isinstance(number, int))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one pooled row for each text."""
        width = self._model.config.hidden_size * len(self._reading.layers)
        rows = np.empty((len(texts), width), dtype=np.float32)
        for places, batch, hidden, inside in self._passes(texts):
            if self._reading.pooling == "cls":
                first = [pieces.ids.index(self._tokenizer.cls_token_id) for pieces in batch]
                starts = inside.argmax(axis=1)
                rows[places] = hidden[np.arange(len(batch)), starts + first]
            else:
                rows[places] = pool(_ragged(_kept_vectors(batch, hidden, inside)), self._reading.pooling)
        return rows

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """Return the vectors of the word pieces that are pooled, text after text; all of them count as known."""
        vectors: list[NDArray[np.float32]] = [np.empty((0, 0), dtype=np.float32)] * len(texts)
        for places, batch, hidden, inside in self._passes(texts):
            for place, found in zip(places, _kept_vectors(batch, hidden, inside), strict=True):
                vectors[place] = found
        return _ragged(vectors)

    def _passes(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[list[int], list[_Pieces], NDArray[np.float32], NDArray[np.bool_]]]:
        """Yield places, word pieces, vectors and the mask of real positions, a bounded number of texts at a time."""
        import torch

        pieces = self._pieces(texts)
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i].ids))
        for start in range(0, len(order), _TEXTS_PER_PASS):
            places = order[start : start + _TEXTS_PER_PASS]
            batch = [pieces[i] for i in places]
            inputs, inside = self._padded(batch)
            tensors = {key: torch.from_numpy(value).to(self._model.device) for key, value in inputs.items()}
            with torch.inference_mode():
                hidden = self._hidden(tensors).float().cpu().numpy()
            yield places, batch, hidden, inside

    def _hidden(self, tensors: dict[str, Any]) -> Any:
        import torch

        last = self._model.config.num_hidden_layers
        inner = any(layer != last for layer in self._reading.layers)
        outputs = self._model(**tensors, **self._extra_arguments, output_hidden_states=inner, return_dict=True)
        # The last layer is what the model itself calls its output, with the final normalisation where there is one.
        chosen = [outputs.last_hidden_state if n == last else outputs.hidden_states[n] for n in self._reading.layers]
        return chosen[0] if len(chosen) == 1 else torch.cat(chosen, dim=-1)

    def _padded(self, batch: Sequence[_Pieces]) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.bool_]]:
        lengths = np.array([len(pieces.ids) for pieces in batch])
        width = int(lengths.max())
        columns = np.arange(width)
        inside = columns >= width - lengths[:, None] if self._left else columns < lengths[:, None]
        ids = np.full((len(batch), width), self._pad, dtype=np.int64)
        ids[inside] = np.concatenate([pieces.ids for pieces in batch])
        inputs = {"input_ids": ids, "attention_mask": inside.astype(np.int64)}
        if self._left:
            inputs["position_ids"] = np.maximum(inside.cumsum(axis=1) - 1, 0)
        if self._segments_accepted and batch[0].segments is not None:
            segments = np.zeros_like(ids)
            segments[inside] = np.concatenate([pieces.segments or [] for pieces in batch])
            inputs["token_type_ids"] = segments
        return inputs, inside

    def _pieces(self, texts: Sequence[str]) -> list[_Pieces]:
        found = self._tokenize([text.lower() for text in texts] if self._reading.lowercase else list(texts)) if texts else []
        empty = [i for i, pieces in enumerate(found) if not any(pieces.kept)]
        if empty:
            (stand_in,) = self._tokenize([EMPTY_TEXT])
            if not any(stand_in.kept):
                raise EncoderError(
                    f"{self.name}: the tokeniser finds no word piece in {texts[empty[0]]!r}, nor in {EMPTY_TEXT!r}"
                )
            for i in empty:
                found[i] = stand_in
        return found

    def _tokenize(self, texts: list[str]) -> list[_Pieces]:
        with _tokenizer_turn:
            encoded = self._tokenizer(
                texts,
                truncation=True,
                max_length=self._reading.max_length,
                return_special_tokens_mask=True,
                return_attention_mask=False,
            )
        segments = encoded.get("token_type_ids") or [None] * len(texts)
        return [
            _Pieces(ids, [self._reading.specials or not special for special in mask], segment)
            for ids, mask, segment in zip(encoded["input_ids"], encoded["special_tokens_mask"], segments, strict=True)
        ]


def _kept_vectors(batch: list[_Pieces], hidden: NDArray[np.float32], inside: NDArray[np.bool_]) -> list[NDArray[np.float32]]:
    return [rows[real][np.array(pieces.kept)] for pieces, rows, real in zip(batch, hidden, inside, strict=True)]


def _ragged(vectors: Sequence[NDArray[np.float32]]) -> TokenVectors:
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in vectors])]).astype(np.intp)
    values = np.concatenate(vectors) if vectors else np.empty((0, 0), dtype=np.float32)
    return TokenVectors(values, offsets, np.ones(len(values), dtype=np.bool_))


def load(
    argument: str,
    layer: str = "last",
    pooling: str = "mean",
    specials: str = "no",
    max_length: str = "128",
    case: str = "checkpoint",
    dtype: str = "float32",
    device: str = "auto",
) -> TransformerEncoder:
    """Load ``transformers:ID_OR_PATH``.

    ``layer`` is last, first, a number (0 is the embedding layer, negative ones count from the end) or several joined by ``+``,
    whose vectors are concatenated. ``pooling`` is mean, max or cls; ``specials=yes`` pools over [CLS] and [SEP] too.
    ``max_length`` counts the special pieces. ``case`` is that of the checkpoint's tokeniser unless lower or exact overrides
    it. ``dtype`` is float32, bfloat16 or float16; ``device`` is auto or a name that torch knows.
    """
    chosen = {"pooling": pooling, "specials": specials, "case": case, "dtype": dtype}
    for option, value in chosen.items():
        if value not in _CHOICES[option]:
            raise EncoderError(f"transformers: {option} is {value!r}; it can be {' or '.join(_CHOICES[option])}")
    if not _LAYERS.fullmatch(layer):
        raise EncoderError(f"transformers: layer is {layer!r}; it can be last, first, a number, or several joined by +")
    if not max_length.isdecimal() or int(max_length) < 1:
        raise EncoderError(f"transformers: max_length is {max_length!r}; it must be a whole number from 1")
    if pooling == "cls" and specials == "yes":
        raise EncoderError("transformers: pooling=cls takes one vector, so specials=yes has nothing to act upon; leave it out")
    source = find_model(argument, "transformers")
    if isinstance(source, Path):
        check_model_folder(source, "transformers")
    model, tokenizer = _from_pretrained(str(source), dtype, device)
    where = f"transformers:{argument}"
    lowercase = _apply_case(tokenizer, case, where)
    if pooling == "cls" and tokenizer.cls_token_id is None:
        raise EncoderError(f"{where}: pooling is 'cls', but its tokeniser has no such token; use pooling=mean or max")
    least = tokenizer.num_special_tokens_to_add() + 1
    most = length_limit(model)
    if int(max_length) < least or (most is not None and int(max_length) > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise EncoderError(
            f"{where}: max_length is {max_length}, but this model takes {bounds}; give max_length={most or least}"
        )
    layers = _layer_numbers(layer, model.config.num_hidden_layers, where)
    weights = {key: value for key, value in model.state_dict().items() if not key.startswith("pooler.")}
    parts = (hash_state_dict(weights), hash_config(model.config), hash_tokenizer(tokenizer), f"lowercase={lowercase}")
    identity = (
        f"transformers-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:32]}-layer={'+'.join(map(str, layers))}"
        f"-pooling={pooling}-specials={specials}-max_length={int(max_length)}-dtype={dtype}"
    )
    reading = Reading(layers, pooling, specials == "yes", int(max_length), lowercase)
    return TransformerEncoder(model, tokenizer, Path(argument).name, identity, reading)


def _from_pretrained(source: str, dtype: str, device: str) -> tuple[Any, Any]:
    """Return the encoder part of a checkpoint in evaluation mode and its tokeniser; code that comes with it is not run."""
    try:
        import torch

        with without_tensorflow():
            import transformers
            from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("transformers:", error.name or "transformers", "transformers") from error
    version = tuple(int(number) for number in re.findall(r"\d+", transformers.__version__)[:2])
    # Given always: version 5 would otherwise take the precision that config.json happens to name.
    precision = {"dtype" if version >= (4, 56) else "torch_dtype": getattr(torch, dtype)}
    logging = transformers.utils.logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        model, report = AutoModel.from_pretrained(source, trust_remote_code=False, output_loading_info=True, **precision)
    except Exception as error:  # the library lets through whatever its parsers raise
        raise EncoderError(f"transformers: {source!r} could not be loaded: {error}") from error
    finally:
        logging.set_verbosity(verbosity)
    absent = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if absent:
        raise EncoderError(
            f"transformers: {source!r} is not a whole {type(model).__name__}: {len(absent)} of its weights are absent from the "
            f"checkpoint and would be random, first {absent[0]!r}"
        )
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    return model.to(choose_device(device)).eval(), tokenizer


def choose_device(device: str) -> str:
    """Return the device that ``auto`` stands for: a GPU if torch can use one, else the processor."""
    import torch

    if device != "auto":
        try:
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            raise EncoderError(f"device is {device!r}, which cannot be used here: {error}") from error
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


@contextmanager
def without_tensorflow() -> Iterator[None]:
    """Keep transformers 4 from importing TensorFlow, which takes seconds, unless the user has decided about it."""
    if "USE_TF" in os.environ or "transformers" in sys.modules:
        yield
        return
    os.environ["USE_TF"] = "0"
    try:
        yield
    finally:
        del os.environ["USE_TF"]


def length_limit(model: Any) -> int | None:
    """Return how many positions the model has, None where it counts them relatively."""
    limit = getattr(model.config, "max_position_embeddings", None)
    limits = [limit] if isinstance(limit, int) and limit > 0 else []
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            # RoBERTa and its relatives count positions from behind the one that padding has.
            limits.append(module.num_embeddings - module.padding_idx - 1)
    return min(limits, default=None)


def _layer_numbers(layer: str, last: int, where: str) -> tuple[int, ...]:
    numbers = [{"last": last, "first": 1}.get(part) or int(part) for part in layer.split("+")]
    wrong = [number for number in numbers if not -last - 1 <= number <= last]
    if wrong:
        raise EncoderError(f"{where}: layer is {wrong[0]}, but the model has {last} layers (0 is the embedding layer)")
    return tuple(number % (last + 1) for number in numbers)


def _apply_case(tokenizer: Any, case: str, where: str) -> bool:
    """Set the tokeniser's own lower-casing if it can be set; return whether texts must be lower-cased before it."""
    if case == "checkpoint":
        return False
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    normalizer: Any = getattr(backend, "normalizer", None)
    if hasattr(normalizer, "lowercase"):
        normalizer.lowercase = case == "lower"
        backend.normalizer = normalizer
        return False
    if case == "exact" and (backend is None or '"Lowercase"' in backend.to_str()):
        raise EncoderError(f"{where}: case is 'exact', but the letter case of a {type(tokenizer).__name__} cannot be kept")
    return case == "lower"


def find_model(argument: str, kind: str) -> str | Path:
    """Return the folder that a specification names, or the argument itself if it can only be the ID of a model hub."""
    if not argument:
        raise EncoderError(f"{kind} needs a model: {kind}:ID or {kind}:PATH")
    path = Path(argument).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise EncoderError(f"{kind}: {argument} is a file; expected is the folder with config.json, weights and tokeniser")
    if path.is_absolute() or argument[0] in ".~" or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", argument):
        raise EncoderError(f"{kind}: there is no folder {argument}, and it cannot be the ID of a model hub")
    return argument


def check_model_folder(folder: Path, kind: str) -> None:
    """Raise an EncoderError unless the folder holds config.json and whole PyTorch weights; nothing heavy is imported for it."""
    config = folder / "config.json"
    if not config.is_file():
        raise EncoderError(f"{kind}: {folder} has no config.json; expected is a folder as save_pretrained writes it")
    try:
        dict(json.loads(config.read_bytes()))
    except (ValueError, TypeError) as error:
        raise EncoderError(f"{kind}: {config} is not a JSON object: {error}") from error
    weights = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        others = [name.name for name in folder.iterdir() if re.search(r"\.(ckpt|h5|msgpack|onnx|index)", name.name)]
        hint = f"; {others[0]} is of another framework and must be converted" if others else ""
        raise EncoderError(f"{kind}: {folder} has no weights; expected is one of {', '.join(_WEIGHTS)}{hint}")
    parts = [weights]
    if weights.suffix == ".json":
        parts = [folder / name for name in sorted(set(json.loads(weights.read_bytes())["weight_map"].values()))]
    for part in parts:
        if not part.is_file():
            raise EncoderError(f"{kind}: {part} is missing, but {weights.name} lists it")
        fault = _safetensors_fault(part) if part.suffix == ".safetensors" else _torch_file_fault(part)
        if fault:
            raise EncoderError(f"{kind}: {part} is not whole or not a file of its kind: {fault}")


def _safetensors_fault(file: Path) -> str:
    """Say what is wrong with a safetensors file, judged by its header and its size; nothing if all is well."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        header_size = int.from_bytes(stream.read(8), "little")
        if header_size + 8 > size:
            return f"its {size} bytes cannot hold the header of {header_size} bytes that it announces"
        try:
            header = json.loads(stream.read(header_size))
            ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
        except (ValueError, AttributeError, KeyError, TypeError, IndexError) as error:
            return f"its header is not that of safetensors ({error})"
    expected = 8 + header_size + max(ends, default=0)
    return "" if size == expected else f"it has {size} bytes where its header promises {expected}"


def _torch_file_fault(file: Path) -> str:
    """Say what is wrong with a file of torch.save; of the format before torch 1.6 only the start can be judged."""
    with file.open("rb") as stream:
        start = stream.read(2)
    if start == b"PK":
        return "" if zipfile.is_zipfile(file) else "its end is missing"
    return "" if start[:1] == b"\x80" else "expected is a file that torch.save wrote"
