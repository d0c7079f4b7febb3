"""Models that are loaded only when a text is to be encoded: what an evaluation asks of them before is remembered.

A run whose vectors are all in the cache needs a model's identity and limits, not the model. These facts are kept in the cache
under a hash of everything that they depend on: the bytes of the model's files, the options, and the libraries' versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

from medsenteval.embedding.cache import CacheError, cache_folder, check_owner
from medsenteval.encoders.fingerprint import hash_files
from medsenteval.support.atomic_files import write_atomically

#: Raised whenever a fact is found out in another way.
_LAYOUT: Final = 4
_PACKAGES: Final = ("torch", "transformers", "tokenizers", "sentence-transformers")
#: Files that no way of loading reads.
_NOT_READ: Final = (".md", ".png", ".jpg", ".h5", ".msgpack", ".ot", ".tflite", ".gitattributes", ".py", ".lock", ".metadata")


class LazyModel:
    """A model that is loaded when it is needed, and facts about it that are known before."""

    def __init__(self, load: Callable[[], Any], facts: dict[str, Any]) -> None:
        self.facts = facts
        self._load = load

    @cached_property
    def model(self) -> Any:
        return self._load()

    @classmethod
    def remembered(
        cls,
        folder: Path,
        revision: Mapping[str, str],
        options: Mapping[str, Any],
        load: Callable[[], tuple[Any, dict[str, Any]]],
    ) -> LazyModel:
        """Return a folder's model, which ``load`` returns with facts; now, unless an earlier run left these in the cache."""
        versions = [found.version for package in _PACKAGES for found in distributions(name=package)]
        path = cache_folder() / "models-known" / content_key(folder, revision, options, str(_LAYOUT), *versions)
        places = (path.parent.parent, path.parent, path)
        with suppress(OSError, ValueError, RecursionError, CacheError):
            for place in places:
                check_owner(place, may_be_link=place != path)
            if isinstance(facts := json.loads(path.read_text("utf-8")), dict):
                return cls(lambda: load()[0], facts)
        model, facts = load()
        content = json.dumps(facts)
        with suppress(OSError):  # it is then found out again
            for place in places[:2]:
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(path, content)
        return cls(lambda: model, facts)


def content_key(folder: Path, revision: Mapping[str, str], options: Mapping[str, Any], *more: str) -> str:
    """Hash what a model's files hold and how it is loaded; a revision of a hub stands for its files."""
    read = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(_NOT_READ)]
    content = str(revision) if revision else hash_files(read)
    names = "" if revision else [str(path.relative_to(folder)) for path in read]
    parts = [content, str(names), str(sorted(options.items())), *more]
    return hashlib.sha256("|".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
