"""Supervised relatedness as whole tasks: ours and, if it is here, SentEval's own.

    OMP_NUM_THREADS=1 python -m benchmarks.relatedness --data SENTEVAL_DATA [--glove FILE] [--senteval CHECKOUT]

SICKRelatedness and STSBenchmark from files to scores, through SE and one batcher: mean GloVe vectors, or those of hashed words.
SentEval is patched to run on a CPU, as ``tests/tasks/record_upstream.py`` says. Without ``--data``: made-up pairs at SICK's
size (``--small``: a fortieth of them), the regression alone. Printed: CPU seconds, and Pearson's correlation on dev and test.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from medsenteval.engine import SE
from medsenteval.probes.features import Features
from medsenteval.probes.relatedness import fit_softmax
from tests.tasks.parity import Batcher, glove_words, hashed_words
from tests.tasks.record_upstream import patched

SIZES = (4_500, 500, 4_927)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--glove", type=Path)
    parser.add_argument("--senteval", type=Path)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    if options.data is None:
        regression_alone(40 if options.small else 1)
        return
    batcher = hashed_words() if options.glove is None else glove_words(options.glove)
    with tempfile.TemporaryDirectory() as place:
        whole_tasks(options.data, batcher, options.senteval and patched(options.senteval, Path(place) / "upstream"))


def whole_tasks(data: Path, batcher: Batcher, upstream: Path | None) -> None:
    engines: dict[str, tuple[Any, dict[str, Any]]] = {"ours": (SE, {})}
    if upstream is not None:
        sys.path.insert(0, str(upstream))
        from senteval.engine import SE as UpstreamSE  # type: ignore[import-not-found]

        engines["SentEval"] = (UpstreamSE, {"usepytorch": True})
    for task in ("SICKRelatedness", "STSBenchmark"):
        for name, (engine, params) in engines.items():
            started = time.process_time()
            found = engine({"task_path": str(data), "seed": 1111, "kfold": 10, **params}, batcher).eval(task)
            seconds = time.process_time() - started
            print(f"{task}, {name}: {seconds:7.2f} s, dev {found['devpearson']:.5f}, test {found['pearson']:.5f}", flush=True)


def regression_alone(part: int, dimension: int = 100, seed: int = 1111) -> None:
    sizes = [size // part for size in SIZES]
    n, rng = sum(sizes), np.random.default_rng(0)
    first = rng.normal(size=(n, dimension))
    second = first + rng.normal(size=first.shape) * rng.uniform(0.1, 1.5, size=(n, 1))
    distance = np.abs(first - second) @ rng.uniform(0, 1, dimension)
    scores = np.clip(3 - 1.2 * (distance - distance.mean()) / distance.std() + 0.5 * rng.normal(size=n), 1, 5)
    matrix = 0.2 * np.concatenate([first, second]).astype(np.float32)
    features = Features(matrix, np.arange(n), np.arange(n, 2 * n), "|u-v|,u*v")
    train, dev, test = np.split(np.arange(n), np.cumsum(sizes)[:-1])
    started = time.process_time()
    fit = fit_softmax(features, train, scores[train], dev, scores[dev], test, seed)
    seconds = time.process_time() - started
    pearson = float(np.corrcoef(fit.predicted, scores[test])[0, 1])
    print(f"ours: {seconds:7.2f} s, {fit.details['passes']:.0f} passes, dev {fit.dev_pearson:.5f}, test {pearson:.5f}")


if __name__ == "__main__":
    main()
