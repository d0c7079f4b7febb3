"""A bound on how far a logistic regression is from its optimum, in float64 and from first principles.

With F(w) the objective ``C * sum of log losses + |w|^2 / 2`` minimised over the free intercept, ``F(w) - F* <= |grad F(w)|^2
/ 2`` and ``|w - w*| <= |grad F(w)|`` for any weights, whoever fitted them (docs/solver.md, "Certificate", has the proof); the
solver's own stopping rule needs no trust.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.support.arrays import Floats, Labels


@dataclass(frozen=True)
class Certificate:
    """The objective of a fitted model, with the intercept that suits its weights best, and a bound on what is missing.

    ``gap`` is the duality gap: the objective is above its minimum by no more than that, and the weights are within
    sqrt(2 * gap) of the optimal ones.
    """

    objective: float
    gap: float


def certify(
    rows: NDArray[np.floating[Any]], labels: Labels, penalty: float, weights: Floats, intercepts: Floats
) -> Certificate:
    """Bound the distance of weights (outputs x columns) to the optimum for these training rows and this C.

    One output stands for one sigmoid over labels 0 and 1; of several outputs, each needs a training row.
    """
    rows = rows.astype(np.float64)
    fixed = rows @ weights.T
    log_probabilities = log_softmax(fixed + _best_intercepts(fixed, labels, intercepts.astype(np.float64)))
    residuals = _one_hot(labels, log_probabilities.shape[1]) - np.exp(log_probabilities)
    if weights.shape[0] == 1:
        residuals = residuals[:, 1:]
    gradient = weights - penalty * residuals.T @ rows
    loss = -log_probabilities[np.arange(len(labels)), labels].sum()
    objective = float(penalty * loss + 0.5 * np.square(weights).sum())
    return Certificate(objective, float(0.5 * np.square(gradient).sum()))


def log_softmax(logits: Floats) -> Floats:
    """Return log probabilities of all classes (rows x classes); one column of logits is a sigmoid for two classes."""
    if logits.shape[1] == 1:
        result: Floats = -np.logaddexp(0.0, np.concatenate([logits, -logits], axis=1))
        return result
    largest = logits.argmax(axis=1)[:, np.newaxis]
    shifted = logits - np.take_along_axis(logits, largest, axis=1)
    others = np.exp(shifted)
    np.put_along_axis(others, largest, 0.0, axis=1)
    # The log of one plus very little keeps the digits of a loss that is all but nought.
    result = shifted - np.log1p(others.sum(axis=1, keepdims=True))
    return result


def _best_intercepts(fixed: Floats, labels: Labels, intercepts: Floats) -> Floats:
    """Minimise the loss over the intercepts by Newton's method, backing off while the loss would rise."""

    def loss(values: Floats) -> float:
        return float(-log_softmax(fixed + values)[np.arange(len(labels)), labels].sum())

    current = loss(intercepts)
    for _ in range(50):
        p = np.exp(log_softmax(fixed + intercepts))
        slope = (p - _one_hot(labels, p.shape[1])).sum(axis=0)
        curvature = np.diag(p.sum(axis=0)) - p.T @ p
        if fixed.shape[1] == 1:
            slope, curvature = slope[1:], curvature[1:, 1:]
        step = np.linalg.pinv(curvature) @ slope
        while (after := loss(intercepts - step)) > current and np.abs(step).max() > 1e-15:
            step = step / 2
        if after >= current:
            break
        intercepts, current = intercepts - step, after
    return intercepts


def _one_hot(labels: Labels, n_classes: int) -> Floats:
    return np.eye(n_classes)[labels]
