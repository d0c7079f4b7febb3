"""Two models as one encoder: one for queries, one for documents (MedCPT, DPR)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.encoders.token_budget import TokenBudget
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

__all__ = ["DualEncoder", "load"]


class DualEncoder:
    """Encodes queries with one model and documents with another; texts without a role with the one that ``symmetric`` names."""

    def __init__(self, query: Encoder, document: Encoder, symmetric: str = "query") -> None:
        self.name = f"{query.name}+{document.name}"
        self._parts = {"query": query, "document": document}
        self._symmetric = symmetric
        known = query.identity and document.identity
        self.identity = f"dual-{symmetric}({query.identity})({document.identity})" if known else ""
        budgets = [part.token_budget for part in (query, document) if hasattr(part, "token_budget")]
        if budgets:
            self.token_budget = TokenBudget()
            for budget in budgets:
                budget.within = self.token_budget

    @property
    def sees(self) -> dict[str, Any]:
        return dict(getattr(self._parts[self._symmetric], "sees", {}))

    @property
    def dimension(self) -> int | None:
        """The width of vectors where the model knows it without encoding."""
        found: int | None = getattr(self._parts[self._symmetric], "dimension", None)
        return found

    def for_use(self, task: str, role: str) -> Encoder:
        """Return the model for texts of this role in this task."""
        part = self._parts[role or self._symmetric]
        choose = getattr(part, "for_use", None)
        found: Encoder = part if choose is None else choose(task, role)
        return found

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._parts[self._symmetric].encode(texts)


def load(argument: str, query: str = "", document: str = "", symmetric: str = "query") -> DualEncoder:
    """Load ``dual,query="SPECIFICATION",document="SPECIFICATION"``; ``symmetric`` is query or document."""
    if argument or not query or not document:
        raise EncoderError('dual takes two specifications: dual,query="transformers:A,pooling=cls",document="transformers:B"')
    if symmetric not in ("query", "document"):
        raise EncoderError(f"dual: symmetric is {symmetric!r}; it can be query or document")
    return DualEncoder(load_encoder(query), load_encoder(document), symmetric)
