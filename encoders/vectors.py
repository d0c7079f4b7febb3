"""Static word vectors: a sentence is the mean (MOWE) or maximum of the vectors of its known words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import TokenVectors
from medsenteval.encoders.vector_files import open_vectors
from medsenteval.errors import EncoderError
from medsenteval.pooling import POOLINGS, pool

__all__ = ["CASES", "TOKENIZERS", "WordVectorEncoder", "load"]

#: Words with inner hyphens and apostrophes stay whole; every other sign is a token of its own.
_WORD_PATTERN: Final = re.compile(r"\w+(?:[-'\u2019]\w+)*|[^\w\s]")

TOKENIZERS: Final[dict[str, Callable[[str], list[str]]]] = {"words": _WORD_PATTERN.findall, "whitespace": str.split}
CASES: Final = ("exact-then-lower", "exact", "lower")


class WordVectorEncoder:
    """Looks words up in a table; the encoder of GloVe, word2vec, fastText .vec, gensim's KeyedVectors and plain dicts."""

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
    ) -> None:
        for option, value, allowed in (
            ("case", case, CASES),
            ("tokenizer", tokenizer, TOKENIZERS),
            ("pooling", pooling, POOLINGS),
        ):
            if value not in allowed:
                raise EncoderError(f"vectors: {option} is {value!r}; it can be {', '.join(allowed)}")
        self.name = name
        self.identity = f"vectors-{source}-{case}-{tokenizer}-{pooling}" if source else ""
        self._row_of = row_of
        self._matrix = matrix
        self._case = case
        self._split = TOKENIZERS[tokenizer]
        self._pooling = pooling

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return pool(self.encode_tokens(texts), self._pooling)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        rows: list[int] = []
        offsets = [0]
        for text in texts:
            # An empty text stands for a full stop, as in SentEval's examples.
            rows.extend(map(self._find, self._split(text) or ["."]))
            offsets.append(len(rows))
        found = np.array(rows, dtype=np.intp)
        known = found >= 0
        values = np.zeros((len(found), self._matrix.shape[1]), dtype=np.float32)
        values[known] = self._matrix[found[known]]
        return TokenVectors(values, np.array(offsets, dtype=np.intp), known)

    def coverage(self, texts: Iterable[str]) -> dict[str, float]:
        """Return the share of tokens, of distinct tokens and of texts that have a vector."""
        tokens = known = texts_known = n_texts = 0
        distinct: dict[str, bool] = {}
        for text in texts:
            found = [(token, self._find(token) >= 0) for token in self._split(text)]
            distinct.update(found)
            hits = sum(hit for _, hit in found)
            tokens, known, n_texts, texts_known = tokens + len(found), known + hits, n_texts + 1, texts_known + (hits > 0)
        return {
            "tokens": known / max(1, tokens),
            "distinct_tokens": sum(distinct.values()) / max(1, len(distinct)),
            "texts": texts_known / max(1, n_texts),
        }

    def _find(self, token: str) -> int:
        if self._case == "lower":
            return self._row_of.get(token.lower(), -1)
        row = self._row_of.get(token, -1)
        if row < 0 and self._case == "exact-then-lower":
            row = self._row_of.get(token.lower(), -1)
        return row


def load(argument: str, **options: str) -> WordVectorEncoder:
    """Load ``vectors:PATH``, options ``case``, ``tokenizer`` and ``pooling``."""
    unknown = sorted(set(options) - {"case", "tokenizer", "pooling"})
    if unknown:
        raise EncoderError(f"the encoder kind 'vectors' has no option {unknown[0]!r}; it has case, tokenizer and pooling")
    if not argument:
        raise EncoderError("vectors needs a file: vectors:PATH of GloVe, word2vec or fastText .vec word vectors")
    path = Path(argument).expanduser()
    table = open_vectors(path)
    return WordVectorEncoder(path.stem, table.row_of, table.matrix, source=table.sha256[:32], **options)


def from_table(name: str, words: Iterable[str], rows: Any) -> WordVectorEncoder:
    """Wrap vectors that are in memory already; equal tables get equal identities."""
    listed = list(words)
    matrix = np.asarray(rows, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != len(listed):
        raise EncoderError(f"{len(listed)} words with an array of shape {matrix.shape}: expected one vector a word")
    if not np.isfinite(matrix).all():
        raise EncoderError(f"the vectors of {name} hold NaN or infinity")
    digest = hashlib.sha256("\n".join(listed).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(matrix).tobytes())
    return WordVectorEncoder(name, {w: i for i, w in enumerate(listed)}, matrix, source=digest.hexdigest()[:32])
