"""What every use of a transformer checkpoint needs: sound texts, prompts, token counts, a device, a length limit."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from medsenteval.errors import EncoderError, import_extra
from medsenteval.registry import name_key

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
#: Texts of one forward pass at most, and on a processor tokens: more of them leave its caches.
_TEXTS_PER_PASS: Final = 64
_TOKENS_PER_PASS: Final = 512
tokenizer_turn: Final = threading.Lock()


def without_surrogates(texts: Sequence[str]) -> list[str]:
    """Replace half a surrogate pair, which JSON can hold and no tokeniser can encode, by the replacement character."""
    return [text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text) for text in texts]


def count_tokens(tokenizer: Any, texts: list[str]) -> list[int]:
    """Return how many tokens each text has, special ones included, without any cutting."""
    if not texts:
        return []  # some tokenisers look at the first text to see what they were given
    with tokenizer_turn:
        return [len(ids) for ids in _copied(tokenizer)(texts, truncation=False, verbose=False)["input_ids"]]


#: Cutting is a setting of the tokeniser itself, which other threads use.
_copied: Final = lru_cache(maxsize=1)(deepcopy)


def passes(
    lengths: Sequence[int], device: str, *, most_texts: int = _TEXTS_PER_PASS, most_tokens: int = _TOKENS_PER_PASS
) -> Iterator[list[int]]:
    """Divide texts of these numbers of tokens into forward passes, short ones first; yield the places of each pass's texts."""
    chosen: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        # All texts of a pass are as long as its longest.
        too_long = device == "cpu" and lengths[place] * (len(chosen) + 1) > most_tokens
        if chosen and (too_long or len(chosen) == most_texts):
            yield chosen
            chosen = []
        chosen.append(place)
    if chosen:
        yield chosen


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


def check_length(length: int, model: Any, tokenizer: Any, where: str, marks: int = 0) -> None:
    """Refuse a length that is beyond the model's positions, or has room for no piece beside special ones and our marks."""
    least, most = tokenizer.num_special_tokens_to_add() + 1 + marks, length_limit(model)
    if length < least or (most is not None and length > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise EncoderError(f"{where}: max_length is {length}, but this model takes {bounds}; give max_length={most or least}")


@dataclass(frozen=True)
class Prompts:
    """``default`` is for texts without a role, ``roles`` for queries and documents, ``tasks`` for the tasks that they name.

    A task's own prompt replaces the default one and that of queries; documents keep theirs, as instruction-tuned encoders
    have it.
    """

    default: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def given(cls, kind: str, default: str, query: str | None, document: str | None, tasks: str) -> Prompts:
        """Read the options of a specification; ``tasks`` is a JSON object from names of tasks to prompts."""
        try:
            named = json.loads(tasks) if tasks else {}
        except ValueError as error:
            raise EncoderError(f"{kind}: task_prompts is not JSON: {error}; expected {{'RQE': 'prompt'}} in JSON") from error
        if not isinstance(named, dict) or not all(isinstance(text, str) for text in named.values()):
            raise EncoderError(f"{kind}: task_prompts is {tasks!r}; expected a JSON object from names of tasks to prompts")
        roles = {role: text for role, text in (("query", query), ("document", document)) if text is not None}
        return cls(default, roles, {name_key(name): text for name, text in sorted(named.items())})

    def chosen(self, task: str, role: str) -> str:
        """Return the prompt for a text of this role in this task."""
        usual = self.roles.get(role, self.default)
        return usual if role == "document" else self.tasks.get(name_key(task), usual)

    def __str__(self) -> str:
        """Everything of it, as an identity names it."""
        parts = [f"prompt={self.default!r}"]
        parts += [f"{role}_prompt={text!r}" for role, text in sorted(self.roles.items()) if text != self.default]
        return "-".join(parts + [f"prompt for {task}={text!r}" for task, text in sorted(self.tasks.items())])
