"""Cosines of many pairs: SentEval's loop over pairs, written from its description, beside the block-wise computation.

python benchmarks/similarity.py [--pairs 100000] [--dimension 768]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from medsenteval.similarity import paired_cosine


def pair_by_pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """SentEval's way: clean both vectors of NaN, cosine from a dot product and two norms, clean the result, append."""
    scores = []
    for u, v in zip(first, second, strict=True):
        u, v = np.nan_to_num(u), np.nan_to_num(v)
        scores.append(np.nan_to_num(np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))))
    return np.array(scores)


def timed(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    started = time.perf_counter()
    answer = function()
    return time.perf_counter() - started, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=768)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((2 * options.pairs, options.dimension), dtype=np.float32)
    left, right = np.arange(options.pairs), np.arange(options.pairs, 2 * options.pairs)
    first, second = matrix[: options.pairs], matrix[options.pairs :]
    # Interleaved, so that a busy moment of the machine hits both.
    loops, blocks = [], []
    for _ in range(3):
        seconds, expected = timed(lambda: pair_by_pair(first, second))
        loops.append(seconds)
        seconds, ours = timed(lambda: paired_cosine(matrix, left, right)[0])
        blocks.append(seconds)
    print(f"{options.pairs:,} pairs, {options.dimension} dimensions")
    print(f"pair by pair   {min(loops):8.3f} s")
    print(f"block by block {min(blocks):8.3f} s    {min(loops) / min(blocks):.1f} times faster")
    print(f"largest difference {np.abs(ours - expected).max():.1e}")


if __name__ == "__main__":
    main()
