"""AUC, thresholds and comparisons against scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from medsenteval.errors import DataError
from medsenteval.report.term_tables import _counts
from medsenteval.running.term_evaluation import compare_rows
from medsenteval.statistics import bonferroni, mcnemar
from medsenteval.words.terms import pair_separability
from medsenteval.words.terms.pair_separability import auc, best_threshold, cross_validated, score_separability
from tests.conftest import examples

pairs = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.1, 0.30000000000000004, 0.5, 1.0]), st.booleans()), min_size=1, max_size=25
)


@given(pairs)
@settings(max_examples=examples(300), deadline=None)
def test_thresholds_equal_a_search_over_all(drawn: list[tuple[float, bool]]) -> None:
    similarities, similar = np.array([s for s, _ in drawn]), np.array([label for _, label in drawn])
    threshold, share = best_threshold(similarities, similar)
    every = [-np.inf, *np.unique(similarities), np.inf]
    assert share == pytest.approx(max(np.mean((similarities >= cut) == similar) for cut in every))
    assert np.mean((similarities >= threshold) == similar) == pytest.approx(share)
    assert share >= max(similar.mean(), 1 - similar.mean()) - 1e-12
    if similar.any() and not similar.all():
        assert auc(similarities, similar)[0] == pytest.approx(roc_auc_score(similar, similarities))


def test_threshold_between_neighbouring_numbers() -> None:
    # The mean of two neighbours is rounded to the lower of the one pair and to the higher of the other.
    for low in (0.3, np.nextafter(0.3, 1)):
        high = np.nextafter(low, 1)
        threshold, share = best_threshold(np.array([low, high]), np.array([False, True]))
        assert share == 1.0
        assert low < threshold <= high


def test_the_largest_of_several_best_thresholds_lies_midway_between_two_similarities() -> None:
    similarities = np.array([0.9, 0.7, 0.5, 0.3])
    for similar, expected in (
        ([True, False, True, False], (0.8, 0.75)),
        ([True, True, False, False], (0.6, 1.0)),
        ([False] * 4, (np.inf, 1.0)),
        ([True] * 4, (-np.inf, 1.0)),
        ([False, False, False, True], (np.inf, 0.75)),  # the direction is never turned around
    ):
        assert best_threshold(similarities, np.array(similar)) == pytest.approx(expected)


def test_what_is_measured_of_one_similarity() -> None:
    similarities, similar = np.array([0.9, 0.8, 0.2, 0.1, 0.7]), np.array([True, True, False, True, False])
    found = score_separability(similarities, similar)
    assert (found.auc, found.accuracy, found.majority) == pytest.approx((4 / 6, 0.8, 0.6))
    assert found.threshold == pytest.approx(0.75)
    assert found.answers.tolist() == [True, True, False, False, False]
    assert found.correct.tolist() == [True, True, True, False, True]
    assert found.cv_accuracy == np.mean(found.cv_answers == similar)
    again = cross_validated(similarities, similar, folds=10, rng=np.random.default_rng(0))
    assert found.cv_answers.tolist() == again.tolist()
    assert score_separability(-similarities, ~similar).majority == 0.6


def test_folds_hold_equally_many_of_both_labels() -> None:
    """Each fold holds one similar and two other pairs; what it calls similar follows from the rest alone."""
    similar = np.arange(12) < 4
    similarities = np.where(similar, 1.0, 0.0)
    calls: list[tuple[int, int]] = []

    def always_one(values: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        calls.append((int(labels.sum()), len(values)))
        return 1.0, 1.0

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pair_separability, "best_threshold", always_one)
        answers = cross_validated(similarities, similar, folds=4, rng=np.random.default_rng(0))
    assert calls == [(3, 9)] * 4
    assert answers.tolist() == similar.tolist(), "a similarity at the threshold is called similar"
    one = cross_validated(np.array([1.0]), np.array([True]), folds=4, rng=np.random.default_rng(0))
    assert one.tolist() == [False], "there is nothing to learn a threshold from"


def test_delong_error_agrees_with_the_bootstrap() -> None:
    rng = np.random.default_rng(0)
    similar = rng.random(400) < 0.5
    similarities = rng.normal(size=400) + 0.8 * similar
    area, error = auc(similarities, similar)
    resampled = []
    for _ in range(600):
        rows = rng.integers(0, 400, 400)
        resampled.append(auc(similarities[rows], similar[rows])[0])
    assert error == pytest.approx(np.std(resampled), rel=0.15)
    assert 0.5 < area < 1
    with pytest.raises(DataError, match="similar and dissimilar"):
        auc(similarities, np.ones(400, dtype=bool))


def test_one_similar_pair_has_no_spread_of_its_own() -> None:
    area, error = auc(np.array([0.5, 0.1, 0.9, 0.2]), np.array([True, False, False, False]))
    # Two of three are below it; their placements 0, 1 and 0 have the variance 1/3.
    assert (area, error) == pytest.approx((2 / 3, (1 / 9) ** 0.5))


def test_cross_validated_threshold_does_not_see_its_fold() -> None:
    rng = np.random.default_rng(1)
    similar = np.arange(200) % 2 == 0
    noise = rng.normal(size=200)
    score = score_separability(noise, similar, folds=10, seed=3)
    assert score.accuracy > 0.5 >= score.cv_accuracy - 0.1
    clear = np.where(similar, 1.0, 0.0)
    assert cross_validated(clear, similar, folds=5, rng=rng).tolist() == similar.tolist()
    assert (score_separability(clear, similar).auc, score_separability(-clear, similar).accuracy) == (1.0, 0.5)


def test_comparisons_count_wins_like_pairwise_tests() -> None:
    rng = np.random.default_rng(2)
    correct = rng.random((5, 300)) < np.array([0.5, 0.55, 0.7, 0.72, 0.9])[:, None]
    found = compare_rows(correct)
    p = {(i, j): mcnemar(correct[i], correct[j]).p_value for i in range(5) for j in range(i + 1, 5)}
    adjusted = dict(zip(p, bonferroni(list(p.values())), strict=True))
    for row in range(5):
        significant = [pair for pair in p if row in pair and adjusted[pair] < 0.05]
        better = sum(correct[row].mean() > correct[sum(pair) - row].mean() for pair in significant)
        assert (found[row]["better"], found[row]["worse"]) == (better, len(significant) - better)
        assert found[row]["better_holm"] >= found[row]["better"]
    assert (found[4]["better"], found[4]["worse"]) == (4, 0)
    assert found[0]["better"] == 0 < found[0]["worse"]
    assert compare_rows(correct[:1]) == [{"better": 0, "worse": 0, "better_holm": 0, "worse_holm": 0}]


def test_counts_of_beaten_encoders_are_said_as_in_the_paper() -> None:
    assert [_counts(*pair) for pair in ((4, 0), (2, 1), (0, 3), (0, 0))] == ["4", "2/-1", "-3", ""]
