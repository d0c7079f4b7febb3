"""The one place where anything that can encode becomes an Encoder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder
from medsenteval.encoders.model_files import is_a
from medsenteval.encoders.static.vectors import from_table
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from medsenteval.settings import SentEvalParams

#: What word vectors are called that come without a file.
_UNNAMED: Final = "vectors"


@dataclass(eq=False)
class FunctionEncoder:
    """Wraps a function from a list of texts to rows, or an object's ``encode``, ``encode_query`` and ``encode_document``.

    Without an identity nothing of it is cached.
    """

    function: Callable[[list[str]], Any]
    name: str
    identity: str = ""
    by_role: Mapping[str, Callable[[list[str]], Any]] = field(default_factory=dict)

    keeps_threads: ClassVar[bool] = True

    def for_use(self, task: str, role: str) -> FunctionEncoder:
        if role not in self.by_role:
            return self
        identity = f"{self.identity}-role={role}" if self.identity else ""
        return FunctionEncoder(self.by_role[role], self.name, identity)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # The result is returned as it came: embedding.checked_rows says what is wrong with it, and in which batch.
        rows: NDArray[np.float32] = self.function(list(texts))
        return rows


@dataclass(eq=False, repr=False)
class BatcherEncoder:
    """Wraps SentEval's ``batcher(params, batch)`` and ``prepare(params, samples)``, which see lists of tokens.

    ``separator`` is what separates them: white space, or a text such as a single blank.
    """

    batcher: Callable[[Any, list[list[str]]], Any]
    preparation: Callable[[Any, list[list[str]]], Any] | None
    params: Any
    name: str = ""
    identity: str = ""
    separator: str | None = None

    keeps_threads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.name = self.name or _label(self.batcher)

    def prepare(self, texts: Sequence[str]) -> None:
        if self.preparation is not None:
            self.preparation(self.params, self._tokens(texts))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = self.batcher(self.params, self._tokens(texts))
        return rows

    def _tokens(self, texts: Sequence[str]) -> list[list[str]]:
        return [text.split(self.separator) for text in texts]


def _label(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", type(thing).__name__))


def as_encoder(thing: Any, name: str = "", identity: str = "") -> Encoder:
    """Coerce whatever can encode: a specification, an Encoder, a loaded model, word vectors, SentEval's pair, a function.

    A SentenceTransformer, a model of transformers (alone or with its tokeniser), of gensim or of mteb gets the name and the
    identity that its specification would have. ``identity`` allows caching for functions, objects and batchers, which have
    none of their own.

    >>> medsenteval.as_encoder(lambda texts: [[len(text)] for text in texts], name="length").encode(["a", "bb"])
    [[1], [2]]
    """
    encoder = load_encoder(thing) if isinstance(thing, str) else _adapted(thing)
    identity = "" if encoder.identity else identity
    if encoder is thing and (name or identity):
        encoder = copy(encoder)  # the caller's own keeps its name
    try:
        if name:
            encoder.name = name
        if identity:
            encoder.identity = identity  # type: ignore[misc]
    except AttributeError as error:
        raise EncoderError(f"a {type(encoder).__name__} cannot be given another name or identity: {error}") from error
    return encoder


def _adapted(thing: Any) -> Encoder:
    """Wrap anything but a specification."""
    if isinstance(thing, Encoder):
        return thing
    first, second = thing if isinstance(thing, tuple) and len(thing) == 2 else (thing, None)
    if is_a(first, "transformers", "PreTrainedModel"):
        from medsenteval.encoders.contextual import transformer

        return transformer.from_model(first, second)
    if isinstance(thing, tuple):
        if len(thing) != 2 or not callable(first) or not (second is None or callable(second)):
            raise EncoderError(f"a tuple must be SentEval's (batcher, prepare), got {len(thing)} item(s): {thing!r:.80}")
        return BatcherEncoder(first, second, SentEvalParams())
    if isinstance(thing, Mapping):
        return from_table(_UNNAMED, thing, [np.asarray(vector) for vector in thing.values()])
    if is_a(thing, "gensim.utils", "SaveLoad"):
        return _from_gensim(thing)
    if hasattr(thing, "mteb_model_meta"):
        # Its encode takes mteb's batches, not texts.
        from medsenteval.encoders.mteb_model import MtebEncoder

        return MtebEncoder(thing)
    owner = getattr(thing, "__self__", thing)  # model.encode says no more than the model
    if is_a(owner, "sentence_transformers", "SentenceTransformer"):
        from medsenteval.encoders.contextual import sentence_transformer

        return sentence_transformer.from_model(owner)
    named = getattr(thing, "name", None)
    label = named if isinstance(named, str) and named else _label(thing)
    if callable(getattr(thing, "encode", None)):
        methods = {role: getattr(thing, f"encode_{role}", None) for role in ("query", "document")}
        return FunctionEncoder(thing.encode, label, by_role={role: way for role, way in methods.items() if callable(way)})
    if callable(thing) and not is_a(thing, "torch.nn", "Module"):
        return FunctionEncoder(thing, label)
    raise EncoderError(
        f"cannot encode with a {type(thing).__name__}; give a specification such as 'lexical', a function from texts to rows, "
        "an object with .encode, word vectors (a dict or a gensim model), a model of transformers with its tokeniser, "
        "or SentEval's (batcher, prepare)"
    )


def _from_gensim(model: Any) -> Encoder:
    """Wrap KeyedVectors or the model that holds them, named by the file that it was loaded from."""
    from medsenteval.encoders.static import fasttext

    vectors = getattr(model, "wv", model)
    if hasattr(model, "infer_vector") or not hasattr(vectors, "key_to_index"):
        raise EncoderError(
            f"gensim's {type(model).__name__} has no vectors for words alone; give a function from texts to rows"
        )
    events = [event for holder in (model, vectors) for event in getattr(holder, "lifecycle_events", None) or ()]
    files = [str(event.get("fname") or event.get("msg", "")) for event in events if event["event"].startswith("load")]
    name = Path(files[-1].rpartition(" from ")[2]).stem if files else _UNNAMED
    # Sorted by row: a gensim vocabulary may list its keys in another order than its vectors.
    words = sorted(vectors.key_to_index, key=vectors.key_to_index.__getitem__)
    if hasattr(vectors, "vectors_ngrams"):
        return fasttext.from_gensim(name, words, vectors)
    return from_table(name, words, vectors.vectors)


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
        found = attrgetter(attribute)(import_module(module_name))
    except (ImportError, AttributeError) as error:
        raise EncoderError(f"python:{argument} cannot be imported: {error}") from error
    finally:
        sys.path.remove(here)
    encoder = as_encoder(found() if isinstance(found, type) else found)
    if isinstance(encoder, (FunctionEncoder, BatcherEncoder)) or encoder.name == _UNNAMED:
        encoder.name = attribute
    return encoder
