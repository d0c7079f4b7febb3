"""Category separation: are terms of two close categories more similar to each other than to terms of a distant one?

The relative overlap O of Schulz and Juric 2020 counts the triples (i near, j close, k distant) with sim(i, j) <= sim(i, k),
equality included, among all triples. Per term i the similarities to the close category are sorted and those to the distant
one looked up in them: O(n log n) instead of a loop over all triples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import DataError
from medsenteval.support.arrays import Floats

__all__ = ["Separation", "count_overlaps", "separate"]

#: From (rows, columns), both numbers of terms, to their matrix of similarities.
Similarity = Callable[[NDArray[np.intp], NDArray[np.intp]], Floats]


@dataclass(frozen=True)
class Separation:
    """O for one encoder and measure with the sizes behind it, and mean similarities within and between categories.

    A mean within a category leaves out a term's similarity to itself.
    """

    overlap: float
    n_errors: int
    sizes: tuple[int, int, int]
    means: dict[str, float]


def count_overlaps(close: Floats, distant: Floats) -> int:
    """Count over rows the pairs of columns with close <= distant; both are matrices with a row for each term."""
    if close.shape[0] != distant.shape[0]:
        raise DataError(f"similarities of {close.shape[0]} and of {distant.shape[0]} terms do not belong together")
    total = 0
    for to_close, to_distant in zip(np.sort(close, axis=1), distant, strict=True):
        # How many close ones are at most as similar as each distant one.
        total += int(np.searchsorted(to_close, to_distant, side="right").sum())
    return total


def separate(
    similarity: Similarity,
    categories: dict[str, NDArray[np.intp]],
    *,
    rows_at_once: int = 256,
    progress: Callable[[int], object] = lambda n: None,
) -> Separation:
    """Return the separation of three categories, named in the order near, close, distant; each holds numbers of terms."""
    if len(categories) != 3:
        raise DataError(f"category separation takes three categories, not {len(categories)}")
    for name, members in categories.items():
        if len(members) < 2:
            raise DataError(f"the category {name!r} has {len(members)} term(s) that can be encoded; it needs two at least")
    (near, first), (close, second), (distant, third) = categories.items()
    n_errors = 0
    sums: dict[str, float] = dict.fromkeys(
        (f"{near} / {close}", f"{near} / {distant}", f"{close} / {distant}", near, close, distant), 0.0
    )
    for begin in range(0, len(first), rows_at_once):
        rows = first[begin : begin + rows_at_once]
        to_close, to_distant = similarity(rows, second), similarity(rows, third)
        n_errors += count_overlaps(to_close, to_distant)
        sums[f"{near} / {close}"] += float(to_close.sum())
        sums[f"{near} / {distant}"] += float(to_distant.sum())
        progress(len(rows))
    for name, left, right in ((near, first, first), (close, second, second), (distant, third, third)):
        for begin in range(0, len(left), rows_at_once):
            rows = left[begin : begin + rows_at_once]
            block = similarity(rows, right)
            sums[name] += float(block.sum() - np.trace(block[:, begin : begin + len(rows)]))
    for begin in range(0, len(second), rows_at_once):
        sums[f"{close} / {distant}"] += float(similarity(second[begin : begin + rows_at_once], third).sum())
    n1, n2, n3 = len(first), len(second), len(third)
    counts = {
        f"{near} / {close}": n1 * n2,
        f"{near} / {distant}": n1 * n3,
        f"{close} / {distant}": n2 * n3,
        near: n1 * (n1 - 1),
        close: n2 * (n2 - 1),
        distant: n3 * (n3 - 1),
    }
    means = {name: sums[name] / counts[name] for name in sums}
    return Separation(n_errors / (n1 * n2 * n3), n_errors, (n1, n2, n3), means)
