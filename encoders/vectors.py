"""Static word vectors: a sentence is the mean (MOWE), the maximum or the SIF average of its known words' vectors."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.encoders.tokens import TOKENIZERS, TokenisedTexts, lowered, token_store
from medsenteval.encoders.vector_files import content_digest, open_vectors
from medsenteval.encoders.vector_formats import FileOptions
from medsenteval.encoders.words import PackedWords, Vocabulary, WordIndex
from medsenteval.errors import EncoderError
from medsenteval.pooling import common_directions, pool_rows, sif_weights, without_directions, zipf_probabilities

__all__ = ["CASES", "POOLINGS", "TOKENIZERS", "Frequencies", "StaticEncoder", "WordVectorEncoder", "from_table", "load"]

CASES: Final = ("exact-then-lower", "exact", "lower")
POOLINGS: Final = ("mean", "max", "sif", "unit-mean")

_TEXTS_A_SLICE: Final = 8192


class StaticEncoder(ABC):
    """Pools vectors that do not depend on a token's neighbours; subclasses say where a token's vector is."""

    #: A batch of this size costs no more memory and far less time than many small ones.
    preferred_batch: int = 16384
    name: str
    dimension: int

    def __init__(self, kind: str, *, case: str, tokenizer: str, pooling: str, poolings: Sequence[str]) -> None:
        for option, value, allowed in (
            ("case", case, CASES),
            ("tokenizer", tokenizer, TOKENIZERS),
            ("pooling", pooling, poolings),
        ):
            if value not in allowed:
                raise EncoderError(f"{kind}: {option} is {value!r}; it can be {', '.join(allowed)}")
        self._case = case
        self._tokenizer = tokenizer
        self._pooling = pooling

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text; a text without known words gets the zero vector, an empty one stands for a full stop."""
        pooled = np.empty((len(texts), self.dimension), dtype=np.float32)
        begin = 0
        # While one slice is pooled the next one is split: each alone leaves cores idle in between.
        with ThreadPoolExecutor(1) as behind:
            pooling: list[Future[None]] = []
            for part in self._tokenised(texts):
                end = begin + len(part.offsets) - 1
                pooling.append(behind.submit(self._pool, part, pooled[begin:end]))
                begin = end
            for slice_ in pooling:
                slice_.result()
        return pooled

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """Return the vector of every token; those of unknown ones are zero."""
        parts = [(part, *self._located(part)) for part in self._tokenised(texts)]
        rows = np.concatenate([rows for _, _, rows in parts])
        known = rows >= 0
        values = np.zeros((len(rows), parts[0][1].shape[1]), dtype=np.float32)
        begin = 0
        for _, matrix, part_rows in parts:
            end = begin + len(part_rows)
            values[begin:end][known[begin:end]] = matrix[part_rows[known[begin:end]]]
            begin = end
        lengths = np.concatenate([np.diff(part.offsets) for part, _, _ in parts])
        return TokenVectors(values, np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp), known)

    def coverage(self, texts: Iterable[str]) -> dict[str, float]:
        """Return the share of tokens, of distinct tokens and of texts that have a vector."""
        listed = list(texts)
        n_tokens = n_known = n_texts_known = 0
        distinct: dict[bytes, bool] = {}
        for begin in range(0, len(listed), _TEXTS_A_SLICE):
            part = token_store(self._tokenizer).tokenise(listed[begin : begin + _TEXTS_A_SLICE])
            known = self._known(part)
            n_tokens, n_known = n_tokens + len(known), n_known + int(known.sum())
            known_before = np.concatenate([[0], np.cumsum(known)])[part.offsets]
            n_texts_known += int((np.diff(known_before) > 0).sum())
            types, first = np.unique(part.ids, return_index=True)
            words = part.types.words()
            distinct.update({words.word(i): hit for i, hit in zip(types.tolist(), known[first].tolist(), strict=True)})
        return {
            "tokens": n_known / max(1, n_tokens),
            "distinct_tokens": sum(distinct.values()) / max(1, len(distinct)),
            "texts": n_texts_known / max(1, len(listed)),
        }

    def _tokenised(self, texts: Sequence[str]) -> Iterable[TokenisedTexts]:
        store = token_store(self._tokenizer)
        for begin in range(0, max(1, len(texts)), _TEXTS_A_SLICE):
            yield store.tokenise(texts[begin : begin + _TEXTS_A_SLICE]).with_full_stops()

    def _pool(self, part: TokenisedTexts, out: NDArray[np.float32]) -> None:
        matrix, rows = self._located(part)
        pool_rows(matrix, rows, part.offsets, self._pooling, out=out)

    def _known(self, part: TokenisedTexts) -> NDArray[np.bool_]:
        return self._located(part)[1] >= 0

    @abstractmethod
    def _located(self, part: TokenisedTexts) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return a matrix and each token's row in it, -1 for unknown tokens."""


class TypeRows:
    """Remembers in which row of a vocabulary each token number lies, so that a distinct token is looked up once."""

    def __init__(self, index: WordIndex, case: str) -> None:
        self._index = index
        self._case = case
        self._types: WordIndex | None = None
        self._rows = np.zeros(0, dtype=np.int32)

    def of(self, types: WordIndex) -> NDArray[np.int32]:
        if types is not self._types:
            self._types, self._rows = types, np.zeros(0, dtype=np.int32)
        seen, now = len(self._rows), len(types)
        if now > seen:
            self._rows = np.concatenate([self._rows, self._look_up(types.words(seen, now))])
        return self._rows

    def _look_up(self, words: PackedWords) -> NDArray[np.int32]:
        if self._case == "lower":
            return self._index.find(lowered(words))
        rows = self._index.find(words)
        if self._case == "exact-then-lower":
            missing = np.flatnonzero(rows < 0)
            rows[missing] = self._index.find(lowered(words.take(missing)))
        return rows


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often words occur, for SIF; a word's lower-case form counts where the word itself is not listed."""

    counts: Mapping[str, float]
    sha256: str

    @classmethod
    def read(cls, path: Path) -> Frequencies:
        """Read lines 'word count', as those that the authors of SIF published."""
        counts: Counter[str] = Counter()
        try:
            with open(path, encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    if not line.strip():
                        continue
                    word, _, count = line.strip().rpartition("\t" if "\t" in line else " ")
                    try:
                        value = float(count)
                    except ValueError:
                        value = -1.0
                    if not word or not 0 <= value < float("inf"):
                        raise EncoderError(f"{path}:{number}: expected 'word count', got {line.strip()[:60]!r}")
                    counts[word.strip()] += value  # type: ignore[assignment]
        except OSError as error:
            raise EncoderError(f"{path}: cannot be read: {error.strerror}; expected lines 'word count'") from error
        except UnicodeDecodeError as error:
            raise EncoderError(f"{path}: not UTF-8 text: {error.reason}; expected lines 'word count'") from error
        if not sum(counts.values()) > 0:
            raise EncoderError(f"{path}: no counts in it; expected lines 'word count'")
        return cls(counts, hashlib.sha256(repr(sorted(counts.items())).encode("utf-8", "surrogatepass")).hexdigest())

    def probabilities(self, words: Iterable[str]) -> NDArray[np.float64]:
        total = sum(self.counts.values())
        found = (self.counts.get(word, self.counts.get(word.lower(), 0.0)) for word in words)
        return np.fromiter(found, dtype=np.float64) / total


class WordVectorEncoder(StaticEncoder):
    """Looks words up in a table; the encoder of GloVe, word2vec, fastText .vec, gensim's KeyedVectors and plain dicts.

    With pooling "sif" a word weighs a / (a + p), p from ``frequencies`` or else from the table's order by Zipf's law, and
    ``prepare`` fits the common components, which ``encode`` then removes; before that nothing is removed.
    Pooling "unit-mean" brings every word to length 1 before the mean, as evaluations of analogies do.
    """

    def __init__(
        self,
        name: str,
        row_of: Mapping[str, int],
        matrix: NDArray[np.float32],
        *,
        source: str,
        case: str = "exact-then-lower",
        tokenizer: str = "words",
        pooling: str = "mean",
        frequencies: Frequencies | None = None,
        sif_a: float = 1e-3,
        sif_components: int = 1,
    ) -> None:
        super().__init__("vectors", case=case, tokenizer=tokenizer, pooling=pooling, poolings=POOLINGS)
        if not 0 < sif_a < float("inf") or not 0 <= sif_components <= matrix.shape[1]:
            raise EncoderError(
                f"vectors: sif_a is {sif_a} and sif_components {sif_components}; "
                f"expected a positive number, and at most the dimension {matrix.shape[1]}"
            )
        self.name = name
        self.dimension = int(matrix.shape[1])
        self._source = source
        vocabulary = row_of if isinstance(row_of, Vocabulary) else Vocabulary.of(sorted(row_of, key=row_of.__getitem__))
        self._vocabulary = vocabulary
        self._matrix = matrix if len(matrix) == len(vocabulary) else matrix[[row_of[word] for word in vocabulary]]
        self._type_rows = TypeRows(vocabulary.index, case)
        self._frequencies = frequencies
        self._sif_a, self._sif_components = sif_a, sif_components
        weighted = pooling in ("sif", "unit-mean")
        self._weights = np.full(len(vocabulary), np.nan, dtype=np.float32) if weighted else None
        self._directions = np.zeros((0, matrix.shape[1]), dtype=np.float32)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words in the order of their file, frequent ones first as a rule."""
        return self._vocabulary

    @property
    def identity(self) -> str:
        """Everything that can change a vector, apart from the texts that ``prepare`` saw, which the engine knows."""
        if not self._source:
            return ""
        named = f"vectors-{self._source}-{self._case}-{self._tokenizer}-{self._pooling}"
        if self._pooling == "sif":
            probabilities = self._frequencies.sha256[:16] if self._frequencies else "zipf"
            named += f"-{self._sif_a:g}-{probabilities}-{self._sif_components}"
        return named

    def prepare(self, texts: Sequence[str]) -> None:
        """Fit SIF's common components to a task's texts, each counted as often as it occurs; other poolings need nothing."""
        if self._pooling != "sif" or not self._sif_components or not texts:
            return
        counted = sorted(Counter(texts).items())  # sorted, so that the order of the texts changes no digit
        moments = np.zeros((self._matrix.shape[1],) * 2)
        for begin in range(0, len(counted), _TEXTS_A_SLICE):
            part = counted[begin : begin + _TEXTS_A_SLICE]
            (tokenised,) = self._tokenised([text for text, _ in part])
            vectors = self._averages(tokenised).astype(np.float64)
            vectors *= np.sqrt([count for _, count in part])[:, None]
            moments += vectors.T @ vectors
        self._directions = common_directions(moments, self._sif_components)

    def _located(self, part: TokenisedTexts) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        return self._matrix, self._type_rows.of(part.types)[part.ids]

    def _pool(self, part: TokenisedTexts, out: NDArray[np.float32]) -> None:
        if self._pooling == "unit-mean":
            matrix, rows = self._located(part)
            pool_rows(matrix, rows, part.offsets, "mean", self._weights_of(rows), out=out)
        elif self._pooling != "sif":
            super()._pool(part, out)
        else:
            out[:] = without_directions(self._averages(part), self._directions)

    def _averages(self, part: TokenisedTexts) -> NDArray[np.float32]:
        """Return the weighted averages of SIF, nothing removed."""
        matrix, rows = self._located(part)
        return pool_rows(matrix, rows, part.offsets, "mean", self._weights_of(rows))

    def _weights_of(self, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return each token's weight; a word's weight is computed when the word first occurs."""
        assert self._weights is not None
        weights: NDArray[np.float32] = self._weights[rows]  # what an unknown token gets here is never used
        missing = np.isnan(weights) & (rows >= 0)
        if missing.any():
            new = np.unique(rows[missing])
            if self._pooling == "unit-mean":
                lengths = np.linalg.norm(self._matrix[new].astype(np.float64), axis=1)
                self._weights[new] = 1.0 / np.where(lengths > 0, lengths, 1.0)
                found: NDArray[np.float32] = self._weights[rows]
                return found
            if self._frequencies is None:
                probabilities = zipf_probabilities(new, len(self._vocabulary))
            else:
                words = self._vocabulary.index.words()
                texts = [words.word(i).decode("utf-8", "replace") for i in new.tolist()]
                probabilities = self._frequencies.probabilities(texts)
            self._weights[new] = sif_weights(probabilities, self._sif_a)
            weights = self._weights[rows]
        return weights


def load(
    argument: str,
    case: str = "exact-then-lower",
    tokenizer: str = "words",
    pooling: str = "mean",
    sif_a: str = "",
    sif_frequencies: str = "",
    sif_components: str = "",
    member: str = "",
    layout: str = "",
    vocab: str = "",
    rows: str = "",
    check: str = "",
) -> WordVectorEncoder:
    """Load ``vectors:PATH`` of GloVe, word2vec or fastText .vec vectors, plain, .gz or .zip.

    ``layout`` (blocks or adjacent), ``vocab``, ``rows`` (word or sum) and ``check`` (yes or no) are for GloVe's own binary.
    """
    if not argument:
        raise EncoderError("vectors needs a file: vectors:PATH of GloVe, word2vec or fastText .vec word vectors")
    if pooling != "sif" and (sif_a or sif_frequencies or sif_components):
        raise EncoderError(f"vectors: sif_a, sif_frequencies and sif_components need pooling=sif, not {pooling!r}")
    if not layout and (vocab or rows or check):
        raise EncoderError(
            "vectors: vocab, rows and check are for GloVe's own binary, which layout=blocks or adjacent announces"
        )
    if check not in ("", "yes", "no"):
        raise EncoderError(f"vectors: check is {check!r}; it can be yes or no")
    path = Path(argument).expanduser()
    table = open_vectors(path, FileOptions(member, layout, vocab, rows or "word", check != "no"))
    return WordVectorEncoder(
        path.stem,
        table.row_of,
        table.matrix,
        source=table.sha256[:32],
        case=case,
        tokenizer=tokenizer,
        pooling=pooling,
        frequencies=Frequencies.read(Path(sif_frequencies).expanduser()) if sif_frequencies else None,
        sif_a=_number("sif_a", sif_a or "0.001"),
        sif_components=int(_number("sif_components", sif_components or "1")),
    )


def _number(option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise EncoderError(f"vectors: {option} is {value!r}; it must be a number") from error


def from_table(name: str, words: Iterable[str], rows: Any) -> WordVectorEncoder:
    """Wrap vectors that are in memory already; equal tables get equal identities."""
    listed = list(words)
    matrix = np.ascontiguousarray(rows, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != len(listed):
        raise EncoderError(f"{len(listed)} words with an array of shape {matrix.shape}: expected one vector a word")
    if len(set(listed)) != len(listed):
        raise EncoderError(f"the vectors of {name} hold a word twice")
    if not np.isfinite(matrix).all():
        raise EncoderError(f"the vectors of {name} hold NaN or infinity")
    vocabulary = Vocabulary.of(listed)
    digest = content_digest(vocabulary.index.words(), matrix)
    return WordVectorEncoder(name, vocabulary, matrix, source=digest[:32])
