"""Similarities of terms against scipy, pair by pair, and against the definitions written out."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import cosine

from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.similarity import MEASURES, Terms, measures, term_similarities
from medsenteval.similarity import kendall as kendall_module
from tests.conftest import examples

Floats = NDArray[np.float64]


def coefficient(kind: str, x: Floats, y: Floats) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant vectors, which are 0 here
        of_kind: dict[str, Callable[[], float]] = {
            "cos": lambda: float(1 - cosine(x, y)) if x.any() and y.any() else 0.0,
            "r": lambda: float(stats.pearsonr(x, y)[0]),
            "rho": lambda: float(stats.spearmanr(x, y)[0]),
            "tau": lambda: float(stats.kendalltau(x, y)[0]),
        }
        value = of_kind[kind]()
    return 0.0 if np.isnan(value) else value


def pair_by_pair(name: str, x: Floats, y: Floats) -> float:
    """The definition, for one pair of terms."""
    how, _, kind = name.partition("_")
    if how == "avg":
        return coefficient(kind, x.mean(axis=0), y.mean(axis=0))
    if how == "pair":
        return float(np.mean([coefficient(kind, u, v) for u in x for v in y]))
    universe = np.concatenate([x, y]) if how == "fuzzy" else np.eye(x.shape[1])
    a, b = (np.maximum(0.0, (side @ universe.T).max(axis=0)) for side in (x, y))
    return float(np.minimum(a, b).sum() / np.maximum(a, b).sum()) if np.maximum(a, b).any() else 0.0


def check(matrix: Floats | NDArray[np.float32], terms: list[list[int]], pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    found = term_similarities(MEASURES, matrix, Terms.of(terms), left, right)
    for name, values in found.items():
        expected = [pair_by_pair(name, matrix[terms[i]].astype(float), matrix[terms[j]].astype(float)) for i, j in pairs]
        assert values == pytest.approx(expected, abs=1e-9), name


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), dimension=st.integers(2, 19), levels=st.sampled_from([2, 3, 0]))
def test_all_ten_equal_scipy(seed: int, dimension: int, levels: int) -> None:
    """With 2 or 3 distinct values there are ties, zero vectors and constant vectors; with 0 there are none."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((12, dimension))
    if levels:
        matrix = rng.integers(-1, levels - 1, (12, dimension)).astype(float)
    terms = [rng.integers(0, 12, rng.integers(1, 5)).tolist() for _ in range(6)]
    check(matrix, terms, [(int(i), int(j)) for i, j in rng.integers(0, 6, (8, 2))])


def test_real_sizes_equal_scipy() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((50, 200)).astype(np.float32)
    terms = [rng.integers(0, 50, rng.integers(2, 7)).tolist() for _ in range(20)]
    check(matrix, terms, [(int(i), int(j)) for i, j in rng.integers(0, 20, (10, 2))])


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((30, 8))
    matrix[:4] = np.round(matrix[:4])
    terms = Terms.of([rng.integers(0, 30, rng.integers(1, 5)).tolist() for _ in range(40)])
    left, right = rng.integers(0, 40, (2, 3000))
    whole = term_similarities(MEASURES, matrix, terms, left, right)
    for name, size in (("_LARGEST_PLANES", 1), ("_PAIRS_AT_ONCE", 7)):
        monkeypatch.setattr(measures, name, size)
    again = term_similarities(MEASURES, matrix, terms, left, right)
    for name in MEASURES:
        assert again[name] == pytest.approx(whole[name], abs=1e-12)


def test_bits_are_counted_without_numpys_own_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    matrix, terms = rng.standard_normal((9, 33)), Terms.single(9)
    left, right = rng.integers(0, 9, (2, 20))
    expected = term_similarities("avg_tau", matrix, terms, left, right)["avg_tau"]
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert term_similarities("avg_tau", matrix, terms, left, right)["avg_tau"].tolist() == expected.tolist()


def test_two_bits_are_kept_for_every_two_coordinates() -> None:
    """In words of 64 bits, of which there is one at least."""
    assert [kendall_module.plane_bytes(n) for n in (1, 2, 11, 12, 200)] == [16, 16, 16, 32, 16 * 311]


def test_vectors_with_ties_after_many_without() -> None:
    """Vectors are ranked in blocks: one with ties changes nothing for those before and after it."""
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((3 * kendall_module._VECTORS_AT_ONCE, 12))
    matrix[kendall_module._VECTORS_AT_ONCE + 5] = np.round(matrix[5])
    planes = kendall_module.SignPlanes.of(matrix)
    left = np.arange(len(matrix))
    right = np.roll(left, 7)
    expected = [stats.kendalltau(matrix[i], matrix[j])[0] for i, j in zip(left, right, strict=True)]
    assert planes.taus(left, right) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_similarities_are_symmetric_and_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((10, 6))
    terms = Terms.of([rng.integers(0, 10, rng.integers(1, 4)).tolist() for _ in range(5)])
    left, right = rng.integers(0, 5, (2, 6))
    one = term_similarities(MEASURES, matrix, terms, left, right)
    other = term_similarities(MEASURES, matrix, terms, right, left)
    for name in MEASURES:
        assert one[name] == pytest.approx(other[name], abs=1e-12)
        assert (np.abs(one[name]) <= 1 + 1e-12).all()
    itself = term_similarities(MEASURES, matrix, terms, left, left)
    for name in ("avg_cos", "avg_r", "avg_rho", "avg_tau", "fuzzy_jaccard"):
        assert itself[name] == pytest.approx(1.0)


def test_terms_without_words_are_similar_to_nothing() -> None:
    matrix = np.random.default_rng(0).standard_normal((3, 5))
    found = term_similarities(MEASURES, matrix, Terms.of([[], [0, 1], [2]]), np.array([0, 1, 0]), np.array([1, 2, 0]))
    for name, values in found.items():
        assert values[[0, 2]].tolist() == [0.0, 0.0], name
        assert values[1] == pytest.approx(pair_by_pair(name, matrix[:2], matrix[2:]), abs=1e-12)


def test_for_single_unit_words_fuzzy_jaccard_is_the_cosine() -> None:
    matrix = np.random.default_rng(0).standard_normal((6, 5))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    left, right = np.arange(5), np.arange(1, 6)
    found = term_similarities(["fuzzy_jaccard", "avg_cos"], matrix, Terms.single(6), left, right)
    assert found["fuzzy_jaccard"] == pytest.approx(np.maximum(found["avg_cos"], 0.0))


def test_nothing_to_compare_gives_nothing() -> None:
    nothing = np.zeros(0, dtype=int)
    for values in term_similarities(MEASURES, np.ones((2, 3)), Terms.single(2), nothing, nothing).values():
        assert len(values) == 0


def test_wrong_input_is_refused() -> None:
    rows = np.arange(3)
    with pytest.raises(UnknownNameError, match="no similarity measure is called 'dice'"):
        term_similarities("dice", np.ones((3, 2)), Terms.single(3), rows, rows)
    with pytest.raises(SettingsError, match="are no pairs"):
        term_similarities("avg_cos", np.ones((3, 2)), Terms.single(3), rows, rows[:2])
    with pytest.raises(SettingsError, match="offsets of terms must start at 0"):
        Terms(rows, np.array([0, 2]))
    with pytest.raises(SettingsError, match="must not fall"):
        Terms(rows, np.array([0, 4, 3]))
