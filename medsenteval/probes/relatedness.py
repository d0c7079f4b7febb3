"""Regression of a graded relation between two texts on the features of the pair.

SentEval's way, for SICK-R and STSBenchmark: a softmax over the grades 1 to 5, trained with Adam on the squared difference to
a two-point distribution whose mean is the gold score; every 50 passes the Pearson correlation on the development rows is
taken, the best model is kept, and training ends at the fourth check without gain or after more than 1,000 passes. A prediction
is the mean grade. The same grades serve for scores from 0 to 5 (STSBenchmark), where scores below 1 lose mass; that is kept
too. Random draws are SentEval's in SentEval's order, so that scores differ from it on a CPU by rounding only.

Ridge regression is the deterministic alternative: no seed, no torch, one decomposition for all penalties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import one_thread_per_product
from medsenteval.errors import MissingExtraError, ProbeError
from medsenteval.features import Features
from medsenteval.statistics import correlation

__all__ = ["GRADES", "RelatednessFit", "fit_ridge", "fit_softmax", "two_point_targets"]

Scores = NDArray[np.float64]
RowNumbers = NDArray[np.intp]

#: The grades that SentEval's model distributes its belief over.
GRADES: Final = np.arange(1.0, 6.0)

_BATCH: Final = 64
_PASSES_A_CHECK: Final = 50
_MOST_PASSES: Final = 1000
_CHECKS_WITHOUT_GAIN: Final = 4

#: Penalties of the ridge regression, as multiples of the mean variance of a feature times the number of rows.
_RIDGE_GRID: Final = tuple(10.0**power for power in range(-5, 3))


@dataclass(frozen=True, eq=False)
class RelatednessFit:
    """Predicted scores of the test rows, the Pearson correlation on the development rows, and how the fit ended."""

    predicted: Scores
    dev_pearson: float
    details: dict[str, float]


def two_point_targets(scores: Scores) -> NDArray[np.float32]:
    """Spread each score over the two grades around it so that their mean is the score (Tai et al. 2015)."""
    targets = np.zeros((len(scores), len(GRADES)), dtype=np.float32)
    below = np.floor(scores)
    rows = np.arange(len(scores))
    for grade, share in ((below, below - scores + 1), (below + 1, scores - below)):
        # A grade outside 1 to 5 gets nothing: that is how SentEval treats STSBenchmark's scores below 1.
        inside = (grade >= 1) & (grade <= len(GRADES))
        targets[rows[inside], grade[inside].astype(np.intp) - 1] = share[inside]
    return targets


def fit_softmax(
    features: Features,
    train: RowNumbers,
    train_scores: Scores,
    dev: RowNumbers,
    dev_scores: Scores,
    test: RowNumbers,
    seed: int,
) -> RelatednessFit:
    """Train SentEval's relatedness model and predict the test rows."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "SentEval's relatedness regression (the option regression=ridge does without it)", "torch", "torch"
        ) from error
    from medsenteval.probes.stacked import RandomStream

    _check(train, dev)
    inputs = torch.from_numpy(features.take(train))
    targets = torch.from_numpy(two_point_targets(train_scores))
    held_out = {name: torch.from_numpy(features.take(rows)) for name, rows in (("dev", dev), ("test", test))}
    stream = RandomStream(seed)
    weight, bias = (parameter.requires_grad_() for parameter in stream.linear(features.n_columns, len(GRADES)))
    optimiser = torch.optim.Adam([weight, bias], fused=True)
    grades = torch.from_numpy(GRADES)

    def predict(name: str, parameters: tuple[torch.Tensor, torch.Tensor]) -> Scores:
        with torch.no_grad():
            belief = torch.softmax(torch.nn.functional.linear(held_out[name], *parameters), dim=-1)
            predicted: Scores = (belief.double() @ grades).numpy()
        return predicted

    best = (weight.detach().clone(), bias.detach().clone())
    best_pearson, without_gain, passes = -1.0, 0, 0
    with one_thread_per_product():
        while without_gain < _CHECKS_WITHOUT_GAIN and passes <= _MOST_PASSES:
            for _ in range(_PASSES_A_CHECK):
                order = torch.from_numpy(stream.permutation(len(train)))
                for batch in torch.split(order, _BATCH):
                    belief = torch.softmax(torch.nn.functional.linear(inputs[batch], weight, bias), dim=-1)
                    loss = torch.nn.functional.mse_loss(belief, targets[batch])
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
            passes += _PASSES_A_CHECK
            pearson, _ = correlation("pearson", predict("dev", (weight, bias)), dev_scores)
            if pearson > best_pearson:
                best_pearson, best = pearson, (weight.detach().clone(), bias.detach().clone())
            else:
                without_gain += 1
    return RelatednessFit(predict("test", best), best_pearson, {"passes": float(passes)})


def fit_ridge(
    features: Features, train: RowNumbers, train_scores: Scores, dev: RowNumbers, dev_scores: Scores, test: RowNumbers
) -> RelatednessFit:
    """Fit a ridge regression whose penalty is the one with the best Pearson correlation on the development rows."""
    _check(train, dev)
    rows = features.take(train).astype(np.float64)
    centre, level = rows.mean(axis=0), float(train_scores.mean())
    rows -= centre
    # Of the two Gram matrices the smaller: over features, or over rows (then weights are sums of training rows).
    wide = rows.shape[1] > rows.shape[0]
    values, vectors = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    target = vectors.T @ (train_scores - level if wide else rows.T @ (train_scores - level))
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
    predicted: Scores = (features.take(test) - centre) @ best[2] + level
    return RelatednessFit(predicted, best[0], {"penalty": best[1]})


def _check(train: RowNumbers, dev: RowNumbers) -> None:
    if not len(train) or len(dev) < 2:
        raise ProbeError(f"a regression needs training rows and two development rows or more, not {len(train)} and {len(dev)}")
