"""SentEval's three ways of training and testing a probe: split, k-fold with a test set, nested k-fold.

The grids, fold seeds, rounding and tie rules are SentEval's (``senteval/tools/validation.py`` upstream), so that with the
``sklearn`` back end the numbers are those of ``usepytorch=False``:

- mean fold accuracies are rounded to two decimals of a percentage before the best penalty is chosen;
- ties go to the first penalty of the grid;
- nested folds are always shuffled with seed 1111, k-fold with the run's seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError
from medsenteval.probes.backend import FITTED_TOGETHER, Backend, FitReport, Fold
from medsenteval.probes.features import Features
from medsenteval.support.arrays import Floats, Labels, Rows
from medsenteval.support.cores import available_cores, one_thread_per_product

T = TypeVar("T")

#: SentEval writes this seed into its nested cross-validation whatever the run's seed is.
NESTED_SEED: Final = 1111


@dataclass(frozen=True, eq=False)
class FoldOutcome:
    """The class probabilities that a probe predicted for the rows it had not seen, and the penalty it was given."""

    rows: Rows
    probabilities: Floats
    penalty: float

    @property
    def predicted(self) -> Labels:
        """The most probable class of each row."""
        classes: Labels = np.argmax(self.probabilities, axis=1).astype(np.int64)
        return classes


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions of a whole protocol: one FoldOutcome for a test set, k of them for nested cross-validation.

    ``dev_accuracy`` is the percentage by which the penalties were chosen, rounded as SentEval rounds it.
    """

    folds: tuple[FoldOutcome, ...]
    dev_accuracy: float
    report: FitReport


#: Calls ``unit(features, *call)`` for every one of (unit, features, calls) on workers, and returns the results in order.
Spread = Callable[[Callable[..., Any], Features, Sequence[tuple[Any, ...]]], list[Any]]
#: Each outer fold's percentage under each penalty, rounded as SentEval rounds it, its predictions, and how the fits converged.
_Searched = tuple[Floats, list[Floats], FitReport]
_remote: ContextVar[Spread | None] = ContextVar("remote", default=None)


@contextmanager
def folds_go_to(spread: Spread) -> Iterator[None]:
    """Let ``spread`` fit the folds that this thread hands out inside the block, on its workers."""
    token = _remote.set(spread)
    try:
        yield
    finally:
        _remote.reset(token)


def spread_folds(unit: Callable[..., T], features: Features, calls: Sequence[tuple[Any, ...]], threads: bool) -> list[T]:
    """Fit folds apart; here with a thread for each core where ``threads`` says that the back end gains by them."""
    spread = _remote.get()
    if spread is not None:
        return spread(unit, features, calls)
    if not threads:
        return [unit(features, *call) for call in calls]
    with ThreadPoolExecutor(min(available_cores(), len(calls))) as pool:
        return list(pool.map(lambda call: unit(features, *call), calls))


def stratified_folds(
    labels: Labels, n_folds: int, seed: int, groups: NDArray[np.intp] | None = None
) -> list[tuple[Rows, Rows]]:
    """Return (train, held out) row numbers of shuffled stratified folds; rows of one group never part."""
    if len(np.unique(labels)) < 2:
        raise ProbeError(f"all {len(labels)} rows have the same label; a classifier needs at least two classes")
    largest = int(np.bincount(labels).max())
    if largest < n_folds:
        raise ProbeError(
            f"{n_folds} folds need a class with {n_folds} rows or more, the largest has {largest}; use fewer folds"
        )
    if groups is None:
        held_out = _stratified_assignment(labels, n_folds, seed)
    elif (n_groups := len(np.unique(groups))) < n_folds:
        raise ProbeError(f"{n_folds} grouped folds need {n_folds} groups or more, there are {n_groups}; use fewer folds")
    else:
        held_out = _grouped_assignment(labels.astype(np.int64).tobytes(), groups.astype(np.intp).tobytes(), n_folds, seed)
    return [(np.flatnonzero(held_out != fold), np.flatnonzero(held_out == fold)) for fold in range(n_folds)]


def _stratified_assignment(labels: Labels, n_folds: int, seed: int) -> Rows:
    """Return the fold that each row is held out in, as scikit-learn's shuffled ``StratifiedKFold`` assigns it.

    Ours, because importing scikit-learn takes a third of a run whose vectors are cached.
    """
    generator = np.random.RandomState(seed)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    # Classes are numbered in the order in which they appear, as scikit-learn does: it decides who is shuffled first.
    classes = np.argsort(np.argsort(first))[inverse]
    ordered = np.sort(classes)
    sizes = np.stack([np.bincount(ordered[fold::n_folds], minlength=len(first)) for fold in range(n_folds)])
    held_out = np.empty(len(labels), np.intp)
    for number in range(len(first)):
        folds = np.arange(n_folds).repeat(sizes[:, number])
        generator.shuffle(folds)
        held_out[classes == number] = folds
    return held_out


@lru_cache(maxsize=32)
def _grouped_assignment(labels: bytes, groups: bytes, n_folds: int, seed: int) -> Rows:
    """Return the fold that each row is held out in; kept, because it takes seconds and is the same for every encoder."""
    from sklearn.model_selection import StratifiedGroupKFold

    classes, numbers = np.frombuffer(labels, np.int64), np.frombuffer(groups, np.intp)
    held_out = np.empty(len(classes), np.intp)
    with warnings.catch_warnings():
        # A class rarer than the folds is missing from some of them; the back ends handle that, so it needs no warning.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        for fold, (_, rows) in enumerate(splitter.split(np.zeros(len(classes)), classes, numbers)):
            held_out[rows] = fold
    held_out.flags.writeable = False
    return held_out


@one_thread_per_product()
def run_split(
    backend: Backend,
    features: Features,
    labels: Labels,
    n_classes: int,
    *,
    train: Rows,
    dev: Rows,
    test: Rows,
    penalties: Sequence[float] | None = None,
) -> Outcome:
    """Choose the penalty on ``dev``, train on ``train``, predict ``test``."""
    grid = backend.penalties("split") if penalties is None else tuple(penalties)
    outer = [Fold(train, test, validation=dev)]
    return _outcome(outer, grid, [_searched((backend, features, labels, n_classes), [Fold(train, dev)], outer, grid)])


@one_thread_per_product()
def run_kfold(
    backend: Backend,
    features: Features,
    labels: Labels,
    n_classes: int,
    *,
    train: Rows,
    test: Rows,
    n_folds: int,
    seed: int,
    groups: NDArray[np.intp] | None = None,
    penalties: Sequence[float] | None = None,
) -> Outcome:
    """Choose the penalty by cross-validation over ``train``, train on all of it, predict ``test``."""
    grid = backend.penalties("kfold") if penalties is None else tuple(penalties)
    inner, outer = _folds_within(train, labels, n_folds, seed, groups), [Fold(train, test)]
    return _outcome(outer, grid, [_searched((backend, features, labels, n_classes), inner, outer, grid)])


@one_thread_per_product()
def run_nested(
    backend: Backend,
    features: Features,
    labels: Labels,
    n_classes: int,
    *,
    n_folds: int,
    groups: NDArray[np.intp] | None = None,
    penalties: Sequence[float] | None = None,
) -> Outcome:
    """Predict every row once by outer cross-validation, the penalty of each outer fold chosen by an inner one."""
    grid = backend.penalties("nested") if penalties is None else tuple(penalties)
    outer = _folds_within(np.arange(len(labels)), labels, n_folds, NESTED_SEED, groups)
    if backend.name in FITTED_TOGETHER:
        return _outcome(outer, grid, [fit_outer_folds(features, backend, labels, n_classes, outer, grid, n_folds, groups)])
    calls = [(backend, labels, n_classes, [fold], grid, n_folds, groups) for fold in outer]
    # Scikit-learn switches warnings off and on for the whole process, which is no work for threads.
    return _outcome(outer, grid, spread_folds(fit_outer_folds, features, calls, threads=backend.name != "sklearn"))


@one_thread_per_product()
def fit_outer_folds(
    features: Features,
    backend: Backend,
    labels: Labels,
    n_classes: int,
    outer: Sequence[Fold],
    grid: Sequence[float],
    n_folds: int,
    groups: NDArray[np.intp] | None,
) -> _Searched:
    """Search the inner folds of all given outer folds at once; a unit of work that runs in any process."""
    inner = [part for fold in outer for part in _folds_within(fold.train, labels, n_folds, NESTED_SEED, groups)]
    return _searched((backend, features, labels, n_classes), inner, outer, grid)


def _folds_within(rows: Rows, labels: Labels, n_folds: int, seed: int, groups: NDArray[np.intp] | None) -> list[Fold]:
    parts = stratified_folds(labels[rows], n_folds, seed, None if groups is None else groups[rows])
    return [Fold(rows[train], rows[held_out]) for train, held_out in parts]


def _searched(
    data: tuple[Backend, Features, Labels, int], inner: Sequence[Fold], outer: Sequence[Fold], grid: Sequence[float]
) -> _Searched:
    """Score the grid on inner folds, equally many for each outer fold, then predict each outer fold with its best penalty."""
    backend, features, labels, n_classes = data
    accuracies, report = backend.score_grid(features, labels, n_classes, inner, grid)
    percentages = 100 * accuracies.reshape(len(outer), -1, len(grid)).mean(axis=1)
    # Upstream rounds a mean over folds, which is NumPy's, but the accuracy on a single dev set as a float of Python's.
    by_hand = [[round(each, 2) for each in row] for row in percentages.tolist()]
    rounded = np.round(percentages, 2) if len(inner) > len(outer) else np.array(by_hand)
    chosen = [grid[best] for best in rounded.argmax(axis=1)]
    predictions, final = backend.predict(features, labels, n_classes, outer, chosen)
    return rounded, predictions, report + final


def _outcome(outer: Sequence[Fold], grid: Sequence[float], searches: Sequence[_Searched]) -> Outcome:
    """Put together what one search, or one for each outer fold, has found."""
    rounded = np.concatenate([search[0] for search in searches])
    predictions = [probabilities for search in searches for probabilities in search[1]]
    found = zip(outer, predictions, rounded.argmax(axis=1), strict=True)
    folds = tuple(FoldOutcome(fold.held_out, probabilities, grid[best]) for fold, probabilities, best in found)
    dev = float(np.round(rounded.max(axis=1).mean(), 2))
    return Outcome(folds, dev, sum((search[2] for search in searches[1:]), start=searches[0][2]))
