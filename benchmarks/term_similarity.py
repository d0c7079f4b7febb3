"""Ten similarities of many pairs of terms: the plain scipy loop over a sample of pairs beside the vectorised measures over all.

python benchmarks/term_similarity.py [--pairs 600000] [--dimension 200] [--words 30000] [--sample 100] [--small]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.spatial.distance import cosine

from medsenteval.similarity import MEASURES, Terms, term_similarities

COEFFICIENTS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "cos": lambda x, y: float(1 - cosine(x, y)),
    "r": lambda x, y: float(stats.pearsonr(x, y)[0]),
    "rho": lambda x, y: float(stats.spearmanr(x, y)[0]),
    "tau": lambda x, y: float(stats.kendalltau(x, y)[0]),
}


def pair_by_pair(name: str, x: np.ndarray, y: np.ndarray) -> float:
    """One measure of one pair of terms as its definition reads."""
    how, _, kind = name.partition("_")
    if how == "avg":
        return COEFFICIENTS[kind](x.mean(axis=0), y.mean(axis=0))
    if how == "pair":
        return float(np.mean([COEFFICIENTS[kind](u, v) for u in x for v in y]))
    a, b = (side if how == "max" else side @ np.concatenate([x, y]).T for side in (x, y))
    a, b = np.maximum(0, a.max(axis=0)), np.maximum(0, b.max(axis=0))
    return float(np.minimum(a, b).sum() / np.maximum(a, b).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=600_000)
    parser.add_argument("--dimension", type=int, default=200)
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--small", action="store_true", help="a few seconds: 2,000 pairs, a sample of 5")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.words, options.sample = 2000, 500, 5
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((options.words, options.dimension), dtype=np.float32)
    # Words as frequent as in language, terms of 2 to 6 words, each term in about two pairs.
    frequency = 1 / np.arange(1, options.words + 1)
    lengths = rng.integers(2, 7, options.pairs)
    rows = rng.choice(options.words, size=int(lengths.sum()), p=frequency / frequency.sum())
    terms = Terms(rows.astype(np.intp), np.concatenate([[0], np.cumsum(lengths)]))
    left, right = rng.integers(0, options.pairs, (2, options.pairs))
    sample = rng.choice(options.pairs, options.sample, replace=False)
    sides = [
        [matrix[rows[terms.offsets[term] : terms.offsets[term + 1]]].astype(np.float64) for term in side[sample]]
        for side in (left, right)
    ]
    print(f"{options.pairs:,} pairs of terms of 2 to 6 words, {options.words:,} words, {options.dimension} dimensions")
    print(f"{'measure':<14}{'scipy loop':>14}{'vectorised':>12}{'times':>10}{'difference':>12}")
    total_loop = total_ours = worst = 0.0
    for name in MEASURES:
        started = time.perf_counter()
        expected = [pair_by_pair(name, x, y) for x, y in zip(*sides, strict=True)]
        # The whole loop would take hours: its time is that of the sample, scaled up.
        loop = (time.perf_counter() - started) * options.pairs / options.sample
        started = time.perf_counter()
        found = term_similarities(name, matrix, terms, left, right)[name]
        ours = time.perf_counter() - started
        difference = float(np.abs(found[sample] - expected).max())
        print(f"{name:<14}{loop:>12.0f} s{ours:>10.2f} s{loop / ours:>10.0f}{difference:>12.1e}", flush=True)
        total_loop, total_ours, worst = total_loop + loop, total_ours + ours, max(worst, difference)
    print(f"{'all':<14}{total_loop:>12.0f} s{total_ours:>10.2f} s{total_loop / total_ours:>10.0f}{worst:>12.1e}")


if __name__ == "__main__":
    main()
