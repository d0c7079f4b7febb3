"""Decisions against simulations with a known truth: equivalence at its margin, power, and the coverage of rank intervals.

    python -m benchmarks.decisions [--experiments N] [equivalence] [power] [ranks]

Prints the tables that docs/statistics.md shows. Experiments come in batches that share their resamples: how often each item is
drawn does not depend on the items, so every experiment is a proper bootstrap, and drawing costs next to nothing.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import stats

from medsenteval.comparison.significance import GROUPS
from medsenteval.statistics import (
    Accuracies,
    F1Scores,
    Interval,
    WeightedScore,
    accuracy_difference_interval,
    correlations,
    mcnemar_p_values,
)
from medsenteval.statistics.intervals import left_out_difference_interval
from medsenteval.statistics.paired_bootstrap import Bootstrap, left_out_scores
from medsenteval.statistics.power import difference_error, mcnemar_power
from medsenteval.statistics.verdicts import rank_intervals, verdict
from medsenteval.statistics.weighted_scores import Pearsons
from medsenteval.support.arrays import Counts, Floats

__all__ = ["METRICS", "draw", "rank_coverage", "share_equivalent", "simulated_power", "true_difference"]

METRICS: Final = ("acc", "f1", "pearson", "spearman")
SIZES: Final = (100, 300, 1_400)
#: Correlation of the second encoder with the gold scores at each size; the first one's is 0.75. Power is neither 0 nor 1 then.
_CORRELATED: Final = {100: 0.62, 300: 0.67, 1_400: 0.715}
_COUNTED: Final = {100: 0.35, 300: 0.52, 1_400: 0.64}
SECOND: Final = {metric: _COUNTED if metric in ("acc", "f1") else _CORRELATED for metric in METRICS}
_BATCH: Final = 50
#: Correlation of the first encoder with the gold scores, and share of the two encoders' noise that is the same.
_FIRST: Final = 0.75
_SHARED: Final = 0.4
#: Gold answer and those of two encoders, in every combination.
_ANSWERS: Final = np.array([[g, a, b] for g in (0.0, 1.0) for a in (0.0, 1.0) for b in (0.0, 1.0)])


def _scores(n: int, second: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw n items of two encoders that correlate 0.75 and ``second`` with the gold scores and share part of their noise."""
    gold, shared = rng.standard_normal((2, n))
    own = rng.standard_normal((2, n))
    predicted = np.array(
        [
            r * gold + (1 - r * r) ** 0.5 * (_SHARED**0.5 * shared + (1 - _SHARED) ** 0.5 * noise)
            for r, noise in zip((_FIRST, second), own, strict=True)
        ]
    )
    return predicted, gold


def draw(metric: str, n: int, second: float, rng: np.random.Generator) -> WeightedScore:
    """Return the metric of n items as a function of their weights."""
    predicted, gold = _scores(n, second, rng)
    if metric == "acc":
        return Accuracies.of((predicted > 0) == (gold > 0))
    if metric == "f1":
        return F1Scores.of(gold > 0.5, predicted > 0.5)
    return correlations(metric, predicted, gold)  # type: ignore[arg-type]


def true_difference(metric: str, second: float) -> float:
    """Return the difference of the two encoders: in closed form for normal data, for F1 from four million items."""
    if metric == "acc":
        first_only, second_only = _only_one_right(second)
        return first_only - second_only
    if metric == "f1":
        shares = _answer_shares(second)
        f1 = 2 * (shares @ (_ANSWERS[:, [0]] * _ANSWERS[:, 1:])) / (shares @ (_ANSWERS[:, [0]] + _ANSWERS[:, 1:]))
        return float(f1[0] - f1[1])
    if metric == "pearson":
        return _FIRST - second
    return 6 / math.pi * (math.asin(_FIRST / 2) - math.asin(second / 2))


def _only_one_right(second: float) -> tuple[float, float]:
    """Return the shares of items that only the first encoder gets right, and only the second: orthants of normal data."""
    between = _FIRST * second + _SHARED * ((1 - _FIRST**2) * (1 - second**2)) ** 0.5
    angles = math.asin(_FIRST), math.asin(second), math.asin(between)
    return (
        0.25 + (angles[0] - angles[1] - angles[2]) / (2 * math.pi),
        0.25 + (angles[1] - angles[0] - angles[2]) / (2 * math.pi),
    )


@lru_cache(maxsize=8)
def _answer_shares(second: float) -> Floats:
    """Return how often each combination of answers of F1's items occurs, from four million."""
    predicted, gold = _scores(4_000_000, second, np.random.default_rng(99))
    kinds = 4 * (gold > 0.5) + 2 * (predicted[0] > 0.5) + (predicted[1] > 0.5)
    shares: Floats = np.bincount(kinds, minlength=8) / 4_000_000
    return shares


def resampled(
    metric: str, n: int, second: float, experiments: int, resamples: int, rng: np.random.Generator
) -> Iterator[Bootstrap]:  # fmt: skip
    """Draw experiments, each with its bootstrap."""
    for number in range(experiments):
        if number % _BATCH == 0:
            weights = _weights(n, resamples, rng)
        score = draw(metric, n, second, rng)
        step = score.rows_at_once
        values = np.concatenate([score(weights[start : start + step]) for start in range(0, resamples, step)])
        yield Bootstrap(score, score(np.ones((1, n)))[0], values)


def _weights(n: int, resamples: int, rng: np.random.Generator) -> Floats:
    drawn = rng.integers(0, n, size=(resamples, n)) + n * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * n).reshape(resamples, n).astype(np.float64)


def _discordant(n: int, second: float, experiments: int, rng: np.random.Generator) -> Counts:
    """Draw for each experiment how many items only the first encoder gets right, and only the second."""
    only = _only_one_right(second)
    return rng.multinomial(n, [*only, 1 - sum(only)], size=experiments)[:, :2]


def _accuracy_limits(b: int, c: int, n: int) -> tuple[float, float]:
    """Return the wider ends of Bonett and Price's interval and of Student's, from the items that only one gets right."""
    apart = np.repeat([1.0, -1.0, 0.0], [b, c, n - b - c])
    left_out = np.stack([(b - c - apart) / (n - 1), np.zeros(n)], axis=1)
    one = accuracy_difference_interval(np.array([b]), np.array([c]), np.array([n]), confidence=0.9)
    other = left_out_difference_interval(np.array([(b - c) / n, 0.0]), left_out, confidence=0.9, correlated=False)
    return min(one[0], other[0]), max(one[1], other[1])


def _f1_experiments(n: int, second: float, experiments: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Draw both F1 scores of an experiment, and both without each item, from how often each combination of answers is drawn."""
    gold, answers = _ANSWERS[:, [0]], _ANSWERS[:, 1:]
    for counts in rng.multinomial(n, _answer_shares(second), size=experiments):
        right, positive = counts @ (gold * answers), counts @ (gold + answers)
        without = 2 * (right - gold * answers) / (positive - gold - answers)
        yield 2 * right / positive, np.repeat(without, counts, axis=0)


def _without_each(score: Pearsons) -> Floats:
    """Return Pearson's correlations without each item, from sums less one item each."""
    x, y, m = score.predicted.T, score.gold[:, None], score.n - 1
    sums = [part.sum(axis=0) - part for part in (x, y, x * x, y * y, x * y)]
    variances = (sums[2] - sums[0] ** 2 / m) * (sums[3] - sums[1] ** 2 / m)
    found: Floats = (sums[4] - sums[0] * sums[1] / m) / np.sqrt(variances)
    return found


def share_equivalent(metric: str, n: int, experiments: int) -> float:
    """Return how often a pair whose true difference is the margin is called equivalent, by the intervals that decisions use."""
    rng = np.random.default_rng([n, METRICS.index(metric)])
    second, every = SECOND[metric][n], np.ones((1, n))
    margin = abs(true_difference(metric, second))
    equivalent = 0
    if metric == "acc":
        pairs, times = np.unique(_discordant(n, second, experiments, rng), axis=0, return_counts=True)
        for (b, c), count in zip(pairs.tolist(), times.tolist(), strict=True):
            interval = Interval((b - c) / n, *_accuracy_limits(b, c, n), 0.9, "", n)
            equivalent += count * (verdict(1.0, interval, margin) == "equivalent")
        return equivalent / experiments
    drawn: Iterator[tuple[Floats, Floats]]
    if metric == "f1":
        drawn = _f1_experiments(n, second, experiments, rng)
    else:
        scores = (draw(metric, n, second, rng) for _ in range(experiments))
        drawn = (
            (score(every)[0], _without_each(score) if isinstance(score, Pearsons) else left_out_scores(score, GROUPS))
            for score in scores
        )
    for observed, left_out in drawn:
        ends = left_out_difference_interval(observed, left_out, confidence=0.9, correlated=metric != "f1")
        equivalent += verdict(1.0, Interval(float(observed[0] - observed[1]), *ends, 0.9, "", n), margin) == "equivalent"
    return equivalent / experiments


def normal_power(difference: float, error: float) -> float:
    """Return the probability that a two-sided test at 0.05 finds a difference with this standard error."""
    found = np.array([difference, -difference]) / error - stats.norm.ppf(0.975)
    return float(stats.norm.cdf(found).sum())


def simulated_power(metric: str, n: int, experiments: int, resamples: int = 999) -> tuple[float, float]:
    """Return the predicted power, from the truth and the formulas, and the share of experiments that found the difference."""
    rng = np.random.default_rng([n, METRICS.index(metric), 7])
    second = SECOND[metric][n]
    if metric == "acc":
        predicted = mcnemar_power(n, *_only_one_right(second))
        counts = _discordant(n, second, experiments, rng)
        return predicted, float(np.mean(mcnemar_p_values(counts[:, 0], counts[:, 1]) < 0.05))
    # As decisions do, from items as many as there are; the mean over samples of them.
    errors = (difference_error(left_out_scores(draw(metric, n, second, rng), GROUPS), 0, 1) for _ in range(60_000 // n))
    predicted = float(np.mean([normal_power(true_difference(metric, second), error) for error in errors]))
    drawn = resampled(metric, n, second, experiments, resamples, rng)
    return predicted, sum(each.test(0, 1).p_value < 0.05 for each in drawn) / experiments


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
    for number in range(experiments):
        if number % _BATCH == 0:
            weights = [_weights(n, resamples, rng) / n for _ in range(n_tasks)]
        truth = np.clip(0.75 + spread * error * rng.standard_normal((n_tasks, n_encoders)), 0.05, 0.98)
        right = (rng.random((n_tasks, n, n_encoders)) < truth[:, None]).astype(np.float64)
        found = rank_intervals(list(right.mean(axis=1)), [w @ each for w, each in zip(weights, right, strict=True)])
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
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--metrics", default=",".join(METRICS))
    options = parser.parse_args()
    metrics, count = options.metrics.split(","), options.experiments
    if "equivalence" in options.what:
        print(f"False equivalence at the margin, % of {count:,} experiments; at most 5 are promised.")
        _table("metric", metrics, lambda metric, n: f"{100 * share_equivalent(metric, n, count):.1f}")
    if "power" in options.what:
        print(f"\nPower in %, predicted / found in {count:,} experiments.")

        def cell(metric: str, n: int) -> str:
            predicted, found = simulated_power(metric, n, count)
            return f"{100 * predicted:.1f} / {100 * found:.1f}"

        _table("metric", metrics, cell)
    if "ranks" in options.what:
        count = max(count // 10, 10)
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
