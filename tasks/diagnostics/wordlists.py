"""Our own lists of words, relations and patterns of sentences, from ``word_lists.toml``: what the bundled items are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medsenteval.support.toml_files import packaged_toml

_LISTS: Final[Mapping[str, Any]] = packaged_toml("medsenteval.tasks", "diagnostics/word_lists.toml")

FUNCTION_WORDS: Final = frozenset(_LISTS["function_words"].split())
FINDINGS: Final[list[str]] = _LISTS["findings"]
PAIRED_ORGANS: Final[list[str]] = _LISTS["paired_organs"]
DOSES: Final[list[str]] = _LISTS["doses"]
ABBREVIATIONS: Final[Mapping[str, str]] = _LISTS["abbreviations"]
INDICATIONS: Final[Mapping[str, tuple[str, str]]] = {
    drug: (disease, kind) for drug, (disease, kind) in _LISTS["indications"].items()
}
BRANDS: Final[Mapping[str, str]] = _LISTS["brands"]
PRESENTATIONS: Final[Mapping[str, str]] = _LISTS["presentations"]
#: Name of a list of patterns -> the patterns, texts or lists of texts that belong together.
PATTERNS: Final[Mapping[str, list[Any]]] = _LISTS["patterns"]
