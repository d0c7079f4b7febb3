"""Category separation against the cubic definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medsenteval.errors import DataError, SettingsError, UnknownNameError
from medsenteval.similarity import MEASURES, Terms, term_similarities
from medsenteval.similarity.measures import cross_similarity
from medsenteval.words.terms.category_overlap import count_overlaps, read_categories, sampled, separate
from tests.conftest import examples
from tests.words.terms.release import write_release

sizes = st.integers(1, 6)


@given(sizes, sizes, sizes, st.integers(0, 1000))
@settings(max_examples=examples(200), deadline=None)
def test_counts_equal_the_triple_loop(near: int, close: int, distant: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few values, so that equality, which counts as an error, is frequent.
    to_close, to_distant = rng.integers(0, 4, (near, close)) / 4, rng.integers(0, 4, (near, distant)) / 4
    triples = sum(to_close[i, j] <= to_distant[i, k] for i in range(near) for j in range(close) for k in range(distant))
    assert count_overlaps(to_close, to_distant) == triples


def test_separation_and_means_by_definition() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(15, 4))
    similarity = cross_similarity("avg_cos", vectors, Terms.single(15))
    members = {"near": np.arange(5), "close": np.arange(5, 9), "distant": np.arange(9, 15)}
    found = separate(similarity, members, rows_at_once=2)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    errors = sum(cosines[i, j] <= cosines[i, k] for i in members["near"] for j in members["close"] for k in members["distant"])
    assert (found.n_errors, found.sizes) == (errors, (5, 4, 6))
    assert found.overlap == pytest.approx(errors / 120)
    assert list(found.means) == ["near / close", "near / distant", "close / distant", "near", "close", "distant"]
    whole = separate(similarity, members)
    assert whole.n_errors == errors, "however many rows are taken at once"
    assert whole.means == pytest.approx(found.means)
    assert found.means["near / close"] == pytest.approx(cosines[:5, 5:9].mean())
    assert found.means["near / distant"] == pytest.approx(cosines[:5, 9:].mean())
    assert found.means["close / distant"] == pytest.approx(cosines[5:9, 9:].mean())
    within = cosines[9:, 9:]
    assert found.means["distant"] == pytest.approx((within.sum() - np.trace(within)) / 30)


@pytest.mark.parametrize("measure", MEASURES)
def test_matrices_equal_pairs(measure: str) -> None:
    rng = np.random.default_rng(1)
    words = rng.normal(size=(12, 7)).astype(np.float32)
    terms = Terms.of([[0, 1], [2], [3, 4, 5], [6, 7], [8, 9, 10], [11], [0, 11]])
    rows, columns = np.array([0, 3, 5]), np.array([1, 2, 4, 6])
    found = cross_similarity(measure, words, terms)(rows, columns)
    left, right = np.repeat(rows, 4), np.tile(columns, 3)
    assert np.allclose(found.ravel(), term_similarities(measure, words, terms, left, right)[measure], atol=1e-12)


def test_wrong_categories_are_refused() -> None:
    similarity = cross_similarity("avg_cos", np.eye(4), Terms.single(4))
    pair = {"a": np.arange(2), "b": np.arange(2), "c": np.arange(2, 4)}
    assert separate(similarity, pair).sizes == (2, 2, 2), "two terms are enough"
    with pytest.raises(DataError, match=r"the category 'b' has 1 term\(s\) that can be encoded; it needs two"):
        separate(similarity, {"a": np.arange(2), "b": np.arange(1), "c": np.arange(2)})
    with pytest.raises(DataError, match="takes three categories, not 1"):
        separate(similarity, {"a": np.arange(2)})
    with pytest.raises(DataError, match="do not belong together"):
        count_overlaps(np.eye(2), np.eye(3))
    with pytest.raises(UnknownNameError, match="no similarity measure"):
        cross_similarity("avg_taste", np.eye(4), Terms.single(4))


def test_categories_from_snomed_obo_and_lists(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "snomed")
    found = read_categories(folder, None, ["1", "2", "11"], [])
    # Concept 3 is inactive; the is-a of concept 11 was withdrawn.
    assert found == {
        "Malaria (1)": ["Malaria", "Sprain of ankle", "Burn (& scald)"],
        "Sprain of ankle (2)": ["Sprain of ankle", "Burn (& scald)"],
        "Null (11)": ["Null"],
    }
    with pytest.raises(DataError, match="no concept 103693007"):
        read_categories(folder, None, [], [])
    path = tmp_path / "toy.obo"
    path.write_text("[Term]\nid: A\nname: a\n\n[Term]\nid: B\nname: b\nis_a: A\n\n[Term]\nid: C\nname: c\nis_a: B\n", "utf-8")
    assert read_categories(None, path, ["A", "B", "C"], []) == {"a (A)": ["a", "b", "c"], "b (B)": ["b", "c"], "c (C)": ["c"]}
    lists = []
    for name in ("x", "y", "z"):
        lists.append(tmp_path / f"{name}.txt")
        lists[-1].write_text(f"{name} 1\n\n{name}  2\n{name} 1\n", "utf-8")
    categories = read_categories(None, None, [], lists)
    assert categories["x"] == ["x 1", "x 2"]
    assert {name: len(members) for name, members in sampled(categories, 1, 0).items()} == {"x": 1, "y": 1, "z": 1}
    assert sampled(categories, None, 0) == categories
    many = {"x": [f"x{i}" for i in range(50)], "y": [f"y{i}" for i in range(3)]}
    drawn = sampled(many, 20, 7)
    kept = np.sort(np.random.default_rng(7).permutation(50)[:20])
    assert drawn == {"x": [f"x{i}" for i in kept], "y": many["y"]}
    assert sampled(many, 20, 8)["x"] != drawn["x"]
    with pytest.raises(SettingsError, match="three different categories, near, close and distant; got 2"):
        read_categories(None, None, [], lists[:2])
    for snomed, obo, named in ((None, None, False), (folder, None, True), (folder, path, False), (None, path, True)):
        with pytest.raises(SettingsError, match="name one source of categories"):
            read_categories(snomed, obo, ["A", "B", "C"], lists if named else [])
    # An active concept with two names has none that could be taken.
    assert read_categories(folder, None, ["1", "6", "11"], [])["First name (6)"] == []
