"""The columns of a comparison: scores of encoders side by side, what their tests found, and whom each is better than."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, product
from string import ascii_lowercase
from typing import Final

import numpy as np

from medsenteval.comparison.published.numbers import PublishedNumber
from medsenteval.contracts import Metric
from medsenteval.statistics import Interval, WeightedScore
from medsenteval.statistics.paired_bootstrap import left_out_scores
from medsenteval.support.arrays import Floats

#: Of more items than this, several at a time are left out: the standard error is known well enough.
GROUPS: Final = 1_000
#: Scores that are equal to so many decimals differ by the rounding of sums only, as those of one model through two loaders.
NOISE_DECIMALS: Final = 6


@dataclass(frozen=True)
class Difference:
    """One encoder's score minus another's, on the same items."""

    interval: Interval
    p_value: float
    corrected: float


@dataclass(eq=False)
class Column:
    """One metric of one task under one protocol: the score of every encoder that has it, and the tests of every pair.

    ``tested`` lists the encoders whose per-item predictions could be compared, in the order of ``p_values`` (raw) and
    ``corrected``; ``weighted`` is their score as a function of item weights. ``untested`` says why there is no test; ``note``
    stands below a table, ``marks`` behind scores that are to be read with care.
    """

    task: str
    metric: str
    unit: str
    protocol: str
    key: str
    baseline: float
    headline: bool
    scores: dict[str, Metric]
    synthetic: bool
    n_common: int = 0
    test: str = ""
    tested: list[str] = field(default_factory=list)
    p_values: Floats = field(default_factory=lambda: np.ones((0, 0)))
    corrected: Floats = field(default_factory=lambda: np.ones((0, 0)))
    untested: str = ""
    label: str = ""
    note: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)
    trained_on: Mapping[str, str] = field(default_factory=dict)
    weighted: WeightedScore | None = None
    _interval: Callable[[int, int, float], Interval] | None = None

    @cached_property
    def observed(self) -> Floats:
        """The scores that the tests compare, in the order of ``tested``: on the common items, from one seed, as fractions."""
        assert self.weighted is not None
        values: Floats = self.weighted(np.ones((1, self.weighted.n)))[0]
        return values

    @property
    def scale(self) -> float:
        """What turns a fraction into the metric's unit."""
        return 100.0 if self.unit == "percent" else 1.0

    @cached_property
    def left_out(self) -> Floats:
        """The tested encoders' scores without each item; of many items, several at a time: that is exact enough."""
        assert self.weighted is not None
        return left_out_scores(self.weighted, GROUPS)

    def best(self) -> set[str]:
        """Return the encoders with the best score, none if only one has a score; equal scores share the place."""
        values = self.resolved()
        top = next(iter(values.values()))
        return set() if self.synthetic or len(values) < 2 else {name for name, value in values.items() if value == top}

    def resolved(self) -> dict[str, float]:
        """Return encoders and scores, the best first, with scores made equal that the items cannot tell apart.

        These are less than half of what one item moves apart: 1 / n of the scale, and (1 - r²) / n of a correlation r.
        """
        return self._resolved({encoder: (metric.value, metric.n) for encoder, metric in self.scores.items()})

    def resolved_where_tested(self) -> Floats:
        """Return the scores that the tests compare as ``resolved`` does, in the order of ``tested``."""
        shown = (self.scale * self.observed).tolist()
        values = self._resolved({name: (value, self.n_common) for name, value in zip(self.tested, shown, strict=True)})
        tied: Floats = np.array([values[name] for name in self.tested]) / self.scale
        return tied

    def _resolved(self, scores: Mapping[str, tuple[float, int]]) -> dict[str, float]:
        values: dict[str, float] = {}
        top = math.inf
        correlates = self.metric.partition("_")[0] in ("pearson", "spearman", "kendall")
        for encoder, (value, n) in sorted(scores.items(), key=lambda pair: -pair[1][0]):
            whole = 100.0 if self.unit == "percent" else 1 - top * top if correlates else 1.0
            if abs(value - top) > max(0.5 * whole / max(n, 1), 10.0**-NOISE_DECIMALS):
                top = value
            values[encoder] = top
        return values

    def best_first(self) -> list[tuple[str, Metric]]:
        return sorted(self.scores.items(), key=lambda pair: -pair[1].value)

    def beaten_by(self, encoder: str, level: float) -> list[str]:
        """Return the encoders that this one is significantly better than."""
        if encoder not in self.tested:
            return []
        i = self.tested.index(encoder)
        beaten = (self.corrected[i] < level) & (self.observed[i] > self.observed)
        return [other for other, worse in zip(self.tested, beaten, strict=True) if worse]

    def difference(self, first: str, second: str, confidence: float = 0.95) -> Difference | None:
        """Return the difference of two tested encoders with its interval, or None where there is no test."""
        if self._interval is None or not {first, second} <= set(self.tested):
            return None
        i, j = self.tested.index(first), self.tested.index(second)
        found = self._interval(i, j, confidence)
        ends = {name: self.scale * getattr(found, name) for name in ("estimate", "low", "high")}
        return Difference(replace(found, **ends), float(self.p_values[i, j]), float(self.corrected[i, j]))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Encoders by columns, what could not be compared, and published numbers to stand beside them."""

    encoders: tuple[str, ...]
    sizes: Mapping[str, int]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    level: float
    correction: str
    synthetic: bool
    published: tuple[PublishedNumber, ...] = ()

    def notes_on(self, columns: Iterable[Column]) -> list[str]:
        """Return what is to be said of the comparison, and of these of its columns."""
        return [*self.notes, *(column.note for column in columns if column.note)]

    def letters(self) -> dict[str, str]:
        """Return a letter for each encoder, by which cells name whom they beat."""
        letters = ("".join(each) for size in count(1) for each in product(ascii_lowercase, repeat=size))  # a, ..., z, aa, ...
        return dict(zip(self.encoders, letters, strict=False))

    def headline_columns(self) -> list[Column]:
        """Return the first headline metric of each task and protocol: what is ranked and counted."""
        seen: dict[str, Column] = {}
        for column in self.columns:
            if column.headline:
                seen.setdefault(column.key, column)
        return list(seen.values())

    def wins_ties_losses(self) -> dict[str, tuple[int, int, int]]:
        """Count, over headline columns and opponents, significant wins, ties (no significant difference) and losses."""
        wins, losses, opponents = Counter[str](), Counter[str](), Counter[str]()
        for column in self.headline_columns():
            for encoder in column.tested:
                beaten = column.beaten_by(encoder, self.level)
                wins[encoder] += len(beaten)
                losses.update(beaten)
                opponents[encoder] += len(column.tested) - 1
        return {each: (wins[each], opponents[each] - wins[each] - losses[each], losses[each]) for each in self.encoders}
