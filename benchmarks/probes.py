"""Time the exact probe against scikit-learn mode and SentEval's torch loop, side by side in one process.

Run:  python benchmarks/probes.py [--cases citationsa bioc ...] [--quick] [--converged] [--torch-loop]

The features are synthetic and learnable, at the sizes of MedSentEval's tasks. What is printed:

    seconds      wall time of the whole protocol, folds and scoring included (the better of two runs of ours)
    dev, test    accuracies in per cent
    floor        time of nothing but the exact probe's matrix products, at this machine's measured GFLOP/s
    peak         resident memory on top of what was there before, during the exact probe's first run
    ratio        a rival's seconds divided by ours, and how many of its test predictions are the same

Scikit-learn mode is what SentEval does with ``usepytorch=False``: default tolerance, at most 100 iterations.
``--converged`` adds scikit-learn at tol 1e-10, ``--torch-loop`` SentEval's training loop, one fit after the other,
which takes 23 minutes for CitationSA alone.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from medsenteval.features import Features
from medsenteval.probes import batch as exact_batch
from medsenteval.probes.backend import Backend, FitReport, Fold, Labels, Prediction
from medsenteval.probes.kernels import GradientPass
from medsenteval.probes.logistic import ExactBackend
from medsenteval.probes.protocols import Outcome, run_kfold, run_nested, run_split


@dataclass(frozen=True)
class Case:
    """A task's size: rows (of one matrix, or train/dev/test), width, classes; ``strength`` sets how easy it is."""

    rows: tuple[int, ...]
    width: int
    n_classes: int
    protocol: str
    strength: float
    pairs: bool = False

    def make(self, shrink: int) -> tuple[Features, Labels]:
        rng = np.random.default_rng(0)
        n, d = sum(self.sizes(shrink)), self.width // (4 if self.pairs else 1)
        y = rng.integers(0, self.n_classes, n)
        centres = rng.standard_normal((self.n_classes, d), dtype=np.float32)
        noise = rng.standard_normal((n, d), dtype=np.float32)
        if not self.pairs:
            noise += (np.float32(4 * self.strength / np.sqrt(d)) * centres)[y]
            return Features.from_array(noise), y
        # Whether the two sentences agree along an axis depends on the class, so that u * v and |u - v| carry the label.
        second = noise * (np.float32(self.strength) * centres)[y] + rng.standard_normal((n, d), dtype=np.float32)
        return Features(np.concatenate([noise, second]), np.arange(n), np.arange(n) + n), y

    def sizes(self, shrink: int) -> tuple[int, ...]:
        return tuple(max(size // shrink, 20 * self.n_classes) for size in self.rows)


CASES = {
    "citationsa": Case((4_182,), 300, 3, "nested", 0.5),
    "bioc": Case((259,), 1_200, 2, "nested", 0.12, pairs=True),
    "vaccinesa": Case((1_853,), 768, 8, "nested", 0.75),
    "bioasq": Case((612, 130), 1_200, 2, "kfold", 0.12, pairs=True),
    "mednli-1200": Case((11_232, 1_395, 1_422), 1_200, 3, "split", 0.12, pairs=True),
    "mednli-3072": Case((11_232, 1_395, 1_422), 3_072, 3, "split", 0.07, pairs=True),
    "pubmed20k-300": Case((180_000, 30_000, 30_000), 300, 5, "split", 0.52),
    "pubmed20k-768": Case((180_000, 30_000, 30_000), 768, 5, "split", 0.52),
    "pico": Case((257_000, 30_000, 31_000), 300, 7, "split", 0.6),
}


SCIKIT_GRIDS: Final = {protocol: ExactBackend().penalties(protocol) for protocol in ("split", "nested", "kfold")}
TORCH_GRIDS: Final[dict[str, tuple[float, ...]]] = dict.fromkeys(SCIKIT_GRIDS, (1e-5, 1e-4, 1e-3, 1e-2))


def run_protocol(case: Case, shrink: int, backend: Backend, features: Features, labels: Labels) -> Outcome:
    sizes, rows, k = case.sizes(shrink), np.arange(len(labels)), case.n_classes
    if case.protocol == "nested":
        return run_nested(backend, features, labels, k, n_folds=10)
    if case.protocol == "kfold":
        train, test = rows[: sizes[0]], rows[sizes[0] :]
        return run_kfold(backend, features, labels, k, train=train, test=test, n_folds=10, seed=1111)
    train, dev, test = np.split(rows, np.cumsum(sizes)[:2])
    return run_split(backend, features, labels, k, train=train, dev=dev, test=test)


class SerialBackend:
    """One fit after the other, as SentEval does it, with any function that trains a classifier."""

    name = "serial"

    def __init__(self, grids: dict[str, tuple[float, ...]], train: Callable[..., Callable[..., NDArray[np.float64]]]) -> None:
        self.grids, self.train = grids, train

    def penalties(self, protocol: str) -> tuple[float, ...]:
        return self.grids[protocol]

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        scores = np.empty((len(folds), len(penalties)))
        for i, fold in enumerate(folds):
            x, held_out = features.take(fold.train), features.take(fold.held_out)
            for j, penalty in enumerate(penalties):
                model = self.train(x, labels[fold.train], n_classes, penalty, held_out, labels[fold.held_out])
                scores[i, j] = (model(held_out).argmax(axis=1) == labels[fold.held_out]).mean()
        return scores, FitReport(scores.size, 0, None, None)

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[Prediction], FitReport]:
        predictions = []
        for fold, penalty in zip(folds, penalties, strict=True):
            x, y = features.take(fold.train), labels[fold.train]
            watched = fold.validation
            if watched is None:
                order = np.random.default_rng(1111).permutation(len(y))
                kept, aside = order[len(y) // 20 :], order[: len(y) // 20]
                model = self.train(x[kept], y[kept], n_classes, penalty, x[aside], y[aside], whole=(x, y))
            else:
                model = self.train(x, y, n_classes, penalty, features.take(watched), labels[watched])
            predictions.append(Prediction(model(features.take(fold.held_out))))
        return predictions, FitReport(len(folds), 0, None, None)


def scikit_trainer(**options: float) -> Callable[..., Callable[..., NDArray[np.float64]]]:
    def train(
        x: NDArray[np.float32],
        y: Labels,
        n_classes: int,
        penalty: float,
        *_: object,
        whole: tuple[NDArray[np.float32], Labels] | None = None,
    ) -> Callable[..., NDArray[np.float64]]:
        x, y = whole if whole is not None else (x, y)
        model = LogisticRegression(C=penalty, random_state=1111, **options).fit(x, y)

        def predict(rows: NDArray[np.float32]) -> NDArray[np.float64]:
            probabilities = np.zeros((len(rows), n_classes))
            probabilities[:, model.classes_] = model.predict_proba(rows)
            return probabilities

        return predict

    return train


def train_like_senteval(
    x: NDArray[np.float32],
    y: Labels,
    n_classes: int,
    penalty: float,
    dev_x: NDArray[np.float32],
    dev_y: Labels,
    whole: object = None,
    *,
    batch: int = 64,
    epoch_size: int = 4,
    max_epoch: int = 200,
    tenacity: int = 5,
) -> Callable[..., NDArray[np.float64]]:
    """Train one linear layer with Adam as SentEval's torch mode is described (SPEC.md B.3)."""
    import torch

    torch.manual_seed(1111)
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
    held_out, answers = torch.from_numpy(dev_x), torch.from_numpy(dev_y)
    layer = torch.nn.Linear(x.shape[1], n_classes)
    optimiser = torch.optim.Adam(layer.parameters(), weight_decay=penalty)
    best_score, best_state, passes, stalled = -1.0, dict(layer.state_dict()), 0, 0
    while passes <= max_epoch:
        for _ in range(epoch_size):
            order = torch.randperm(len(inputs))
            for chosen in torch.split(order, batch):
                loss = torch.nn.functional.cross_entropy(layer(inputs[chosen]), targets[chosen])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        passes += epoch_size
        with torch.no_grad():
            score = float((layer(held_out).argmax(1) == answers).float().mean())
        if score > best_score:
            best_score, best_state = score, {name: value.clone() for name, value in layer.state_dict().items()}
        elif stalled >= tenacity:
            break
        else:
            stalled += 1  # SentEval never resets this counter.
    layer.load_state_dict(best_state)

    def predict(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        with torch.no_grad():
            probabilities: NDArray[np.float64] = torch.softmax(layer(torch.from_numpy(rows)), 1).double().numpy()
        return probabilities

    return predict


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

    def __call__(self, points: NDArray[Any], walkers: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
        CountedPass.operations += 4 * points.size * self.problems.weights.shape[1]
        return super().__call__(points, walkers)


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


def compare(name: str, case: Case, options: argparse.Namespace, gflops: float) -> None:
    shrink = 8 if options.quick else 1
    features, labels = case.make(shrink)
    backend = ExactBackend() if options.tolerance is None else ExactBackend(options.tolerance)
    print(f"{name}: {features.n_rows} x {features.n_columns}, {case.n_classes} classes, {case.protocol}")

    def run(probe: Backend) -> tuple[float, Outcome]:
        return seconds_for(lambda: run_protocol(case, shrink, probe, features, labels))

    with PeakMemory() as memory:
        first, exact = run(backend)
    CountedPass.operations = 0
    seconds = min(first, run(backend)[0])
    floor = CountedPass.operations / gflops / 1e9
    size = features.n_rows * features.n_columns * 4 / 2**20
    unconverged = f"{exact.report.n_unconverged} of {exact.report.n_fits} fits unconverged"
    extra = f"floor {floor:.2f} s   peak +{memory.megabytes:.0f} MB (features {size:.0f} MB)   {unconverged}"
    show("exact", seconds, exact, labels, extra)

    rivals: dict[str, Backend] = {"scikit-learn mode": SerialBackend(SCIKIT_GRIDS, scikit_trainer())}
    if options.converged:
        rivals["scikit-learn converged"] = SerialBackend(SCIKIT_GRIDS, scikit_trainer(tol=1e-10, max_iter=10_000))
    if options.torch_loop:
        rivals["SentEval's torch loop"] = SerialBackend(TORCH_GRIDS, train_like_senteval)
    for rival, probe in rivals.items():
        with threadpool_limits(options.rival_threads):
            slow, outcome = run(probe)
        same = 100 * float((test_predictions(outcome)[1] == test_predictions(exact)[1]).mean())
        show(rival, slow, outcome, labels, f"ratio {slow / seconds:6.1f}   same predictions {same:.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="which sizes to run")
    parser.add_argument("--quick", action="store_true", help="an eighth of the rows")
    parser.add_argument("--converged", action="store_true", help="also scikit-learn run to convergence")
    parser.add_argument("--torch-loop", action="store_true", help="also SentEval's torch loop (very slow)")
    parser.add_argument("--rival-threads", type=int, help="BLAS threads of the others; on a busy machine 1 is fairer")
    parser.add_argument("--tolerance", type=float, help="tolerance of the exact probe")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    setattr(exact_batch, "GradientPass", CountedPass)  # noqa: B010 - a name that the module imports, not its own
    if find_spec("torch") is not None:
        import_module("torch")  # its 200 MB are not to count as memory of the first case
    gflops = measured_gflops()
    print(f"bare float32 products: {gflops:.0f} GFLOP/s")
    for name in options.cases:
        compare(name, CASES[name], options, gflops)


if __name__ == "__main__":
    main()
