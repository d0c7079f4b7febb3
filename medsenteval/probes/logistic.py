"""The ``exact`` back end: L2-penalised logistic regression at its optimum, for all folds and penalties at once.

The objective is scikit-learn's to the letter: ``C * sum of log losses + |w|^2 / 2``, intercepts unpenalised, one
sigmoid for two classes and a softmax for more. (A softmax over two classes would be penalised half as much; where a
fold happens to contain two of several classes, C is halved to undo that.) A class without training rows is never
predicted, as in scikit-learn, which fits the classes present; a fold with one class predicts that class for every row.

The parts: ``basis`` finds coordinates (with ``span`` and ``rotations``), ``curvature`` says what to expect of the Hessian there
(with ``inverses``), ``kernels`` computes gradients of many problems in one pass over the rows, ``lbfgs`` walks every fold
through its penalties, ``newton`` finishes what is too hard for that, ``certificate`` bounds what is missing.

**What the tolerance means.** A fit stops when the step still to be taken, estimated from its gradient g and the
curvature M as ``M^-1 g``, would change its logits by less than ``tolerance`` of their size, both as root mean squares
over the rows. This is a gradient norm relative to the solution, in the metric that matters for predictions: it does not
change when features are scaled, rotated or repeated, and a value of r was seen to flip a share of about r of the
predictions, of rows with thousands of columns one or two of a thousand. It is meant for the search, where hundreds of fits
compete; the few final fits, whose predictions are reported, are three times as precise. The default is 1e-4: over thirty
draws of data as small as BioC and BioASQ it flipped no test item, where 3e-4 flipped one in every sixth. From ten thousand
rows on it is 3e-4, where a flipped share of that size is a thirtieth of a held-out accuracy's standard error.
``FitReport`` holds the largest value and counts the fits that fell short. Below ``1e-5`` all arithmetic is float64, and on a
few hundred rows the Hessian itself has the last word on the step that is left. M takes all rows for equally uncertain. Where
rows are separable and the penalty is next to nothing (sixty wide rows, C of a thousand) few of them still are, and at the
default tolerance logits can be off by some per cent there; a tight tolerance or the certificate tells.

**No leaks.** A fit starts from class frequencies, from its own fold under another penalty, or, for a final fit, from the
search's fits to subsets of its own training rows. Nothing that has seen a fold's held-out labels enters its path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.cores import Crew, available_cores, one_thread_per_product
from medsenteval.errors import ProbeError, SettingsError
from medsenteval.features import Features
from medsenteval.memory import return_freed_memory
from medsenteval.probes.backend import C_GRIDS, FitReport, Fold, Labels, Prediction
from medsenteval.probes.basis import Basis
from medsenteval.probes.batch import Batch, Fits, trained_rows

__all__ = ["ExactBackend", "default_tolerance"]

T = TypeVar("T")
Floats = NDArray[np.floating[Any]]
Penalties = Sequence[Sequence[float]]

#: Below this tolerance float32 gradients are no longer good enough.
_FLOAT32_TOLERANCE: Final = 1e-5
#: A fit that has not converged in float32 after this many passes is tried again in float64.
_FLOAT32_PASSES: Final = 400
#: Final fits are this much more precise than those of the search, down to a precision that changes nothing any more.
_FINAL_PRECISION: Final = 3.0
_FINEST_TOLERANCE: Final = 1e-7


#: What the engines beside NumPy need.
_LIBRARIES: Final = {"torch": "torch", "compiled": "numba"}
#: Values of a feature matrix from which compiled loops are worth loading, which takes a second once in a process.
_COMPILED_VALUES: Final = 10_000_000
#: Multiplications from which predicting is shared out to threads: below, they would mostly wait for each other.
_SHARED_WORK: Final = 20_000_000


def default_tolerance(n_rows: int) -> float:
    """Return the tolerance for a data set of this size, see above."""
    return 1e-4 if n_rows < 10_000 else 3e-4


@dataclass(frozen=True, eq=False)
class _Search:
    """The fits of a search for the best penalty, kept until the final fits have started from them."""

    features: Features
    labels: Labels
    folds: Sequence[Fold]
    penalties: Sequence[float]
    fits: Fits

    def answers(self, labels: Labels, n_classes: int) -> bool:
        """Whether the search was about these labels."""
        return self.fits.present.shape[1] == n_classes and np.array_equal(self.labels, labels)


class ExactBackend:
    """Logistic regression solved to a stated tolerance for all folds and penalties of a protocol together.

    ``engine`` chooses who multiplies matrices: "numpy", "torch", "compiled" for loops of our own that numba compiles, or "auto"
    for what is installed and fastest: on large matrices with few columns to fit that is compiled loops, or torch if the
    processor has registers of 512 bits. ``threads`` is the number of cores to use, by default all that this process may run
    on. Neither changes the answer beyond rounding.
    """

    name = "exact"

    def __init__(
        self,
        tolerance: float | None = None,
        engine: str = "auto",
        threads: int | None = None,
        max_passes: int = 4_000,
    ) -> None:
        if tolerance is not None and not tolerance > 0:
            raise SettingsError(f"the tolerance of the exact probe must be positive, not {tolerance}")
        if engine not in ("auto", "numpy", *_LIBRARIES):
            raise SettingsError(f"unknown engine {engine!r} for the exact probe; known: auto, numpy, {', '.join(_LIBRARIES)}")
        if threads is not None and threads < 1:
            raise SettingsError(f"the exact probe needs at least one thread, not {threads}")
        library = _LIBRARIES.get(engine)
        if library is not None and find_spec(library) is None:
            raise SettingsError(f"engine {engine!r} was asked for but {library} is not installed; use engine='auto'")
        self.tolerance = tolerance
        self.engine = engine
        self.threads = threads if threads is not None else available_cores()
        self.max_passes = max_passes
        self._search: _Search | None = None

    def penalties(self, protocol: str) -> tuple[float, ...]:
        """Return SentEval's grid of C for ``split``, ``kfold`` or ``nested``, smallest first."""
        return C_GRIDS[protocol]

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        """Return the accuracy (0 to 1) on each fold's held-out rows, as an array of folds x penalties."""
        for index, fold in enumerate(folds):
            if len(fold.held_out) == 0:
                raise ProbeError(f"fold {index} has no held-out rows to be scored on")
        fits = self.fit(features, labels, n_classes, folds, [penalties] * len(folds))
        if fits.basis.turned is None:
            return_freed_memory()
        self._search = _Search(features, labels, folds, penalties, fits)

        def accuracy(index: int) -> NDArray[np.float64]:
            held_out = folds[index].held_out
            correct: NDArray[np.float64] = (fits.labels(index, held_out) == labels[held_out]).mean(axis=1)
            return correct

        accuracies = np.stack(self._for_each_fold(accuracy, folds, len(penalties) * fits.basis.width))
        return accuracies, self._report(fits, self._tolerance_for(features))

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[Prediction], FitReport]:
        """Fit fold i with ``penalties[i]`` and predict its held-out rows."""
        if len(folds) != len(penalties):
            raise ProbeError(f"{len(folds)} folds were given {len(penalties)} penalties; each fold needs one")
        searched = self._tolerance_for(features)
        tolerance = max(searched / _FINAL_PRECISION, min(searched, _FINEST_TOLERANCE))
        single = [[penalty] for penalty in penalties]
        fits = self._fit(features, labels, n_classes, folds, single, tolerance, from_search=True)
        self._search = None

        def predict_fold(index: int) -> Prediction:
            return Prediction(fits.probabilities(index, folds[index].held_out))

        predictions = self._for_each_fold(predict_fold, folds, fits.basis.width)
        return predictions, self._report(fits, tolerance)

    def fit(self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Penalties) -> Fits:
        """Fit every fold with every penalty in its list; all lists have the same length."""
        return self._fit(features, labels, n_classes, folds, penalties, self._tolerance_for(features))

    def _tolerance_for(self, features: Features) -> float:
        return default_tolerance(features.n_rows) if self.tolerance is None else self.tolerance

    def _fit(
        self,
        features: Features,
        labels: Labels,
        n_classes: int,
        folds: Sequence[Fold],
        penalties: Penalties,
        tolerance: float,
        from_search: bool = False,
    ) -> Fits:
        _check(features, labels, n_classes, folds, penalties)
        single = tolerance >= _FLOAT32_TOLERANCE
        dtype = np.float32 if single else np.float64
        trained = trained_rows(folds, features.n_rows)
        search = self._search
        if search is not None and (search.features is not features or not search.fits.basis.serves(trained)):
            search = None
        engine = self.engine if self.engine != "auto" else _fastest_engine(features)
        # On one thread: with another number of them the axes, and with them a score, have other bits.
        with one_thread_per_product():
            if search is not None:
                basis = search.fits.basis.astype(dtype)
            else:
                columns = len(folds) * (1 if n_classes == 2 else n_classes)
                basis = Basis.of(features, columns, dtype, trained, keep_pairs=not (single and engine == "compiled"))
        if basis.turned is None:
            return_freed_memory()
        elif self.engine == "auto":
            engine = "numpy"
        if engine == "torch":
            import_module("torch")  # now, so that its threads are held too
        with self._workers() as crew:
            batch = Batch(basis, labels, n_classes, folds, penalties, engine)
            if from_search and search is not None and search.answers(labels, n_classes):
                _start_from_search(batch, search)
            fits = batch.solve(crew, tolerance, min(self.max_passes, _FLOAT32_PASSES) if single else self.max_passes)
            failed = [index for index, errors in enumerate(fits.errors) if (errors > tolerance).any()]
            if failed and single:
                some_folds, some_penalties = [folds[i] for i in failed], [penalties[i] for i in failed]
                precise = Batch(basis.astype(np.float64), labels, n_classes, some_folds, some_penalties, engine)
                again = precise.solve(crew, tolerance, self.max_passes)
                fits.points[failed], fits.errors[failed] = again.points, again.errors
        return fits

    def _for_each_fold(self, compute: Callable[[int], T], folds: Sequence[Fold], row_work: int) -> list[T]:
        """Compute something for each fold's held-out rows, in threads if there are multiplications enough to share."""
        work = row_work * sum(len(fold.held_out) for fold in folds)
        if work < _SHARED_WORK:
            with one_thread_per_product():
                return [compute(index) for index in range(len(folds))]
        with self._workers() as crew:
            return crew.map(compute, range(len(folds)))

    @contextmanager
    def _workers(self) -> Iterator[Crew]:
        """Start our threads, and keep the matrix libraries from starting theirs, which would only wait for a core."""
        with one_thread_per_product(), Crew(self.threads) as crew:
            yield crew

    def _report(self, fits: Fits, tolerance: float) -> FitReport:
        unconverged = int((fits.errors > tolerance).sum())
        return FitReport(fits.errors.size, unconverged, float(fits.errors.max()), tolerance)


def _fastest_engine(features: Features) -> str:
    """Return who should multiply raw rows. It depends on them and the machine only: another engine has other last bits."""
    if features.n_rows * features.n_columns >= _COMPILED_VALUES and find_spec("numba") is not None:
        return "compiled"
    return "torch" if find_spec("torch") is not None and _torch_is_faster() else "numpy"


def _torch_is_faster() -> bool:
    """Whether torch's products of long matrices with few columns are faster than NumPy's.

    Torch brings Intel's library. Without registers of 512 bits a pass took a fifth to a third longer with it (two cores, 300 to
    3,072 columns), part of that because our threads wait for each other between torch's many small calls. With such
    registers torch was the faster one when the probe was built; the two were not timed side by side there again.
    """
    # NumPy leaves out what would be empty.
    found = (np.show_config(mode="dicts") or {}).get("SIMD Extensions", {}).get("found", [])
    return any(name.startswith(("AVX512", "X86_V4")) for name in found)


def _start_from_search(batch: Batch, search: _Search) -> None:
    """Let each fold start from the mean of the search's fits, under its penalty, to subsets of its own rows."""
    trained_on = np.zeros((len(search.folds), search.features.n_rows), dtype=bool)
    for number, other in enumerate(search.folds):
        trained_on[number, other.train] = True
    for index, fold in enumerate(batch.folds):
        penalty = batch.penalties[index][0]
        if penalty not in search.penalties or batch.constant[index] >= 0:
            continue
        outside = np.ones(trained_on.shape[1], dtype=bool)
        outside[fold.train] = False
        same_classes = (search.fits.present == batch.present[index]).all(axis=1)
        alike = np.flatnonzero(~trained_on[:, outside].any(axis=1) & same_classes)
        if len(alike):
            stage = list(search.penalties).index(penalty)
            batch.start[index] = search.fits.points[alike, stage].mean(axis=0, dtype=np.float64)


def _check(features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Penalties) -> None:
    if len(labels) != features.n_rows:
        raise ProbeError(f"{features.n_rows} feature rows were given {len(labels)} labels")
    if len(labels) and (int(labels.min()) < 0 or int(labels.max()) >= n_classes):
        raise ProbeError(f"labels must be 0 to {n_classes - 1}, but they reach from {labels.min()} to {labels.max()}")
    if not folds:
        raise ProbeError("there are no folds to fit")
    for index, fold in enumerate(folds):
        if len(fold.train) == 0:
            raise ProbeError(f"fold {index} has no training rows")
    for penalty in {penalty for several in penalties for penalty in several}:
        if not (penalty > 0 and np.isfinite(penalty)):
            raise ProbeError(f"C must be a positive number, not {penalty}")
