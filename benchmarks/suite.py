"""All probes of the ten-task suite at the published sizes, on learnable synthetic vectors of 300 dimensions.

    python benchmarks/suite.py [--dimension 300] [--probe exact]

Pair tasks have four times as many features, built block by block. Encoding and reading are not in it.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from medsenteval.features import Features
from medsenteval.probes import choose_backend
from medsenteval.probes.protocols import Outcome, run_kfold, run_nested, run_split
from medsenteval.settings import Settings
from medsenteval.similarity import paired_cosine


@dataclass(frozen=True)
class Size:
    """Rows of each split, classes, protocol, whether items are pairs, and how far apart the classes lie."""

    rows: tuple[int, ...]
    n_classes: int
    protocol: str
    pairs: bool
    strength: float


SIZES = {
    "MedNLI": Size((11_232, 1_395, 1_422), 3, "split", True, 0.12),
    "RQE": Size((8_588, 302), 2, "kfold", True, 0.12),
    "PubMed20K": Size((180_040, 30_212, 30_135), 5, "split", False, 0.52),
    "PICO": Size((257_000, 30_000, 31_000), 7, "split", False, 0.6),
    "VaccineSA": Size((1_853,), 8, "nested", False, 0.75),
    "CitationSA": Size((4_182,), 3, "nested", False, 0.5),
    "BioC": Size((259,), 2, "nested", True, 0.12),
    "BioASQ": Size((612, 130), 2, "kfold", True, 0.12),
    "ClinicalSTS": Size((318,), 0, "cosine", True, 0.0),
    "BIOSSES": Size((100,), 0, "cosine", True, 0.0),
}


def make(size: Size, dimension: int) -> tuple[Features, np.ndarray]:
    """Draw vectors that carry the label: shifted centres, or pairs that agree along axes which depend on the class."""
    rng = np.random.default_rng(0)
    n = sum(size.rows)
    labels = rng.integers(0, max(1, size.n_classes), n)
    centres = rng.standard_normal((max(1, size.n_classes), dimension), dtype=np.float32)
    first = rng.standard_normal((n, dimension), dtype=np.float32)
    if not size.pairs:
        first += (np.float32(4 * size.strength / np.sqrt(dimension)) * centres)[labels]
        return Features.from_array(first), labels
    second = first * (np.float32(size.strength) * centres)[labels] + rng.standard_normal((n, dimension), dtype=np.float32)
    return Features(np.concatenate([first, second]), np.arange(n), np.arange(n) + n), labels


def run(size: Size, probe: str, features: Features, labels: np.ndarray) -> Outcome | None:
    backend = choose_backend(Settings(probe=probe), {})
    rows, k = np.arange(len(labels)), size.n_classes
    parts = np.split(rows, np.cumsum(size.rows)[:-1])
    if size.protocol == "split":
        return run_split(backend, features, labels, k, train=parts[0], dev=parts[1], test=parts[2])
    if size.protocol == "kfold":
        return run_kfold(backend, features, labels, k, train=parts[0], test=parts[1], n_folds=10, seed=1111)
    if size.protocol == "nested":
        return run_nested(backend, features, labels, k, n_folds=10)
    assert features.right is not None
    paired_cosine(features.matrix, features.left, features.right)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--probe", default="exact")
    options = parser.parse_args()
    total = 0.0
    print(f"{'task':<12} {'rows':>9} {'columns':>8} {'seconds':>8} {'test':>6}")
    for name, size in SIZES.items():
        features, labels = make(size, options.dimension)
        started = time.perf_counter()
        outcome = run(size, options.probe, features, labels)
        seconds = time.perf_counter() - started
        total += seconds
        accuracy = ""
        if outcome is not None:
            right = [np.mean(fold.predicted == labels[fold.rows]) for fold in outcome.folds]
            accuracy = f"{100 * np.mean(right):.2f}"
        print(f"{name:<12} {len(labels):>9,} {features.n_columns:>8,} {seconds:>8.2f} {accuracy:>6}", flush=True)
    print(f"{'all':<12} {'':>9} {'':>8} {total:>8.2f}")


if __name__ == "__main__":
    main()
