"""One pass over the rows: the residuals of all problems' models, and the gradients that come back.

This is where the time goes. Weights are (outputs x problems) rows; logits of a block of rows are (outputs x problems) x rows,
so that each output is a contiguous run and the block stays in the cache between the two matrix products. docs/solver.md says
why one class takes part in no product ("Shapes and cost") and why 1 - p is never formed ("Precision").
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from typing import Final

import numpy as np

from medsenteval.probes.exact.coordinates import Coordinates
from medsenteval.support.arrays import Labels, Reals, Rows

#: Logits of one block, in numbers: about half of a core's second-level cache in float32.
_BLOCK_NUMBERS: Final = 200_000
_LONGEST_BLOCK: Final = 4_096
_SHORTEST_BLOCK: Final = 256
#: Fixed parts in which the rows are shared out.
_PARTS: Final = 8


class GradientPass:
    """Mean-loss gradients of problems, any number of them for each fold.

    ``weights`` (folds x rows) is 1 / (number of training rows) on a fold's training rows and 0 elsewhere; its columns, and
    ``labels``, stand for ``rows`` of the coordinates' feature matrix. ``n_outputs`` is 1 for a sigmoid, else the number of
    classes. ``reference`` is a class that all folds have training rows of, if there is one, and always None for a sigmoid.
    """

    def __init__(
        self,
        coordinates: Coordinates,
        rows: Rows | slice,
        weights: Reals,
        labels: Labels,
        n_outputs: int,
        reference: int | None,
    ) -> None:
        self.coordinates, self.rows, self.weights, self.reference = coordinates, rows, weights, reference
        self.row_weight = weights.max(axis=1)
        #: The output of each line of logits, the reference last.
        self.outputs = sorted(range(n_outputs), key=lambda label: (label == reference, label))
        classes = [1] if n_outputs == 1 else self.outputs
        #: 1 for a row's own class: classes x rows, or one line of 1 and 0 for a sigmoid.
        self.own_class = (labels == np.array(classes)[:, None]).astype(coordinates.dtype)

    def __call__(self, points: Reals, folds: Rows, pool: ThreadPoolExecutor | None = None) -> tuple[Reals, Reals]:
        """Return the gradient at each point, a point of the fold of the same number, and the mean of p (1 - p).

        With a ``pool`` the rows are shared out in fixed parts whose sums are added up in order, so that the result does not
        depend on the number of threads.
        """
        weights = self.coordinates.to_rows(self._by_output(points))
        n_rows = self.weights.shape[1]
        if pool is None:
            gradient, absolute, squares = self._part(weights, folds, 0, n_rows)
        else:
            spans = pairwise(n_rows * part // _PARTS for part in range(_PARTS + 1))
            sums = pool.map(lambda span: self._part(weights, folds, *span), spans)
            gradient, absolute, squares = (reduce(np.add, pieces) for pieces in zip(*sums, strict=True))
        row_weight = self.row_weight[folds]
        # Residuals carry the row weight 1/n, so their squares carry 1/n^2 and are taken times n.
        weight = np.empty(points.shape[:2], dtype=points.dtype)
        weight[:, self.outputs] = np.maximum(absolute - squares / row_weight, 0).T
        if len(self.outputs) > 1:
            weight *= len(self.outputs) / (len(self.outputs) - 1)
        return self._by_problem(self.coordinates.from_rows(gradient)), weight

    def _by_output(self, points: Reals) -> Reals:
        """Return the weights (outputs x problems x width) of the lines of logits that need a product."""
        lines = np.ascontiguousarray(points.transpose(1, 0, 2)[self.outputs])
        return lines if self.reference is None else lines[:-1] - lines[-1]

    def _by_problem(self, gradient: Reals) -> Reals:
        """Convert the gradients of those lines to gradients of all outputs, problem by problem."""
        if self.reference is not None:
            gradient = np.concatenate([gradient, -gradient.sum(axis=0, keepdims=True)])
        return np.ascontiguousarray(gradient[np.argsort(self.outputs)].transpose(1, 0, 2))

    def _part(self, weights: Reals, folds: Rows, start: int, stop: int) -> tuple[Reals, Reals, Reals]:
        """Return the sums over some of the rows of r * x, |r| and r^2, where r is a weighted residual."""
        n_lines, count, width = weights.shape
        flat = weights.reshape(n_lines * count, width)
        total = np.zeros_like(flat)
        absolute = np.zeros((len(self.outputs), count), dtype=weights.dtype)
        squares = np.zeros_like(absolute)
        # All of them in order need no copying.
        chosen = slice(None) if np.array_equal(folds, np.arange(len(self.weights))) else folds
        # Runs of rows whose logits fit into the cache.
        length = min(max(_BLOCK_NUMBERS // absolute.size, _SHORTEST_BLOCK), _LONGEST_BLOCK)
        n_rows = stop - start
        n_blocks = -(-n_rows // length)
        for number in range(n_blocks):
            columns = slice(start + n_rows * number // n_blocks, start + n_rows * (number + 1) // n_blocks)
            block = self._rows(columns)
            residuals = np.empty((*absolute.shape, len(block)), dtype=weights.dtype)
            # The reference's logits are zero.
            residuals[n_lines:] = 0
            kept = residuals[:n_lines].reshape(len(total), len(block))
            np.matmul(flat[:, : block.shape[1]], block.T, out=kept)
            if block.shape[1] < width:
                kept += flat[:, -1:]
            turn_into_residuals(residuals, self.weights[chosen, columns], self.own_class[:, None, columns])
            # The curvature only preconditions: in long blocks every fourth row can speak for all.
            sampled = np.abs(residuals[:, :, ::4] if len(block) > _SHORTEST_BLOCK else residuals)
            portion = len(block) / sampled.shape[2]
            absolute += sampled.sum(axis=2) * portion
            squares += np.square(sampled, out=sampled).sum(axis=2) * portion
            total[:, : block.shape[1]] += kept @ block
            if block.shape[1] < width:
                total[:, -1] += kept.sum(axis=1)
            del block, residuals, sampled, kept  # before the next ones are made, not after
        return total.reshape(weights.shape), absolute, squares

    def _rows(self, columns: slice) -> Reals:
        rows = self.rows
        if isinstance(rows, slice):
            return self.coordinates.rows(slice(rows.start + columns.start, rows.start + columns.stop))
        return self.coordinates.rows(rows[columns])


def turn_into_residuals(logits: Reals, share: Reals, own_class: Reals) -> None:
    """Replace logits (outputs x problems x rows) by weighted residuals p - y; a single output is that of a sigmoid."""
    with np.errstate(over="ignore"):
        if len(logits) == 1:
            _sigmoid_residuals(logits, share, own_class)
        else:
            _softmax_residuals(logits, share, own_class)


def _sigmoid_residuals(logits: Reals, share: Reals, own_class: Reals) -> None:
    # Residuals differ in a sign between the classes.
    towards = 1 - 2 * own_class
    logits *= -towards
    np.exp(logits, out=logits)
    logits += 1
    np.divide(share * towards, logits, out=logits)


def _softmax_residuals(logits: Reals, share: Reals, own_class: Reals) -> None:
    logits -= logits.max(axis=0)
    np.exp(logits, out=logits)
    scale = share / logits.sum(axis=0)
    own = logits * own_class
    logits -= own
    logits *= scale
    # The residual of a row's own class is minus the sum of the others', which 1 - p would be less accurately.
    logits -= np.multiply(logits.sum(axis=0), own_class, out=own)
