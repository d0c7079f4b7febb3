"""Terms encoded for the term sets and for category separation."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.contracts import Encoder, has_word_vectors
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import embed_texts
from medsenteval.engine import known_share
from medsenteval.settings import Settings
from medsenteval.support.progress import Progress
from medsenteval.words.terms.encoded_terms import EncodedTerms

__all__ = ["encode_terms"]


def encode_terms(
    encoder: Encoder, terms: Sequence[str], settings: Settings, *, cache: EmbeddingCache | None = None, progress: bool = False
) -> EncodedTerms:
    """Encode each different term once; an encoder that knows next to none of their words is refused."""
    known_share(encoder, terms, "terms")
    if has_word_vectors(encoder):
        return EncodedTerms.of_words(encoder, terms)
    unique = list(dict.fromkeys(terms))
    shown = Progress(1, progress)
    embeddings = embed_texts(encoder, unique, batch_size=settings.batch_size, task_name="terms", cache=cache, progress=shown)
    shown.close()
    return EncodedTerms.of_texts(embeddings)
