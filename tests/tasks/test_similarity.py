"""Similarity tasks against scipy: the cosine of each pair, or a similarity of the caller's, beside the gold scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from medsenteval.contracts import Dataset, Embeddings, Split
from medsenteval.errors import DataError
from medsenteval.registry import task
from medsenteval.settings import Settings
from medsenteval.statistics import Correlation, bootstrap, correlation_interval, correlations
from medsenteval.statistics.weighted_scores import SubsetCorrelations
from medsenteval.tasks.similarity import CORRELATIONS, concatenate_splits, evaluate_similarity, evaluate_similarity_by_subset

RNG = np.random.default_rng(3)
VECTORS = RNG.standard_normal((24, 5)).astype(np.float32)
TEXTS = tuple(f"t{i}" for i in range(24))
EMBEDDINGS = Embeddings(VECTORS, {text: row for row, text in enumerate(TEXTS)})
SPLITS = {
    name: Split(tuple(f"{name}{i}" for i in range(len(rows))), tuple(TEXTS[i] for i in rows),
                tuple(TEXTS[i + 12] for i in rows), scores=RNG.random(len(rows)))
    for name, rows in (("one", range(5)), ("two", range(5, 12)))
}  # fmt: skip
DATASET = Dataset("STS12", SPLITS)
GOLD = np.concatenate([split.scores for split in SPLITS.values() if split.scores is not None])
QUICK = Settings(resamples=100)


def cosines() -> np.ndarray:
    left, right = VECTORS[:12].astype(float), VECTORS[12:].astype(float)
    return np.asarray(np.sum(left * right, axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1))


def test_all_splits_are_scored_as_one() -> None:
    scores = evaluate_similarity(task("BIOSSES"), DATASET, EMBEDDINGS, QUICK)
    assert scores.items["predicted"] == pytest.approx(cosines().tolist())
    assert scores.metric("pearson").value == pytest.approx(stats.pearsonr(cosines(), GOLD)[0])
    assert scores.metric("spearman").value == pytest.approx(stats.spearmanr(cosines(), GOLD)[0])
    assert (scores.n_train, scores.n_test, scores.details) == (0, 12, {"pairs_with_zero_vector": 0})
    for kind in CORRELATIONS:
        metric, rng = scores.metric(kind), np.random.default_rng(QUICK.seed)
        ends = correlation_interval(kind, cosines(), GOLD, resamples=100, confidence=0.95, rng=rng)
        assert (metric.low, metric.high) == pytest.approx(ends)
        assert (metric.baseline, metric.unit, metric.n) == (0.0, "fraction", 12)
    assert scores.senteval["BIOSSES"]["nsamples"] == 12
    assert scores.items["id"] == (*SPLITS["one"].ids, *SPLITS["two"].ids)


def test_a_mean_over_subsets_weighs_them_alike_or_by_their_pairs() -> None:
    scores = evaluate_similarity_by_subset(task("STS12"), DATASET, EMBEDDINGS, QUICK)
    parts = [np.arange(5), np.arange(5, 12)]
    functions: dict[Correlation, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    for kind, function in functions.items():
        each = [function(cosines()[rows], GOLD[rows])[0] for rows in parts]
        assert scores.metric(kind).value == pytest.approx(np.mean(each))
        assert scores.metric(f"{kind}_weighted").value == pytest.approx((5 * each[0] + 7 * each[1]) / 12)
        assert scores.metric(f"{kind}_pooled").value == pytest.approx(function(cosines(), GOLD)[0])
        weights = (None, [5.0, 7.0])
        of_subsets = [SubsetCorrelations.of(kind, cosines(), GOLD, parts, sizes) for sizes in weights]
        for name, resampled in zip(
            ("", "_weighted", "_pooled"), [*of_subsets, correlations(kind, cosines(), GOLD)], strict=True
        ):
            metric = scores.metric(kind + name)
            drawn = bootstrap(resampled, resamples=100, rng=np.random.default_rng(QUICK.seed))
            interval = drawn.interval(confidence=0.95, method="fisher")
            assert (metric.low, metric.high) == pytest.approx((interval.low, interval.high))
            assert (metric.baseline, metric.unit, metric.n) == (0.0, "fraction", 12)
        assert scores.senteval["all"][kind]["wmean"] == pytest.approx((5 * each[0] + 7 * each[1]) / 12)
        assert [scores.senteval[name][kind][0] for name in SPLITS] == pytest.approx(each)
    # Those of the paper's table come first.
    assert [metric.name for metric in scores.metrics][:2] == ["pearson", "spearman"]
    assert scores.items["subset"] == ["one"] * 5 + ["two"] * 7
    assert (scores.n_train, scores.n_test) == (0, 12)


def test_a_similarity_of_the_callers_takes_the_place_of_the_cosine() -> None:
    own = replace(QUICK, similarity=lambda u, v: -float(np.abs(u - v).sum()))
    scores = evaluate_similarity(task("BIOSSES"), DATASET, EMBEDDINGS, own)
    expected = -np.abs(VECTORS[:12] - VECTORS[12:]).sum(axis=1)
    assert scores.items["predicted"] == pytest.approx(expected.tolist())
    odd = replace(QUICK, similarity=lambda u, v: float("nan") if u is VECTORS[0] or u[0] == VECTORS[1][0] else 1.0)
    with pytest.raises(DataError, match="BIOSSES: the given similarity is not finite for 1 of 12 pairs"):
        evaluate_similarity(task("BIOSSES"), DATASET, EMBEDDINGS, odd)


def test_pairs_need_scores() -> None:
    for changes in ({"scores": None, "labels": np.zeros(5, dtype=np.int64)}, {"texts2": None}):
        broken = Dataset("BIOSSES", {"all": replace(SPLITS["one"], **changes)})
        with pytest.raises(DataError, match="BIOSSES: a similarity task needs pairs of texts with scores"):
            evaluate_similarity(task("BIOSSES"), broken, EMBEDDINGS, QUICK)


def test_a_zero_vector_is_counted_and_similar_to_nothing() -> None:
    matrix = VECTORS.copy()
    matrix[3] = 0
    scores = evaluate_similarity(task("BIOSSES"), DATASET, replace(EMBEDDINGS, matrix=matrix), QUICK)
    assert (scores.details["pairs_with_zero_vector"], scores.items["predicted"][3]) == (1, 0.0)


def test_splits_lose_a_column_that_one_of_them_lacks() -> None:
    one, two = SPLITS["one"], replace(SPLITS["two"], groups=tuple("abcdefg"))
    joined = concatenate_splits([one, two])
    assert (joined.ids, joined.texts2, joined.groups) == (one.ids + two.ids, (*(one.texts2 or ()), *(two.texts2 or ())), None)
    assert joined.scores is not None
    assert joined.scores.tolist() == GOLD.tolist()
    assert concatenate_splits([two]) is two
