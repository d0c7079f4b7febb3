"""What every probe back end offers to the evaluation protocols, and what it reports about its fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError
from medsenteval.probes.features import Features
from medsenteval.support.arrays import Labels, Rows

#: SentEval's grids of C, the inverse penalty of logistic regression, in the order in which ties are resolved.
C_GRIDS: Final[dict[str, tuple[float, ...]]] = {
    "split": tuple(2.0**power for power in range(-2, 4)),
    "kfold": tuple(2.0**power for power in range(-1, 6)),
    "nested": tuple(2.0**power for power in range(-2, 4)),
}

#: Back ends that fit all folds of a protocol in the same matrix products: apart, ten outer folds cost 1.7 to 5 times as much.
FITTED_TOGETHER: Final = frozenset({"exact"})


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to train on and rows to score; ``validation`` rows stop early training where a back end does that."""

    train: Rows
    held_out: Rows
    validation: Rows | None = None


@dataclass(frozen=True)
class FitReport:
    """How well a set of fits converged: their number, and how many fell short.

    ``worst_gradient`` is the largest share by which the next step would change a fit's logits, and ``tolerance`` what it may be
    (docs/solver.md, "Stopping rule"); both are None for back ends that do not stop by it.
    """

    n_fits: int
    n_unconverged: int
    worst_gradient: float | None
    tolerance: float | None

    def __add__(self, other: FitReport) -> FitReport:
        gradients = [g for g in (self.worst_gradient, other.worst_gradient) if g is not None]
        return FitReport(
            self.n_fits + other.n_fits,
            self.n_unconverged + other.n_unconverged,
            max(gradients) if gradients else None,
            self.tolerance if self.tolerance is not None else other.tolerance,
        )


def check_labels(features: Features, labels: Labels, n_classes: int) -> None:
    """Refuse labels that are not one class number for every row."""
    if len(labels) != features.n_rows:
        raise ProbeError(f"{features.n_rows} feature rows were given {len(labels)} labels")
    if len(labels) and (int(labels.min()) < 0 or int(labels.max()) >= n_classes):
        raise ProbeError(f"labels must be 0 to {n_classes - 1}, but they reach from {labels.min()} to {labels.max()}")


class Backend(Protocol):
    """A classifier family trained on frozen features, fitted for many folds and penalties at once.

    ``labels`` are class numbers 0..n_classes-1 for every row of ``features``. A penalty is whatever the back end's own
    grid holds (C for logistic regression, weight decay for SentEval's loop); protocols pass it back unread.
    """

    name: str

    def penalties(self, protocol: str) -> tuple[float, ...]:
        """SentEval's grid for ``split``, ``kfold`` or ``nested``, in the order in which ties are resolved."""
        ...

    def score_grid(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[NDArray[np.float64], FitReport]:
        """Return the accuracy (0 to 1) on each fold's held-out rows, as an array of folds x penalties."""
        ...

    def predict(
        self, features: Features, labels: Labels, n_classes: int, folds: Sequence[Fold], penalties: Sequence[float]
    ) -> tuple[list[NDArray[np.float64]], FitReport]:
        """Fit fold i with ``penalties[i]`` and return the class probabilities of its held-out rows: rows x classes."""
        ...
