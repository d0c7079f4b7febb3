"""Sequence tagging on word vectors: tag schemes, a window tagger, decoding, and entity-level counts."""
