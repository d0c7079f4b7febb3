"""Our own lists of words, relations and patterns of sentences, from ``word_lists.toml``: what the bundled items are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medsenteval.support.toml_files import packaged_toml

_LISTS: Final[Mapping[str, Any]] = packaged_toml("medsenteval.tasks", "diagnostics/word_lists.toml")

FUNCTION_WORDS: Final = frozenset(_LISTS["function_words"].split())
FINDINGS: Final[tuple[str, ...]] = _LISTS["findings"]
PAIRED_ORGANS: Final[tuple[str, ...]] = _LISTS["paired_organs"]
DOSES: Final[tuple[str, ...]] = _LISTS["doses"]
ABBREVIATIONS: Final[Mapping[str, str]] = _LISTS["abbreviations"]
INDICATIONS: Final[Mapping[str, tuple[str, str]]] = _LISTS["indications"]
BRANDS: Final[Mapping[str, str]] = _LISTS["brands"]
PRESENTATIONS: Final[Mapping[str, str]] = _LISTS["presentations"]
#: Name of a list of patterns -> the patterns, texts or several texts that belong together.
PATTERNS: Final[Mapping[str, tuple[Any, ...]]] = _LISTS["patterns"]
