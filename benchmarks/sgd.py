"""SentEval's training loop, one model after another as upstream runs it, against the stacked back ends.

Both are measured in one process on the same rows, folds and penalties (nested cross-validation). The serial loop is
written from its description; since its cost is the same for every outer fold, it runs ``--outer`` of them and its time
is scaled to all. Accuracies are compared on the outer folds that both have seen.

    python benchmarks/sgd.py            # one outer fold of the serial loop: ten to twenty minutes on two cores
    python benchmarks/sgd.py --quick    # 5 folds, at most 24 passes: about a minute
    python benchmarks/sgd.py --outer 10 # the serial loop in full
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from medsenteval.probes.backend import Fold
from medsenteval.probes.features import Features
from medsenteval.probes.senteval_backend import PENALTIES, SentEvalBackend
from medsenteval.probes.training_settings import ClassifierSettings

SEED = 1111


@dataclass(frozen=True)
class Case:
    """A published data set's size and a classifier, with the ratio that must be reached."""

    name: str
    n_rows: int
    n_columns: int
    n_classes: int
    settings: ClassifierSettings
    target: float


CASES = [
    Case("BioC linear", 259, 1200, 2, ClassifierSettings(), 9),
    Case("BioC nhid 50", 259, 1200, 2, ClassifierSettings(nhid=50), 5),
    Case("CitationSA linear", 4182, 300, 3, ClassifierSettings(), 9),
    Case("CitationSA nhid 50", 4182, 300, 3, ClassifierSettings(nhid=50), 5),
]


def learnable(case: Case) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw noisy class centres whose distance is such that a probe reaches 75 to 85 %."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, case.n_classes, case.n_rows)
    centres = rng.standard_normal((case.n_classes, case.n_columns))
    distance = 1.8 if case.n_rows > 1000 else 2.5
    rows = distance * centres[labels] / np.sqrt(case.n_columns) + rng.standard_normal((case.n_rows, case.n_columns))
    return rows.astype(np.float32), labels


def serial_fit(
    x: torch.Tensor,
    y: torch.Tensor,
    n_classes: int,
    penalty: float,
    settings: ClassifierSettings,
    stop: tuple[torch.Tensor, torch.Tensor] | None,
) -> tuple[torch.nn.Module, float]:
    """Train one model as SentEval describes it and return the best one with its accuracy on the stopping rows."""
    shuffler = np.random.RandomState(SEED)
    torch.manual_seed(SEED)
    layers: list[torch.nn.Module] = [torch.nn.Linear(x.shape[1], settings.nhid or n_classes)]
    if settings.nhid:
        layers += [torch.nn.Dropout(settings.dropout), torch.nn.Sigmoid(), torch.nn.Linear(settings.nhid, n_classes)]
    model = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters(), weight_decay=penalty)
    if stop is None:
        order = torch.from_numpy(shuffler.permutation(len(x)))
        n_stop = int(0.05 * len(x))
        stop = x[order[:n_stop]], y[order[:n_stop]]
        x, y = x[order[n_stop:]], y[order[n_stop:]]
    best, misses, passes = -1.0, 0, 0
    best_model = model
    while passes <= settings.max_epoch and misses <= settings.tenacity:
        model.train()
        for _ in range(settings.epoch_size):
            order = torch.from_numpy(shuffler.permutation(len(x)))
            for first in range(0, len(x), settings.batch_size):
                batch = order[first : first + settings.batch_size]
                loss = torch.nn.functional.cross_entropy(model(x[batch]), y[batch])
                loss.item()  # SentEval collects the costs
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        passes += settings.epoch_size
        accuracy = serial_accuracy(model, *stop)
        if accuracy > best:
            best, best_model = accuracy, copy.deepcopy(model)
        else:
            misses += 1
    return best_model, best


def serial_accuracy(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        hits = [int((model(x[i : i + 64]).argmax(1) == y[i : i + 64]).sum()) for i in range(0, len(x), 64)]
    return sum(hits) / len(x)


def chosen_penalty(scores: NDArray[np.float64]) -> tuple[int, float]:
    """Average an outer fold's inner folds as SentEval does: rounded percentages, ties to the smallest penalty."""
    means = [round(100 * float(np.mean(column)), 2) for column in scores.T]
    return int(np.argmax(means)), max(means)


def nested_folds(labels: NDArray[np.int64], k: int) -> list[tuple[Fold, list[Fold]]]:
    splitter = StratifiedKFold(k, shuffle=True, random_state=SEED)
    nested = []
    for train, test in splitter.split(labels, labels):
        inner = [Fold(train[a], train[b]) for a, b in splitter.split(train, labels[train])]
        nested.append((Fold(train, test), inner))
    return nested


def serial_nested(
    rows: NDArray[np.float32], labels: NDArray[np.int64], case: Case, nested: Sequence[tuple[Fold, list[Fold]]]
) -> list[tuple[float, float]]:
    """Return dev and test accuracy of each outer fold."""
    x, y = torch.from_numpy(rows), torch.from_numpy(labels)
    results = []
    for outer, inner in nested:
        scores = np.zeros((len(inner), len(PENALTIES)))
        for j, penalty in enumerate(PENALTIES):
            for i, fold in enumerate(inner):
                stop = x[fold.held_out], y[fold.held_out]
                _, scores[i, j] = serial_fit(x[fold.train], y[fold.train], case.n_classes, penalty, case.settings, stop)
        best, dev = chosen_penalty(scores)
        model, _ = serial_fit(x[outer.train], y[outer.train], case.n_classes, PENALTIES[best], case.settings, None)
        results.append((dev, 100 * serial_accuracy(model, x[outer.held_out], y[outer.held_out])))
    return results


def stacked_nested(
    rows: NDArray[np.float32],
    labels: NDArray[np.int64],
    case: Case,
    nested: Sequence[tuple[Fold, list[Fold]]],
    seed: int,
) -> list[tuple[float, float]]:
    """Return dev and test accuracy of each outer fold."""
    backend = SentEvalBackend(case.settings, seed)
    features = Features.from_array(rows)
    k = len(nested[0][1])
    all_inner = [fold for _, inner in nested for fold in inner]
    scores, _ = backend.score_grid(features, labels, case.n_classes, all_inner, PENALTIES)
    picks = [chosen_penalty(scores[k * i : k * (i + 1)]) for i in range(len(nested))]
    outer = [fold for fold, _ in nested]
    predictions, _ = backend.predict(features, labels, case.n_classes, outer, [PENALTIES[best] for best, _ in picks])
    return [
        (dev, 100 * float(np.mean(prediction.argmax(axis=1) == labels[fold.held_out])))
        for (_, dev), prediction, fold in zip(picks, predictions, outer, strict=True)
    ]


def timed(run: Callable[[], list[tuple[float, float]]]) -> tuple[list[tuple[float, float]], NDArray[np.float64]]:
    """Return the result with its seconds on the clock and of processor time, all threads together."""
    clock, processor = time.perf_counter(), time.process_time()
    result = run()
    return result, np.array([time.perf_counter() - clock, time.process_time() - processor])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 folds and at most 24 passes")
    parser.add_argument("--outer", type=int, default=1, help="outer folds that the serial loop runs (default 1)")
    parser.add_argument("--serial-threads", type=int, default=1, help="torch threads of the serial loop (default 1)")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    arguments = parser.parse_args()
    k = 5 if arguments.quick else 10
    if not 1 <= arguments.outer <= k:
        parser.error(f"--outer must lie between 1 and {k}")
    torch.optim.Adam([torch.zeros(1)])  # the first optimiser of a process loads torch's compiler; charge it to neither

    print(f"nested {k}-fold, serial loop on {arguments.serial_threads} threads, ours on one")
    print(f"accuracies on {arguments.outer} outer folds and on all; noise: deviation of our test accuracy over 3 seeds")
    print("ratio: of the times on the clock; CPU: of the processor times, which a busy machine disturbs less")
    header = ("case", "serial s", "ours s", "ratio", "CPU", "target", "serial dev/test", "ours dev/test", "all folds")
    print("{:20}{:>10}{:>9}{:>8}{:>7}{:>8}{:>18}{:>18}{:>16}{:>7}".format(*header, "noise"))
    for case in CASES:
        if arguments.only not in case.name:
            continue
        if arguments.quick:
            case = replace(case, settings=replace(case.settings, max_epoch=20))
        rows, labels = learnable(case)
        nested = nested_folds(labels, k)
        ours, first = timed(partial(stacked_nested, rows, labels, case, nested, SEED))
        before = torch.get_num_threads()
        torch.set_num_threads(arguments.serial_threads)
        serial, serial_time = timed(partial(serial_nested, rows, labels, case, nested[: arguments.outer]))
        serial_time *= k / arguments.outer
        torch.set_num_threads(before)
        # A second timing after the serial run: neither side alone gets the quieter minutes of a shared machine.
        _, second = timed(partial(stacked_nested, rows, labels, case, nested, SEED))
        our_time = (first + second) / 2
        ratio = serial_time / our_time
        runs = [ours]
        if not arguments.quick:
            runs += [stacked_nested(rows, labels, case, nested, seed) for seed in (1, 2)]
        noise = f"{np.std([np.mean(run, axis=0)[1] for run in runs]):.2f}" if len(runs) > 1 else "-"
        pairs = [np.mean(results, axis=0) for results in (serial, ours[: arguments.outer], ours)]
        shown = [f"{dev:.2f}/{test:.2f}" for dev, test in pairs]
        times = f"{serial_time[0]:10.1f}{our_time[0]:9.2f}{ratio[0]:8.1f}{ratio[1]:7.1f}{case.target:8.0f}"
        print(f"{case.name:20}{times}{shown[0]:>18}{shown[1]:>18}{shown[2]:>16}{noise:>7}", flush=True)


if __name__ == "__main__":
    main()
