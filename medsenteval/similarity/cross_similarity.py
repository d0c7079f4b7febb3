"""Similarities of all terms of one list with all of another, for any of the ten measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import UnknownNameError
from medsenteval.similarity.measures import MEASURES, _as_is, _centred, _ranks, _unit, term_similarities
from medsenteval.similarity.term_arrays import Terms
from medsenteval.support.arrays import Floats

__all__ = ["CrossSimilarity"]

_TRANSFORMS: Final[dict[str, Callable[[Floats], Floats]]] = {"cos": _as_is, "r": _centred, "rho": _ranks}


class CrossSimilarity:
    """Call it with two lists of terms to get their matrix of similarities.

    Six of the measures are dot products of one vector a term, which is computed here once; the others go pair by pair.
    """

    def __init__(self, measure: str, matrix: NDArray[np.floating], terms: Terms) -> None:
        if measure not in MEASURES:
            raise UnknownNameError(f"no similarity measure is called {measure!r}; known: {', '.join(MEASURES)}")
        self._measure, self._matrix, self._terms = measure, matrix, terms
        kind, _, name = measure.partition("_")
        self._vectors: Floats | None = None
        if kind in ("avg", "pair") and name in _TRANSFORMS:
            transform = _TRANSFORMS[name]
            if kind == "avg":
                self._vectors = _unit(transform(terms.means(matrix)))
            else:
                self._vectors = terms.means(_unit(transform(matrix.astype(np.float64))))

    def __call__(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        if self._vectors is not None:
            products: Floats = self._vectors[rows] @ self._vectors[columns].T
            return products
        left, right = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        pairs = term_similarities(self._measure, self._matrix, self._terms, left, right)[self._measure]
        return pairs.reshape(len(rows), len(columns))
