"""The one place where anything that can encode becomes an Encoder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

__all__ = ["BatcherEncoder", "as_encoder", "load_object"]


class FunctionEncoder:
    """Wraps a function from a list of texts to rows; without an identity, so nothing of it is cached unless it is named."""

    def __init__(self, function: Callable[[list[str]], Any], name: str, identity: str = "") -> None:
        self.name = name
        self.identity = identity
        self._function = function

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # The result is returned as it came: embedding.checked_rows says what is wrong with it, and in which batch.
        rows: NDArray[np.float32] = self._function(list(texts))
        return rows


class BatcherEncoder:
    """Wraps SentEval's ``batcher(params, batch)`` and ``prepare(params, samples)``, which see lists of tokens."""

    def __init__(
        self,
        batcher: Callable[[Any, list[list[str]]], Any],
        prepare: Callable[[Any, list[list[str]]], Any] | None,
        params: Any,
        name: str = "",
        identity: str = "",
    ) -> None:
        self.name = name or getattr(batcher, "__qualname__", type(batcher).__name__)
        self.identity = identity
        self._batcher = batcher
        self._prepare = prepare
        self._params = params

    def prepare(self, texts: Sequence[str]) -> None:
        if self._prepare is not None:
            self._prepare(self._params, [text.split() for text in texts])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self._batcher(self._params, [text.split() for text in texts])
        return rows


def as_encoder(thing: Any, name: str = "", identity: str = "") -> Encoder:
    """Coerce a specification, an Encoder, (batcher, prepare), word vectors, an object with .encode or a function.

    ``identity`` allows caching for functions, objects and batchers, which have none of their own.
    """
    if isinstance(thing, str):
        return load_encoder(thing)
    if isinstance(thing, Encoder):
        return thing
    label = name or getattr(thing, "__qualname__", type(thing).__name__)
    if isinstance(thing, tuple):
        if len(thing) == 2 and callable(thing[0]) and (thing[1] is None or callable(thing[1])):
            from medsenteval.settings import SentEvalParams

            return BatcherEncoder(thing[0], thing[1], SentEvalParams(), name, identity)
        raise EncoderError(f"a tuple must be SentEval's (batcher, prepare), got {len(thing)} item(s): {thing!r:.80}")
    if isinstance(thing, Mapping):
        return _from_mapping(thing, name or "vectors")
    if hasattr(thing, "key_to_index") and hasattr(thing, "vectors"):
        from medsenteval.encoders.vectors import from_table

        # Sorted by row: a gensim vocabulary may list its keys in another order than its vectors.
        return from_table(label, sorted(thing.key_to_index, key=thing.key_to_index.__getitem__), thing.vectors)
    if hasattr(thing, "mteb_model_meta"):
        # Its encode takes mteb's batches, not texts.
        from medsenteval.encoders.mteb_model import MtebEncoder

        return MtebEncoder(thing, name)
    if callable(getattr(thing, "encode", None)):
        return FunctionEncoder(thing.encode, label, identity)
    if callable(thing):
        return FunctionEncoder(thing, label, identity)
    raise EncoderError(
        f"cannot encode with a {type(thing).__name__}; give a specification such as 'lexical', a function from texts to rows, "
        "an object with .encode, word vectors (a dict or gensim KeyedVectors), or SentEval's (batcher, prepare)"
    )


def _from_mapping(vectors: Mapping[str, Any], name: str) -> Encoder:
    from medsenteval.encoders.vectors import from_table

    if not vectors:
        raise EncoderError("an empty dict of word vectors encodes nothing")
    try:
        rows = np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors.values()])
    except (ValueError, TypeError) as error:
        raise EncoderError(f"the dict's values are not vectors of one length: {error}") from error
    return from_table(name, vectors, rows)


def load_object(argument: str) -> Encoder:
    """Load ``python:MODULE:OBJECT``: an Encoder, or anything that ``as_encoder`` takes, from an importable module.

    The working directory is searched too, as ``python -m`` does, so that a script's neighbour can be named.
    """
    module_name, _, attribute = argument.partition(":")
    if not module_name or not attribute:
        raise EncoderError(f"python needs MODULE:OBJECT, got {argument!r}; for example python:my_encoders:tfidf")
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise EncoderError(f"python:{argument}: the module {module_name!r} cannot be imported: {error}") from error
    finally:
        sys.path.remove(here)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise EncoderError(f"python:{argument}: {getattr(found, '__name__', found)!r} has no {part!r}")
        found = getattr(found, part)
    if isinstance(found, type):
        found = found()
    return as_encoder(found, name=attribute)
