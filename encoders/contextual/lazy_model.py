"""Models that are loaded only when a text is to be encoded: what an evaluation asks of them before is remembered.

A run whose vectors are all in the cache needs a model's identity and limits, not the model. These facts are kept in the cache
under a hash of everything that they depend on: the bytes of the model's files, the options, and the libraries' versions.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from medsenteval.embedding.cache import CacheError, cache_folder, check_owner
from medsenteval.encoders.fingerprint import hash_files
from medsenteval.errors import MissingExtraError
from medsenteval.support.atomic_files import write_atomically

#: Raised whenever a fact is found out in another way.
_LAYOUT: Final = 3
_PACKAGES: Final = ("torch", "transformers", "tokenizers", "sentence-transformers")
#: Files that no way of loading reads.
_NOT_READ: Final = (".md", ".png", ".jpg", ".h5", ".msgpack", ".ot", ".tflite", ".gitattributes", ".py", ".lock", ".metadata")


class LazyModel:
    """A model and facts about it; ``load`` returns both, and is called when a fact is not remembered or the model is needed."""

    def __init__(self, load: Callable[[], tuple[Any, dict[str, Any]]], facts: dict[str, Any] | None = None) -> None:
        self._load = load
        self._facts = facts
        self._model: Any = None
        self._lock = threading.Lock()

    @property
    def model(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model, self._facts = self._load()
            return self._model

    @property
    def facts(self) -> dict[str, Any]:
        if self._facts is None:
            _ = self.model
        assert self._facts is not None
        return self._facts

    @classmethod
    def loaded(cls, model: Any, facts: dict[str, Any]) -> LazyModel:
        lazy = cls(lambda: (model, facts), facts)
        lazy._model = model
        return lazy

    @classmethod
    def remembered(
        cls,
        folder: Path,
        revision: Mapping[str, str],
        options: Mapping[str, Any],
        load: Callable[[], tuple[Any, dict[str, Any]]],
    ) -> LazyModel:
        """Return the model of a folder; it is loaded now unless an earlier run left its facts in the cache."""
        path = cache_folder() / "models-known" / content_key(folder, revision, options, str(_LAYOUT), *map(_version, _PACKAGES))
        facts = None
        with suppress(OSError, ValueError, RecursionError, CacheError):
            for place in (path.parent.parent, path.parent, path):
                check_owner(place, may_be_link=place != path)
            facts = json.loads(path.read_text("utf-8"))
        lazy = cls(load, facts if isinstance(facts, dict) else None)
        if lazy._facts is None:
            content = json.dumps(lazy.facts)
            with suppress(OSError):  # it is then found out again
                for place in (path.parent.parent, path.parent):
                    place.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_atomically(path, content)
        return lazy


def content_key(folder: Path, revision: Mapping[str, str], options: Mapping[str, Any], *more: str) -> str:
    """Hash what a model's files hold and how it is loaded; a revision of a hub stands for its files."""
    read = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(_NOT_READ)]
    content = str(revision) if revision else hash_files(read)
    names = "" if revision else [str(path.relative_to(folder)) for path in read]
    parts = [content, str(names), str(sorted(options.items())), *more]
    return hashlib.sha256("|".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def check_installed(kind: str, *modules: str) -> None:
    """Say which package is missing before anything is read."""
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtraError(f"{kind}:", module.replace("_", "-"), "transformers")
