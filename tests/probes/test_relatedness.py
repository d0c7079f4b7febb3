"""Relatedness regressions: SentEval's softmax over grades against a plain torch loop, ridge against scikit-learn."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from medsenteval.errors import MissingExtraError, ProbeError
from medsenteval.probes import relatedness
from medsenteval.probes.features import Features
from medsenteval.probes.relatedness import fit_ridge, fit_softmax, two_point_targets


def made_up(n: int = 260, width: int = 12, seed: int = 5) -> tuple[Features, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n, width)).astype(np.float32)
    v = (u + rng.normal(size=(n, width)) * rng.uniform(0.1, 1.5, size=(n, 1))).astype(np.float32)
    closeness = -np.abs(u - v).mean(axis=1)
    scores = np.clip(3 + 1.4 * (closeness - closeness.mean()) / closeness.std() + rng.normal(size=n) * 0.2, 1, 5)
    matrix = np.concatenate([u, v])
    return Features(matrix, np.arange(n), np.arange(n, 2 * n), "|u-v|,u*v"), scores.astype(np.float64)


SPLIT = (np.arange(150), np.arange(150, 200), np.arange(200, 260))


def test_targets_spread_a_score_over_its_two_grades() -> None:
    scores = np.array([1.0, 3.25, 5.0, 4.6, 0.4, 0.0])
    targets = two_point_targets(scores)
    assert targets[:4] @ np.arange(1, 6) == pytest.approx(scores[:4], abs=1e-6)
    assert targets[1].tolist() == [0, 0, 0.75, 0.25, 0]
    # Below 1 there is no lower grade: SentEval loses that share.
    assert targets[4] == pytest.approx([0.4, 0, 0, 0, 0])
    assert targets[5].sum() == 0


@pytest.fixture(scope="module")
def described() -> tuple[int, float, NDArray[np.float64]]:
    """The passes, the best Pearson correlation on dev and the grades on test of SentEval's recipe as a plain torch loop."""
    torch = pytest.importorskip("torch")
    features, scores = made_up()
    train, dev, test = SPLIT
    torch.manual_seed(7)
    shuffler = np.random.RandomState(7)
    model = torch.nn.Sequential(torch.nn.Linear(features.n_columns, 5), torch.nn.Softmax(dim=-1))
    optimiser = torch.optim.Adam(model.parameters())
    inputs, targets = torch.from_numpy(features.take(train)), torch.from_numpy(two_point_targets(scores[train]))
    best, best_model, misses, passes = -1.0, None, 0, 0

    def grades(rows: NDArray[np.intp], which: Any) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.asarray(which(torch.from_numpy(features.take(rows))).numpy() @ np.arange(1, 6), dtype=np.float64)

    while misses < 4 and passes <= 1000:
        for _ in range(50):
            order = shuffler.permutation(len(train))
            for start in range(0, len(train), 64):
                batch = torch.from_numpy(order[start : start + 64])
                loss = torch.nn.functional.mse_loss(model(inputs[batch]), targets[batch])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        passes += 50
        pearson = float(np.corrcoef(grades(dev, model), scores[dev])[0, 1])
        if pearson > best:
            best, best_model = pearson, copy.deepcopy(model)
        else:
            misses += 1
    return passes, best, grades(test, best_model)


@pytest.mark.slow
def test_softmax_follows_the_described_recipe(described: tuple[int, float, NDArray[np.float64]]) -> None:
    features, scores = made_up()
    train, dev, test = SPLIT
    ours = fit_softmax(features, train, scores[train], dev, scores[dev], test, seed=7)
    passes, best, grades = described
    assert ours.details["passes"] == passes
    assert ours.dev_pearson == pytest.approx(best, abs=1e-5)
    assert ours.predicted == pytest.approx(grades, abs=1e-4)
    assert np.corrcoef(ours.predicted, scores[test])[0, 1] > 0.7


@pytest.mark.parametrize("width", [12, 120])
def test_ridge_equals_scikit_learns(width: int) -> None:
    from sklearn.linear_model import Ridge

    features, scores = made_up(width=width)
    train, dev, test = SPLIT
    ours = fit_ridge(features, train, scores[train], dev, scores[dev], test)
    model = Ridge(alpha=ours.details["penalty"]).fit(features.take(train).astype(np.float64), scores[train])
    assert ours.predicted == pytest.approx(model.predict(features.take(test)), abs=1e-6)
    again = fit_ridge(features, train, scores[train], dev, scores[dev], test)
    assert np.array_equal(ours.predicted, again.predicted)


def test_rows_are_needed() -> None:
    features, scores = made_up()
    none = np.arange(0)
    with pytest.raises(ProbeError, match="0 and 50"):
        fit_ridge(features, none, scores[none], SPLIT[1], scores[SPLIT[1]], SPLIT[2])
    one, two = SPLIT[1][:1], SPLIT[1][:2]
    with pytest.raises(ProbeError, match="150 and 1"):
        fit_ridge(features, SPLIT[0], scores[SPLIT[0]], one, scores[one], SPLIT[2])
    assert abs(fit_ridge(features, SPLIT[0], scores[SPLIT[0]], two, scores[two], SPLIT[2]).dev_pearson) == pytest.approx(1)


def test_without_torch_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    features, scores = made_up()
    train, dev, test = SPLIT
    with pytest.raises(MissingExtraError, match="regression=ridge"):
        fit_softmax(features, train, scores[train], dev, scores[dev], test, seed=1)


@pytest.mark.parametrize(("gains", "passes"), [([], 4), ([0.1, 0.2, 0.2, 0.3], 7), (range(2000), 1001)])
def test_training_ends_after_four_checks_without_gain_or_a_thousand_passes(
    gains: Sequence[float], passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SentEval checks after every 50 passes, here after each; the one under way at the thousandth is finished."""
    pytest.importorskip("torch")
    assert relatedness._PASSES_A_CHECK == 50
    monkeypatch.setattr(relatedness, "_PASSES_A_CHECK", 1)
    told = iter(gains)
    monkeypatch.setattr(relatedness, "correlation", lambda *_: (next(told, -1.0), 0.0))
    rows, scores = np.arange(4), np.array([1.0, 2.0, 3.0, 4.0])
    fit = fit_softmax(Features.from_array(np.eye(4)), rows, scores, rows, scores, rows, seed=1)
    assert fit.details == {"passes": float(passes)}
    assert fit.dev_pearson == max(list(gains)[:1001], default=-1.0)
