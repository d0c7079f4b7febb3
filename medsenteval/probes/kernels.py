"""One pass over the rows: the residuals of all walkers' models, and the gradients that come back.

This is where the time goes, so the layout is chosen for it. Weights are (walkers x classes) rows; logits of a block of
rows are (walkers x classes) x rows, so that each class is a contiguous run and the whole block stays in the cache
between the two matrix products. A fold is a row of weights, zero where the fold does not train; it is multiplied into
the softmax's normaliser, so that it costs nothing per class.

Residuals p - y are computed without ever forming 1 - p, so that they are accurate relative to their own size however
tiny they get; on separable rows under a weak penalty nothing else converges. Stored rows are put in the order of their
classes for that, so that every block has one class only. Rows that stay where they are come with a one-hot mask.

The arithmetic is written once for NumPy and torch, whose functions agree in all that is used here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.probes.basis import Basis

__all__ = ["GradientPass", "Problems"]

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Labels = NDArray[np.int64]

#: Logits of one block, in numbers: about half of a core's second-level cache in float32.
_BLOCK_NUMBERS: Final = 200_000
_LONGEST_BLOCK: Final = 4_096
_SHORTEST_BLOCK: Final = 256
#: A logit so far above that of the right class leaves it no probability; more would overflow float32.
_HOPELESS: Final = 80.0


@dataclass(frozen=True, eq=False)
class Problems:
    """Folds over some rows of a basis.

    ``weights`` (folds x rows) is 1 / (number of training rows) on a fold's training rows and 0 elsewhere; its columns,
    and ``labels``, stand for ``rows`` of the basis. ``n_outputs`` is 1 for a sigmoid, else the number of classes.
    """

    basis: Basis
    rows: Indices | slice
    weights: Floats
    labels: Labels
    n_outputs: int

    def select(self, folds: Indices) -> Problems:
        return Problems(self.basis, self.rows, self.weights[folds], self.labels, self.n_outputs)

    def sorted_by_class(self) -> Problems:
        """Leave out rows that no fold trains on and order the others by their class."""
        order = np.argsort(self.labels, kind="stable")
        order = order[np.asarray(self.weights.any(axis=0))[order]]
        rows = np.arange(self.basis.features.n_rows)[self.rows][order]
        weights = np.ascontiguousarray(self.weights[:, order])
        return Problems(self.basis, rows, weights, self.labels[order], self.n_outputs)

    @property
    def classes(self) -> list[int]:
        return [1] if self.n_outputs == 1 else list(range(self.n_outputs))


class GradientPass:
    """Mean-loss gradients of walkers, one for each fold of the problems.

    With ``pool`` the row blocks are shared out in ``parts`` fixed parts, added up in order, so that the result does not
    depend on the number of threads.
    """

    def __init__(
        self,
        problems: Problems,
        engine: str,
        pool: Executor | None = None,
        parts: int = 1,
    ) -> None:
        self.pool, self.parts = pool, parts if pool is not None else 1
        self.stored: Floats | None = None
        self.problems = problems
        self.basis = problems.basis
        if self.basis.turned is not None:
            self.problems = problems.sorted_by_class()
            self.stored = self.basis.turned[self.problems.rows]
            self.borders = np.flatnonzero(np.diff(self.problems.labels)) + 1
        self.row_weight = self.problems.weights.max(axis=1)
        self.arrays: Any = np
        self.lift: Any = np.asarray
        if engine == "torch":
            import torch

            self.arrays, self.lift = torch, torch.from_numpy

    def __call__(self, points: Floats, walkers: Indices) -> tuple[Floats, Floats]:
        weights = self.basis.to_rows(points)
        n_rows = self.problems.weights.shape[1]
        spans = list(pairwise(round(n_rows * part / self.parts) for part in range(self.parts + 1)))
        if self.pool is None:
            sums = [self._part(weights, walkers, *span) for span in spans]
        else:
            sums = list(self.pool.map(lambda span: self._part(weights, walkers, *span), spans))
        gradient, absolute, squares = (_total(pieces) for pieces in zip(*sums, strict=True))
        # Residuals carry the row weight 1/n, so their squares carry 1/n^2 and are taken times n.
        weight = absolute - squares / self.row_weight[walkers][:, None]
        n_outputs = points.shape[1]
        if n_outputs > 1:
            weight *= n_outputs / (n_outputs - 1)
        return self.basis.from_rows(gradient), np.maximum(weight, 0)

    def _part(self, weights: Floats, walkers: Indices, start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        """Return the sums over some of the rows of r * x, |r| and r^2, where r is a weighted residual."""
        count, n_outputs, width = weights.shape
        xp = self.arrays
        flat = self.lift(np.ascontiguousarray(weights.reshape(count * n_outputs, width)))
        total = xp.zeros_like(flat)
        absolute = xp.zeros_like(flat[:, 0]).reshape(count, n_outputs)
        squares = xp.zeros_like(absolute)
        folds = slice(None) if len(walkers) == len(self.problems.weights) else walkers
        for columns in self._spans(start, stop, len(flat)):
            fold_weights = self.problems.weights[folds, columns]
            share, block = self.lift(fold_weights), self.lift(self._rows(columns))
            has_ones = block.shape[1] == width
            logits = flat @ block.T if has_ones else flat[:, :-1] @ block.T + flat[:, -1:]
            residuals = logits.reshape(count, n_outputs, -1)
            labels = self.problems.labels[columns]
            with np.errstate(over="ignore"):
                if self.stored is not None:
                    _residuals_of_class(xp, residuals, share, int(labels[0]))
                else:
                    _residuals(xp, residuals, share, self.lift(self._own_class(labels)))
            # The curvature only steers the solver: in long blocks the first quarter of the rows can speak for all.
            sampled = xp.abs(residuals[:, :, : -(-len(block) // 4)] if len(block) > _SHORTEST_BLOCK else residuals)
            portion = len(block) / sampled.shape[2]
            absolute += sampled.sum(axis=2) * portion
            squares += xp.square(sampled, out=sampled).sum(axis=2) * portion
            if has_ones:
                total += logits @ block
            else:
                total[:, :-1] += logits @ block
                total[:, -1] += logits.sum(axis=1)
        return np.asarray(total).reshape(weights.shape), np.asarray(absolute), np.asarray(squares)

    def _spans(self, start: int, stop: int, n_logits: int) -> Iterator[slice]:
        """Yield runs of rows whose logits fit into the cache, of one class each if the rows are stored."""
        length = int(np.clip(_BLOCK_NUMBERS // n_logits, _SHORTEST_BLOCK, _LONGEST_BLOCK))
        edges = [start, stop]
        if self.stored is not None:
            edges = [start, *self.borders[(self.borders > start) & (self.borders < stop)].tolist(), stop]
        for first, last in pairwise(edges):
            n_blocks = -(-(last - first) // length)
            bounds = (first + (last - first) * block // n_blocks for block in range(n_blocks + 1))
            yield from (slice(*bound) for bound in pairwise(bounds))

    def _own_class(self, labels: Labels) -> Floats:
        """Return 1 for a row's own class: classes x rows, or one line of 1 and 0 for a sigmoid."""
        own: Floats = (labels == np.array(self.problems.classes)[:, None]).astype(self.basis.dtype)
        return own

    def _rows(self, columns: slice) -> Floats:
        if self.stored is not None:
            return self.stored[columns]
        rows = self.problems.rows
        if isinstance(rows, slice):
            return self.basis.rows(slice(rows.start + columns.start, rows.start + columns.stop))
        return self.basis.rows(rows[columns])


def _residuals_of_class(xp: Any, logits: Any, share: Any, label: int) -> None:
    """Replace logits (walkers x outputs x rows) of rows of one class by weighted residuals p - y."""
    n_outputs = logits.shape[1]
    if n_outputs == 1:
        towards = -1.0 if label == 1 else 1.0
        logits *= -towards
        xp.exp(logits, out=logits)
        logits += 1
        xp.divide(share[:, None] * towards, logits, out=logits)
        return
    logits -= logits[:, [label]]
    xp.minimum(logits, xp.full_like(logits[:1, :1, :1], _HOPELESS), out=logits)
    xp.exp(logits, out=logits)
    logits[:, label] = 0
    others = logits.sum(axis=1)
    scale = share / (others + 1)
    logits *= scale[:, None]
    logits[:, label] = -others * scale


def _residuals(xp: Any, logits: Any, share: Any, own_class: Any) -> None:
    """Replace logits of rows of any class by weighted residuals p - y."""
    if logits.shape[1] == 1:
        towards = 1 - 2 * own_class
        logits *= -towards
        xp.exp(logits, out=logits)
        logits += 1
        xp.divide((share * towards)[:, None], logits, out=logits)
        return
    logits -= xp.amax(logits, axis=1)[:, None]
    xp.exp(logits, out=logits)
    own_part = logits * own_class
    own = own_part.sum(axis=1)
    logits -= own_part
    others = logits.sum(axis=1)
    scale = share / (own + others)
    logits *= scale[:, None]
    logits -= xp.multiply((others * scale)[:, None], own_class, out=own_part)


def _total(pieces: Sequence[Floats]) -> Floats:
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    return total
