"""Transformer checkpoints (BERT, BioBERT, SciBERT, PubMedBERT, RoBERTa, GPT, any AutoModel), pooled over word pieces.

The defaults are MedSentEval's protocol for BERT: last layer, mean over word pieces without special tokens and padding, at
most 128 pieces with the special ones counted. Only the encoder part of a checkpoint is read; a pooler or a head plays no part.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.embedding.pooling import pool
from medsenteval.encoders.contextual import checkpoint
from medsenteval.encoders.contextual.checkpoint import Prompts
from medsenteval.encoders.contextual.lazy_model import LazyModel
from medsenteval.encoders.contextual.model_folder import check_model_folder, check_settings, find_model, model_name
from medsenteval.encoders.contextual.peft_adapter import PeftAdapter
from medsenteval.encoders.fingerprint import hash_config, hash_state_dict, hash_tokenizer
from medsenteval.encoders.model_files import check_choices, environment, whole_number
from medsenteval.errors import EncoderError, import_extra

#: What stands for a text of which no word piece is left to pool, as in the example scripts of SentEval.
EMPTY_TEXT: Final = "."

_LAYERS: Final = re.compile(r"(last|first|-?\d+)(\+(last|first|-?\d+))*")
_CHOICES: Final = {
    "pooling": ("mean", "max", "cls", "last"),
    "specials": ("no", "yes"),
    "end": ("no", "yes"),
    "case": ("checkpoint", "exact", "lower"),
    "dtype": ("float32", "bfloat16", "float16"),
}


@dataclass(frozen=True)
class _Pieces:
    """One text as word pieces: the model's inputs, a number a piece each, and which pieces are pooled."""

    inputs: dict[str, list[int]]
    kept: list[bool]


@dataclass(frozen=True)
class Reading:
    """How texts are read by a model: layers as numbers from 0, the embedding layer, and what of the pieces is pooled."""

    layers: Sequence[int]
    pooling: str = "mean"
    specials: bool = False
    max_length: int = 128
    lowercase: bool = False
    end: bool = False


class TransformerEncoder:
    """A transformer with its tokeniser; the sentence vector is pooled from the vectors of the word pieces.

    A text that leaves nothing to pool (empty, blanks or characters that the tokeniser drops) is encoded as ".".
    """

    def __init__(self, lazy: LazyModel, name: str, prompts: Prompts) -> None:
        self.name = name
        self._lazy = lazy
        self._prompts = prompts
        known = lazy.facts["identity"]
        # No prompt at all is not named.
        self.identity = f"{known}-{prompts}" if known and prompts != Prompts() else known

        self._reading = Reading(**lazy.facts["reading"])
        self.dimension: int = lazy.facts["dimension"]

    @property
    def sees(self) -> dict[str, Any]:
        reading = self._reading
        shown = {"max_length": reading.max_length, "dtype": self._lazy.facts["dtype"], "pooling": reading.pooling}
        return {**shown, "prompt": self._prompts.default}

    def for_use(self, task: str, role: str) -> TransformerEncoder:
        return TransformerEncoder(self._lazy, self.name, Prompts(self._prompts.chosen(task, role)))

    @property
    def _model(self) -> Any:
        return self._lazy.model[0]

    @property
    def _tokenizer(self) -> Any:
        return self._lazy.model[1]

    @property
    def concurrent_batches(self) -> bool:
        """A model in evaluation mode has no state; its tokeniser has, and takes turns."""
        return str(self._model.device) == "cpu"

    @cached_property
    def _accepted(self) -> frozenset[str]:
        """The arguments that the model's forward pass takes."""
        return frozenset(inspect.signature(self._model.forward).parameters)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for place, pieces, vectors in self._vectors(texts):
            if self._reading.pooling == "cls":
                rows[place] = vectors[pieces.inputs["input_ids"].index(self._tokenizer.cls_token_id)]
            elif self._reading.pooling == "last":
                rows[place] = vectors[-1]
            else:
                rows[place] = pool(TokenVectors.of([vectors[pieces.kept]]), self._reading.pooling)
        return rows

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """Return the vectors of the word pieces that are pooled, text after text; all of them count as known."""
        found: list[NDArray[np.float32]] = [np.empty((0, 0), dtype=np.float32)] * len(texts)
        for place, pieces, vectors in self._vectors(texts):
            found[place] = vectors[pieces.kept]
        return TokenVectors.of(found)

    def _vectors(self, texts: Sequence[str]) -> Iterator[tuple[int, _Pieces, NDArray[np.float32]]]:
        """Yield each text's place with its word pieces and their vectors; texts of similar length run together."""
        import torch

        pieces = self._pieces(texts)
        for places in checkpoint.passes([len(each.kept) for each in pieces], str(self._model.device)):
            tensors = self._padded([pieces[place] for place in places])
            with torch.inference_mode():
                hidden = self._hidden(tensors).float().cpu().numpy()
            for place, rows in zip(places, hidden, strict=True):
                yield place, pieces[place], rows[: len(pieces[place].kept)]

    def _hidden(self, tensors: dict[str, Any]) -> Any:
        import torch

        last = self._model.config.num_hidden_layers
        inner = any(layer != last for layer in self._reading.layers)
        extra = {"use_cache": False} if "use_cache" in self._accepted else {}
        outputs = self._model(**tensors, **extra, output_hidden_states=inner, return_dict=True)
        # The last layer is what the model itself calls its output, with the final normalisation where there is one.
        chosen = [outputs.last_hidden_state if n == last else outputs.hidden_states[n] for n in self._reading.layers]
        return chosen[0] if len(chosen) == 1 else torch.cat(chosen, dim=-1)

    def _padded(self, batch: Sequence[_Pieces]) -> dict[str, Any]:
        """Return the model's inputs, padded on the right, where no causal model looks."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        # A model that was made without padding knows no token for it; the mask hides whichever stands there.
        padding = {"input_ids": self._tokenizer.pad_token_id or 0}
        columns = {key: [torch.tensor(pieces.inputs[key]) for pieces in batch] for key in batch[0].inputs}
        padded = {key: pad_sequence(rows, batch_first=True, padding_value=padding.get(key, 0)) for key, rows in columns.items()}
        return {key: rows.to(self._model.device) for key, rows in padded.items()}

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has behind the prompt, special ones and those that are cut off included."""
        return [count + self._reading.end for count in checkpoint.count_tokens(self._tokenizer, self._prompted(texts))]

    def _prompted(self, texts: Sequence[str]) -> list[str]:
        sound = [self._prompts.default + text for text in checkpoint.without_surrogates(texts)]
        return [text.lower() for text in sound] if self._reading.lowercase else sound

    def _pieces(self, texts: Sequence[str]) -> list[_Pieces]:
        found = self._tokenize(self._prompted(texts)) if texts else []
        for i, pieces in enumerate(found):
            if not any(pieces.kept):
                (found[i],) = self._tokenize([EMPTY_TEXT])
                if not any(found[i].kept):
                    raise EncoderError(f"{self.name}: the tokeniser finds no word piece in {texts[i]!r}, nor in {EMPTY_TEXT!r}")
        return found

    def _tokenize(self, texts: list[str]) -> list[_Pieces]:
        with checkpoint.tokenizer_turn:
            most = self._reading.max_length - self._reading.end
            masks = {"return_special_tokens_mask": True, "return_attention_mask": True}
            encoded = self._tokenizer(texts, truncation=True, max_length=most, **masks)
        columns: dict[str, list[list[int]]] = dict(encoded)
        if "token_type_ids" not in self._accepted:
            columns.pop("token_type_ids", None)
        if self._reading.end:
            behind = {"input_ids": self._tokenizer.eos_token_id, "attention_mask": 1, "special_tokens_mask": 1}
            columns = {key: [[*row, behind.get(key, 0)] for row in rows] for key, rows in columns.items()}
        kept = [[self._reading.specials or not special for special in mask] for mask in columns.pop("special_tokens_mask")]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return list(map(_Pieces, rows, kept))


def load(
    argument: str,
    layer: str = "last",
    pooling: str = "mean",
    specials: str = "no",
    end: str = "no",
    max_length: str = "128",
    case: str = "checkpoint",
    dtype: str = "float32",
    device: str = "auto",
    adapter: str = "",
    prompt: str = "",
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    task_prompts: str = "",
) -> TransformerEncoder:
    """Load ``transformers:ID_OR_PATH``; docs/encoders.md explains the options."""
    chosen = {"pooling": pooling, "specials": specials, "end": end, "case": case, "dtype": dtype}
    check_choices("transformers", **{option: (value, _CHOICES[option]) for option, value in chosen.items()})
    if not _LAYERS.fullmatch(layer):
        raise EncoderError(f"transformers: layer is {layer!r}; it can be last, first, a number, or several joined by +")
    longest = whole_number("transformers", "max_length", max_length, least=1)
    if pooling in ("cls", "last") and specials == "yes":
        raise EncoderError(f"transformers: pooling={pooling} takes one vector, so specials=yes does nothing; leave it out")
    folder, source, revision = find_model(argument, "transformers")
    (check_settings if revision else check_model_folder)(folder, "transformers")
    where = f"transformers:{argument}"
    change = PeftAdapter(adapter, "transformers") if adapter else None

    def load_model() -> tuple[Any, dict[str, Any]]:
        model, tokenizer = _from_pretrained(source, revision, dtype, device)
        model = model if change is None else change.merged_into(model)
        lowercase = _apply_case(tokenizer, case, where)
        if end == "yes" and tokenizer.eos_token_id is None:
            raise EncoderError(f"{where}: end is 'yes', but its tokeniser has no end-of-text token; leave it out")
        checkpoint.check_length(longest, model, tokenizer, where, marks=end == "yes")
        if pooling == "cls" and tokenizer.cls_token_id is None:
            raise EncoderError(f"{where}: pooling is 'cls', but its tokeniser has no such token; use pooling=mean, max or last")
        layers = _layer_numbers(layer, model.config.num_hidden_layers, where)
        reading = Reading(layers, pooling, specials == "yes", longest, lowercase, end == "yes")
        return (model, tokenizer), _facts(model, tokenizer, reading)

    options = {"kind": "transformers", **chosen, "layer": layer, "max_length": max_length}
    options["adapter"] = change.key if change else ""
    lazy = LazyModel.remembered(folder, revision, options, load_model)
    prompts = Prompts.given("transformers", prompt, query_prompt, document_prompt, task_prompts)
    return TransformerEncoder(lazy, model_name(str(source)) + (f"+{change.name}" if change else ""), prompts)


def from_model(model: Any, tokenizer: Any = None) -> TransformerEncoder:
    """Read texts with a loaded model as ``transformers:`` does by default; without a tokeniser, with the one of its checkpoint.

    The model is put into evaluation mode. One with code or adapters of its own has no identity: neither is in its weights.
    """
    whole, source = model, str(model.config._name_or_path or "")
    model = (model.get_encoder() if model.config.is_encoder_decoder else model.base_model).eval()
    if tokenizer is None:
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        except Exception as error:  # the library lets through whatever its parsers raise
            raise EncoderError(f"no tokeniser for the {type(whole).__name__}: {error}; give (model, tokenizer)") from error
    longest = min(128, checkpoint.length_limit(model) or 128)
    reading = Reading((model.config.num_hidden_layers,), max_length=longest)
    facts = _facts(model, tokenizer, reading)
    name = model_name(source) or f"{model.config.model_type}-{facts['identity'].split('-')[1][:8]}"
    if not type(whole).__module__.startswith("transformers.models.") or getattr(whole, "_hf_peft_config_loaded", False):
        facts["identity"] = ""
    return TransformerEncoder(LazyModel(lambda: (model, tokenizer), facts), name, Prompts())


def _facts(model: Any, tokenizer: Any, reading: Reading) -> dict[str, Any]:
    """Return everything that is asked of a model before it encodes."""
    weights = {key: value for key, value in model.state_dict().items() if not key.startswith("pooler.")}
    lowercase, dtype = f"lowercase={reading.lowercase}", str(model.dtype).removeprefix("torch.")
    parts = (hash_state_dict(weights), hash_config(model.config), hash_tokenizer(tokenizer), lowercase)
    identity = (
        f"transformers-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:32]}-layer={'+'.join(map(str, reading.layers))}"
        f"-pooling={reading.pooling}-specials={'yes' if reading.specials else 'no'}-max_length={reading.max_length}"
        f"-dtype={dtype}{'-end=yes' if reading.end else ''}"
    )
    dimension = model.config.hidden_size * len(reading.layers)
    return {"identity": identity, "reading": asdict(reading), "dtype": dtype, "dimension": dimension}


def _from_pretrained(source: str, revision: dict[str, str], dtype: str, device: str) -> tuple[Any, Any]:
    """Return the encoder part of a checkpoint in evaluation mode and its tokeniser; code that comes with it is not run."""
    torch = import_extra("torch", "transformers:", "transformers")
    with environment("USE_TF", "0"):  # TensorFlow, which transformers 4 would import, takes seconds
        transformers = import_extra("transformers", "transformers:", "transformers")
    logging = transformers.utils.logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        safe = {"trust_remote_code": False, **revision}
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **safe)
        # Without a precision, version 5 would take the one that config.json happens to name.
        options = {"torch_dtype": getattr(torch, dtype), "output_loading_info": True, "weights_only": True, **safe}
        model, report = transformers.AutoModel.from_pretrained(source, **options)
    except Exception as error:  # the library lets through whatever its parsers raise
        raise EncoderError(f"transformers: {source!r} could not be loaded: {error}") from error
    finally:
        logging.set_verbosity(verbosity)
    absent = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if absent:
        lost = f"{len(absent)} of its weights are absent from the checkpoint and would be random, first {absent[0]!r}"
        raise EncoderError(f"transformers: {source!r} is not a whole {type(model).__name__}: {lost}")
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    return model.to(checkpoint.choose_device(device)).eval(), tokenizer


def _layer_numbers(layer: str, last: int, where: str) -> tuple[int, ...]:
    numbers = [{"last": last, "first": 1}.get(part) or int(part) for part in layer.split("+")]
    wrong = [number for number in numbers if not -last - 1 <= number <= last]
    if wrong:
        raise EncoderError(f"{where}: layer is {wrong[0]}, but the model has {last} layers (0 is the embedding layer)")
    return tuple(number % (last + 1) for number in numbers)


def _apply_case(tokenizer: Any, case: str, where: str) -> bool:
    """Set the tokeniser's own lower-casing, as BERT's can be; return whether texts must be lower-cased before it."""
    if case == "checkpoint":
        return False
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    normalizer: Any = getattr(backend, "normalizer", None)
    if hasattr(normalizer, "lowercase"):
        normalizer.lowercase = case == "lower"
        backend.normalizer = normalizer
        return False
    if case == "exact" and (backend is None or _lower_cases(backend)):
        kind = type(tokenizer).__name__
        raise EncoderError(f"{where}: case is 'exact', but the letter case of a {kind} cannot be kept; use case=checkpoint")
    return case == "lower"


def _lower_cases(backend: Any) -> bool:
    """Return whether any of a fast tokeniser's normalisers lower-cases; its vocabulary may hold these words as well."""
    normalizers = json.dumps(json.loads(backend.to_str()).get("normalizer"))
    return '"Lowercase"' in normalizers or '"lowercase": true' in normalizers
