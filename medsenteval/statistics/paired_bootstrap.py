"""The bootstrap: scores of many encoders over the same resamples of the items, so that differences are resampled jointly."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Final, Literal

import numpy as np

from medsenteval.errors import SettingsError
from medsenteval.statistics.outcomes import Interval, Significance
from medsenteval.statistics.weighted_scores import WeightedScore
from medsenteval.support.arrays import Counts, Floats, Rows
from medsenteval.support.cores import available_cores, one_thread_per_product

Method = Literal["bca", "fisher", "percentile"]
#: With the observed sample a hundred. Of one resample an interval has no width, of few it is too narrow.
_FEWEST_RESAMPLES: Final = 99


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Scores of encoders on the items as they are (``observed``) and on every resample (``values``, a row each)."""

    score: WeightedScore
    observed: Floats
    values: Floats

    @property
    def n(self) -> int:
        return self.score.n

    @cached_property
    def jackknife(self) -> Floats:
        return left_out_scores(self.score)

    def interval(self, encoder: int = 0, *, confidence: float = 0.95, method: Method = "percentile") -> Interval:
        """Return the interval of one encoder's score; ``fisher`` is for correlations and holds with few items, too."""
        if method != "fisher":
            return self._interval(np.eye(len(self.observed))[encoder], confidence, method)
        _check_confidence(confidence)
        observed, error = float(self.observed[encoder]), float(self.values[:, encoder].std())
        return Interval(observed, *fisher_limits(observed, error, self.n, confidence), confidence, method, self.n)

    def difference(self, first: int, second: int, *, confidence: float = 0.95, method: Method = "bca") -> Interval:
        """Return the interval of the first encoder's score minus the second's, both on the same resamples."""
        return self._interval(self._contrast(first, second), confidence, method)

    def test(self, first: int, second: int) -> Significance:
        """Test two encoders on the same resamples: how often is a centred difference as large as the observed one?

        Centring makes the null hypothesis true (Berg-Kirkpatrick et al. 2012); the observed sample counts as one resample, so
        p is never 0.
        """
        contrast = self._contrast(first, second)
        observed = float(self.observed @ contrast)
        moved = np.abs(self.values @ contrast - observed)
        # Equal up to rounding is equal.
        reached = int(np.sum(moved >= abs(observed) * (1 - 1e-9) - 1e-15))
        return Significance("paired bootstrap", observed, (1 + reached) / (1 + len(self.values)), self.n)

    def bca_test(self, first: int, second: int) -> Significance:
        """Test two encoders by BCa: p is the level at which the interval of their difference begins to exclude 0.

        The observed sample counts as one resample beyond 0, on either side, so p is never below 2 in so many and one.
        """
        from scipy.special import ndtr, ndtri

        contrast = self._contrast(first, second)
        observed = float(self.observed @ contrast)
        sign = -1.0 if observed < 0 else 1.0
        values = sign * (self.values @ contrast)
        least = 2 / (1 + len(values))
        if observed == 0:
            return Significance("BCa bootstrap", observed, 1.0, self.n)
        # Equal up to rounding is equal.
        beyond = float(ndtri((1 + np.sum(values <= abs(observed) * 1e-9)) / (1 + len(values))))
        bias, acceleration = bca_terms(sign * observed, values, self.jackknife @ (sign * contrast))
        # The inverse of what BCa does to the level of an interval's end; beyond its reach no level is.
        below = 1 + acceleration * (beyond - bias)
        p = 2 * float(ndtr((beyond - bias) / below - bias)) if below > 0 else 0.0
        return Significance("BCa bootstrap", observed, min(1.0, max(p, least)), self.n)

    def p_values(self, method: Method = "percentile") -> Floats:
        """Return the two-sided p values of ``test``, or of ``bca_test``, for every pair of encoders, 1 on the diagonal."""
        found = np.ones((len(self.observed), len(self.observed)))
        test = self.bca_test if method == "bca" else self.test
        for first, second in combinations(range(len(found)), 2):
            found[first, second] = found[second, first] = test(first, second).p_value
        return found

    def _contrast(self, first: int, second: int) -> Floats:
        contrast = np.zeros(len(self.observed))
        contrast[first] += 1.0
        contrast[second] -= 1.0
        return contrast

    def _interval(self, contrast: Floats, confidence: float, method: Method) -> Interval:
        from scipy.special import ndtr, ndtri

        _check_confidence(confidence)
        if method not in ("bca", "percentile"):
            raise SettingsError(
                f"the interval's method is {method!r}; it can be bca or percentile, or for one correlation fisher"
            )
        estimate, values = float(self.observed @ contrast), self.values @ contrast
        levels = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
        if method == "bca":
            # Efron 1987: the levels at which the resampled distribution is read, corrected for bias and acceleration.
            bias, acceleration = bca_terms(estimate, values, self.jackknife @ contrast)
            moved = bias + ndtri(levels)
            levels = ndtr(bias + moved / (1 - acceleration * moved)) if bias or acceleration else levels
        low, high = np.quantile(values, levels).tolist()
        return Interval(estimate, low, high, confidence, method, self.n)


def left_out_scores(score: WeightedScore, groups: int | None = None) -> Floats:
    """Return the scores with one item left out, a row for each item; with fewer ``groups``, every so-manieth item at a time."""
    groups, step = min(groups or score.n, score.n), score.rows_at_once
    group = np.arange(score.n) % groups
    blocks = (np.arange(start, min(start + step, groups)) for start in range(0, groups, step))
    return np.concatenate([score((group != block[:, None]).astype(np.float64)) for block in blocks])


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise SettingsError(f"confidence is {confidence}; it must lie between 0 and 1")


def fisher_limits(r: float, error: float, n: int, confidence: float) -> tuple[float, float]:
    """Return Student's limits of a correlation's Fisher z, given the bootstrap's standard error of the correlation.

    A perfect correlation does not vary in any resample. Its limits are those of normal data with one more item that agrees by
    chance. Without any error and a correlation of 0 one side is constant, and would be with other items.
    """
    from scipy.special import stdtrit as student_quantile

    if n < 3:
        return -1.0, 1.0
    if abs(r) > 1 - 1e-12:
        low, _ = fisher_limits(n / (n + 1), (1 - (n / (n + 1)) ** 2) / (n - 1) ** 0.5, n, confidence)
        return (low, 1.0) if r > 0 else (-1.0, -low)
    # The variance within resamples is (n - 1) / n of what it estimates.
    half = float(student_quantile(n - 2, (1 + confidence) / 2)) * error * (n / (n - 1)) ** 0.5 / (1 - r * r)
    z = np.arctanh(r)
    return float(np.tanh(z - half)), float(np.tanh(z + half))


def bca_terms(estimate: float, values: Floats, jackknife: Floats) -> tuple[float, float]:
    """Return BCa's corrections for bias and acceleration; both are 0 where all resamples are on one side, or no item counts."""
    from scipy.special import ndtri

    # Half of the resamples that equal the estimate count as below it, as in scipy.
    share = (np.sum(values < estimate) + np.sum(values <= estimate)) / (2 * len(values))
    deviations = jackknife.mean() - jackknife
    spread = np.sum(deviations**2) ** 1.5
    if not 0 < share < 1 or spread == 0:
        return 0.0, 0.0
    return float(ndtri(share)), float(np.sum(deviations**3) / (6 * spread))


def check_resamples(resamples: int) -> None:
    if resamples < _FEWEST_RESAMPLES:
        raise SettingsError(f"resamples is {resamples}; intervals and tests need at least {_FEWEST_RESAMPLES}")


def bootstrap(score: WeightedScore, *, resamples: int, rng: np.random.Generator) -> Bootstrap:
    """Resample items with replacement, within their folds, and score every encoder on each resample."""
    check_resamples(resamples)
    folds, n, cores = score.folds, score.n, available_cores()
    step = score.rows_at_once
    sizes = (min(step, resamples - start) for start in range(0, resamples, step))
    # Draws come from one stream in order, with one fold those of scipy.stats.bootstrap(..., paired=True); counting and scoring
    # them is spread over the cores. Few are drawn ahead, or those of a large data set would fill the memory.
    draws = ([rng.integers(0, len(fold), size=(size, len(fold))) for fold in folds] for size in sizes)
    values: list[Floats] = []
    with one_thread_per_product(), ThreadPoolExecutor(cores) as pool:
        while some := list(islice(draws, 2 * cores)):
            values += pool.map(lambda drawn: score(_weights(n, folds, drawn)), some)
    return Bootstrap(score, score(np.ones((1, n)))[0], np.concatenate(values))


def _weights(n: int, folds: tuple[Rows, ...], drawn: list[Counts]) -> Floats:
    """Count how often each item was drawn in each resample."""
    weights = np.empty((len(drawn[0]), n))
    for fold, items in zip(folds, drawn, strict=True):
        places = slice(None) if len(fold) == n else fold
        for row, chosen in zip(weights, items, strict=True):
            row[places] = np.bincount(chosen, minlength=len(fold))
    return weights
