"""How similar two vectors, or two bags of vectors, are."""

from medsenteval.similarity.cosine import paired_cosine
from medsenteval.similarity.measures import CONTEXTUAL_MEASURES, MEASURES, Terms, term_similarities

__all__ = ["CONTEXTUAL_MEASURES", "MEASURES", "Terms", "paired_cosine", "term_similarities"]
