"""The bootstrap: scipy's beside the weighted one on the same resamples, and the paired tests of a whole comparison.

python benchmarks/resampling.py [--items 1000] [--resamples 10000] [--small]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy import stats

from medsenteval.statistics import Accuracies, F1Scores, bootstrap, correlations, mcnemar_matrix


def row_correlation(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    x, y = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
    return np.asarray((x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis)))


def vectorised(a: np.ndarray, b: np.ndarray, gold: np.ndarray, axis: int = -1) -> np.ndarray:
    """Difference of Spearman correlations for scipy, as fast as NumPy and scipy allow: all resamples ranked at once."""
    a, b, gold = (stats.rankdata(side, axis=axis) for side in (a, b, gold))
    return np.asarray(row_correlation(a, gold, axis) - row_correlation(b, gold, axis))


def plain(a: np.ndarray, b: np.ndarray, gold: np.ndarray) -> float:
    """Difference of Spearman correlations as one writes it down."""
    return float(stats.spearmanr(a, gold).statistic - stats.spearmanr(b, gold).statistic)


def compare_with_scipy(items: int, resamples: int) -> None:
    rng = np.random.default_rng(0)
    gold = np.round(30 * rng.random(items)) / 3
    predicted = gold + rng.standard_normal((2, items)) * [[5.0], [6.0]]
    timings: dict[str, list[float]] = {"ours": [], "scipy, vectorised": []}
    # Interleaved, so that a busy moment of the machine hits both.
    for _ in range(3):
        started = time.perf_counter()
        found = bootstrap(correlations("spearman", predicted, gold), resamples=resamples, rng=np.random.default_rng(5))
        ours = found.difference(0, 1, method="bca")
        timings["ours"].append(time.perf_counter() - started)
        started = time.perf_counter()
        theirs = stats.bootstrap(
            (*predicted, gold), vectorised, paired=True, vectorized=True, n_resamples=resamples, method="BCa",
            rng=np.random.default_rng(5),
        ).confidence_interval  # fmt: skip
        timings["scipy, vectorised"].append(time.perf_counter() - started)
    # The plain statistic takes minutes: a tenth of the resamples, scaled up.
    started = time.perf_counter()
    stats.bootstrap((*predicted, gold), plain, paired=True, vectorized=False, n_resamples=resamples // 10, method="BCa",
                    rng=np.random.default_rng(5))  # fmt: skip
    jackknife_and_tenth = time.perf_counter() - started
    timings["scipy, spearmanr"] = [jackknife_and_tenth * (resamples + items) / (resamples / 10 + items)]
    print(f"BCa interval of a difference of Spearman correlations, {items:,} items, {resamples:,} resamples")
    fastest = min(timings["ours"])
    for name, seconds in timings.items():
        print(f"  {name:<20}{min(seconds):>9.3f} s{min(seconds) / fastest:>9.1f} times ours")
    gap = max(abs(ours.low - theirs.low), abs(ours.high - theirs.high))
    print(f"  intervals on the same resamples differ by {gap:.1e}: [{ours.low:.4f}, {ours.high:.4f}]")


def whole_comparison(encoders: int, resamples: int, small: bool) -> None:
    """Paired bootstrap of every pair of encoders on tasks of the sizes of the ten sentence tasks."""
    rng = np.random.default_rng(1)
    tasks = [("accuracy", 1422), ("f1", 8890), ("accuracy", 30135), ("accuracy", 24668), ("accuracy", 1853), ("accuracy", 8736),
             ("f1", 259), ("f1", 742), ("correlation", 318), ("correlation", 100)]  # fmt: skip
    total = 0.0
    print(f"\nAll pairs of {encoders} encoders on {len(tasks)} tasks, {resamples:,} resamples shared by all encoders of a task")
    for metric, n in tasks:
        n = n // 50 if small else n
        started = time.perf_counter()
        if metric == "correlation":
            gold = rng.standard_normal(n)
            predicted = gold + 2 * rng.standard_normal((encoders, n))
            for kind in ("pearson", "spearman"):
                bootstrap(correlations(kind, predicted, gold), resamples=resamples, rng=rng).p_values()
        else:
            truth = rng.random(n) < 0.5
            answers = truth ^ (rng.random((encoders, n)) < rng.uniform(0.2, 0.4, (encoders, 1)))
            score = F1Scores.of(truth, answers) if metric == "f1" else Accuracies.of(answers == truth)
            bootstrap(score, resamples=resamples, rng=rng).p_values()
            mcnemar_matrix(answers == truth)
        seconds = time.perf_counter() - started
        total += seconds
        print(f"  {metric:<12}{n:>8,} items{seconds:>9.2f} s")
    print(f"  {'all':<20}{total:>15.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--encoders", type=int, default=20)
    parser.add_argument("--small", action="store_true", help="a few seconds: 100 items, 500 resamples, 3 encoders")
    options = parser.parse_args()
    if options.small:
        options.items, options.resamples, options.encoders = 100, 500, 3
    compare_with_scipy(options.items, options.resamples)
    whole_comparison(options.encoders, options.resamples, options.small)


if __name__ == "__main__":
    main()
