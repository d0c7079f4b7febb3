"""Learnable synthetic features at the sizes of MedSentEval's tasks, isotropic or shaped like real sentence embeddings.

Isotropic rows (independent standard normals) are the easy case for any gradient method: scikit-learn's L-BFGS needs a
dozen iterations on them. Sentence embeddings are not like that, so ``realistic`` rows follow what was measured on real
text (7,826 RQE questions, 67,349 SST2 phrases, 12,574 BC2GM sentences):

    ==================  ==================  ====================  ===============  =============
    encoder             slope of log        largest variance /    |mean|^2 /       deviation of
                        variance, log rank  mean variance         total variance   a coordinate
    ==================  ==================  ====================  ===============  =============
    GloVe 6B 100, mean  -0.87 to -1.06      17 to 21              2.0 to 7.2       0.14 to 0.24
    MiniLM-L6 384       -1.03 to -1.26      16 to 26              0.12 to 0.19     0.05
    ==================  ==================  ====================  ===============  =============

The law taken from it: the variance along the j-th principal axis is proportional to 1 / j, the axes are a random
rotation, a coordinate deviates by 0.2, and all rows share a mean whose square is twice the total variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.probes.backend import Backend
from medsenteval.probes.features import Features
from medsenteval.probes.protocols import Outcome, run_kfold, run_nested, run_split
from medsenteval.support.arrays import Labels

__all__ = ["CASES", "SHAPES", "Case", "Workload"]

FloatRows = NDArray[np.float32]

SHAPES: Final = ("isotropic", "realistic")
_DEVIATION: Final = 0.2
_DECAY: Final = 1.0
_MEAN_SQUARE: Final = 2.0
#: Rows that are rotated at a time, so that making a large case takes no second copy of it.
_ROTATED_ROWS: Final = 8_192


@dataclass(frozen=True, eq=False)
class Workload:
    """Features and labels with the protocol to run on them; ``sizes`` are the rows of train, dev and test, in order."""

    features: Features
    labels: Labels
    n_classes: int
    protocol: str
    sizes: tuple[int, ...]

    def run(self, backend: Backend) -> Outcome:
        """Choose penalties and predict as SentEval does, 10 folds where there are folds."""
        features, labels, k = self.features, self.labels, self.n_classes
        parts = np.split(np.arange(len(labels)), np.cumsum(self.sizes)[:-1])
        if self.protocol == "nested":
            return run_nested(backend, features, labels, k, n_folds=10)
        if self.protocol == "kfold":
            return run_kfold(backend, features, labels, k, train=parts[0], test=parts[1], n_folds=10, seed=1111)
        return run_split(backend, features, labels, k, train=parts[0], dev=parts[1], test=parts[2])

    def fits(self, n_penalties: int) -> int:
        """Return how many fits the protocol asks for, the final ones included."""
        return {"nested": 10 * (10 * n_penalties + 1), "kfold": 10 * n_penalties + 1}.get(self.protocol, n_penalties + 1)


@dataclass(frozen=True)
class Case:
    """A task's size: rows (of one matrix, or train/dev/test), width, classes; ``strengths`` set how easy it is."""

    rows: tuple[int, ...]
    width: int
    n_classes: int
    protocol: str
    #: For isotropic and for realistic rows: chosen so that about four of five test rows are classified rightly.
    strengths: tuple[float, float]
    pairs: bool = False

    def make(self, shrink: int = 1, shape: str = "realistic") -> Workload:
        """Draw features and labels with ``1 / shrink`` of the rows; the same each time."""
        rng = np.random.default_rng(0)
        sizes = tuple(max(size // shrink, 20 * self.n_classes) for size in self.rows)
        n, d = sum(sizes), self.width // (4 if self.pairs else 1)
        strength = self.strengths[SHAPES.index(shape)]
        y = rng.integers(0, self.n_classes, n)
        centres = rng.standard_normal((self.n_classes, d), dtype=np.float32)
        rows = rng.standard_normal((n, d), dtype=np.float32)
        if not self.pairs:
            rows += (np.float32(4 * strength / np.sqrt(d)) * centres)[y]
            return Workload(Features.from_array(_shape(rows, shape)), y, self.n_classes, self.protocol, sizes)
        # Whether the two sentences agree along an axis depends on the class, so that u * v and |u - v| carry the label.
        rows = _shape(rows, shape)
        second = _shape(rng.standard_normal((n, d), dtype=np.float32), shape)
        mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        second += (rows - mean) * (np.float32(strength) * centres)[y]
        pairs = Features(np.concatenate([rows, second]), np.arange(n), np.arange(n) + n)
        return Workload(pairs, y, self.n_classes, self.protocol, sizes)


def _shape(rows: FloatRows, shape: str) -> FloatRows:
    """Give standard normal rows the spectrum and the mean of sentence embeddings, in place; isotropic rows stay."""
    if shape == "isotropic":
        return rows
    width = rows.shape[1]
    rng = np.random.default_rng(1)
    variances = np.arange(1, width + 1) ** -_DECAY
    variances *= width * _DEVIATION**2 / variances.sum()
    axes = np.linalg.qr(rng.standard_normal((width, width)))[0]
    turn = (np.sqrt(variances)[:, None] * axes.T).astype(np.float32)
    mean = rng.standard_normal(width)
    mean *= np.sqrt(_MEAN_SQUARE * variances.sum()) / np.linalg.norm(mean)
    for start in range(0, len(rows), _ROTATED_ROWS):
        block = slice(start, start + _ROTATED_ROWS)
        rows[block] = rows[block] @ turn + mean.astype(np.float32)
    return rows


CASES: Final = {
    "citationsa": Case((4_182,), 300, 3, "nested", (0.5, 0.5)),
    "bioc": Case((259,), 1_200, 2, "nested", (0.12, 0.18), pairs=True),
    "vaccinesa": Case((1_853,), 768, 8, "nested", (0.75, 0.85)),
    "bioasq": Case((612, 130), 1_200, 2, "kfold", (0.12, 0.15), pairs=True),
    "mednli-1200": Case((11_232, 1_395, 1_422), 1_200, 3, "split", (0.12, 0.12), pairs=True),
    "mednli-3072": Case((11_232, 1_395, 1_422), 3_072, 3, "split", (0.07, 0.08), pairs=True),
    "pubmed20k-300": Case((180_000, 30_000, 30_000), 300, 5, "split", (0.52, 0.52)),
    "pubmed20k-768": Case((180_000, 30_000, 30_000), 768, 5, "split", (0.52, 0.52)),
    "pico": Case((257_000, 30_000, 31_000), 300, 7, "split", (0.6, 0.6)),
}
