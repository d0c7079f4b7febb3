"""Time the exact probe against scikit-learn mode and SentEval's torch loop, side by side in one process.

Run:  python benchmarks/probes.py [--cases citationsa bioc ...] [--features realistic] [--small] [--torch-loop]
      python benchmarks/probes.py --real FOLDER --vectors glove.vec [--cases rqe mr trec sst2]

The features are synthetic and learnable, at the sizes of MedSentEval's tasks (``synthetic.py`` says what realistic
means), or real data with real word vectors (``real.py`` says which files). What is printed:

    seconds      wall time of the whole protocol, folds and scoring included (the best of three runs of ours)
    dev, test    accuracies in per cent
    floor        time of nothing but the exact probe's matrix products, at this machine's measured GFLOP/s
    peak         resident memory on top of what was there before, during the exact probe's first run
    ratio        seconds inside a rival's fits divided by all of ours, and how many of its test predictions are the same
    threads      with which the rival's libraries ran: one or all, whichever made its first fit faster

Scikit-learn mode is what SentEval does with ``usepytorch=False``: default tolerance, at most 100 iterations. SentEval's
torch loop would take hours over all cases: after ``--budget`` seconds a rival is stopped, and its time extrapolated
from the fits it has done. How far scikit-learn run to convergence agrees with us is in ``converged.py``.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from real import REAL
from rivals import TORCH_GRIDS, BudgetSpent, SerialBackend, Train, one_after_the_other, scikit_trainer, train_like_senteval
from synthetic import CASES, SHAPES, Workload

from medsenteval.probes.backend import C_GRIDS
from medsenteval.probes.exact import problems as exact_batch
from medsenteval.probes.exact.gradient import GradientPass
from medsenteval.probes.exact.logistic import ExactBackend
from medsenteval.probes.protocols import Outcome, folds_go_to
from medsenteval.support.arrays import Labels


def measured_gflops() -> float:
    """Return the speed of float32 products of the shape that a pass has, on all cores, in GFLOP/s."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((8_192, 300), dtype=np.float32)
    weights = rng.standard_normal((300, 300), dtype=np.float32)
    best = min(seconds_for(lambda: weights @ rows.T)[0] for _ in range(20))
    return 2 * rows.size * len(weights) / best / 1e9


class CountedPass(GradientPass):
    """A pass that adds up the floating-point operations of its two matrix products."""

    operations = 0

    def __call__(self, points: NDArray[Any], folds: NDArray[np.intp], *pool: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        CountedPass.operations += 4 * points.size * self.weights.shape[1]
        return super().__call__(points, folds, *pool)


class PeakMemory:
    """Watches the resident memory of this process from a thread, while the block runs."""

    def __enter__(self) -> PeakMemory:
        self.before = self.highest = self._resident()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.done.wait(0.005):
            self.highest = max(self.highest, self._resident())

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    @property
    def megabytes(self) -> float:
        return (self.highest - self.before) / 2**20


T = TypeVar("T")


def seconds_for(action: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def test_predictions(outcome: Outcome) -> tuple[NDArray[np.intp], Labels]:
    rows = np.concatenate([fold.rows for fold in outcome.folds])
    return rows, np.concatenate([fold.predicted for fold in outcome.folds])


def show(name: str, seconds: float, outcome: Outcome, labels: Labels, rest: str = "") -> None:
    rows, predicted = test_predictions(outcome)
    test = 100 * float((predicted == labels[rows]).mean())
    print(f"  {name:<22}{seconds:>9.2f} s   dev {outcome.dev_accuracy:6.2f}   test {test:6.2f}   {rest}", flush=True)


def compare(name: str, workload: Workload, options: argparse.Namespace, gflops: float) -> None:
    features, labels = workload.features, workload.labels
    backend = ExactBackend(options.tolerance)
    print(f"{name}: {features.n_rows} x {features.n_columns}, {workload.n_classes} classes, {workload.protocol}")
    with PeakMemory() as memory:
        first, exact = seconds_for(lambda: workload.run(backend))
    CountedPass.operations = 0
    second = seconds_for(lambda: workload.run(backend))[0]
    floor = CountedPass.operations / gflops / 1e9
    seconds = min(first, second, seconds_for(lambda: workload.run(backend))[0])
    size = features.n_rows * features.n_columns * 4 / 2**20
    unconverged = f"{exact.report.n_unconverged} of {exact.report.n_fits} fits unconverged"
    extra = f"floor {floor:.2f} s   peak +{memory.megabytes:.0f} MB (features {size:.0f} MB)   {unconverged}"
    show("exact", seconds, exact, labels, extra)

    trainers: dict[str, tuple[dict[str, tuple[float, ...]], Train]] = {"scikit-learn mode": (C_GRIDS, scikit_trainer())}
    if options.torch_loop:
        trainers["SentEval's torch loop"] = (TORCH_GRIDS, train_like_senteval)
    for rival, (grids, train) in trainers.items():
        due = workload.fits(len(grids[workload.protocol]))
        probe = SerialBackend(grids, train, options.budget, due, options.rival_threads)
        try:
            with folds_go_to(one_after_the_other):
                outcome = workload.run(probe)
        except BudgetSpent as spent:
            slow = spent.extrapolated
            print(f"  {rival:<22}{slow:>9.2f} s   ratio {slow / seconds:6.1f}   ({spent}; threads {probe.threads})", flush=True)
            continue
        same = 100 * float((test_predictions(outcome)[1] == test_predictions(exact)[1]).mean())
        rest = f"ratio {probe.spent / seconds:6.1f}   same predictions {same:.2f} %   threads {probe.threads}"
        show(rival, probe.spent, outcome, labels, rest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=[*CASES, *REAL], help="which sizes or data sets to run (all)")
    parser.add_argument("--features", choices=SHAPES, default="realistic", help="shape of the synthetic features")
    parser.add_argument("--real", type=Path, help="folder with the real data sets, instead of synthetic features")
    parser.add_argument("--vectors", type=Path, help="word vectors for --real, one word a line (GloVe's format)")
    parser.add_argument("--small", action="store_true", help="a fortieth of the rows")
    parser.add_argument("--torch-loop", action="store_true", help="also SentEval's torch loop")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds after which a rival's time is extrapolated")
    parser.add_argument("--rival-threads", type=int, help="library threads of the others (the better of one and all)")
    parser.add_argument("--tolerance", type=float, help="tolerance of the exact probe")
    options = parser.parse_args()
    if (options.real is None) != (options.vectors is None):
        parser.error("--real and --vectors belong together")
    warnings.simplefilter("ignore")
    setattr(exact_batch, "GradientPass", CountedPass)  # noqa: B010 - a name that the module imports, not its own
    if find_spec("torch") is not None:
        import_module("torch")  # its 200 MB are not to count as memory of the first case
        # Nor are the seconds in which torch loads the rest of itself to count as the loop's first fit.
        train_like_senteval(np.eye(4, dtype=np.float32), np.arange(4), 4, 0.0, np.eye(4, dtype=np.float32), np.arange(4))
    gflops = measured_gflops()
    print(f"bare float32 products: {gflops:.0f} GFLOP/s")
    known = CASES if options.real is None else REAL
    for name in options.cases or known:
        if name not in known:
            parser.error(f"{name} is not among {', '.join(known)}")
        if options.real is None:
            workload = CASES[name].make(40 if options.small else 1, options.features)
        else:
            workload = REAL[name](options.real, options.vectors)
        compare(name, workload, options, gflops)


if __name__ == "__main__":
    main()
