"""Ratings of word pairs by single annotators: how far they agree, who does not, and the scores that their means make.

As Chiu et al. 2018 made Bio-SimVerb and Bio-SimLex: annotators of one group rate the same pairs, those who agree least with the
others are left out, and means are scaled from the raters' scale to that of other data sets.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from medsenteval.errors import DataError, SettingsError
from medsenteval.statistics import rater_agreement
from medsenteval.support.arrays import Counts, Floats
from medsenteval.support.files import clean_text, read_text

#: What stands for "not rated" besides an empty field.
_NOT_RATED = ("na", "nan", "-", "-1", "-1.0")


@dataclass(frozen=True, eq=False)
class Ratings:
    """Pairs of words and an (annotators, pairs) matrix of their ratings, NaN where an annotator did not rate a pair."""

    pairs: tuple[tuple[str, str], ...]
    raters: tuple[str, ...]
    values: Floats

    def without(self, raters: Sequence[str]) -> Ratings:
        """Leave annotators out, and pairs that nobody else rated."""
        kept = [number for number, name in enumerate(self.raters) if name not in raters]
        rated = np.flatnonzero(~np.isnan(self.values[kept]).all(axis=0))
        names = tuple(self.raters[number] for number in kept)
        return Ratings(tuple(self.pairs[number] for number in rated), names, self.values[kept][:, rated])

    @property
    def counts(self) -> Counts:
        """How many annotators rated each pair."""
        counts: Counts = np.count_nonzero(~np.isnan(self.values), axis=0)
        return counts

    @property
    def means(self) -> Floats:
        """The mean rating of each pair."""
        means: Floats = np.nanmean(self.values, axis=0)
        return means

    @property
    def deviations(self) -> Floats:
        """The sample standard deviation of each pair's ratings, NaN where there is one rating only."""
        squares = np.nansum((self.values - self.means) ** 2, axis=0)
        spread: Floats = np.sqrt(np.divide(squares, self.counts - 1, out=np.full(len(squares), np.nan), where=self.counts > 1))
        return spread

    def scaled(self, source: tuple[float, float], target: tuple[float, float]) -> Floats:
        """Return the means, moved linearly from one scale to another; a rating outside of its scale is an error."""
        low, high = source
        if not high > low or not target[1] > target[0]:
            raise SettingsError(f"scales must rise: {source}, {target}")
        if (outside := np.argwhere((self.values < low) | (self.values > high))).size:
            rater, pair = outside[0]
            raise DataError(
                f"{self.raters[rater]} rated {' / '.join(self.pairs[pair])} {self.values[rater, pair]:g}, which is not on the "
                f"scale from {low:g} to {high:g}"
            )
        return target[0] + (self.means - low) * (target[1] - target[0]) / (high - low)


def read_ratings(path: Path, words: Sequence[str] = (), raters: Sequence[str] = ()) -> Ratings:
    """Read a table with a row for each pair: two words and a rating by each annotator, separated by tabs or commas.

    Without a header the words come first and every other column is an annotator. With one, ``words`` names the two columns of
    words (the first two by default) and ``raters`` those of ratings, as names or patterns (all others by default). Empty
    fields, NA and -1 mean that somebody did not rate a pair. A field that is something else is an error with its line.
    """
    text, _ = read_text(path)
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    # Quotation marks are characters like others between tabs.
    lines = io.StringIO(text)
    reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if delimiter == "\t" else csv.reader(lines)
    rows = [(reader.line_num, [clean_text(field) for field in row]) for row in reader if any(field.strip() for field in row)]
    if not rows or len(rows[0][1]) < 4:
        raise DataError(f"{path}: expected two words and the ratings of at least two annotators in each row")
    first = rows[0][1]
    headed = bool(words or raters) or any(_rating(field) is None for field in first[2:])
    names = first if headed else [f"column {number + 1}" for number in range(len(first))]
    chosen = [_column(path, names, name) for name in words] if words else [0, 1]
    if len(chosen) != 2:
        raise SettingsError(f"--words names {len(chosen)} column(s); two are needed")
    columns = [
        number
        for number, name in enumerate(names)
        if number not in chosen and (not raters or any(fnmatchcase(name, pattern) for pattern in raters))
    ]
    if len(columns) < 2:
        raise SettingsError(
            f"{path}: {len(columns)} column(s) of ratings; at least two are needed. Columns: {', '.join(names)}"
        )
    pairs, values = [], []
    for line, row in rows[headed:]:
        if len(row) != len(names):
            raise DataError(f"{path}, line {line}: {len(row)} fields where the first row has {len(names)}")
        found = [_rating(row[number]) for number in columns]
        if None in found:
            number = columns[found.index(None)]
            raise DataError(f"{path}, line {line}: {row[number]!r} in {names[number]!r} is no rating; --raters chooses columns")
        pairs.append((row[chosen[0]], row[chosen[1]]))
        values.append(found)
    ratings = Ratings(tuple(pairs), tuple(names[number] for number in columns), np.array(values, dtype=np.float64).T)
    unrated = [ratings.raters[number] for number in np.flatnonzero(np.isnan(ratings.values).all(axis=1))]
    return ratings.without(unrated)


def _column(path: Path, names: Sequence[str], wanted: str) -> int:
    if wanted not in names:
        raise SettingsError(f"{path} has no column {wanted!r}; it has {', '.join(names)}")
    return names.index(wanted)


def _rating(field: str) -> float | None:
    """Return a rating, NaN for a pair that was not rated, None for what is neither."""
    if not field or field.casefold() in _NOT_RATED:
        return np.nan
    try:
        # Python alone reads 1_000 as a number; in a file it is a slip.
        value = np.nan if "_" in field else float(field)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def outliers(ratings: Ratings, common: int = 3, deviations: float = 2.0) -> dict[str, float]:
    """Return annotators whose mean correlation is so many standard deviations below the mean of all the others', and theirs.

    Correlations are Spearman's with every other annotator who rated ``common`` of the same pairs or more.
    """
    measured = rater_agreement(ratings.values, common=common)
    found = {}
    for number, name in enumerate(ratings.raters):
        others = np.delete(measured, number)
        others = others[~np.isnan(others)]
        if len(others) > 1 and measured[number] < others.mean() - deviations * others.std(ddof=1):
            found[name] = float(measured[number])
    return found
