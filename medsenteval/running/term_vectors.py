"""Terms as an encoder sees them: bags of word vectors for static vectors, one vector each for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Encoder, TokenEncoder
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import embed_texts
from medsenteval.encoders.static.vectors import StaticEncoder
from medsenteval.errors import UnknownNameError
from medsenteval.settings import Settings
from medsenteval.similarity import CONTEXTUAL_MEASURES, MEASURES, Terms, term_similarities
from medsenteval.support.progress import Progress

__all__ = ["PAPER_MEASURE", "EncodedTerms", "encode_terms"]

#: What the paper's Table 5 uses: fuzzy Jaccard for word vectors, Kendall's tau for encoders that give one vector a term.
PAPER_MEASURE = "paper"
_TERMS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class EncodedTerms:
    """The vectors of terms: ``known`` says which terms the encoder knows in all their words."""

    number: dict[str, int]
    matrix: NDArray[np.float32]
    terms: Terms
    known: NDArray[np.bool_]
    word_vectors: bool
    n_encoded: int

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(MEASURES) if self.word_vectors else CONTEXTUAL_MEASURES

    def measure(self, name: str) -> str:
        """Return the measure that a name means for this kind of encoder."""
        if name == PAPER_MEASURE:
            return "fuzzy_jaccard" if self.word_vectors else "avg_tau"
        if name not in self.measures:
            kind = "word vectors" if self.word_vectors else "an encoder with one vector a term"
            raise UnknownNameError(f"no measure {name!r} for {kind}; known: {PAPER_MEASURE}, {', '.join(self.measures)}")
        return name

    def numbers(self, terms: Sequence[str]) -> NDArray[np.intp]:
        return np.fromiter((self.number[term] for term in terms), dtype=np.intp, count=len(terms))

    def similarities(
        self, measures: Sequence[str], left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> dict[str, NDArray[np.float64]]:
        return term_similarities(measures, self.matrix, self.terms, left, right)


def encode_terms(
    encoder: Encoder, terms: Sequence[str], settings: Settings, *, cache: EmbeddingCache | None = None, progress: bool = False
) -> EncodedTerms:
    """Encode each different term once."""
    unique = list(dict.fromkeys(terms))
    if isinstance(encoder, StaticEncoder):
        return _word_vectors(encoder, unique)
    shown = Progress(1, progress)
    embeddings = embed_texts(encoder, unique, batch_size=settings.batch_size, task_name="terms", cache=cache, progress=shown)
    shown.close()
    return EncodedTerms(
        dict(embeddings.row_of),
        embeddings.matrix,
        Terms.single(len(embeddings.matrix)),
        ~embeddings.zero_rows,
        word_vectors=False,
        n_encoded=embeddings.n_encoded,
    )


def _word_vectors(encoder: TokenEncoder, terms: list[str]) -> EncodedTerms:
    """Keep each different word vector once: terms share their words, and measures work on words first."""
    row_of: dict[bytes, int] = {}
    vectors: list[NDArray[np.float32]] = []
    rows: list[NDArray[np.intp]] = []
    lengths: list[NDArray[np.intp]] = []
    known: list[NDArray[np.bool_]] = []
    for begin in range(0, len(terms), _TERMS_AT_ONCE):
        tokens = encoder.encode_tokens(terms[begin : begin + _TERMS_AT_ONCE])
        places = np.empty(len(tokens.values), dtype=np.intp)
        for i, vector in enumerate(tokens.values):
            key = vector.tobytes()
            place = row_of.get(key)
            if place is None:
                place = row_of[key] = len(vectors)
                vectors.append(vector)
            places[i] = place
        sizes = np.diff(tokens.offsets)
        unknown = np.zeros(len(sizes), dtype=np.intp)
        np.add.at(unknown, np.repeat(np.arange(len(sizes)), sizes), ~tokens.known)
        rows.append(places)
        lengths.append(sizes)
        known.append((unknown == 0) & (sizes > 0))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.intp)
    return EncodedTerms(
        {term: i for i, term in enumerate(terms)},
        np.array(vectors, dtype=np.float32),
        Terms(np.concatenate(rows), offsets),
        np.concatenate(known),
        word_vectors=True,
        n_encoded=len(terms),
    )
