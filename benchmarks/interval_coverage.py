"""How often intervals cover the true score, in simulated experiments; 95 % is asked for.

    python -m benchmarks.interval_coverage [--experiments 1000] [--resamples 1000]

Accuracy is not simulated: the chances of every number of right answers are known. F1 has items of which a tenth, or half, are
positive, with precision and recall as given. Correlations are those of normal scores with grades 0 to 4 that have many ties,
as human judgements do, or with normal scores. Differences are those of two encoders on the same items.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from medsenteval.statistics import (
    Correlation,
    F1Scores,
    WeightedScore,
    accuracy_difference_interval,
    accuracy_interval,
    bootstrap,
    correlation,
    correlations,
    f1_interval,
)
from medsenteval.support.arrays import Floats

SIZES = (30, 100, 300)
ENCODERS = 10
Limits = tuple[float, float]


def covers(found: Limits, truth: float) -> bool:
    return found[0] <= truth <= found[1]


def accuracy_coverage(n: int, p: float, folds: int = 1) -> float:
    """Return the exact chance that the interval of an accuracy covers the true one."""
    sizes = np.full(folds, n // folds)
    right = np.arange(n + 1)
    # Folds of one size make the mean the share of all; how the right answers are spread does not matter.
    limits = [accuracy_interval(np.full(folds, k / folds), sizes, confidence=0.95) for k in right]
    covered = np.array([covers(found, p) for found in limits])
    return float(stats.binom.pmf(right, n, p)[covered].sum())


def f1_coverage(n: int, positives: float, f1: float, experiments: int, folds: int = 1, seed: int = 0) -> float:
    """Return the share of experiments whose interval covers the mean F1 of all experiments; precision equals recall.

    With folds every fold has as many positives, as stratified folds do.
    """
    rng = np.random.default_rng(seed)
    counts = simulated_counts(rng, n, positives, f1, (experiments, folds))
    true = f1
    if folds > 1:
        # Of few items F1 is lower on average than of many: what is estimated is what is reported.
        many = simulated_counts(rng, n, positives, f1, (20_000, folds))
        true = float(np.mean(2 * many[..., 0] / np.maximum(2 * many[..., 0] + many[..., 1] + many[..., 2], 1)))
    return float(np.mean([covers(f1_interval(each, confidence=0.95), true) for each in counts]))


def simulated_counts(
    rng: np.random.Generator, n: int, positives: float, f1: float, shape: tuple[int, int]
) -> NDArray[np.int64]:
    found, missed = positives * f1, positives * (1 - f1)
    size = n // shape[1]
    if shape[1] == 1:
        return rng.multinomial(size, [found, missed, missed, 1 - found - 2 * missed], size=shape)
    members = max(1, round(size * positives))
    hits = rng.binomial(members, f1, size=shape)
    wrong = rng.binomial(size - members, missed / (1 - positives), size=shape)
    return np.stack([hits, wrong, members - hits, size - members - wrong], axis=-1)


def judged_pairs(rng: np.random.Generator, n: int, rho: float, grades: bool, encoders: int = ENCODERS) -> tuple[Floats, Floats]:
    gold = rng.standard_normal(n)
    predicted = rho * gold + (1 - rho * rho) ** 0.5 * rng.standard_normal((encoders, n))
    return predicted, np.round(4 * stats.norm.cdf(gold)) if grades else gold


def correlation_coverage(
    kind: Correlation, n: int, rho: float, grades: bool, experiments: int, resamples: int, seed: int = 0
) -> float:
    """Return the share of experiments whose interval covers the correlation of very many pairs.

    Each draw of gold scores serves several encoders, which share resamples.
    """
    rng = np.random.default_rng([seed, n])
    predicted, gold = judged_pairs(np.random.default_rng(1), 20_000 if kind == "kendall" else 200_000, rho, grades, 1)
    truth = correlation(kind, predicted[0], gold).statistic
    covered = []
    for _ in range(0, experiments, ENCODERS):
        score = correlations(kind, *judged_pairs(rng, n, rho, grades))
        drawn = bootstrap(score, resamples=resamples, rng=rng)
        for encoder in range(ENCODERS):
            found = drawn.interval(encoder, method="fisher")
            covered.append(covers((found.low, found.high), truth))
    return float(np.mean(covered))


def difference_rows(experiments: int, resamples: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the coverage of differences of accuracy, F1 and Spearman correlations of two encoders on the same items."""
    for better, worse in ((0.95, 0.9), (0.8, 0.8)):
        shares = []
        for n in SIZES:
            rng = np.random.default_rng([2, n])
            right = rng.random((experiments, 2, n)) < [[better], [worse]]
            limits = [
                accuracy_difference_interval(
                    np.array([np.sum(first & ~second)]),
                    np.array([np.sum(~first & second)]),
                    np.array([n]),
                    confidence=0.95,
                )
                for first, second in right
            ]
            shares.append(float(np.mean([covers(found, better - worse) for found in limits])))
        yield f"accuracy {better} - {worse}", shares
    for name in ("Spearman 0.8 - 0.8", "F1 of equal encoders, 30 % positive"):
        shares = []
        for n in SIZES:
            rng = np.random.default_rng([3, n])
            covered = []
            for _ in range(0, experiments, ENCODERS):
                score: WeightedScore = correlations("spearman", *judged_pairs(rng, n, 0.8, grades=False))
                if name.startswith("F1"):
                    truth = rng.random(n) < 0.3
                    score = F1Scores.of(truth, rng.random((ENCODERS, n)) < np.where(truth, 0.8, 0.1))
                drawn = bootstrap(score, resamples=resamples, rng=rng)
                for first in range(0, ENCODERS, 2):
                    found = drawn.difference(first, first + 1, method="percentile")
                    covered.append(covers((found.low, found.high), 0.0))
            shares.append(float(np.mean(covered)))
        yield name, shares


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interval_coverage")
    parser.add_argument("--experiments", type=int, default=1_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    chosen = parser.parse_args()

    def show(name: str, shares: list[float]) -> None:
        print(f"{name:38}" + "".join(f"{100 * share:8.1f}" for share in shares), flush=True)

    print(f"{'coverage in %, n =':38}" + "".join(f"{n:8}" for n in SIZES))
    for folds in (1, 10):
        for p in (0.5, 0.8, 0.95):
            show(f"accuracy {p}, folds {folds}", [accuracy_coverage(n, p, folds) for n in SIZES])
    for positives in (0.1, 0.5):
        for f1 in (0.5, 0.8, 0.95):
            for folds in (1, 10):
                name = f"F1 {f1}, {positives:.0%} positive, folds {folds}"
                show(name, [f1_coverage(n, positives, f1, 10 * chosen.experiments, folds) for n in SIZES])
    kinds: tuple[Correlation, ...] = ("pearson", "spearman", "kendall")
    for kind in kinds:
        for rho in (0.3, 0.8, 0.95):
            for grades in (False, True):
                if kind == "kendall" and grades:
                    continue
                name = f"{kind} {rho}, {'grades' if grades else 'normal'}"
                show(
                    name,
                    [correlation_coverage(kind, n, rho, grades, chosen.experiments, chosen.resamples) for n in SIZES],
                )
    for name, shares in difference_rows(chosen.experiments, chosen.resamples):
        show(name, shares)


if __name__ == "__main__":
    main()
