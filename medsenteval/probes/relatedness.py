"""Regression of a graded relation between two texts on the features of the pair.

SentEval's way, for SICK-R and STSBenchmark: a softmax over the grades 1 to 5, trained with Adam on the squared difference to
a two-point distribution whose mean is the gold score; every 50 passes the Pearson correlation on the development rows is
taken, the best model is kept, and training ends at the fourth check without gain or after more than 1,000 passes. A prediction
is the mean grade. The same grades serve for scores from 0 to 5 (STSBenchmark), where scores below 1 lose mass; that is kept
too. Random draws are SentEval's in SentEval's order, so that scores differ from it on a CPU by rounding only. The steps are
taken in NumPy, in a fraction of the time that torch, as SentEval takes them, spends on bookkeeping here.

Ridge regression is the deterministic alternative: no seed, no torch, one decomposition for all penalties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError, import_extra
from medsenteval.probes.features import Features
from medsenteval.statistics import correlation
from medsenteval.support.arrays import Floats, Rows, Singles
from medsenteval.support.cores import one_thread_per_product

if TYPE_CHECKING:
    from medsenteval.probes.senteval_loop import RandomStream

#: The grades that SentEval's model distributes its belief over.
GRADES: Final = np.arange(1.0, 6.0)

_BATCH: Final = 64
_PASSES_A_CHECK: Final = 50
_MOST_PASSES: Final = 1000
_CHECKS_WITHOUT_GAIN: Final = 4
#: Adam's settings, which are torch's defaults.
_RATE, _FIRST_DECAY, _SECOND_DECAY, _EPSILON = 1e-3, 0.9, 0.999, 1e-8

#: Penalties of the ridge regression, as multiples of the mean variance of a feature times the number of rows.
_RIDGE_GRID: Final = tuple(10.0**power for power in range(-5, 3))


@dataclass(frozen=True, eq=False)
class RelatednessFit:
    """Predicted scores of the test rows, the Pearson correlation on the development rows, and how the fit ended."""

    predicted: Floats
    dev_pearson: float
    details: dict[str, float]


def two_point_targets(scores: Floats) -> NDArray[np.float32]:
    """Spread each score over the two grades around it so that their mean is the score (Tai et al. 2015)."""
    targets = np.zeros((len(scores), len(GRADES)), dtype=np.float32)
    below = np.floor(scores)
    rows = np.arange(len(scores))
    for grade, share in ((below, below - scores + 1), (below + 1, scores - below)):
        # A grade outside 1 to 5 gets nothing: that is how SentEval treats STSBenchmark's scores below 1.
        inside = (grade >= 1) & (grade <= len(GRADES))
        targets[rows[inside], grade[inside].astype(np.intp) - 1] = share[inside]
    return targets


class _Loop:
    """SentEval's steps on the weights (grades x columns, the bias last), arrays of float32 that are overwritten."""

    def __init__(self, rows: Singles, targets: Singles, weights: Singles) -> None:
        self._rows, self._targets, self._weights = _with_ones(rows), targets, weights.copy()
        #: Adam's moving averages of the gradient and of its square, each divided by one minus its decay.
        self._first, self._second = np.zeros_like(weights), np.zeros_like(weights)
        self._steps = 0

    def train(self, stream: RandomStream) -> Singles:
        """Go through all rows once, in a new order of the stream's, and return the weights."""
        order = stream.permutation(len(self._rows))
        rows, targets = self._rows[order], np.ascontiguousarray(self._targets[order].T)
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            belief = _softmax(self._weights @ batch.T)
            # With e = p - t, the gradient of the mean of e^2 with respect to logit j is proportional to p_j (e_j - sum e p).
            residuals = belief - targets[:, start : start + _BATCH]
            residuals -= np.add.reduce(residuals * belief, axis=0)
            residuals *= belief
            gradient: Singles = np.matmul(residuals, batch)
            gradient *= np.float32(2 / belief.size)
            self._step(gradient)
        return self._weights.copy()

    def _step(self, gradient: Singles) -> None:
        self._steps += 1
        self._first *= np.float32(_FIRST_DECAY)
        self._first += gradient
        gradient *= gradient
        self._second *= np.float32(_SECOND_DECAY)
        self._second += gradient
        size = np.sqrt(self._second, out=gradient)
        size *= np.float32(((1 - _SECOND_DECAY) / (1 - _SECOND_DECAY**self._steps)) ** 0.5)
        size += np.float32(_EPSILON)
        step = np.divide(self._first, size, out=size)
        step *= np.float32(_RATE * (1 - _FIRST_DECAY) / (1 - _FIRST_DECAY**self._steps))
        self._weights -= step


def fit_softmax(
    features: Features, train: Rows, train_scores: Floats, dev: Rows, dev_scores: Floats, test: Rows, seed: int
) -> RelatednessFit:
    """Train SentEval's relatedness model, whose random start takes torch, and predict the test rows."""
    import_extra("torch", "SentEval's relatedness regression (the option regression=ridge does without it)", "torch")
    from medsenteval.probes.senteval_loop import RandomStream

    _check(train, dev)
    stream = RandomStream(seed)
    weight, bias = stream.linear(features.n_columns, len(GRADES))
    weights = np.column_stack([weight.numpy(), bias.numpy()])
    loop = _Loop(features.take(train), two_point_targets(train_scores), weights)
    dev_rows = _with_ones(features.take(dev))
    best, best_pearson, without_gain, passes = weights, -1.0, 0, 0
    with one_thread_per_product():
        while without_gain < _CHECKS_WITHOUT_GAIN and passes <= _MOST_PASSES:
            for _ in range(_PASSES_A_CHECK):
                weights = loop.train(stream)
            passes += _PASSES_A_CHECK
            pearson, _ = correlation("pearson", _mean_grades(weights, dev_rows), dev_scores)
            if pearson > best_pearson:
                best_pearson, best = pearson, weights
            else:
                without_gain += 1
        predicted = _mean_grades(best, _with_ones(features.take(test)))
    return RelatednessFit(predicted, best_pearson, {"passes": float(passes)})


def _mean_grades(weights: Singles, rows: Singles) -> Floats:
    belief: Floats = _softmax(weights @ rows.T).astype(np.float64)
    return GRADES @ belief


def _softmax(logits: Singles) -> Singles:
    """Return the softmax over the first axis, in place."""
    logits -= np.maximum.reduce(logits, axis=0)
    np.exp(logits, out=logits)
    logits /= np.add.reduce(logits, axis=0)
    return logits


def _with_ones(rows: Singles) -> Singles:
    return np.concatenate([rows, np.ones((len(rows), 1), dtype=np.float32)], axis=1)


def fit_ridge(
    features: Features, train: Rows, train_scores: Floats, dev: Rows, dev_scores: Floats, test: Rows
) -> RelatednessFit:
    """Fit a ridge regression whose penalty is the one with the best Pearson correlation on the development rows."""
    _check(train, dev)
    rows = features.take(train).astype(np.float64)
    centre, mean_score = rows.mean(axis=0), float(train_scores.mean())
    rows -= centre
    # Of the two Gram matrices the smaller: over features, or over rows (then weights are sums of training rows).
    wide = rows.shape[1] > rows.shape[0]
    values, vectors = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    target = vectors.T @ (train_scores - mean_score if wide else rows.T @ (train_scores - mean_score))
    scale = max(float(np.sum(values)) / rows.shape[1], np.finfo(np.float64).tiny)
    best: tuple[float, float, NDArray[np.float64]] | None = None
    dev_rows = features.take(dev) - centre
    for multiple in _RIDGE_GRID:
        weights = vectors @ (target / (np.maximum(values, 0) + multiple * scale))
        if wide:
            weights = rows.T @ weights
        pearson, _ = correlation("pearson", dev_rows @ weights, dev_scores)
        if best is None or pearson > best[0]:
            best = (pearson, multiple * scale, weights)
    assert best is not None
    predicted: Floats = (features.take(test) - centre) @ best[2] + mean_score
    return RelatednessFit(predicted, best[0], {"penalty": best[1]})


def _check(train: Rows, dev: Rows) -> None:
    if not len(train) or len(dev) < 2:
        raise ProbeError(f"a regression needs training rows and two development rows or more, not {len(train)} and {len(dev)}")
