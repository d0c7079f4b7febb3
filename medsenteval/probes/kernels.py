"""One pass over the rows: the residuals of all walkers' models, and the gradients that come back.

This is where the time goes, so the layout is chosen for it. Weights are (classes x walkers) rows; logits of a block of
rows are (classes x walkers) x rows, so that each class is a contiguous run and the whole block stays in the cache
between the two matrix products. A fold is a row of weights, zero where the fold does not train; it is multiplied into
the softmax's normaliser, so that it costs nothing per class.

A softmax does not change when one vector is subtracted from the weights of all classes, and its residuals sum to zero.
So one class, the reference, takes part in no product: the others' weights are taken relative to its own, its logits are
zeros, and its gradient is minus the sum of the others'. It has to be a class that every fold has rows of, since a class
without rows has no finite weights.

Residuals p - y are computed without ever forming 1 - p, so that they are accurate relative to their own size however
tiny they get; on separable rows under a weak penalty nothing else converges. Of several classes, stored rows are put in the
order of these for that, so that every block has one class only. Rows that stay where they are come with a one-hot mask, and
two classes, whose residuals differ in a sign, with that sign.

The arithmetic is written once for NumPy and torch, whose functions agree in nearly all that is used here. For rows that stay
where they are in float32 there is a compiled loop besides (``pass_kernels``), which reads them once instead of twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.compiling import read_only
from medsenteval.cores import Crew, added
from medsenteval.probes.basis import Basis

__all__ = ["GradientPass", "Problems"]

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Labels = NDArray[np.int64]

#: Logits of one block, in numbers: about half of a core's second-level cache in float32.
_BLOCK_NUMBERS: Final = 200_000
_LONGEST_BLOCK: Final = 4_096
_SHORTEST_BLOCK: Final = 256
#: Feature values of a block that must be gathered from all over the embeddings: its copy should stay in the cache, too.
_GATHERED_VALUES: Final = 500_000
#: A logit so far above that of the right class leaves it no probability; more would overflow float32.
_HOPELESS: Final = 80.0


@dataclass(frozen=True, eq=False)
class Problems:
    """Folds over some rows of a basis.

    ``weights`` (folds x rows) is 1 / (number of training rows) on a fold's training rows and 0 elsewhere; its columns,
    and ``labels``, stand for ``rows`` of the basis. ``n_outputs`` is 1 for a sigmoid, else the number of classes.
    ``reference`` is a class that all folds have training rows of, if there is one, and always None for a sigmoid.
    """

    basis: Basis
    rows: Indices | slice
    weights: Floats
    labels: Labels
    n_outputs: int
    reference: int | None = None

    def select(self, folds: Indices) -> Problems:
        return self if np.array_equal(folds, np.arange(len(self.weights))) else replace(self, weights=self.weights[folds])

    def sorted_by_class(self) -> Problems:
        """Leave out rows that no fold trains on and order the others by their class."""
        order = np.argsort(self.labels, kind="stable")
        order = order[np.asarray(self.weights.any(axis=0))[order]]
        rows = np.arange(self.basis.features.n_rows)[self.rows][order]
        weights = np.ascontiguousarray(self.weights[:, order])
        return replace(self, rows=rows, weights=weights, labels=self.labels[order])

    @property
    def classes(self) -> list[int]:
        """The class of each line of logits, the reference last."""
        if self.n_outputs == 1:
            return [1]
        return sorted(range(self.n_outputs), key=lambda label: (label == self.reference, label))


class NumpyArrays:
    """What NumPy does in other words than torch."""

    arrays: Any = np
    lift: Any = staticmethod(np.asarray)

    @staticmethod
    def empty(n_rows: int, n_columns: int, dtype: Any) -> Any:
        return np.empty((n_rows, n_columns), dtype=dtype)

    @staticmethod
    def multiply(weights: Any, block: Any, out: Any) -> None:
        """Write the logits of a block of rows; the last weight is the intercept unless the rows have a column of ones."""
        width = block.shape[1]
        np.matmul(weights[:, :width], block.T, out=out)
        if width < weights.shape[1]:
            out += weights[:, width:]

    @staticmethod
    def softmax(logits: Any) -> None:
        """Replace logits by probabilities over the first axis."""
        logits -= logits.max(axis=0)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=0)


class TorchArrays:
    """What torch does in other words than NumPy; its fused softmax is why few classes over many rows are its work."""

    def __init__(self) -> None:
        import torch

        self.arrays: Any = torch
        self.lift: Any = torch.from_numpy
        self.dtypes = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}

    def empty(self, n_rows: int, n_columns: int, dtype: Any) -> Any:
        return self.arrays.empty((n_rows, n_columns), dtype=self.dtypes[dtype])

    def multiply(self, weights: Any, block: Any, out: Any) -> None:
        """Write the logits of a block of rows; the last weight is the intercept unless the rows have a column of ones."""
        width = block.shape[1]
        if width < weights.shape[1]:
            self.arrays.addmm(weights[:, width:], weights[:, :width], block.T, out=out)
        else:
            self.arrays.mm(weights, block.T, out=out)

    def softmax(self, logits: Any) -> None:
        """Replace logits by probabilities over the first axis."""
        self.arrays.softmax(logits, 0, out=logits)


class GradientPass:
    """Mean-loss gradients of walkers, any number of them for each fold of the problems.

    With ``crew`` the row blocks are shared out in ``parts`` fixed parts, added up in order, so that the result does not
    depend on the number of threads.
    """

    def __init__(
        self,
        problems: Problems,
        engine: str,
        crew: Crew | None = None,
        parts: int = 1,
    ) -> None:
        self.crew, self.parts = crew, parts if crew is not None else 1
        self.stored: Floats | None = None
        self.problems = problems
        self.basis = problems.basis
        if self.basis.turned is not None:
            self.problems = problems.sorted_by_class()
            self.stored = self.basis.turned[self.problems.rows]
            self.borders = np.flatnonzero(np.diff(self.problems.labels)) + 1
        self.row_weight = self.problems.weights.max(axis=1)
        #: Whether every fold weighs all rows alike; then residuals need no weights, and their sums are multiplied once.
        self.uniform = bool((self.problems.weights == self.row_weight[:, None]).all())
        self.classes = self.problems.classes
        self.engine = TorchArrays() if engine == "torch" else NumpyArrays()
        self.compiled: Any = None
        if engine == "compiled" and self.stored is None and self.basis.dtype is np.float32:
            self.compiled = import_module("medsenteval.probes.pass_kernels")

    def __call__(self, points: Floats, folds: Indices) -> tuple[Floats, Floats]:
        weights = self.basis.to_rows(self._by_class(points))
        n_rows = self.problems.weights.shape[1]
        spans = list(pairwise(round(n_rows * part / self.parts) for part in range(self.parts + 1)))
        if self.crew is None:
            sums = [self._part(weights, folds, *span) for span in spans]
        else:
            sums = self.crew.map(lambda span: self._part(weights, folds, *span), spans)
        gradient, absolute, squares = (added(pieces) for pieces in zip(*sums, strict=True))
        row_weight = self.row_weight[folds]
        if self.uniform:
            # Plain residuals were summed; the sums below are those of weighted ones.
            gradient *= row_weight[:, None]
            absolute *= row_weight
            squares *= row_weight**2
        # Residuals carry the row weight 1/n, so their squares carry 1/n^2 and are taken times n.
        weight = np.empty(points.shape[:2], dtype=points.dtype)
        weight[:, self._outputs] = np.maximum(absolute - squares / row_weight, 0).T
        if len(self.classes) > 1:
            weight *= len(self.classes) / (len(self.classes) - 1)
        return self._by_walker(self.basis.from_rows(gradient)), weight

    def residuals(self, point: Floats, fold: int) -> Floats:
        """Return the residuals of one walker times the weights of the stored rows: outputs x rows."""
        weights = self.basis.to_rows(self._by_class(point[None]))
        n_rows = self.problems.weights.shape[1]
        blocks = self._residual_blocks(weights, np.array([fold]), 0, n_rows)
        residuals = np.concatenate([np.asarray(residuals)[:, 0] for _, residuals in blocks], axis=1)
        if self.uniform:
            residuals *= self.row_weight[fold]
        return residuals[np.argsort(self._outputs)]

    @property
    def _outputs(self) -> list[int]:
        """The output of each line of logits."""
        return [0] if self.problems.n_outputs == 1 else self.classes

    def _by_class(self, points: Floats) -> Floats:
        """Turn points (walkers x outputs x width) into those of the lines of logits that need a product, class by class."""
        lines = points.transpose(1, 0, 2)
        if self.problems.n_outputs == 1:
            return lines
        lines = np.ascontiguousarray(lines[self._outputs])
        return lines if self.problems.reference is None else lines[:-1] - lines[-1]

    def _by_walker(self, gradient: Floats) -> Floats:
        """Turn the gradients of those lines into gradients of all outputs, walker by walker."""
        if self.problems.n_outputs == 1:
            return gradient.transpose(1, 0, 2)
        if self.problems.reference is not None:
            gradient = np.concatenate([gradient, -gradient.sum(axis=0, keepdims=True)])
        return np.ascontiguousarray(gradient[np.argsort(self._outputs)].transpose(1, 0, 2))

    def _part(self, weights: Floats, folds: Indices, start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        """Return the sums over some of the rows of r * x, |r| and r^2, where r is a (weighted) residual."""
        if self.compiled is not None:
            return self._compiled_part(weights, folds, start, stop)
        n_lines, count, width = weights.shape
        xp, lift = self.engine.arrays, self.engine.lift
        flat = lift(weights.reshape(n_lines * count, width))
        total = xp.zeros_like(flat)
        absolute = lift(np.zeros((len(self.classes), count), dtype=weights.dtype))
        squares = xp.zeros_like(absolute)
        for block, residuals in self._residual_blocks(weights, folds, start, stop):
            # The curvature only steers the solver: in long blocks every fourth row can speak for all.
            sampled = xp.abs(residuals[:, :, ::4] if len(block) > _SHORTEST_BLOCK else residuals)
            portion = len(block) / sampled.shape[2]
            absolute += sampled.sum(axis=2) * portion
            squares += xp.square(sampled, out=sampled).sum(axis=2) * portion
            kept = residuals[:n_lines].reshape(len(flat), len(block))
            if block.shape[1] == width:
                total += kept @ block
            else:
                total[:, :-1] += kept @ block
                total[:, -1] += kept.sum(axis=1)
            del block, residuals, sampled, kept  # before the next ones are made, not after
        return np.asarray(total).reshape(weights.shape), np.asarray(absolute), np.asarray(squares)

    def _residual_blocks(self, weights: Floats, folds: Indices, start: int, stop: int) -> Iterator[tuple[Any, Any]]:
        """Yield some of the rows, block by block, with their (weighted) residuals: classes x walkers x rows."""
        n_lines, count, width = weights.shape
        n_classes = len(self.classes)
        flat = self.engine.lift(weights.reshape(n_lines * count, width))
        # All of them in order need no copying.
        chosen = slice(None) if np.array_equal(folds, np.arange(len(self.problems.weights))) else folds
        for columns in self._spans(start, stop, n_classes * count):
            block, labels = self.engine.lift(self._rows(columns)), self.problems.labels[columns]
            logits = self.engine.empty(n_classes * count, len(block), weights.dtype)
            self.engine.multiply(flat, block, logits[: len(flat)])
            logits[len(flat) :] = 0
            residuals = logits.reshape(n_classes, count, len(block))
            share = None if self.uniform else self.engine.lift(self.problems.weights[chosen, columns])
            with np.errstate(over="ignore"):
                if n_classes == 1:
                    self._sigmoid_residuals(residuals, share, labels)
                elif self.stored is not None:
                    self._residuals_of_class(residuals, share, self.classes.index(int(labels[0])))
                else:
                    self._residuals(residuals, share, self.engine.lift(self._own_class(labels)))
            del logits
            yield block, residuals
            del block, residuals

    def _compiled_part(self, weights: Floats, folds: Indices, start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        """Return what ``_part`` does, from rows that are read where they are if possible."""
        n_lines, count, width = weights.shape
        # A sigmoid is a softmax whose other class has logits of zero.
        order = [1, 0] if self.problems.n_outputs == 1 else self.classes
        flat = weights.reshape(n_lines * count, width)
        models = np.ascontiguousarray(flat[:, :-1]), np.ascontiguousarray(flat[:, -1])
        pieces = []
        for columns in [slice(start, stop)] if self.basis.in_place else self._spans(start, stop, 1):
            matrix, places, partners = self.basis.where(self._numbers(columns))
            own = np.argsort(order)[self.problems.labels[columns]]
            share = np.ones((count, 1), dtype=np.float32) if self.uniform else self.problems.weights[folds, columns]
            given = (read_only(array) for array in (matrix, places, partners, own, share))
            gradient, sums, sizes = self.compiled.add_rows(*given, *models, len(order))
            total = np.concatenate([gradient, sums[:, None].astype(np.float32)], axis=1).reshape(weights.shape)
            pieces.append((total, *sizes[:, : len(self.classes)].astype(np.float32)))
        total, absolute, squares = (added(several) for several in zip(*pieces, strict=True))
        return total, absolute, squares

    def _spans(self, start: int, stop: int, n_logits: int) -> Iterator[slice]:
        """Yield runs of rows whose logits fit into the cache, of one class each if rows are stored and classes are several."""
        fitting = _BLOCK_NUMBERS // n_logits
        if self.basis.gathers:
            fitting = min(fitting, _GATHERED_VALUES // self.basis.width)
        length = min(max(fitting, _SHORTEST_BLOCK), _LONGEST_BLOCK)
        edges = [start, stop]
        if self.stored is not None and len(self.classes) > 1:
            edges = [start, *self.borders[(self.borders > start) & (self.borders < stop)].tolist(), stop]
        for first, last in pairwise(edges):
            n_blocks = -(-(last - first) // length)
            bounds = (first + (last - first) * block // n_blocks for block in range(n_blocks + 1))
            yield from (slice(*bound) for bound in pairwise(bounds))

    def _own_class(self, labels: Labels) -> Floats:
        """Return 1 for a row's own class: classes x rows, or one line of 1 and 0 for a sigmoid."""
        own: Floats = (labels == np.array(self.classes)[:, None]).astype(self.basis.dtype)
        return own

    def _rows(self, columns: slice) -> Floats:
        return self.basis.rows(self._numbers(columns)) if self.stored is None else self.stored[columns]

    def _numbers(self, columns: slice) -> Indices | slice:
        """Return which rows of the basis these are."""
        rows = self.problems.rows
        if isinstance(rows, slice):
            return slice(rows.start + columns.start, rows.start + columns.stop)
        return rows[columns]

    def _sigmoid_residuals(self, logits: Any, share: Any, labels: Labels) -> None:
        """Replace logits (one line x walkers x rows) of either class by weighted residuals p - y."""
        xp = self.engine.arrays
        towards = self.engine.lift(1 - 2 * self._own_class(labels))
        logits *= -towards
        xp.exp(logits, out=logits)
        logits += 1
        xp.divide(towards if share is None else share * towards, logits, out=logits)

    def _residuals_of_class(self, logits: Any, share: Any, own: int) -> None:
        """Replace logits (classes x walkers x rows) of rows of one class by weighted residuals p - y."""
        xp = self.engine.arrays
        logits -= logits[[own]]
        xp.minimum(logits, xp.full_like(logits[:1, :1, :1], _HOPELESS), out=logits)
        xp.exp(logits, out=logits)
        logits[own] = 0
        others = logits.sum(axis=0)
        scale = (1 if share is None else share) / (others + 1)
        logits *= scale
        logits[own] = -others * scale

    def _residuals(self, logits: Any, share: Any, own_class: Any) -> None:
        """Replace logits of rows of any class by weighted residuals p - y."""
        xp = self.engine.arrays
        self.engine.softmax(logits)
        own_class = own_class[:, None]
        own_part = logits * own_class
        logits -= own_part
        others = logits.sum(axis=0)
        logits -= xp.multiply(others, own_class, out=own_part)
        if share is not None:
            logits *= share
