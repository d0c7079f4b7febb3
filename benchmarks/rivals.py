"""What the exact probe is timed against: one fit after the other, by scikit-learn or by SentEval's torch loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController

from medsenteval.probes.backend import C_GRIDS, FitReport, Fold
from medsenteval.probes.features import Features
from medsenteval.support.arrays import Labels
from medsenteval.support.cores import available_cores

__all__ = [
    "TORCH_GRIDS",
    "BudgetSpent",
    "SerialBackend",
    "Train",
    "one_after_the_other",
    "scikit_trainer",
    "train_like_senteval",
]

T = TypeVar("T")
Train = Callable[..., Callable[..., NDArray[np.float64]]]

TORCH_GRIDS: Final[dict[str, tuple[float, ...]]] = dict.fromkeys(C_GRIDS, (1e-5, 1e-4, 1e-3, 1e-2))


class BudgetSpent(Exception):
    """Raised when a rival has used up its time: ``fits`` of ``due`` fits took ``seconds``."""

    def __init__(self, seconds: float, fits: int, due: int) -> None:
        super().__init__(f"{fits} of {due} fits took {seconds:.1f} s")
        self.seconds, self.fits, self.due = seconds, fits, due

    @property
    def extrapolated(self) -> float:
        """Seconds that all fits would take if the others cost as much as these."""
        return self.seconds * self.due / self.fits


@contextmanager
def library_threads(count: int) -> Iterator[None]:
    """Let matrix libraries share single products out to this many threads, as they do when nobody holds them back."""
    torch = sys.modules.get("torch")
    with ThreadpoolController().limit(limits=count):
        before = torch.get_num_threads() if torch is not None else 0
        if torch is not None:
            torch.set_num_threads(count)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)


def one_after_the_other(unit: Callable[..., T], features: Features, calls: Sequence[tuple[object, ...]]) -> list[T]:
    """Fit outer folds as SentEval does, not on several cores at once."""
    return [unit(features, *call) for call in calls]


class SerialBackend:
    """One fit after the other, as SentEval does it, with any function that trains a classifier.

    ``due`` is the number of fits of the whole protocol; those that are done before ``budget`` seconds are spent come in
    random order, so that they stand for all penalties. ``spent`` counts the seconds inside fits and nothing else. They
    run with as many library threads as ``threads`` says, or else with one or all of them, whichever is faster for the
    first fit (which is then timed twice and not counted).
    """

    name = "serial"

    def __init__(
        self, grids: dict[str, tuple[float, ...]], train: Train, budget: float, due: int, threads: int | None = None
    ) -> None:
        self.grids, self.train, self.budget, self.due, self.threads = grids, train, budget, due, threads
        self.spent, self.fits = 0.0, 0

    @contextmanager
    def _fit(self) -> Iterator[None]:
        with library_threads(self.threads or available_cores()):
            started = time.perf_counter()
            yield
            self.spent += time.perf_counter() - started
        self.fits += 1
        if self.spent > self.budget and self.fits < self.due:
            raise BudgetSpent(self.spent, self.fits, self.due)

    def _choose_threads(self, fit: Callable[[], object]) -> None:
        seconds = {}
        for count in {1, available_cores()}:
            with library_threads(count):
                started = time.perf_counter()
                fit()
                seconds[count] = time.perf_counter() - started
        self.threads = min(seconds, key=lambda count: seconds[count])

    def penalties(self, protocol: str) -> tuple[float, ...]:
        return self.grids[protocol]

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        scores = np.empty((len(folds), len(penalties)))
        for i, j in np.random.default_rng(0).permutation(list(np.ndindex(scores.shape))):
            fold = folds[i]
            x, held_out = features.take(fold.train), features.take(fold.held_out)
            given = (x, labels[fold.train], n_classes, penalties[j], held_out, labels[fold.held_out])
            if self.threads is None:
                self._choose_threads(partial(self.train, *given))
            with self._fit():
                model = self.train(*given)
                scores[i, j] = (model(held_out).argmax(axis=1) == labels[fold.held_out]).mean()
        return scores, FitReport(scores.size, 0, None, None)

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[NDArray[np.float64]], FitReport]:
        predictions = []
        for fold, penalty in zip(folds, penalties, strict=True):
            x, y = features.take(fold.train), labels[fold.train]
            watched = fold.validation
            with self._fit():
                if watched is None:
                    order = np.random.default_rng(1111).permutation(len(y))
                    kept, aside = order[len(y) // 20 :], order[: len(y) // 20]
                    model = self.train(x[kept], y[kept], n_classes, penalty, x[aside], y[aside], whole=(x, y))
                else:
                    model = self.train(x, y, n_classes, penalty, features.take(watched), labels[watched])
            predictions.append(model(features.take(fold.held_out)))
        return predictions, FitReport(len(folds), 0, None, None)


def scikit_trainer(**options: float) -> Train:
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
    """Train one linear layer with Adam as SentEval's torch mode does (SPEC.md B.3 and its own classifier, on CPU).

    What it does batch by batch is done batch by batch here: indices from a NumPy permutation, the cost read out as a
    Python number, and the held-out rows scored 64 at a time.
    """
    import torch

    torch.manual_seed(1111)
    rng = np.random.RandomState(1111)
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
    held_out, answers = torch.from_numpy(dev_x), torch.from_numpy(dev_y)
    model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], n_classes))
    cross_entropy = torch.nn.CrossEntropyLoss()
    optimiser = torch.optim.Adam(model.parameters(), weight_decay=penalty)
    best_score, best_state, passes, stalled = -1.0, deepcopy(model.state_dict()), 0, 0
    costs: list[float] = []
    while passes <= max_epoch:
        model.train()
        for _ in range(epoch_size):
            order = rng.permutation(len(inputs))
            for start in range(0, len(inputs), batch):
                chosen = torch.from_numpy(order[start : start + batch])
                loss = cross_entropy(model(inputs[chosen]), targets[chosen])
                costs.append(loss.item())
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        passes += epoch_size
        model.eval()
        correct = 0
        with torch.no_grad():
            for start in range(0, len(held_out), batch):
                predicted = model(held_out[start : start + batch]).argmax(1)
                correct += int((predicted == answers[start : start + batch]).sum().item())
        if correct / len(held_out) > best_score:
            best_score, best_state = correct / len(held_out), deepcopy(model.state_dict())
        elif stalled >= tenacity:
            break
        else:
            stalled += 1  # SentEval never resets this counter.
    model.load_state_dict(best_state)

    def predict(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        with torch.no_grad():
            probabilities: NDArray[np.float64] = torch.softmax(model(torch.from_numpy(rows)), 1).double().numpy()
        return probabilities

    return predict
