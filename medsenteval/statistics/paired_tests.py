"""Are two encoders that were scored on the same items really different? Paired tests, fast at any number of items.

The paired bootstrap is ``bootstrap(...).test(first, second)``. Here are McNemar's test and permutation tests, in which each
item's two answers change places with probability one half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import SettingsError
from medsenteval.statistics.intervals import f1_from_counts
from medsenteval.statistics.outcomes import Significance
from medsenteval.support.arrays import Bools, Floats

Variant = Literal["auto", "exact", "corrected"]

#: Below this many discordant items the chi-square approximation is not trusted.
SMALLEST_CORRECTED: Final = 25
_BLOCK: Final = 1 << 22


def mcnemar_p_values(first_only: NDArray[np.integer], second_only: NDArray[np.integer], variant: Variant = "auto") -> Floats:
    """Return McNemar's two-sided p for arrays of counts: items that only the first, and only the second, got right.

    ``exact`` is the binomial test, ``corrected`` the chi-square test with continuity correction; ``auto`` takes the exact one
    below 25 discordant items. Without a discordant item p is 1.
    """
    from scipy.special import bdtr, chdtrc

    if variant not in ("auto", "exact", "corrected"):
        raise SettingsError(f"McNemar's variant is {variant!r}; it can be auto, exact or corrected")
    b, c = np.broadcast_arrays(np.asarray(first_only, dtype=np.float64), np.asarray(second_only, dtype=np.float64))
    if (b < 0).any() or (c < 0).any():
        raise SettingsError("a negative count of discordant items")
    total = b + c
    exact = total < SMALLEST_CORRECTED if variant == "auto" else np.full(total.shape, variant == "exact")
    p: Floats = np.array(chdtrc(1, _corrected_statistic(b, c)))
    p[exact] = np.minimum(2 * bdtr(np.minimum(b, c)[exact], total[exact].astype(np.int64), 0.5), 1.0)
    return np.where(total == 0, 1.0, p)


def mcnemar(first: Bools, second: Bools, variant: Variant = "auto") -> Significance:
    """Test whether two encoders that were right (True) or wrong on the same items differ in accuracy."""
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    _check_same_items(first, second)
    b, c = int(np.sum(first & ~second)), int(np.sum(~first & second))
    p = float(mcnemar_p_values(np.array(b), np.array(c), variant))
    exact = variant == "exact" or (variant == "auto" and b + c < SMALLEST_CORRECTED)
    statistic = float(min(b, c)) if exact else float(_corrected_statistic(np.array(b), np.array(c)))
    return Significance(f"McNemar, {'exact' if exact else 'corrected'}", statistic, p, len(first))


def mcnemar_matrix(correct: Bools, variant: Variant = "auto") -> Floats:
    """Return McNemar's p values for every pair of encoders from an (encoders, items) matrix of right and wrong."""
    right = np.asarray(correct, dtype=np.float64)
    if right.ndim != 2:
        raise SettingsError(f"right and wrong of shape {right.shape} where (encoders, items) are expected")
    only = np.rint(right @ (1.0 - right).T).astype(np.int64)
    return mcnemar_p_values(only, only.T, variant)


def permutation_mean(first: Floats, second: Floats, *, resamples: int, rng: np.random.Generator) -> Significance:
    """Test the difference of means of any per-item value; right and wrong as 1 and 0 give the test of accuracy."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    _check_same_items(a, b)
    # Equal answers change nothing when they change places.
    moving = (a - b)[a != b]

    def difference(swaps: Floats) -> Floats:
        changed: Floats = (1.0 - 2.0 * swaps) @ moving / len(a)
        return changed

    return _swap_test("means", difference, len(moving), len(a), resamples, rng)


def permutation_f1(gold: Bools, first: Bools, second: Bools, *, resamples: int, rng: np.random.Generator) -> Significance:
    """Test the difference of F1 (of True) of two encoders' answers; only items on which the two disagree can change it."""
    gold, first, second = (np.asarray(side, dtype=bool) for side in (gold, first, second))
    _check_same_items(gold, first)
    _check_same_items(gold, second)
    apart = first != second
    # What swapping an item takes from the first encoder's true and false positives and false negatives, and gives the second.
    gain = first[apart].astype(np.float64) - second[apart]
    moves = np.stack([gain * gold[apart], gain * ~gold[apart], -gain * gold[apart]], axis=1)
    counts = [np.array([(side & gold).sum(), (side & ~gold).sum(), (~side & gold).sum()]) for side in (first, second)]

    def difference(swaps: Floats) -> Floats:
        moved = swaps @ moves
        return f1_from_counts(counts[0] - moved) - f1_from_counts(counts[1] + moved)

    return _swap_test("F1", difference, len(moves), len(gold), resamples, rng)


def permutation_correlation(
    kind: Literal["pearson", "spearman"],
    gold: Floats,
    first: Floats,
    second: Floats,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> Significance:
    """Test the difference of two encoders' correlations with the gold scores.

    Predictions are brought to one scale first, or they could not change places: standard scores for Pearson, ranks for
    Spearman (ranks are not taken anew after a swap).
    """
    from scipy.stats import rankdata

    if kind not in ("pearson", "spearman"):
        raise SettingsError(f"the correlation is {kind!r}; a permutation test takes pearson or spearman")
    _check_same_items(np.asarray(gold), np.asarray(first))
    _check_same_items(np.asarray(gold), np.asarray(second))
    prepare = rankdata if kind == "spearman" else np.asarray
    y, a, b = (_standard(prepare(np.asarray(side, dtype=np.float64))) for side in (gold, first, second))
    # Correlations of swapped columns need their sums, sums of squares and sums of products with y only.
    moves = np.stack([b - a, b * b - a * a, (b - a) * y], axis=1)
    start_a, start_b = (np.array([side.sum(), (side * side).sum(), (side * y).sum()]) for side in (a, b))
    n, spread_y = len(y), float((y * y).sum())

    def correlate(sums: Floats) -> Floats:
        spread = (sums[:, 1] - sums[:, 0] ** 2 / n) * spread_y
        defined = spread > 1e-12
        root = np.sqrt(spread, where=defined, out=np.ones_like(spread))
        return np.divide(sums[:, 2], root, where=defined, out=np.zeros(len(sums)))

    def difference(swaps: Floats) -> Floats:
        moved = swaps @ moves
        return correlate(start_a + moved) - correlate(start_b - moved)

    return _swap_test(kind, difference, n, n, resamples, rng)


def _swap_test(
    what: str, difference: Callable[[Floats], Floats], n_moving: int, n: int, resamples: int, rng: np.random.Generator
) -> Significance:
    """Return the share of ways to change places whose difference is as large as the observed one.

    ``difference`` takes a 0 / 1 matrix of which of ``n_moving`` items change places, a row for each way. All ways are tried
    where there are no more than ``resamples`` of them; else the observed one counts as well as the random ones.
    """
    observed = float(difference(np.zeros((1, n_moving)))[0])
    drawn = np.concatenate([difference(swaps) for swaps in _swaps(n_moving, resamples, rng)])
    reached = int(np.sum(np.abs(drawn) >= abs(observed) * (1 - 1e-9) - 1e-15))
    p = reached / len(drawn) if 2**n_moving <= resamples else (reached + 1) / (len(drawn) + 1)
    return Significance(f"paired permutation of {what}", observed, p, n)


def _swaps(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield 0 / 1 matrices of which items change places, block by block: every assignment if they are few, else random ones."""
    if resamples < 1:
        raise SettingsError(f"resamples is {resamples}; it must be at least 1")
    if 2**n <= resamples:
        yield (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
        return
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        # 8 swaps from every random byte.
        drawn = rng.integers(0, 256, size=(min(step, resamples - start), -(-n // 8)), dtype=np.uint8)
        yield np.unpackbits(drawn, axis=1, count=n).astype(np.float64)


def _corrected_statistic(b: NDArray[np.integer | np.floating], c: NDArray[np.integer | np.floating]) -> Floats:
    total = np.asarray(b + c, dtype=np.float64)
    # |b - c| - 1 would be negative for b = c, and its square not 0.
    gap = np.maximum(np.abs(b - c) - 1.0, 0.0)
    statistic: Floats = np.divide(gap**2, total, out=np.zeros_like(total), where=total > 0)
    return statistic


def _standard(values: Floats) -> Floats:
    spread = float(values.std())
    standard: Floats = (values - values.mean()) / (spread if spread > 0 else 1.0)
    return standard


def _check_same_items(first: NDArray[np.generic], second: NDArray[np.generic]) -> None:
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise SettingsError(f"a paired test needs the same items twice; got shapes {first.shape} and {second.shape}")
