"""Means over clusters against a plain loop that draws whole clusters."""

from __future__ import annotations

import numpy as np
import pytest

from medsenteval.errors import SettingsError
from medsenteval.statistics import Means, bootstrap
from medsenteval.statistics.weighted_scores import ClusteredMeans


def test_weights_of_clusters_are_weights_of_all_their_items() -> None:
    rng = np.random.default_rng(3)
    clusters = [f"c{number}" for number in rng.integers(0, 9, 60)]
    values = rng.random((2, 60))
    score = ClusteredMeans.of(values, clusters)
    names = sorted(set(clusters))
    weights = rng.integers(0, 4, (5, len(names))).astype(float)
    for row, found in zip(weights, score(weights), strict=True):
        drawn = np.array([row[names.index(name)] for name in clusters])
        assert found == pytest.approx((values * drawn).sum(axis=1) / drawn.sum())
    assert score(np.zeros((1, len(names)))).tolist() == [[0.0, 0.0]]


def test_clusters_of_one_item_are_plain_means_and_large_ones_widen_the_interval() -> None:
    rng = np.random.default_rng(5)
    values = np.repeat(rng.integers(0, 2, 40), 5).astype(float)[None]
    single = bootstrap(ClusteredMeans.of(values, [str(i) for i in range(200)]), resamples=2000, rng=np.random.default_rng(1))
    plain = bootstrap(Means.of(values), resamples=2000, rng=np.random.default_rng(1))
    of_five = bootstrap(
        ClusteredMeans.of(values, [str(i // 5) for i in range(200)]), resamples=2000, rng=np.random.default_rng(1)
    )
    assert single.observed == pytest.approx(plain.observed)
    widths = [found.interval().high - found.interval().low for found in (single, plain, of_five)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
    # Five equal values say as much as one: the interval is wider by the root of five.
    assert widths[2] / widths[1] == pytest.approx(5**0.5, rel=0.15)


def test_every_item_needs_a_cluster() -> None:
    with pytest.raises(SettingsError, match="3 values where there are 2"):
        ClusteredMeans.of(np.ones((1, 3)), ["a", "b"])
