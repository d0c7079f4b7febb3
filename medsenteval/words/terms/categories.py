"""Three categories of terms: below concepts of SNOMED CT, below terms of an ontology, or from plain lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from medsenteval.errors import DataError, SettingsError
from medsenteval.support.files import clean_text, read_lines
from medsenteval.words.ontologies.obo import descendants_along, read_obo
from medsenteval.words.ontologies.rf2 import FULLY_SPECIFIED_NAME, read_release
from medsenteval.words.terms.positives import without_category

__all__ = ["PAPER_CATEGORIES", "read_categories", "sampled"]

#: Diagnostic procedure, therapeutic procedure, organism.
PAPER_CATEGORIES: Final = ("103693007", "277132007", "410607006")


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
        categories = {path.stem: _from_list(path) for path in lists}
    if len(categories) != 3:
        raise SettingsError(
            f"category separation takes three different categories, near, close and distant; got {len(categories)}"
        )
    return {name: list(dict.fromkeys(filter(None, members))) for name, members in categories.items()}


def _from_list(path: Path) -> list[str]:
    lines, _ = read_lines(path)
    return [clean_text(line) for line in lines]


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
