"""Decisions against simulations with a known truth: equivalence at its margin, power, and the coverage of rank intervals.

    python -m benchmarks.decisions [--experiments N] [equivalence] [power] [ranks]

Prints the tables that docs/statistics.md shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from medsenteval.statistics import (
    Accuracies,
    F1Scores,
    Interval,
    WeightedScore,
    accuracy_difference_interval,
    bootstrap,
    correlations,
    mcnemar_p_values,
)
from medsenteval.statistics.power import difference_error, mcnemar_power, normal_power
from medsenteval.statistics.verdicts import rank_intervals, verdict

__all__ = ["METRICS", "draw", "rank_coverage", "share_equivalent", "simulated_power", "true_difference"]

METRICS: Final = ("acc", "f1", "pearson", "spearman")
SIZES: Final = (100, 300, 1_400)
#: Correlation of the second encoder with the gold scores at each size; the first one's is 0.75. Power is neither 0 nor 1 then.
_CORRELATED: Final = {100: 0.62, 300: 0.67, 1_400: 0.715}
_COUNTED: Final = {100: 0.35, 300: 0.52, 1_400: 0.64}
SECOND: Final = {metric: _COUNTED if metric in ("acc", "f1") else _CORRELATED for metric in METRICS}


def draw(metric: str, n: int, second: float, rng: np.random.Generator) -> WeightedScore:
    """Draw n items of two encoders that correlate 0.75 and ``second`` with the gold scores and share part of their noise."""
    gold, shared = rng.standard_normal((2, n))
    own = rng.standard_normal((2, n))
    predicted = np.array(
        [
            r * gold + (1 - r * r) ** 0.5 * (0.4**0.5 * shared + 0.6**0.5 * noise)
            for r, noise in zip((0.75, second), own, strict=True)
        ]
    )
    if metric == "acc":
        return Accuracies.of((predicted > 0) == (gold > 0))
    if metric == "f1":
        return F1Scores.of(gold > 0.5, predicted > 0.5)
    return correlations(metric, predicted, gold)  # type: ignore[arg-type]


def true_difference(metric: str, second: float) -> float:
    """Return the difference of the two encoders, from four million items."""
    rng, n = np.random.default_rng(99), 1_000_000
    parts = [draw(metric, n, second, rng)(np.ones((1, n)))[0] @ [1.0, -1.0] for _ in range(4)]
    return float(np.mean(parts))


def _interval(metric: str, score: WeightedScore, confidence: float, resamples: int, rng: np.random.Generator) -> Interval:
    """Return the interval that comparisons use: Bonett and Price's for accuracy, else the bootstrap's."""
    if metric != "acc":
        return bootstrap(score, resamples=resamples, rng=rng).difference(0, 1, confidence=confidence, method="percentile")
    only, other, n = *_discordant(score), score.n
    low, high = accuracy_difference_interval(np.array([only]), np.array([other]), np.array([n]), confidence=confidence)
    return Interval((only - other) / n, low, high, confidence, "Bonett-Price", n)


def _discordant(score: WeightedScore) -> tuple[int, int]:
    right = np.asarray(score.values) > 0.5  # type: ignore[attr-defined]
    return int(np.sum(right[0] & ~right[1])), int(np.sum(~right[0] & right[1]))


def share_equivalent(metric: str, n: int, experiments: int, resamples: int = 500) -> float:
    """Return how often a pair whose true difference is the margin itself is called equivalent."""
    rng = np.random.default_rng([n, METRICS.index(metric)])
    margin = abs(true_difference(metric, SECOND[metric][n]))
    said = (
        verdict(1.0, _interval(metric, draw(metric, n, SECOND[metric][n], rng), 0.9, resamples, rng), margin)
        for _ in range(experiments)
    )
    return sum(each == "equivalent" for each in said) / experiments


def simulated_power(metric: str, n: int, experiments: int, resamples: int = 500) -> tuple[float, float]:
    """Return the predicted power, from the truth and the formulas, and the share of experiments that found the difference."""
    rng = np.random.default_rng([n, METRICS.index(metric), 7])
    second = SECOND[metric][n]
    if metric == "acc":
        shares = np.mean([np.array(_discordant(draw(metric, 1_000_000, second, rng))) / 1_000_000 for _ in range(4)], axis=0)
        predicted = mcnemar_power(n, float(shares[0]), float(shares[1]))
        counts = np.array([_discordant(draw(metric, n, second, rng)) for _ in range(experiments)])
        return predicted, float(np.mean(mcnemar_p_values(counts[:, 0], counts[:, 1]) < 0.05))
    error = float(np.mean([difference_error(draw(metric, 2_000, second, rng), 0, 1) for _ in range(20)])) * (2_000 / n) ** 0.5
    predicted = normal_power(true_difference(metric, second), error)
    found = [
        bootstrap(draw(metric, n, second, rng), resamples=resamples, rng=rng).test(0, 1).p_value < 0.05
        for _ in range(experiments)
    ]
    return predicted, float(np.mean(found))


def rank_coverage(
    n_encoders: int, n_tasks: int, spread: float, experiments: int, n: int = 300, resamples: int = 400
) -> tuple[float, float]:
    """Return how often the intervals hold the true mean rank, and their mean width.

    True accuracies are drawn anew for every experiment and task, around 0.75 with a standard deviation of ``spread`` standard
    errors of one score; answers of the encoders are independent.
    """
    rng = np.random.default_rng([n_encoders, n_tasks, round(10 * spread)])
    error = (0.75 * 0.25 / n) ** 0.5
    covered, width = [], []
    for _ in range(experiments):
        truth = np.clip(0.75 + spread * error * rng.standard_normal((n_tasks, n_encoders)), 0.05, 0.98)
        drawn = [
            bootstrap(Accuracies.of(rng.random((n_encoders, n)) < row[:, None]), resamples=resamples, rng=rng) for row in truth
        ]
        found = rank_intervals([each.observed for each in drawn], [each.values for each in drawn])
        places = np.mean([(-row).argsort().argsort() + 1.0 for row in truth], axis=0)
        covered += [each.low - 1e-9 <= place <= each.high + 1e-9 for place, each in zip(places, found, strict=True)]
        width += [each.high - each.low for each in found]
    return float(np.mean(covered)), float(np.mean(width))


def _table(title: str, metrics: Sequence[str], cell: Callable[[str, int], str]) -> None:
    print(f"\n| {title} | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for metric in metrics:
        print(f"| {metric} | " + " | ".join(cell(metric, n) for n in SIZES) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["equivalence", "power", "ranks"])
    parser.add_argument("--experiments", type=int, default=2_000)
    parser.add_argument("--metrics", default=",".join(METRICS))
    options = parser.parse_args()
    metrics = options.metrics.split(",")
    if "equivalence" in options.what:
        count = min(options.experiments, 1_000)
        print(f"False equivalence at the margin, % of {count:,} experiments; at most 5 are promised.")
        _table("metric", metrics, lambda metric, n: f"{100 * share_equivalent(metric, n, count):.1f}")
    if "power" in options.what:
        print(f"\nPower in %, predicted / found in {options.experiments:,} experiments.")

        def cell(metric: str, n: int) -> str:
            predicted, found = simulated_power(metric, n, options.experiments)
            return f"{100 * predicted:.1f} / {100 * found:.1f}"

        _table("metric", metrics, cell)
    if "ranks" in options.what:
        count = max(options.experiments // 10, 10)
        print(f"\nTrue mean ranks within their 95 % intervals, % (mean width), {count:,} experiments.")
        cases = [(5, 1), (5, 5), (10, 1), (10, 10)]
        print(
            "\n| spread of the encoders, standard errors | " + " | ".join(f"{k} encoders, {t} task(s)" for k, t in cases) + " |"
        )
        print("|---" * (len(cases) + 1) + "|")
        for spread in (1.0, 2.0, 4.0, 8.0):
            found = [rank_coverage(k, t, spread, count) for k, t in cases]
            print(f"| {spread:g} | " + " | ".join(f"{100 * c:.1f} ({w:.2f})" for c, w in found) + " |", flush=True)


if __name__ == "__main__":
    main()
