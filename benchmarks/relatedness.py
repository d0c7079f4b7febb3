"""SentEval's relatedness regression: its steps in torch against the same steps in NumPy, on one thread.

    python benchmarks/relatedness.py [--dimension 100] [--seed 1111] [--small]

Made-up pairs at SICK's size, with graded scores that depend on their difference. What is printed for both: CPU seconds, passes
over the training rows, and the Pearson correlation on dev and test.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from medsenteval.probes.features import Features
from medsenteval.probes.relatedness import fit_softmax

SIZES = (4_500, 500, 4_927)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1111)
    parser.add_argument("--small", action="store_true", help="a fortieth of the rows")
    options = parser.parse_args()
    sizes = [size // 40 for size in SIZES] if options.small else list(SIZES)
    n, rng = sum(sizes), np.random.default_rng(0)
    first = rng.normal(size=(n, options.dimension))
    second = first + rng.normal(size=first.shape) * rng.uniform(0.1, 1.5, size=(n, 1))
    distance = np.abs(first - second) @ rng.uniform(0, 1, options.dimension)
    scores = np.clip(3 - 1.2 * (distance - distance.mean()) / distance.std() + 0.5 * rng.normal(size=n), 1, 5)
    matrix = 0.2 * np.concatenate([first, second]).astype(np.float32)
    features = Features(matrix, np.arange(n), np.arange(n, 2 * n), "|u-v|,u*v")
    train, dev, test = np.split(np.arange(n), np.cumsum(sizes)[:-1])
    for name, with_torch in (("torch", True), ("NumPy", False)):
        started = time.process_time()
        fit = fit_softmax(features, train, scores[train], dev, scores[dev], test, options.seed, with_torch)
        seconds = time.process_time() - started
        pearson = float(np.corrcoef(fit.predicted, scores[test])[0, 1])
        print(f"{name}: {seconds:7.2f} s, {fit.details['passes']:.0f} passes, dev {fit.dev_pearson:.5f}, test {pearson:.5f}")


if __name__ == "__main__":
    main()
