"""The window tagger of Collobert et al. 2011 as Chiu et al. 2018 use it: the vectors of five words, one hidden layer, softmax.

Plain NumPy: with frozen vectors and minibatches of 50 a step is two matrix products, and a framework has nothing to add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import ProbeError
from medsenteval.support.arrays import Singles

#: For each token the rows of its window's words in the table of vectors and, if capitals are a feature, of their capitals.
Windows = Sequence[NDArray[np.intp]]

#: Ways in which a word can be capitalised; the last stands beyond the ends of a sentence.
CAPITALS: Final = ("no capital", "all capitals", "initial capital", "inner capital", "padding")
_CAPITALS_WIDTH: Final = 5
_TOKENS_A_PREDICTION: Final = 8192
_TINY: Final = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class TaggerSettings:
    """Everything that defines the tagger but its vectors; the defaults are Table 4 of Chiu et al. 2018.

    ``activation`` is "hard-tanh" or "relu"; ``capitals`` adds a learned feature of capitalisation; ``tuned`` trains the word
    vectors too; ``transitions`` is "allowed" (all that IOBES allows) or "seen" (those of the training sentences).
    """

    window: int = 5
    hidden: int = 300
    activation: str = "hard-tanh"
    dropout: float = 0.2
    learning_rate: float = 0.01
    epochs: int = 20
    batch_size: int = 50
    capitals: bool = False
    tuned: bool = False
    transitions: str = "allowed"


#: What the paper's Table 4 says, and what the code published with it does.
PRESETS: Final = {
    "paper": TaggerSettings(),
    "repo": TaggerSettings(activation="relu", learning_rate=0.1, capitals=True, tuned=True, transitions="seen"),
}


def windows_of(values: NDArray[np.intp], offsets: NDArray[np.intp], width: int, padding: int) -> NDArray[np.intp]:
    """Return each token's value with those of its neighbours, ``padding`` beyond the ends of its sentence."""
    reach = width // 2
    begin, end = (np.repeat(edge, np.diff(offsets))[:, None] for edge in (offsets[:-1], offsets[1:]))
    places = np.arange(len(values))[:, None] + np.arange(-reach, reach + 1)
    within = (places >= begin) & (places < end)
    return np.where(within, values[np.where(within, places, 0)], padding)


@dataclass(eq=False)
class _Lookup:
    """A table of vectors whose rows, side by side for a window, are one part of the input."""

    table: Singles
    weights: Singles
    trained: bool

    def rows(self, windows: NDArray[np.intp]) -> Singles:
        return self.table[windows].reshape(len(windows), -1)

    def descend(self, windows: NDArray[np.intp], rows: Singles, step: Singles) -> None:
        """Move weights, and the vectors themselves if they are trained, against the gradient (scaled already)."""
        # The vectors' gradient needs the weights as they were in this step's prediction.
        moved = (step @ self.weights.T).reshape(-1, self.table.shape[1]) if self.trained else None
        self.weights -= rows.T @ step
        if moved is not None:
            # A word that stands in several windows of the batch gets the sum of its gradients.
            flat = windows.ravel()
            order = np.argsort(flat, kind="stable")
            sorted_rows = flat[order]
            begins = np.flatnonzero(np.diff(sorted_rows, prepend=-1))
            self.table[sorted_rows[begins]] -= np.add.reduceat(moved[order], begins, axis=0)


class WindowTagger:
    """A tagger trained by plain stochastic gradient descent; the same seed gives the same tagger."""

    def __init__(self, settings: TaggerSettings, vectors: Singles, n_tags: int, rng: np.random.Generator) -> None:
        self.settings = settings
        self.losses: list[float] = []
        self._rng = rng
        tables = [(vectors.copy() if settings.tuned else vectors, settings.tuned)]
        if settings.capitals:
            tables.append((rng.uniform(-0.05, 0.05, (len(CAPITALS), _CAPITALS_WIDTH)).astype(np.float32), True))
        widths = [settings.window * table.shape[1] for table, _ in tables]
        self._parts = [
            _Lookup(table, self._uniform(width, settings.hidden, sum(widths) + settings.hidden), trained)
            for width, (table, trained) in zip(widths, tables, strict=True)
        ]
        self._bias = np.zeros(settings.hidden, dtype=np.float32)
        self._out = self._uniform(settings.hidden, n_tags, settings.hidden + n_tags)
        self._out_bias = np.zeros(n_tags, dtype=np.float32)

    def _uniform(self, rows: int, columns: int, fans: int) -> Singles:
        """Draw weights as Glorot and Bengio 2010 have it, the default of the library that the published code uses."""
        limit = np.sqrt(6 / fans)
        return self._rng.uniform(-limit, limit, (rows, columns)).astype(np.float32)

    def fit(self, windows: Windows, tags: NDArray[np.int16], stop: Event | None = None) -> None:
        """Train for the set number of epochs, tokens shuffled anew in each, or until another thread says stop."""
        size = self.settings.batch_size
        for epoch in range(self.settings.epochs):
            if stop is not None and stop.is_set():
                return
            order = self._rng.permutation(len(tags))
            loss = 0.0
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for begin in range(0, len(order), size):
                    batch = order[begin : begin + size]
                    loss += self._step([rows[batch] for rows in windows], tags[batch])
            self.losses.append(loss / len(tags))
            if not np.isfinite(loss):
                raise ProbeError(
                    f"the tagger diverged in epoch {epoch + 1}: a learning rate of {self.settings.learning_rate} is too high "
                    "for vectors of this length; use the option scale=unit or the preset paper"
                )

    def _step(self, windows: Windows, tags: NDArray[np.int16]) -> float:
        """Take one step down the mean loss of a batch and return its summed loss."""
        settings = self.settings
        rows = self._rows(windows)
        hidden, slope = self._activated(rows)
        if settings.dropout:
            kept = self._kept_units(hidden.shape)
            hidden *= kept
            slope = slope * kept
        probabilities: Singles = hidden @ self._out + self._out_bias
        probabilities -= probabilities.max(axis=1, keepdims=True)
        np.exp(probabilities, out=probabilities)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        each = np.arange(len(tags))
        loss = -float(np.log(np.maximum(probabilities[each, tags], _TINY)).sum())
        probabilities[each, tags] -= 1
        probabilities *= np.float32(settings.learning_rate / len(tags))
        step = probabilities @ self._out.T
        step *= slope
        self._out -= hidden.T @ probabilities
        self._out_bias -= probabilities.sum(axis=0)
        for part, seen, row in zip(self._parts, windows, rows, strict=True):
            part.descend(seen, row, step)
        self._bias -= step.sum(axis=0)
        return loss

    def _rows(self, windows: Windows) -> list[Singles]:
        return [part.rows(seen) for part, seen in zip(self._parts, windows, strict=True)]

    def _kept_units(self, shape: tuple[int, ...]) -> Singles:
        """Draw which units dropout keeps (sixteen random bits for each), scaled up so that prediction needs no change."""
        dropout = self.settings.dropout
        kept = self._rng.integers(0, 1 << 16, shape, dtype=np.uint16) >= round(dropout * (1 << 16))
        return kept * np.float32(1 / (1 - dropout))

    def _activated(self, rows: list[Singles]) -> tuple[Singles, Singles | NDArray[np.bool_]]:
        """Return the hidden units and the slope of their activation."""
        hidden: Singles = sum(row @ part.weights for part, row in zip(self._parts, rows, strict=True)) + self._bias
        if self.settings.activation == "relu":
            slope = hidden > 0
            return np.maximum(hidden, 0, out=hidden), slope
        slope = np.abs(hidden) < 1
        return np.clip(hidden, -1, 1, out=hidden), slope

    def log_probabilities(self, windows: Windows) -> NDArray[np.float64]:
        """Return the log-probability of each tag for each token."""
        parts = []
        for begin in range(0, len(windows[0]), _TOKENS_A_PREDICTION):
            block = slice(begin, begin + _TOKENS_A_PREDICTION)
            hidden, _ = self._activated(self._rows([rows[block] for rows in windows]))
            logits = (hidden @ self._out + self._out_bias).astype(np.float64)
            logits -= logits.max(axis=1, keepdims=True)
            parts.append(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))
        return np.concatenate(parts)
