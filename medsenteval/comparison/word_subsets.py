"""Word similarity on pairs whose words both lie in one interval of frequencies or other values (Chiu et al. 2018, Figure 1)."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from medsenteval.contracts import Result
from medsenteval.errors import DataError, SettingsError
from medsenteval.running.job_identity import what_tells_apart
from medsenteval.settings import CONFIDENCE
from medsenteval.statistics import Correlation, correlation, correlation_interval
from medsenteval.tasks.reading.row_acceptance import finite_number

#: A correlation of fewer pairs is not shown.
_FEWEST_PAIRS = 5


@dataclass(frozen=True)
class SubsetScore:
    """One result on one subset; ``value`` and its interval are NaN where the subset has fewer than five pairs.

    ``encoder`` is the encoder's name, with protocol, options and seed where results differ in them.
    """

    encoder: str
    subset: int
    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Subsets:
    """Which subset each pair of a task belongs to, -1 for none, and scores: each has its n, for encoders may know other pairs.

    Subset i holds values above ``limits[i - 1]`` up to ``limits[i]``. ``mixed`` pairs have words in different subsets,
    ``without`` pairs have a word without a value; neither is in any subset.
    """

    limits: tuple[float, ...]
    subset_of: tuple[int, ...]
    mixed: int
    without: int
    task: str
    metric: Correlation = "spearman"
    scores: tuple[SubsetScore, ...] = ()

    @property
    def n_subsets(self) -> int:
        return len(self.limits) + 1

    @property
    def left_out(self) -> str:
        return f"Left out: {self.mixed:,} pairs with words in different subsets, {self.without:,} with a word without a value."

    def label(self, subset: int) -> str:
        if subset == 0:
            return f"up to {self.limits[0]:,.10g}"
        if subset == len(self.limits):
            return f"above {self.limits[-1]:,.10g}"
        return f"{self.limits[subset - 1]:,.10g} to {self.limits[subset]:,.10g}"


def read_word_values(path: Path) -> dict[str, float]:
    """Read a table of words and numbers, separated by a tab or a comma; a first line that holds no number is a header."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    values: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else next(csv.reader([line]))
        if len(fields) < 2:
            raise DataError(f"{path}:{number}: one column where a word and its value are expected, separated by a tab or comma")
        word, value = fields[0].strip(), finite_number(fields[1])
        if value is None:
            if number == 1:
                continue
            raise DataError(f"{path}:{number}: {fields[1].strip()!r} is no finite number")
        if values.setdefault(word, value) != value:
            raise DataError(f"{path}:{number}: {word!r} has two values, {values[word]:g} and {value:g}")
    if not values:
        raise DataError(f"{path}: no word with a value in it")
    return values


def subset_scores(
    results: Sequence[Result],
    values: Mapping[str, float],
    *,
    limits: Sequence[float] = (),
    groups: int = 3,
    metric: Correlation = "spearman",
    resamples: int = 2000,
    seed: int = 1111,
) -> Subsets:
    """Score each encoder's stored predictions on subsets of the pairs, without ``limits`` ``groups`` of equally many words.

    A word is looked up as written, then in lower case.
    """
    tasks = sorted({result.task for result in results})
    if len(tasks) != 1:
        raise DataError(f"subsets are made of one task's pairs; got {', '.join(tasks) or 'no results'}")
    if any(not {"first", "second", "gold", "predicted"} <= result.items.keys() for result in results):
        raise DataError(f"{tasks[0]}: the results do not keep the words of each pair; run a word similarity task")
    pairs: dict[str, tuple[str, str]] = {}
    for result in results:
        pairs |= zip(result.items["id"], zip(result.items["first"], result.items["second"], strict=True), strict=True)
    found = pair_subsets(list(pairs.values()), values, limits, groups, tasks[0])
    subset_of = dict(zip(pairs, found.subset_of, strict=True))
    scores = []
    for result in results:
        label = ", ".join([result.encoder, *what_tells_apart(result, results)])
        subsets = np.array([subset_of[item] for item in result.items["id"]])
        gold, predicted = (np.array(result.items[name], dtype=np.float64) for name in ("gold", "predicted"))
        for subset in range(found.n_subsets):
            rows = subsets == subset
            value = low = high = math.nan
            if rows.sum() >= _FEWEST_PAIRS:
                pairs_of = predicted[rows], gold[rows]
                value, _ = correlation(metric, *pairs_of)
                rng = np.random.default_rng(seed)
                low, high = correlation_interval(metric, *pairs_of, resamples=resamples, confidence=CONFIDENCE, rng=rng)
            scores.append(SubsetScore(label, subset, int(rows.sum()), value, low, high))
    return replace(found, metric=metric, scores=tuple(scores))


def pair_subsets(
    pairs: Sequence[tuple[str, str]], values: Mapping[str, float], limits: Sequence[float], groups: int, name: str
) -> Subsets:
    """Put pairs into subsets by the values of their words; ``name`` is what errors call the data set."""
    words = dict.fromkeys(word for pair in pairs for word in pair)
    known = {word: value for word in words if (value := values.get(word, values.get(word.lower()))) is not None}
    edges = _limits(list(known.values()), limits, groups, name)
    place = dict(zip(known, np.searchsorted(edges, list(known.values()), side="left").tolist(), strict=True))
    places = [(place.get(first), place.get(second)) for first, second in pairs]
    subset_of = tuple(one if one is not None and one == other else -1 for one, other in places)
    without = sum(None in both for both in places)
    return Subsets(tuple(edges), subset_of, subset_of.count(-1) - without, without, name)


def _limits(known: list[float], limits: Sequence[float], groups: int, task: str) -> list[float]:
    if limits:
        if list(limits) != sorted(set(limits)):
            raise SettingsError(f"limits must rise: {', '.join(f'{limit:g}' for limit in limits)}")
        return [float(limit) for limit in limits]
    if groups < 2:
        raise SettingsError(f"groups is {groups}; at least 2 are needed")
    if len(known) < groups:
        raise DataError(f"{task}: {len(known)} of its words have a value; do the table's words look like those of the set?")
    edges = np.quantile(known, np.arange(1, groups) / groups, method="inverted_cdf").tolist()
    if len(set(edges)) < len(edges) or edges[-1] >= max(known):
        raise DataError(f"{task}: too many words have the same value for {groups} groups of equal size; give limits instead")
    return [float(edge) for edge in edges]
