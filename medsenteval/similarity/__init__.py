"""How similar two vectors, or two bags of vectors, are."""

from medsenteval.similarity.cosine import paired_cosine

__all__ = ["paired_cosine"]
