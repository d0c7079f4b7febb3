"""Inputs and settings that several tests of probes share."""

from __future__ import annotations

import numpy as np
import pytest

from medsenteval.probes.backend import Fold


def make_rows(
    seed: int, n: int, d: int, k: int, strength: float = 0.6, imbalance: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the inputs of golden.md: class centres plus noise; ``imbalance`` makes later classes rarer."""
    rng = np.random.default_rng(seed)
    if imbalance:
        shares = np.exp(-imbalance * np.arange(k))
        y = rng.choice(k, n, p=shares / shares.sum())
        y[:k] = np.arange(k)
    else:
        y = rng.integers(0, k, n)
    centres = rng.standard_normal((k, d))
    x = strength * centres[y] / np.sqrt(d) * 4 + rng.standard_normal((n, d))
    return x.astype(np.float32), y.astype(np.int64)


def keep_raw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave even small matrices where they are."""
    monkeypatch.setattr("medsenteval.probes.exact.coordinates._SMALL_MATRIX", 0)
    monkeypatch.setattr("medsenteval.probes.exact.coordinates._ROWS_PER_COLUMN", 0)


def half(n: int) -> Fold:
    rows = np.arange(n)
    return Fold(rows[: n // 2], rows[n // 2 :])
