"""All probes of the ten-task suite at the published sizes, on learnable synthetic vectors of 300 dimensions.

    python benchmarks/suite.py [--dimension 300] [--probe exact]

Pair tasks have four times as many features, built block by block. Encoding and reading are not in it.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from synthetic import Case

from medsenteval.probes import choose_backend
from medsenteval.settings import Settings
from medsenteval.similarity import paired_cosine

#: Task -> rows of each split, classes, protocol, how far apart the classes lie, whether items are pairs.
TASKS = {
    "MedNLI": ((11_232, 1_395, 1_422), 3, "split", 0.12, True),
    "RQE": ((8_588, 302), 2, "kfold", 0.12, True),
    "PubMed20K": ((180_040, 30_212, 30_135), 5, "split", 0.52, False),
    "PICO": ((257_000, 30_000, 31_000), 7, "split", 0.6, False),
    "VaccineSA": ((1_853,), 8, "nested", 0.75, False),
    "CitationSA": ((4_182,), 3, "nested", 0.5, False),
    "BioC": ((259,), 2, "nested", 0.12, True),
    "BioASQ": ((612, 130), 2, "kfold", 0.12, True),
}
SIMILARITY_PAIRS = {"ClinicalSTS": 318, "BIOSSES": 100}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--probe", default="exact")
    options = parser.parse_args()
    total = 0.0
    print(f"{'task':<12} {'rows':>9} {'columns':>8} {'seconds':>8} {'test':>6}")
    for name, (rows, n_classes, protocol, strength, pairs) in TASKS.items():
        case = Case(rows, options.dimension * (4 if pairs else 1), n_classes, protocol, (strength, strength), pairs)
        workload = case.make()
        labels = workload.labels
        started = time.perf_counter()
        outcome = workload.run(choose_backend(Settings(probe=options.probe), {}))
        seconds = time.perf_counter() - started
        total += seconds
        accuracy = 100 * np.mean([np.mean(fold.predicted == labels[fold.rows]) for fold in outcome.folds])
        print(f"{name:<12} {len(labels):>9,} {workload.features.n_columns:>8,} {seconds:>8.2f} {accuracy:>6.2f}", flush=True)
    for name, n in SIMILARITY_PAIRS.items():
        matrix = np.random.default_rng(0).standard_normal((2 * n, options.dimension), dtype=np.float32)
        started = time.perf_counter()
        paired_cosine(matrix, np.arange(n), np.arange(n, 2 * n))
        seconds = time.perf_counter() - started
        total += seconds
        print(f"{name:<12} {n:>9,} {options.dimension:>8,} {seconds:>8.2f}")
    print(f"{'all':<12} {'':>9} {'':>8} {total:>8.2f}")


if __name__ == "__main__":
    main()
