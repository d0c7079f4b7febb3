"""Float64 products of chosen candidates with chosen term vectors, by NumPy or by a compiled loop.

Either way a pair's product is the same to the last bit wherever it stands among others, so that equal vectors tie; BLAS
does not promise that.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["PairedProducts", "compiled_kernel", "lengths_of"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Gathered vectors of so many pairs fit into a core's cache.
_PAIRS_A_BLOCK: Final = 512


@cache
def compiled_kernel(name: str) -> Any:
    """Compile a loop of ``kernels`` with numba, to run outside the interpreter's lock."""
    import numba

    from medsenteval.analogies import kernels

    # Sums may be reordered and a division by zero is no error, which is what lets loops run in vector registers; NaN keeps its
    # meaning.
    return numba.njit(nogil=True, fastmath={"reassoc"}, error_model="numpy")(getattr(kernels, name))


def lengths_of(vectors: Floats) -> Floats:
    """Return the length of each row."""
    lengths: Floats = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return lengths


class PairedProducts:
    """Products of rows of a float32 matrix, widened to float64, with rows of float64 tables."""

    def __init__(self, vectors: NDArray[np.float32], *, compiled: bool) -> None:
        self._vectors = vectors
        self._compiled = compiled

    def dots(self, rows: Rows, table: Floats, numbers: Rows) -> Floats:
        """Return ``vectors[rows[i]] . table[numbers[i]]`` for every i."""
        out = np.empty(len(rows))
        if self._compiled:
            compiled_kernel("dots")(self._vectors, rows, table, numbers, out)
            return out
        for part in _blocks(len(rows)):
            out[part] = np.einsum("nd,nd->n", self._vectors[rows[part]].astype(np.float64), table[numbers[part]])
        return out

    def steps(self, rows: Rows, origins: Floats, origin_numbers: Rows, table: Floats, numbers: Rows) -> tuple[Floats, Floats]:
        """Return the products of the steps ``vectors[rows[i]] - origins[...]`` with ``table[...]``, and the steps' squares."""
        products, squares = np.empty(len(rows)), np.empty(len(rows))
        if self._compiled:
            compiled_kernel("steps")(self._vectors, rows, origins, origin_numbers, table, numbers, products, squares)
            return products, squares
        for part in _blocks(len(rows)):
            steps = self._vectors[rows[part]].astype(np.float64) - origins[origin_numbers[part]]
            products[part] = np.einsum("nd,nd->n", steps, table[numbers[part]])
            squares[part] = np.einsum("nd,nd->n", steps, steps)
        return products, squares


def _blocks(n: int) -> list[slice]:
    return [slice(begin, begin + _PAIRS_A_BLOCK) for begin in range(0, n, _PAIRS_A_BLOCK)]
