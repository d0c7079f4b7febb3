"""Encoders made of others: vectors cut, scaled and quantised; two models as one, for queries and documents (MedCPT, DPR)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.embedding.embed import for_use
from medsenteval.encoders.endpoint_budget import TokenBudget
from medsenteval.encoders.model_files import check_choices
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

PRECISIONS: Final = ("float32", "int8", "ubinary")
#: What the identity of a derived encoder adds to that of its source.
_CHANGES: Final = re.compile(r"(.*?)(?:-first=(\d+))?(-unit)?(?:-(int8|ubinary))?", re.DOTALL)


class CachedEncoder:
    """Stands for an encoder whose vectors are in the cache; it cannot encode anything."""

    def __init__(self, name: str, identity: str) -> None:
        self.name, self.identity = name, identity

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EncoderError(f"{self.name}: {len(texts)} texts are not in the cache, and no encoder is called here")


class DerivedEncoder:
    """An encoder whose vectors are another's, changed after encoding, so that the cache keeps those of ``source`` alone.

    ``dimension`` keeps leading coordinates (Matryoshka), ``normalize`` makes rows of length one. ``precision`` rounds as vector
    databases do: int8 to 256 steps between the least and the greatest value of each coordinate among the texts of the task,
    ubinary to one bit, whose values are scored as -1 and 1, so that the cosine orders pairs as the Hamming distance does.
    """

    def __init__(
        self, source: Encoder, dimension: int | None = None, normalize: bool = False, precision: str = "float32"
    ) -> None:
        if precision not in PRECISIONS:
            raise EncoderError(f"precision is {precision!r}; it can be {' or '.join(PRECISIONS)}")
        self.name = source.name
        self.source = source
        self._dimension, self._normalize, self._precision = dimension, normalize, precision
        changes = [f"first={dimension}"] * (dimension is not None) + ["unit"] * normalize
        changes += [precision] * (precision != "float32")
        self.identity = "-".join([source.identity, *changes]) if source.identity else ""

    def __getattr__(self, name: str) -> Any:
        # What is asked of the source's texts (coverage, token counts) is the source's to say; copies have no source at first.
        if name.startswith("_") or name in ("source", "encode_tokens"):
            raise AttributeError(name)
        return getattr(self.source, name)

    @property
    def sees(self) -> dict[str, Any]:
        more = {"precision": self._precision} if self._precision != "float32" else {}
        return {**getattr(self.source, "sees", {}), **more}

    def for_use(self, task: str, role: str) -> Encoder:
        used = for_use(self.source, task, role)
        if used is self.source:
            return self
        other = DerivedEncoder(used, self._dimension, self._normalize, self._precision)
        other.name = self.name
        return other

    def derive(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Change the rows of all texts of a task."""
        if self._dimension is not None:
            rows = rows[:, : self._dimension]
        if self._normalize:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = (rows / np.where(norms > 0, norms, 1)).astype(np.float32)
        if self._precision == "int8":
            low, high = rows.min(axis=0), rows.max(axis=0)
            steps = (high - low) / 255
            steps = np.where(steps == 0, 1, steps)
            rows = (np.clip(np.floor((rows - low) / steps), 0, 255) - 128).astype(np.float32)
        elif self._precision == "ubinary":
            rows = np.where(rows > 0, np.float32(1), np.float32(-1))
        return np.ascontiguousarray(rows, dtype=np.float32)

    def bytes_per_vector(self, width: int) -> int:
        """Return what a stored vector of this width takes at this precision."""
        return {"float32": 4 * width, "int8": width, "ubinary": -(-width // 8)}[self._precision]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.derive(self.source.encode(texts))


def derived_from_cache(name: str, identity: str) -> DerivedEncoder:
    """Return what an identity says was made of which cached vectors; ``source`` names those."""
    found = _CHANGES.fullmatch(identity)
    assert found is not None
    source, dimension, unit, precision = found.groups()
    cached = CachedEncoder(name, source)
    return DerivedEncoder(cached, int(dimension) if dimension else None, bool(unit), precision or "float32")


class DualEncoder:
    """Encodes queries with one model and documents with another; texts without a role with the one that ``symmetric`` names."""

    def __init__(self, query: Encoder, document: Encoder, symmetric: str = "query") -> None:
        self.name = f"{query.name}+{document.name}"
        self._parts = {"query": query, "document": document}
        self._symmetric = symmetric
        known = query.identity and document.identity
        self.identity = f"dual-{symmetric}({query.identity})({document.identity})" if known else ""
        # The width of vectors where the model knows it without encoding.
        self.dimension: int | None = getattr(self._parts[symmetric], "dimension", None)
        budgets = [part.token_budget for part in (query, document) if hasattr(part, "token_budget")]
        if budgets:
            self.token_budget = TokenBudget()
            for budget in budgets:
                budget.within = self.token_budget

    @property
    def sees(self) -> dict[str, Any]:
        return dict(getattr(self._parts[self._symmetric], "sees", {}))

    def for_use(self, task: str, role: str) -> Encoder:
        return for_use(self._parts[role or self._symmetric], task, role)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._parts[self._symmetric].encode(texts)


def load(argument: str, query: str = "", document: str = "", symmetric: str = "query") -> DualEncoder:
    """Load ``dual,query="SPECIFICATION",document="SPECIFICATION"``; ``symmetric`` is query or document."""
    if not query or not document:
        raise EncoderError('dual takes two specifications: dual,query="transformers:A,pooling=cls",document="transformers:B"')
    check_choices("dual", symmetric=(symmetric, ("query", "document")))
    return DualEncoder(load_encoder(query), load_encoder(document), symmetric)
