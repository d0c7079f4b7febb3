"""Category separation of three categories of 5,000 terms each, whole, with the means within and between.

python benchmarks/separation.py [--terms 5000] [--dimension 384] [--small]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from medsenteval.similarity import Terms
from medsenteval.similarity.measures import cross_similarity
from medsenteval.words.terms.category_overlap import separate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terms", type=int, default=5_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that it runs")
    options = parser.parse_args()
    size = 40 if options.small else options.terms
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=(3, options.dimension)), size, axis=0)
    vectors = (centres * 0.1 + rng.normal(size=centres.shape)).astype(np.float32)
    members = {name: np.arange(i * size, (i + 1) * size) for i, name in enumerate(("near", "close", "distant"))}
    print(f"3 x {size:,} terms, {options.dimension} dimensions: {size**3:.1e} triples")
    for measure in ("avg_cos", "avg_r", "avg_rho"):
        started = time.perf_counter()
        found = separate(cross_similarity(measure, vectors, Terms.single(len(vectors))), members)
        print(f"{measure:8} {time.perf_counter() - started:6.2f} s   O = {found.overlap:.4f}")


if __name__ == "__main__":
    main()
