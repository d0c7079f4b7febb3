"""The embedded default encoder: hashed words and character n-grams under a fixed random projection.

It has no weights and downloads nothing, knows spelling but no meaning, and is the floor that a trained encoder has to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.encoders.model_files import whole_number

_BUCKETS: Final = 2**18
_COORDINATES_PER_BUCKET: Final = 4


class LexicalEncoder:
    """Word 1- and 2-grams and character 3- to 5-grams, hashed and projected to ``dimension`` coordinates."""

    def __init__(self, dimension: int = 512) -> None:
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import HashingVectorizer

        self.name = "lexical"
        self.identity = f"lexical-1-{dimension}"
        self.trained_on = {"*": "no"}  # on nothing at all
        shared = {"n_features": _BUCKETS, "alternate_sign": False, "norm": "l2", "dtype": np.float32}
        self._views = [
            HashingVectorizer(analyzer="word", ngram_range=(1, 2), token_pattern=r"(?u)\w+|[^\w\s]", **shared),
            HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), **shared),
        ]
        columns, signs = _projection(dimension)
        starts = np.arange(0, columns.size + 1, _COORDINATES_PER_BUCKET)
        self._projection = csr_array((signs, columns, starts), shape=(_BUCKETS, dimension))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # Half a surrogate pair, which JSON can hold, has no bytes to be hashed by.
        sound = [text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        total = sum((view.transform(sound) @ self._projection).toarray() for view in self._views)
        return np.asarray(total, dtype=np.float32)


def _projection(dimension: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Give each bucket a few coordinates with signs by integer mixing (splitmix64), which no library version can change."""
    with np.errstate(over="ignore"):
        mixed = np.arange(1, _BUCKETS * _COORDINATES_PER_BUCKET + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    size = np.float32(_COORDINATES_PER_BUCKET**-0.5)
    signs = np.where(mixed >> np.uint64(63), size, -size)
    return (mixed.astype(np.uint32) % np.uint32(dimension)).astype(np.int64), signs


def load(argument: str = "", dimension: str = "512") -> LexicalEncoder:
    """Make the encoder from its specification, ``lexical`` or ``lexical,dimension=256``."""
    return LexicalEncoder(whole_number("lexical", "dimension", dimension, least=2))
