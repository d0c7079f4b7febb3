"""Coordinates of rows that have more columns than there are rows.

No fit's weights ever leave the span of the rows it is fitted to, so as many coordinates as rows are enough. The rows' Gram
matrix K has a Cholesky factor, ``K = L L'``, and row i of L holds the coordinates of row i along some orthonormal axes of the
span: scalar products, and with them the fits, stay as they are. Which axes these are need not be known: weights come back as
multiples of the rows themselves.

With pivots, the row furthest from the span of those before it comes next. So the coordinates fall off in size, and end where
rounding noise begins: repeated rows, and whatever else depends on others, take none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from medsenteval.cores import Crew, available_cores, one_thread_per_product

__all__ = ["Span", "products_with"]

Doubles = NDArray[np.float64]
RowNumbers = NDArray[np.intp]

#: Squared distances from the span of other rows below this share of the largest are rounding noise of the Gram matrix.
_NOISE: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Span:
    """Rows that span some others, in the order in which they were chosen, and their own coordinates."""

    pivots: RowNumbers
    #: A row for each pivot, zero above the diagonal.
    triangle: Doubles

    @classmethod
    def of(cls, products: Doubles) -> tuple[Span, RowNumbers, Doubles]:
        """Return what spans the first rows, a new order of all rows, and their coordinates in this order.

        ``products`` are ``products_with`` the first rows, and are overwritten. Of the others counts what is within the span.
        """
        count = products.shape[1]
        square = products[:count]
        # Row by row, the lower half is what LAPACK, which goes by columns, calls the upper one.
        upper, chosen, rank, _ = lapack.dpstrf(square.T, lower=0, tol=_NOISE * square.diagonal().max(), overwrite_a=1)
        assert np.shares_memory(upper, products), "rows one after the other are overwritten"
        order = np.concatenate([chosen.astype(np.intp) - 1, np.arange(count, len(products))])
        # In the same memory: to get some anew would take as long as filling it.
        coordinates = products[:, :rank]
        for number, row in enumerate(coordinates[:rank]):
            row[number + 1 :] = 0
        span = cls(order[:rank], coordinates[:rank])
        coordinates[count:] = span.coordinates(products[count:, order[:rank]])
        return span, order, coordinates

    def coordinates(self, products: Doubles) -> Doubles:
        """Return the coordinates of rows from their scalar products with the pivots (rows x pivots)."""
        placed: Doubles = linalg.solve_triangular(self.triangle, products.T, lower=True, check_finite=False).T
        return placed

    def multiples(self, weights: Doubles) -> Doubles:
        """Return how much of each pivot makes up weights that are given by their coordinates, along the last axis."""
        flat = weights.reshape(-1, weights.shape[-1])
        parts: Doubles = linalg.solve_triangular(self.triangle, flat.T, lower=True, trans="T", check_finite=False).T
        return parts.reshape(weights.shape)


def products_with(rows: Doubles, count: int) -> Doubles:
    """Return the scalar products of all rows with the first ``count``: of these with each other only the lower half.

    What stands above the diagonal may be anything.
    """
    products = np.zeros((len(rows), count))
    first, second, beyond = (slice(*bound) for bound in pairwise((0, count // 2, count, len(rows))))
    # A matrix times its own transpose is half the work, which the library sees, so no two of these cost more than the others.
    pieces = [(second, first), (beyond, slice(0, count)), (first, first), (second, second)]

    def fill(piece: tuple[slice, slice]) -> None:
        np.matmul(rows[piece[0]], rows[piece[1]].T, out=products[piece])

    with one_thread_per_product(), Crew(available_cores()) as crew:
        crew.map(fill, pieces)
    return products
