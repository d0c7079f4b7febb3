"""Category separation: are terms of two close categories more similar to each other than to terms of a distant one?

The relative overlap O of Schulz and Juric 2020 counts the triples (i near, j close, k distant) with sim(i, j) <= sim(i, k),
equality included, among all triples. Per term i the similarities to the close category are sorted and those to the distant
one looked up in them: O(n log n) instead of a loop over all triples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.errors import DataError, SettingsError
from medsenteval.support.arrays import Floats
from medsenteval.support.files import clean_text, read_lines
from medsenteval.words.ontologies.obo import descendants_along, read_obo
from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME, read_release
from medsenteval.words.terms.positives import without_category

#: Diagnostic procedure, therapeutic procedure, organism.
PAPER_CATEGORIES: Final = ("103693007", "277132007", "410607006")
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


def separate(similarity: Similarity, categories: dict[str, NDArray[np.intp]], *, rows_at_once: int = 256) -> Separation:
    """Return the separation of three categories, named in the order near, close, distant; each holds numbers of terms."""
    if len(categories) != 3:
        raise DataError(f"category separation takes three categories, not {len(categories)}")
    for name, members in categories.items():
        if len(members) < 2:
            raise DataError(f"the category {name!r} has {len(members)} term(s) that can be encoded; it needs two at least")
    first, second, third = categories.values()
    n_errors = 0
    for begin in range(0, len(first), rows_at_once):
        rows = first[begin : begin + rows_at_once]
        n_errors += count_overlaps(similarity(rows, second), similarity(rows, third))
    means = {}
    for one, other in (*combinations(categories, 2), *((name, name) for name in categories)):
        left, right, total = categories[one], categories[other], 0.0
        for begin in range(0, len(left), rows_at_once):
            rows = left[begin : begin + rows_at_once]
            block = similarity(rows, right)
            total += float(block.sum() - (np.trace(block[:, begin : begin + len(rows)]) if one == other else 0.0))
        means[one if one == other else f"{one} / {other}"] = total / (len(left) * (len(right) - (one == other)))
    sizes = (len(first), len(second), len(third))
    return Separation(n_errors / (sizes[0] * sizes[1] * sizes[2]), n_errors, sizes, means)


def read_categories(snomed: Path | None, obo: Path | None, roots: Sequence[str], lists: Sequence[Path]) -> dict[str, list[str]]:
    """Return three categories by name, in the order near, close, distant.

    A SNOMED CT category holds the fully specified names, without the category in parentheses, of the active concepts below
    the root and of the root; a branch of an ontology the names of the root and the terms below it.
    """
    if sum(map(bool, (snomed, obo, lists))) != 1:
        raise SettingsError("name one source of categories: --snomed DIR, --obo FILE, or --list FILE three times")
    if snomed is not None:
        categories = _from_snomed(snomed, roots or PAPER_CATEGORIES)
    elif obo is not None:
        ontology = read_obo(obo)
        categories = {}
        for root in roots:
            members = [ontology.terms[identifier].name for identifier in (root, *ontology.descendants(root))]
            categories[f"{ontology.terms[root].name} ({root})"] = members
    else:
        categories = {path.stem: [clean_text(line) for line in read_lines(path)[0]] for path in lists}
    if len(categories) != 3:
        raise SettingsError(
            f"category separation takes three different categories, near, close and distant; got {len(categories)}"
        )
    return {name: list(dict.fromkeys(filter(None, members))) for name, members in categories.items()}


def _from_snomed(folder: Path, roots: Sequence[str]) -> dict[str, list[str]]:
    release = read_release(folder)
    children = release.children()
    categories = {}
    for root in roots:
        if root not in release.concepts:
            raise DataError(f"{release.files['concepts']}: no concept {root}")
        members = []
        for identifier in (root, *descendants_along(children, root, release.concepts)):
            names = release.names(identifier, FULLY_SPECIFIED_NAME)
            if release.concepts[identifier].active and len(names) == 1:
                members.append(without_category(names[0]))
        name = without_category((release.names(root, FULLY_SPECIFIED_NAME) or [root])[0])
        categories[f"{name} ({root})"] = members
    return categories


def sampled(categories: Mapping[str, Sequence[str]], size: int | None, seed: int) -> dict[str, list[str]]:
    """Return at most ``size`` terms of each category, in their old order."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for name, members in categories.items():
        kept = np.sort(rng.permutation(len(members))[:size])
        drawn[name] = [members[i] for i in kept]
    return drawn
