"""Category separation of several encoders, each under its own measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medsenteval.contracts import Encoder
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.running.term_sets import encode_terms
from medsenteval.settings import Settings
from medsenteval.similarity import MEASURES
from medsenteval.similarity.measures import cross_similarity
from medsenteval.words.terms.category_overlap import Separation, separate
from medsenteval.words.terms.encoded_terms import PAPER_MEASURE, EncodedTerms, check_measure

#: Every measure: ten for word vectors, four for encoders that give one vector a term.
ALL_MEASURES: Final = tuple(MEASURES)


@dataclass(frozen=True)
class EncoderSeparation:
    """The separation by one encoder under one measure, and how many terms it could not encode."""

    encoder: str
    measure: str
    separation: Separation
    unknown: int


def separate_encoders(
    encoders: Sequence[Encoder],
    categories: Mapping[str, Sequence[str]],
    measures: Sequence[str],
    settings: Settings,
    *,
    cache: EmbeddingCache | None = None,
) -> list[EncoderSeparation]:
    """Separate the categories by each encoder under those of the measures that fit it, counting only terms that it knows."""
    for measure in measures:
        check_measure(measure)
    rows = []
    texts = [term for members in categories.values() for term in members]
    for encoder in encoders:
        vectors = encode_terms(encoder, texts, settings, cache=cache)
        members = {name: vectors.numbers(list(terms)) for name, terms in categories.items()}
        known = {name: numbers[vectors.known[numbers]] for name, numbers in members.items()}
        unknown = sum(len(members[name]) - len(known[name]) for name in members)
        for name in _fitting(measures, vectors):
            similarity = cross_similarity(name, vectors.matrix, vectors.terms)
            rows.append(EncoderSeparation(encoder.name, name, separate(similarity, known), unknown))
    return rows


def _fitting(measures: Sequence[str], vectors: EncodedTerms) -> list[str]:
    """Return the measures that an encoder has; where none of those named is among them, the error says which are."""
    fitting = [measure for measure in measures if measure in (PAPER_MEASURE, *vectors.measures)]
    return list(dict.fromkeys(vectors.measure(measure) for measure in fitting or measures))
