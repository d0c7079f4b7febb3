"""Static word vectors: a sentence is the mean (MOWE), the maximum or the SIF average of its known words' vectors."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.embedding.pooling import pool_rows
from medsenteval.encoders.model_files import check_choices, number
from medsenteval.encoders.static.converted_vectors import content_digest, numbered, open_vectors
from medsenteval.encoders.static.tokens import CASES, TOKENIZERS, look_up, tokenise
from medsenteval.encoders.static.vector_formats import FileOptions, read_counts
from medsenteval.errors import EncoderError

POOLINGS: Final = ("mean", "max", "sif", "unit-mean")
#: Texts that SIF's component is fitted to at once.
_TEXTS_A_SLICE: Final = 16384


class StaticEncoder(ABC):
    """Pools vectors that do not depend on a token's neighbours; subclasses say where a word's vector is."""

    #: A batch of this size costs no more memory and far less time than many small ones.
    preferred_batch: int = 16384
    #: A word has the same vector in every text.
    context_free: bool = True
    name: str
    dimension: int

    def __init__(
        self, kind: str, row_of: Mapping[str, int], *, case: str, tokenizer: str, pooling: str, poolings: Sequence[str]
    ) -> None:
        check_choices(kind, case=(case, CASES), tokenizer=(tokenizer, TOKENIZERS), pooling=(pooling, poolings))
        self._case, self._tokenizer, self._pooling, self._row_of = case, tokenizer, pooling, row_of

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text; a text without known words gets the zero vector, an empty one stands for a full stop."""
        part = tokenise(texts, self._tokenizer)
        matrix, rows = self._located(part.words)
        weights = self._weights(matrix, rows)
        how = "max" if self._pooling == "max" else "mean"
        return pool_rows(matrix, rows[part.ids], part.offsets, how, None if weights is None else weights[part.ids])

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """Return the vector of every token; those of unknown ones are zero."""
        part = tokenise(texts, self._tokenizer)
        matrix, rows = self._located(part.words)
        rows = rows[part.ids]
        known = rows >= 0
        values = np.zeros((len(rows), self.dimension), dtype=np.float32)
        values[known] = matrix[rows[known]]
        return TokenVectors(values, part.offsets.astype(np.intp), known)

    def coverage(self, texts: Iterable[str]) -> dict[str, float]:
        """Return the share of tokens, of distinct tokens and of texts that have a vector."""
        part = tokenise(texts, self._tokenizer)
        return part.coverage(self._located(part.words)[1] >= 0)

    def _weights(self, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[np.float32] | None:
        """Return what multiplies the vectors of the words in these rows; None leaves them as they are."""
        return None

    @abstractmethod
    def _located(self, words: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return a matrix and each word's row in it, -1 for unknown words."""


class WordVectorEncoder(StaticEncoder):
    """Looks words up in a table; the encoder of GloVe, word2vec, fastText .vec, gensim's KeyedVectors and plain dicts.

    With pooling "sif", smooth inverse frequency (Arora, Liang and Ma, 2017), a word weighs a / (a + p), p from ``frequencies``
    (how often words occur; a word's lower-case form counts where the word itself is not listed) or else from the table's order
    by Zipf's law, and ``prepare`` fits the common component, which ``encode`` then removes; before that nothing is removed.
    Pooling "unit-mean" brings every word to length 1 before the mean, as evaluations of analogies do.
    """

    def __init__(
        self,
        name: str,
        row_of: Mapping[str, int],
        matrix: NDArray[np.float32],
        source: str,
        frequencies: Mapping[str, float] | None = None,
        sif_a: float = 1e-3,
        *,
        case: str = "exact-then-lower",
        tokenizer: str = "words",
        pooling: str = "mean",
    ) -> None:
        super().__init__("vectors", row_of, case=case, tokenizer=tokenizer, pooling=pooling, poolings=POOLINGS)
        self.name, self.dimension = name, int(matrix.shape[1])
        #: The words in the order of their file, frequent ones first as a rule.
        self.vocabulary = row_of
        self._source, self._matrix = source, matrix
        self._frequencies, self._sif_a = frequencies, sif_a
        self._common = np.zeros(self.dimension, dtype=np.float32)

    @property
    def identity(self) -> str:
        """Everything that can change a vector, apart from the texts that ``prepare`` saw, which the engine knows."""
        named = f"vectors-{self._source}-{self._case}-{self._tokenizer}-{self._pooling}"
        if self._pooling == "sif":
            listed = repr(sorted((self._frequencies or {}).items())).encode("utf-8", "surrogatepass")
            probabilities = hashlib.sha256(listed).hexdigest()[:16] if self._frequencies else "zipf"
            named += f"-{self._sif_a:g}-{probabilities}-1"  # one component is removed
        return named

    def prepare(self, texts: Sequence[str]) -> None:
        """Fit SIF's common component, the first right singular vector of a task's texts; other poolings need nothing."""
        if self._pooling != "sif" or not texts:
            return
        counted = sorted(Counter(texts).items())  # sorted, so that the order of the texts changes no digit
        moments = np.zeros((self.dimension, self.dimension))
        for begin in range(0, len(counted), _TEXTS_A_SLICE):
            part = counted[begin : begin + _TEXTS_A_SLICE]
            vectors = super().encode([text for text, _ in part]).astype(np.float64)
            vectors *= np.sqrt([count for _, count in part])[:, None]
            moments += vectors.T @ vectors
        self._common = np.linalg.eigh(moments)[1][:, -1].astype(np.float32)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        averages = super().encode(texts)
        if self._pooling == "sif":
            # einsum and not @: BLAS may round a row otherwise in another batch.
            averages -= np.einsum("nd,d->n", averages, self._common)[:, None] * self._common
        return averages

    def _located(self, words: list[str]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        return self._matrix, look_up(words, self._row_of, self._case)

    def _weights(self, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[np.float32] | None:
        # For row -1, an unknown word, any weight will do: it is never used.
        if self._pooling == "sif":
            return np.asarray(self._sif_a / (self._sif_a + self._probabilities[rows]), dtype=np.float32)
        if self._pooling != "unit-mean":
            return None
        lengths = np.linalg.norm(matrix[rows].astype(np.float64), axis=1)
        return (1.0 / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

    @cached_property
    def _probabilities(self) -> NDArray[np.float64]:
        """How probable the word of each row is."""
        if self._frequencies is None:
            ranks = np.arange(1, len(self._matrix) + 1)
            return np.asarray(1.0 / (ranks * (1.0 / ranks).sum()))
        counts = self._frequencies
        found = [counts.get(word, counts.get(word.lower(), 0.0)) for word in self._row_of]
        probabilities = np.zeros(len(self._matrix))
        probabilities[list(self._row_of.values())] = np.array(found) / sum(counts.values())
        return probabilities


def load(
    argument: str,
    case: str = "exact-then-lower",
    tokenizer: str = "words",
    pooling: str = "mean",
    sif_a: str = "",
    sif_frequencies: str = "",
    member: str = "",
    layout: str = "",
    vocab: str = "",
    rows: str = "",
) -> WordVectorEncoder:
    """Load ``vectors:PATH`` of GloVe, word2vec or fastText .vec vectors, plain, .gz or .zip.

    ``layout`` (blocks or adjacent), ``vocab`` and ``rows`` (word or sum) are for GloVe's own binary.
    """
    if pooling != "sif" and (sif_a or sif_frequencies):
        raise EncoderError(f"vectors: sif_a and sif_frequencies need pooling=sif, not {pooling!r}")
    if not layout and (vocab or rows):
        raise EncoderError("vectors: vocab and rows are for GloVe's own binary, named by layout=blocks or adjacent")
    path = Path(argument).expanduser()
    table = open_vectors(path, FileOptions(member, layout, vocab, rows or "word"))
    frequencies = read_frequencies(Path(sif_frequencies).expanduser()) if sif_frequencies else None
    weight = number("vectors", "sif_a", sif_a or "0.001", least=1e-12)
    known = path.stem, table.row_of, table.matrix, table.sha256[:32], frequencies, weight
    return WordVectorEncoder(*known, case=case, tokenizer=tokenizer, pooling=pooling)


def read_frequencies(path: Path) -> Mapping[str, float]:
    """Read how often words occur from lines 'word count'; the counts of a word that is listed twice are added up."""
    frequencies: dict[str, float] = {}
    for word, count in zip(*read_counts(path), strict=True):
        try:
            text = word.decode("utf-8")
        except UnicodeDecodeError as error:
            raise EncoderError(f"{path}: not UTF-8 text: {error.reason}; expected lines 'word count'") from error
        frequencies[text] = frequencies.get(text, 0.0) + float(count)
    return frequencies


def from_table(name: str, words: Iterable[str], rows: Any) -> WordVectorEncoder:
    """Wrap vectors that are in memory already; equal tables get equal identities."""
    listed = list(words)
    try:
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise EncoderError(f"the vectors of {name} are not numbers, all of one length: {error}") from error
    if matrix.ndim != 2 or len(matrix) != len(listed):
        raise EncoderError(f"{len(listed)} words with an array of shape {matrix.shape}: expected one vector a word")
    if odd := [word for word in listed if not isinstance(word, str)]:
        raise EncoderError(f"the vectors of {name} are named by {odd[0]!r:.80}, a {type(odd[0]).__name__}; expected are words")
    row_of = numbered(listed)
    if len(row_of) != len(listed):
        raise EncoderError(f"the vectors of {name} hold a word twice")
    if not np.isfinite(matrix).all():
        raise EncoderError(f"the vectors of {name} hold NaN or infinity")
    packed = [word.encode("utf-8", "surrogatepass") for word in listed]
    return WordVectorEncoder(name, row_of, matrix, source=content_digest(packed, matrix)[:32])
