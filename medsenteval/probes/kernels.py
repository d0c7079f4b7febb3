"""One pass over the rows: softmax or sigmoid of all walkers' logits, and the gradients that come back.

This is where the time goes, so the layout is chosen for it. Weights are (walkers x classes) rows; logits of a block of
rows are (walkers x classes) x rows, so that each class is a contiguous run and the whole block stays in the cache between
the two matrix products. A fold is a row of weights, zero where the fold does not train; it is multiplied into the
softmax's normaliser, so that it costs nothing per class. Labels enter only through ``sum of x * y``, once per fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.probes.basis import Basis

__all__ = ["NumpyPass", "TorchPass", "class_sums"]

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Span = slice

#: Logits of one block, in numbers: about half of a core's second-level cache in float32.
_BLOCK_NUMBERS: Final = 200_000
_LONGEST_BLOCK: Final = 4_096
_SHORTEST_BLOCK: Final = 256


class NumpyPass:
    """Mean-loss gradients of walkers over the rows of a basis.

    ``row_weights`` (folds x rows) is 1 / (number of training rows) on a fold's training rows and 0 elsewhere; ``rows`` names
    the basis rows that its columns stand for. ``targets`` are the class sums to subtract, one per fold; ``fold_of`` says
    to which fold a walker belongs. With ``pool`` the row blocks are shared out in ``parts`` fixed parts, added up in order,
    so that the result does not depend on the number of threads.
    """

    def __init__(
        self,
        basis: Basis,
        rows: Indices | slice,
        row_weights: Floats,
        targets: Floats,
        fold_of: Indices,
        pool: Executor | None = None,
        parts: int = 1,
    ) -> None:
        self.basis, self.rows, self.row_weights, self.targets, self.fold_of = basis, rows, row_weights, targets, fold_of
        self.pool, self.parts = pool, parts if pool is not None else 1

    def __call__(self, points: Floats, walkers: Indices) -> tuple[Floats, Floats]:
        folds = self.fold_of[walkers]
        weights = self.basis.to_rows(points)
        n_rows = self.row_weights.shape[1]
        bounds = [round(n_rows * part / self.parts) for part in range(self.parts + 1)]
        spans = [Span(first, last) for first, last in zip(bounds[:-1], bounds[1:], strict=True)]
        if self.pool is None:
            sums = [self._part(weights, folds, span) for span in spans]
        else:
            sums = list(self.pool.map(lambda span: self._part(weights, folds, span), spans))
        gradient, squares = (_total(pieces) for pieces in zip(*sums, strict=True))
        probability = gradient[:, :, -1]
        # Row weights are 1/n, so a weighted square is p^2/n^2 and has to be taken times n.
        weight = probability - squares / self.row_weights.max(axis=1)[folds][:, None]
        n_outputs = points.shape[1]
        if n_outputs > 1:
            weight *= n_outputs / (n_outputs - 1)
        return self.basis.from_rows(gradient) - self.targets[folds], np.maximum(weight, 0)

    def _block_length(self, n_logits: int) -> int:
        return int(np.clip(_BLOCK_NUMBERS // n_logits, _SHORTEST_BLOCK, _LONGEST_BLOCK))

    def _part(self, weights: Floats, folds: Indices, span: Span) -> tuple[Floats, Floats]:
        """Return the sums of p * x, and of squared weighted p, over some of the rows."""
        count, n_outputs, width = weights.shape
        flat = weights.reshape(count * n_outputs, width)
        if n_outputs == 1:
            flat = -flat
        total = np.zeros_like(flat)
        squares = np.zeros((count, n_outputs), dtype=flat.dtype)
        length = self._block_length(len(flat))
        every_fold = len(folds) == len(self.row_weights) and bool((np.diff(folds) == 1).all())
        start = span.start
        for block in self.basis.blocks(_within(self.rows, span), length):
            columns = slice(start, start + len(block))
            share = self.row_weights[:, columns] if every_fold else self.row_weights[folds, columns]
            start = columns.stop
            has_ones = block.shape[1] == width
            inner = flat if has_ones else flat[:, :-1]
            logits = inner @ block.T
            if not has_ones:
                logits += flat[:, -1:]
            by_class = logits.reshape(count, n_outputs, -1)
            _probabilities(by_class, share)
            squares += np.einsum("pkn,pkn->pk", by_class, by_class)
            if has_ones:
                total += logits @ block
            else:
                total[:, :-1] += logits @ block
                total[:, -1] += logits.sum(axis=1)
        return total.reshape(weights.shape), squares


def _probabilities(logits: Floats, share: Floats) -> None:
    """Replace logits (walkers x classes x rows) by weighted probabilities; a single class holds negated logits."""
    if logits.shape[1] == 1:
        with np.errstate(over="ignore"):
            np.exp(logits, out=logits)
        logits += 1
        np.divide(share[:, None], logits, out=logits)
        return
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits *= (share / logits.sum(axis=1))[:, None]


class TorchPass(NumpyPass):
    """The same pass with torch's matrix products, which are up to twice as fast for few columns."""

    def _part(self, weights: Floats, folds: Indices, span: Span) -> tuple[Floats, Floats]:
        import torch

        count, n_outputs, width = weights.shape
        flat = torch.from_numpy(np.ascontiguousarray(weights.reshape(count * n_outputs, width)))
        if n_outputs == 1:
            flat = -flat
        total = torch.zeros_like(flat)
        squares = torch.zeros((count, n_outputs), dtype=flat.dtype)
        length = self._block_length(len(flat))
        every_fold = len(folds) == len(self.row_weights) and bool((np.diff(folds) == 1).all())
        start = span.start
        with torch.inference_mode():
            for rows in self.basis.blocks(_within(self.rows, span), length):
                columns = slice(start, start + len(rows))
                share = torch.from_numpy(self.row_weights[:, columns] if every_fold else self.row_weights[folds, columns])
                start = columns.stop
                block = torch.from_numpy(rows)
                has_ones = block.shape[1] == width
                logits = flat @ block.T if has_ones else torch.addmm(flat[:, -1:], flat[:, :-1], block.T)
                by_class = logits.view(count, n_outputs, -1)
                if n_outputs == 1:
                    by_class.exp_().add_(1)
                    torch.div(share[:, None], by_class, out=by_class)
                else:
                    by_class.sub_(by_class.amax(dim=1, keepdim=True)).exp_()
                    by_class.mul_((share / by_class.sum(dim=1))[:, None])
                squares += (by_class * by_class).sum(dim=2)
                if has_ones:
                    total.addmm_(logits, block)
                else:
                    total[:, :-1].addmm_(logits, block)
                    total[:, -1] += logits.sum(dim=1)
        return total.view(weights.shape).numpy(), squares.numpy()


def class_sums(basis: Basis, rows: Indices | slice, row_weights: Floats, labels: NDArray[np.int64], classes: Sequence[int]) -> Floats:
    """Return the weighted sums of rows of each class, in solver coordinates: folds x classes x coordinates."""
    n_folds, width = len(row_weights), basis.width
    total = np.zeros((n_folds, len(classes), width), dtype=basis.dtype)
    start = 0
    for block in basis.blocks(rows, _LONGEST_BLOCK):
        columns = slice(start, start + len(block))
        start = columns.stop
        for position, label in enumerate(classes):
            chosen = np.flatnonzero(labels[columns] == label)
            share = row_weights[:, columns][:, chosen]
            total[:, position, : block.shape[1]] += share @ block[chosen]
            if block.shape[1] < width:
                total[:, position, -1] += share.sum(axis=1)
    return basis.from_rows(total)


def _within(rows: Indices | slice, span: Span) -> Indices | slice:
    if isinstance(rows, slice):
        return slice(rows.start + span.start, rows.start + span.stop)
    return rows[span]


def _total(pieces: Sequence[Floats]) -> Floats:
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    return total
