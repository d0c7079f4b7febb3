"""Terms as an encoder sees them: bags of word vectors for static vectors, one vector each for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Embeddings, TokenEncoder
from medsenteval.errors import UnknownNameError
from medsenteval.similarity import CONTEXTUAL_MEASURES, MEASURES, Terms, term_similarities

#: What Schulz and Juric 2020 chose for each kind of encoder: Kendall's tau for those that give one vector a term, and for word
#: vectors fuzzy Jaccard on their own sets (Table 5), the cosine of means on existing ones (Table 4).
PAPER_MEASURE: Final = "paper"
_TERMS_AT_ONCE: Final = 20_000


def check_measure(name: str) -> None:
    """Refuse the name of a measure that no kind of encoder has."""
    if name not in (PAPER_MEASURE, *MEASURES):
        raise UnknownNameError(f"no measure is called {name!r}; known: {PAPER_MEASURE}, {', '.join(MEASURES)}")


@dataclass(frozen=True, eq=False)
class EncodedTerms:
    """The vectors of terms: ``known`` says which terms the encoder knows in all their words.

    Of word vectors, ``terms`` has the known words only.
    """

    number: dict[str, int]
    matrix: NDArray[np.float32]
    terms: Terms
    known: NDArray[np.bool_]
    word_vectors: bool
    n_encoded: int

    @classmethod
    def of_texts(cls, embeddings: Embeddings) -> EncodedTerms:
        """Take the vector of each text for that of a term."""
        terms = Terms.single(len(embeddings.matrix))
        return cls(
            dict(embeddings.row_of), embeddings.matrix, terms, ~embeddings.zero_rows, False, n_encoded=embeddings.n_encoded
        )

    @classmethod
    def of_words(cls, encoder: TokenEncoder, terms: Sequence[str]) -> EncodedTerms:
        """Keep each different word vector once: terms share their words, and measures work on words first."""
        unique = list(dict.fromkeys(terms))
        row_of: dict[bytes, int] = {}
        rows: list[int] = []
        lengths: list[NDArray[np.intp]] = []
        known: list[NDArray[np.bool_]] = []
        for begin in range(0, len(unique), _TERMS_AT_ONCE):
            tokens = encoder.encode_tokens(unique[begin : begin + _TERMS_AT_ONCE])
            values = np.asarray(tokens.values[tokens.known], dtype=np.float32)
            rows += [row_of.setdefault(vector.tobytes(), len(row_of)) for vector in values]
            # How many words of each term are known.
            found = np.diff(np.concatenate([[0], np.cumsum(tokens.known)])[tokens.offsets])
            sizes = np.diff(tokens.offsets)
            lengths.append(found)
            known.append((found == sizes) & (sizes > 0))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.intp)
        vectors = np.frombuffer(b"".join(row_of), dtype=np.float32)
        return cls(
            {term: i for i, term in enumerate(unique)},
            vectors.reshape(-1, tokens.values.shape[1]),
            Terms(np.array(rows, dtype=np.intp), offsets),
            np.concatenate(known),
            word_vectors=True,
            n_encoded=len(unique),
        )

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(MEASURES) if self.word_vectors else CONTEXTUAL_MEASURES

    @property
    def known_in_part(self) -> NDArray[np.bool_]:
        """Which terms have a word that the encoder knows."""
        return (self.terms.lengths > 0) if self.word_vectors else self.known

    def measure(self, name: str, of_words: str = "fuzzy_jaccard") -> str:
        """Return the measure that a name means for this kind of encoder; ``of_words`` is the paper's for word vectors."""
        if name == PAPER_MEASURE:
            return of_words if self.word_vectors else "avg_tau"
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
