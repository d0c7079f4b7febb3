"""What every use of a transformer checkpoint needs: sound texts, token counts, a device, a length limit."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from medsenteval.errors import EncoderError, import_extra

__all__ = [
    "choose_device", "count_tokens", "length_limit", "passes", "tokenizer_turn", "without_surrogates", "without_tensorflow",
]  # fmt: skip

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
#: Texts of one forward pass at most, and on a processor tokens: more of them leave its caches.
_TEXTS_PER_PASS: Final = 64
_TOKENS_PER_PASS: Final = 512
tokenizer_turn: Final = threading.Lock()
#: A tokeniser that does not cut, beside the one that it is a copy of.
_uncut_copies: Final[dict[int, tuple[Any, Any]]] = {}


def without_surrogates(texts: Sequence[str]) -> list[str]:
    """Replace half a surrogate pair, which JSON can hold and no tokeniser can encode, by the replacement character."""
    return [text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text) for text in texts]


def count_tokens(tokenizer: Any, texts: list[str]) -> list[int]:
    """Return how many tokens each text has, special ones included, without any cutting."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "encode_batch"):
        with tokenizer_turn:
            return [len(ids) for ids in tokenizer(texts, truncation=False)["input_ids"]]
    # A copy, because cutting and padding are settings of the tokeniser itself, which other threads use.
    copied = _uncut_copies.get(backend_key := id(backend))
    if copied is None or copied[0] is not backend:
        whole = type(backend).from_str(backend.to_str())
        whole.no_truncation()
        whole.no_padding()
        _uncut_copies.clear()
        copied = _uncut_copies[backend_key] = (backend, whole)
    return [len(found.ids) for found in copied[1].encode_batch_fast(texts)]


def passes(lengths: Sequence[int], device: str) -> Iterator[list[int]]:
    """Divide texts of these numbers of tokens into forward passes, short ones first; yield the places of each pass's texts."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    start = 0
    while start < len(order):
        end = start + 1
        while end < min(len(order), start + _TEXTS_PER_PASS):
            # All texts of a pass are as long as its longest.
            if device == "cpu" and lengths[order[end]] * (end + 1 - start) > _TOKENS_PER_PASS:
                break
            end += 1
        yield order[start:end]
        start = end


def choose_device(device: str, *, mps: bool = True) -> str:
    """Return the device that ``auto`` stands for: a GPU if torch can use one (with ``mps`` also a Mac), else the processor."""
    torch = import_extra("torch", f"device={device}", "transformers")
    if device != "auto":
        try:
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            raise EncoderError(f"device is {device!r}, which cannot be used here: {error}") from error
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if mps and torch.backends.mps.is_available() else "cpu"


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
    # A graph of ONNX or OpenVINO has no modules.
    for name, module in getattr(model, "named_modules", tuple)():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            # RoBERTa and its relatives count positions from behind the one that padding has.
            limits.append(module.num_embeddings - module.padding_idx - 1)
    return min(limits, default=None)
