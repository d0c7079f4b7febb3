"""Category separation of several encoders, each under its own measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medsenteval.contracts import Encoder
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.running.term_vectors import encode_terms
from medsenteval.settings import Settings
from medsenteval.similarity.cross_similarity import CrossSimilarity
from medsenteval.words.terms.separation import Separation, separate

__all__ = ["EncoderSeparation", "separate_encoders"]


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
    """Separate the categories by each encoder under each measure, counting only terms that the encoder knows."""
    rows = []
    texts = [term for members in categories.values() for term in members]
    for encoder in encoders:
        vectors = encode_terms(encoder, texts, settings, cache=cache)
        members = {name: vectors.numbers(list(terms)) for name, terms in categories.items()}
        known = {name: numbers[vectors.known[numbers]] for name, numbers in members.items()}
        unknown = sum(len(members[name]) - len(known[name]) for name in members)
        for name in dict.fromkeys(vectors.measure(measure) for measure in measures):
            similarity = CrossSimilarity(name, vectors.matrix, vectors.terms)
            rows.append(EncoderSeparation(encoder.name, name, separate(similarity, known), unknown))
    return rows
