"""Peak resident memory of a whole evaluation, from texts through the cache to scores, each size in a process of its own.

    python benchmarks/memory.py [--small]

Texts are numbered sentences, vectors come from a cheap encoder, classes can be learned; the protocol is a split of 75 %, 12.5 %
and 12.5 %, the probe the exact one. What is printed, in MiB:

    before       resident memory once everything is imported, torch included
    encoded      peak once all vectors are in the cache
    peak         peak of the whole evaluation
    matrix       float32 vectors of all texts, the largest matrix that the probe needs
    ratio        peak / matrix, interpreter and libraries included; for 240,000 x 768 it must stay below 1.5
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Scores, Split, Task
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.engine import evaluate_task
from medsenteval.settings import Settings
from medsenteval.tasks.classification import evaluate_classification

SIZES = ((10_000, 32), (100_000, 32), (1_000_000, 32), (240_000, 768))
SMALL_SIZES = ((5_000, 32), (10_000, 64))
N_CLASSES = 5


class NumberEncoder:
    """Noise drawn from a text's number, with the class, its last digit, added to one column."""

    preferred_batch = 1024

    def __init__(self, dimension: int) -> None:
        self.name, self.identity, self.dimension = "numbers", f"numbers-{dimension}", dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        numbers = np.array([int(text.rsplit(maxsplit=1)[1]) for text in texts])
        rows = np.random.default_rng(int(numbers[0])).standard_normal((len(texts), self.dimension), dtype=np.float32)
        rows[np.arange(len(texts)), numbers % N_CLASSES] += 1.5
        return rows


def make_dataset(n_texts: int) -> Dataset:
    def split(numbers: range) -> Split:
        texts = tuple(f"the sentence of this data set that has the number {number}" for number in numbers)
        labels = np.fromiter(numbers, dtype=np.int64) % N_CLASSES
        return Split(ids=tuple(map(str, numbers)), texts=texts, labels=labels)

    eighth = n_texts // 8
    ends = {"train": range(0, 6 * eighth), "dev": range(6 * eighth, 7 * eighth), "test": range(7 * eighth, 8 * eighth)}
    names = tuple(map(str, range(N_CLASSES)))
    return Dataset("Numbers", {name: split(numbers) for name, numbers in ends.items()}, label_names=names)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n_texts: int, dimension: int, folder: str) -> tuple[float, float, float, float, float]:
    """Return memory before, after encoding and at the highest, the accuracy and the seconds; run in a new process."""
    import torch

    torch.ones(8, 8) @ torch.ones(8, 8)
    peaks: list[float] = []

    def evaluate(*arguments: Any) -> Scores:
        peaks.append(peak_mib())
        return evaluate_classification(*arguments)

    def read(folder: Path, options: object) -> Dataset:
        return make_dataset(0)

    task = Task(
        "Numbers", "1", "classification", "split", ("acc",), (), read, evaluate,
        citation="", licence="", access="", obtain="",
    )  # fmt: skip
    before = peak_mib()
    started = time.perf_counter()
    encoder, settings = NumberEncoder(dimension), Settings(resamples=100)
    result = evaluate_task(task, make_dataset(n_texts), encoder, settings, cache=EmbeddingCache(Path(folder)))
    return before, peaks[0], peak_mib(), result.metric("acc").value, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="sizes that run in seconds")
    sizes = SMALL_SIZES if parser.parse_args().small else SIZES
    header = ("before", "encoded", "peak", "matrix")
    print(f"{'texts':>9} {'columns':>8} {' '.join(f'{name:>8}' for name in header)} {'ratio':>6} {'acc':>6} {'seconds':>8}")
    for n_texts, dimension in sizes:
        new = multiprocessing.get_context("spawn")
        with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=new) as pool:
            before, encoded, peak, accuracy, seconds = pool.submit(measure, n_texts, dimension, folder).result()
        matrix = n_texts * dimension * 4 / 2**20
        ratio = peak / matrix
        numbers = f"{before:>8.0f} {encoded:>8.0f} {peak:>8.0f} {matrix:>8.1f} {ratio:>6.2f} {accuracy:>6.2f} {seconds:>8.1f}"
        print(f"{n_texts:>9,} {dimension:>8} {numbers}", flush=True)


if __name__ == "__main__":
    main()
