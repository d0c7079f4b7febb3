"""Analogies the slow way: every score of every candidate in float64, a full sort, metrics read off the sorted list.

Written from the formulas alone; nothing is factored, nothing is shared with the package.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Vector = np.ndarray


def cosine(x: Vector, y: Vector) -> float:
    return float((x * y).sum() / (np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())))


def score(method: str, a: Vector, b: Vector, c: Vector, d: Vector, shifted: bool = True) -> float:
    if method == "3cosadd":
        return float(((d / np.sqrt((d * d).sum())) * (b - a + c)).sum())
    if method == "only-b":
        return float(((d / np.sqrt((d * d).sum())) * b).sum())
    if method == "only-c":
        return float(((d / np.sqrt((d * d).sum())) * c).sum())
    if method == "pairwise-distance":
        return -np.inf if np.array_equal(c, d) else cosine(d - c, b - a)
    assert method == "3cosmul"
    if shifted:
        return (cosine(d, b) + 1) / 2 * ((cosine(d, c) + 1) / 2) / ((cosine(d, a) + 1) / 2 + 1e-3)
    return cosine(d, b) * cosine(d, c) / (cosine(d, a) + 1e-6)


def metrics(scores: Vector, answers: Sequence[int], excluded: Sequence[int]) -> tuple[float, float, float]:
    """Return accuracy, average precision and reciprocal rank from all scores, ties in the order of the candidates."""
    ranking = np.argsort(-scores, kind="stable").tolist()
    right = set(answers)
    guess = next((row for row in ranking if row not in set(excluded)), None)
    found, precisions, first = 0, [], 0
    for rank, row in enumerate(ranking, start=1):
        if row in right:
            found += 1
            precisions.append(found / rank)
            first = first or rank
    return float(guess in right), sum(precisions) / len(right), 1 / first
