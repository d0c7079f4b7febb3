"""Static models of the model2vec kind: a table of token vectors with its own tokeniser, averaged without a network.

A model is a folder with config.json, tokenizer.json and model.safetensors, which holds ``embeddings`` and perhaps a weight a
token (``weights``) and the row a token stands in (``mapping``), as vocabulary quantisation writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.embedding.pooling import pool_rows
from medsenteval.encoders.model_files import read_json, whole_number
from medsenteval.errors import EncoderError, import_extra

_EXPECTED: Final = "expected a folder with config.json, tokenizer.json and model.safetensors, as model2vec saves it"
#: The same matrix in a folder of model2vec and in one of sentence-transformers' StaticEmbedding.
_MATRIX_NAMES: Final = ("embeddings", "embedding.weight")


@dataclass(eq=False, repr=False)
class Model2VecEncoder:
    """Mean of the token vectors, each times its weight, of unit length if the model says so."""

    name: str
    source: str
    tokenizer: Any
    matrix: NDArray[np.float32]
    weights: NDArray[np.float32] | None
    mapping: NDArray[np.int32] | None
    normalize: bool
    max_length: int | None

    preferred_batch: ClassVar[int] = 4096

    def __post_init__(self) -> None:
        self.identity = f"model2vec-{self.source[:32]}-{'unit' if self.normalize else 'raw'}-{self.max_length or 'whole'}"
        model = json.loads(self.tokenizer.to_str())["model"]
        unknown = model.get("unk_token")
        # A unigram model names its unknown token by number instead.
        self._unknown = model.get("unk_id") if unknown is None else self.tokenizer.token_to_id(unknown)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, of its first ``max_length`` known tokens, as model2vec has it; zero where there is none."""
        lists = [tokens[: self.max_length] for tokens in self._known_tokens(texts)]
        ids = np.array([token for tokens in lists for token in tokens], dtype=np.int32)
        offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        weights = None if self.weights is None else self.weights[ids]
        rows = ids if self.mapping is None else self.mapping[ids]
        vectors = pool_rows(self.matrix, rows, offsets, "mean", weights)
        if self.normalize:
            norms = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
            vectors /= np.where(norms > 0, norms, 1.0)[:, None]
        return vectors

    @property
    def sees(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "pooling": "mean", "dtype": "float32", "prompt": ""}

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many known tokens each text has, those that are cut off included."""
        return list(map(len, self._known_tokens(texts)))

    def _known_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        except Exception as error:  # the library raises nothing more precise
            raise EncoderError(f"model2vec: the tokeniser of {self.name} fails: {error}; is its file whole?") from error
        return [[token for token in one.ids if token != self._unknown] for one in encoded]


def load(argument: str, max_length: str = "512") -> Model2VecEncoder:
    """Load ``model2vec:FOLDER``; ``max_length`` is a number of tokens or "none"."""
    tokenizers = import_extra("tokenizers", "model2vec:", "transformers")
    longest = None if max_length == "none" else whole_number("model2vec", "max_length", max_length, least=1)
    folder = Path(argument).expanduser()
    if not folder.is_dir():
        raise EncoderError(f"{folder} is {'a file' if folder.exists() else 'not there'}; {_EXPECTED}")
    config, file = read_json(folder / "config.json", dict, "model2vec"), folder / "tokenizer.json"
    description = json.dumps(read_json(file, dict, "model2vec"), sort_keys=True)
    try:
        tokenizer = tokenizers.Tokenizer.from_str(description)
    except Exception as error:  # the library raises nothing more precise
        raise EncoderError(f"{file}: cannot be read: {error}; expected a tokeniser of Hugging Face") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    matrix, weights, mapping = _read_tensors(folder / "model.safetensors", tokenizer.get_vocab_size())
    digest = hashlib.sha256(description.encode("utf-8", "surrogatepass"))
    for part in (matrix, weights, mapping):
        digest.update(b"absent" if part is None else f"{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
    known = folder.resolve().name, digest.hexdigest(), tokenizer, matrix, weights, mapping
    return Model2VecEncoder(*known, bool(config.get("normalize", False)), longest)


def _read_tensors(path: Path, n_tokens: int) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """Return the vectors, and what each token weighs and in which row it stands, where the file says so."""
    safetensors = import_extra("safetensors", "model2vec:", "transformers")
    try:
        with safetensors.safe_open(path, framework="np") as tensors:
            held = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError, TypeError, AttributeError) as error:
        raise EncoderError(f"{path}: cannot be read: {error}; is the download complete?") from error
    matrix = next((held[name] for name in _MATRIX_NAMES if name in held), None)
    if matrix is None or matrix.ndim != 2:
        raise EncoderError(f"{path}: holds {', '.join(sorted(held)) or 'nothing'}; expected a matrix called embeddings")
    mapping, weights = held.get("mapping"), held.get("weights")
    matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    rows = np.arange(len(matrix)) if mapping is None else mapping
    factors = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float32).ravel()
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not ((rows >= 0) & (rows < len(matrix))).all():
        raise EncoderError(f"{path}: its mapping is no list of rows among the {len(matrix)} there are")
    if min(len(rows), len(factors)) < n_tokens or (weights is not None and weights.shape[:1] != factors.shape):
        found = f"{len(rows)} rows and {len(factors)} weights"
        raise EncoderError(f"{path}: {found} for the tokeniser's {n_tokens} tokens; do the files belong together?")
    if not (np.isfinite(matrix).all() and np.isfinite(factors).all()):
        raise EncoderError(f"{path}: its embeddings or weights hold NaN or infinity")
    return matrix, None if weights is None else factors, None if mapping is None else mapping.astype(np.int32)
