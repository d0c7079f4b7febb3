"""Worker processes against one process on nested cross-validation, side by side in one run.

    python benchmarks/executors.py [--workers 2] [--probes sklearn ...] [--small]

CitationSA's protocol (10 x 10 folds, three classes) on synthetic texts and learnable vectors: probes that fit fold by fold send
their outer folds to the workers. The exact probe fits all folds in the same products and stays whole, so its line shows
several encoders side by side. Workers are started before the clock; each time is the better of two, taken in turns; scores must
be equal to the last bit. On a machine that does other work as well the ratio says little: two workers need two free cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Result
from medsenteval.running.executors import open_executor
from medsenteval.running.executors.executor import Executor
from medsenteval.running.suite import Suite
from medsenteval.settings import Settings

PROBES = ("sklearn", "senteval", "mlp", "exact")
LABELS = ("positive", "neutral", "negative")


class NumberEncoder:
    """Noise drawn from a text's number, with its class, the remainder by three, added weakly to one column."""

    def __init__(self, dimension: int, seed: int) -> None:
        self.name, self.identity, self.dimension, self.seed = f"numbers-{seed}", "", dimension, seed

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        numbers = [int(text.rsplit(maxsplit=1)[1]) for text in texts]
        rows = [np.random.default_rng((self.seed, number)).standard_normal(self.dimension) for number in numbers]
        matrix = np.array(rows, dtype=np.float32)
        matrix[np.arange(len(texts)), np.array(numbers) % len(LABELS)] += 1
        return matrix


def run(
    probe: str, data: Path, n_encoders: int, dimension: int, folds: int, executor: str | Executor
) -> tuple[float, list[Result]]:
    training = {"max_epoch": 12} if probe in ("senteval", "mlp") else {}
    encoders = [NumberEncoder(dimension, seed) for seed in range(n_encoders)]
    settings = Settings(probe=probe, resamples=100, folds=folds, training=training, allow_incomplete=True)
    started = time.perf_counter()
    outcome = Suite(encoders, [registry.task("CitationSA")], settings, data=data, executor=executor).run()
    for error in outcome.failed.values():
        raise error
    return time.perf_counter() - started, outcome.results


def write_data(folder: Path, n_rows: int) -> Path:
    (folder / "CitationSA").mkdir(parents=True)
    lines = (f"{LABELS[number % len(LABELS)]}\tthe sentence that has the number {number}\n" for number in range(n_rows))
    (folder / "CitationSA" / "train.txt").write_text("".join(lines), "utf-8")
    return folder


def scores(results: Sequence[Result]) -> list[object]:
    return [(result.metrics, result.items, result.details) for result in results]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--probes", nargs="+", choices=PROBES, default=PROBES)
    parser.add_argument("--small", action="store_true", help="few rows and columns, in seconds")
    options = parser.parse_args()
    n_rows, dimension, folds = (240, 8, 3) if options.small else (2_000, 200, 10)
    size = f"{n_rows:,} rows x {dimension}, {len(LABELS)} classes, {folds} x {folds} folds"
    print(f"nested cross-validation, {size}, {options.workers} workers")
    print(f"{'probe':<10} {'encoders':>8} {'in process':>11} {'workers':>9} {'ratio':>6}  scores")
    with tempfile.TemporaryDirectory() as folder, open_executor(f"processes:{options.workers}") as executor:
        assert executor is not None
        data, tiny = write_data(Path(folder) / "data", n_rows), write_data(Path(folder) / "tiny", 120)
        for probe in options.probes:
            n_encoders = 4 if probe == "exact" else 1
            # Everyone imports what it needs before the clock runs.
            for where in ("in-process", executor):
                run(probe, tiny, 2 * options.workers, 8, 2, where)
            here = there = float("inf")
            for _ in range(2):
                seconds, expected = run(probe, data, n_encoders, dimension, folds, "in-process")
                here = min(here, seconds)
                seconds, found = run(probe, data, n_encoders, dimension, folds, executor)
                there = min(there, seconds)
            same = "the same to the last bit" if scores(found) == scores(expected) else "DIFFERENT"
            print(f"{probe:<10} {n_encoders:>8} {here:>9.2f} s {there:>7.2f} s {here / there:>6.2f}  {same}", flush=True)


if __name__ == "__main__":
    main()
