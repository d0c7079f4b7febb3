"""SentEval's training loop, stacked, against one model at a time in plain torch."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from sklearn.model_selection import StratifiedKFold  # noqa: E402

from medsenteval.errors import MissingExtraError, ProbeError, SettingsError  # noqa: E402
from medsenteval.probes import senteval_loop as stacked  # noqa: E402
from medsenteval.probes.backend import Backend, Fold  # noqa: E402
from medsenteval.probes.features import Features  # noqa: E402
from medsenteval.probes.senteval_backend import PENALTIES, SentEvalBackend  # noqa: E402
from medsenteval.probes.training_settings import OPTIMISERS, ClassifierSettings, OptimiserChoice  # noqa: E402
from tests.conftest import examples  # noqa: E402

SEED = 1111
OPTIMISER_STRINGS = [
    "adam",
    "adam,lr=0.01,amsgrad=1",
    "rmsprop",
    "rmsprop,lr=0.01,momentum=0.5,centered=1",
    "sgd,lr=0.1",
    "sgd,lr=0.1,momentum=0.9,nesterov=1",
    "adagrad,lr=0.1,lr_decay=0.05",
    "adadelta",
    "adamax",
    "asgd,lr=0.1,t0=3",
    "rprop",
]
TORCH_NAMES = {
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamax": "Adamax",
    "asgd": "ASGD",
    "rmsprop": "RMSprop",
    "rprop": "Rprop",
    "sgd": "SGD",
}


@pytest.fixture(autouse=True)
def one_torch_thread() -> Iterator[None]:
    """The reference's products are tiny; on a busy machine, threads inside them make it many times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def plain_optimiser(parameters: Any, choice: OptimiserChoice, penalty: float) -> Any:
    """One model's optimiser, with the penalty written into its group afterwards as SentEval does."""
    optimiser = getattr(torch.optim, TORCH_NAMES[choice.name])(parameters, **choice.options)
    optimiser.param_groups[0]["weight_decay"] = penalty
    return optimiser


class OneModel:
    """SentEval's classifier for one model, written from its description: the reference of this file."""

    def __init__(self, n_columns: int, n_classes: int, penalty: float, config: ClassifierSettings, seed: int) -> None:
        self.shuffler = np.random.RandomState(seed)
        torch.manual_seed(seed)
        self.config = config
        layers = [torch.nn.Linear(n_columns, config.nhid or n_classes)]
        if config.nhid:
            layers += [torch.nn.Dropout(config.dropout), torch.nn.Sigmoid(), torch.nn.Linear(config.nhid, n_classes)]
        self.network = torch.nn.Sequential(*layers)
        self.optimiser = plain_optimiser(self.network.parameters(), config.optimiser, penalty)
        self.n_checks = 0

    def one_pass(self, rows: Any, labels: Any) -> None:
        order = torch.from_numpy(self.shuffler.permutation(len(rows)))
        for batch in order.split(self.config.batch_size):
            self.optimiser.zero_grad()
            torch.nn.functional.cross_entropy(self.network(rows[batch]), labels[batch]).backward()
            self.optimiser.step()

    def fit(self, rows: Any, labels: Any, stop: tuple[Any, Any] | None) -> float:
        if stop is None:
            order = torch.from_numpy(self.shuffler.permutation(len(rows)))
            n_stop = int(0.05 * len(rows))
            stop = rows[order[:n_stop]], labels[order[:n_stop]]
            rows, labels = rows[order[n_stop:]], labels[order[n_stop:]]
        best, misses, passes = -1.0, 0, 0
        while passes <= self.config.max_epoch and misses <= self.config.tenacity:
            self.network.train()
            for _ in range(self.config.epoch_size):
                self.one_pass(rows, labels)
            passes += self.config.epoch_size
            self.n_checks += 1
            accuracy = float((self.probabilities(stop[0]).argmax(1) == stop[1]).double().mean())
            if accuracy > best:
                best, kept = accuracy, copy.deepcopy(self.network)
            else:
                misses += 1
        self.network = kept
        return best

    def probabilities(self, rows: Any) -> Any:
        self.network.eval()
        with torch.no_grad():
            return torch.softmax(self.network(rows), dim=1)


def data(seed: int, n: int, d: int, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The deterministic inputs for which upstream's outputs were recorded."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    centres = rng.standard_normal((k, d))
    return (0.6 * centres[labels] / np.sqrt(d) * 4 + rng.standard_normal((n, d))).astype(np.float32), labels


def reference_grid(
    rows: NDArray[np.float32],
    labels: NDArray[np.int64],
    n_classes: int,
    folds: Sequence[Fold],
    penalties: Sequence[float],
    config: ClassifierSettings,
) -> NDArray[np.float64]:
    x, y = torch.from_numpy(rows), torch.from_numpy(labels)
    scores = np.zeros((len(folds), len(penalties)))
    for i, fold in enumerate(folds):
        for j, penalty in enumerate(penalties):
            model = OneModel(rows.shape[1], n_classes, penalty, config, SEED)
            scores[i, j] = model.fit(x[fold.train], y[fold.train], (x[fold.held_out], y[fold.held_out]))
    return scores


def stratified(rows: NDArray[np.intp], labels: NDArray[np.int64], k: int) -> list[Fold]:
    splitter = StratifiedKFold(k, shuffle=True, random_state=1111)
    return [Fold(rows[train], rows[test]) for train, test in splitter.split(rows, labels[rows])]


def percent_means(grid: NDArray[np.float64]) -> list[float]:
    return [round(100 * float(np.mean(column)), 2) for column in grid.T]


def binary_accuracy(backend: Backend, x: Features, y: NDArray[np.int64], fold: Fold, penalty: float) -> float:
    (prediction,), _ = backend.predict(x, y, 2, [fold], [penalty])
    return round(100 * float(np.mean(prediction.argmax(axis=1) == y[fold.held_out])), 2)


# --- settings -------------------------------------------------------------------------------------------------------


def test_settings_default_to_sentevals() -> None:
    assert ClassifierSettings() == ClassifierSettings(0, "adam", 5, 4, 200, 0.0, 64)
    least = ClassifierSettings(nhid=0, tenacity=0, epoch_size=1, max_epoch=0, batch_size=1)
    assert (least.nhid, least.tenacity, least.epoch_size, least.max_epoch, least.batch_size) == (0, 0, 1, 0, 1)
    assert SentEvalBackend().name == "senteval"
    assert SentEvalBackend(ClassifierSettings(nhid=50)).name == "mlp"
    assert SentEvalBackend().penalties("nested") == (1e-5, 1e-4, 1e-3, 1e-2) == PENALTIES


@pytest.mark.parametrize(
    "wrong",
    [
        {"nhid": -1},
        {"nhid": 1.5},
        {"tenacity": -1},
        {"epoch_size": 0},
        {"max_epoch": -1},
        {"batch_size": 0},
        {"nhid": 5, "dropout": 1.0},
        {"dropout": 0.5},
        {"optim": "adamw"},
        {"optim": "sgd"},
        {"optim": "adam,lr"},
        {"optim": "adam,lr=fast"},
        {"optim": "adam,momentum=0.9"},
        {"optim": "adam,weight_decay=0.1"},
    ],
)
def test_settings_that_cannot_be_honoured_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        ClassifierSettings(**wrong)


def test_optimiser_strings_are_taken_apart() -> None:
    assert OptimiserChoice.parse("adam") == OptimiserChoice("adam", {})
    assert OptimiserChoice.parse("adagrad,lr=0.1,lr_decay=.05").options == {"lr": 0.1, "lr_decay": 0.05}
    assert OptimiserChoice.parse("adam,lr=1e-3,amsgrad=1").options == {"lr": 1e-3, "amsgrad": True}
    assert set(OPTIMISERS) == set(TORCH_NAMES)


def test_missing_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[torch\]"):
        SentEvalBackend()


# --- random numbers -------------------------------------------------------------------------------------------------


def test_initial_parameters_are_those_of_torch() -> None:
    torch.manual_seed(SEED)
    layers = [torch.nn.Linear(37, 50), torch.nn.Linear(50, 3)]
    stream = stacked.RandomStream(SEED)
    ours = stream.linear(37, 50) + stream.linear(50, 3)
    theirs = [part for layer in layers for part in (layer.weight, layer.bias)]
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_dropout_masks_are_those_of_torch_and_sane() -> None:
    torch.manual_seed(SEED)
    theirs = [torch.nn.functional.dropout(torch.ones(rows, 50), 0.3) for rows in (64, 64, 17)]
    stream = stacked.RandomStream(SEED)
    ours = [stream.dropout(rows, 50, 0.3) for rows in (64, 64, 17)]
    assert all(torch.equal(a.t(), b) for a, b in zip(ours, theirs, strict=True))
    many = stream.dropout(2000, 100, 0.3)
    assert abs(float((many == 0).double().mean()) - 0.3) < 0.005
    assert abs(float(many.double().mean()) - 1) < 0.01


def test_process_wide_generators_are_left_alone() -> None:
    x, y = data(1, 60, 5, 2)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    expected = np.random.random(), float(torch.rand(1))  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    backend = SentEvalBackend(ClassifierSettings(nhid=3, dropout=0.2, max_epoch=4))
    rows = np.arange(60)
    backend.predict(Features.from_array(x), y, 2, [Fold(rows[:40], rows[40:])], [1e-3])
    assert (np.random.random(), float(torch.rand(1))) == expected  # noqa: NPY002


# --- parameters, step by step ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("optim", OPTIMISER_STRINGS)
def test_stacked_update_is_torchs_update_of_each_model(optim: str) -> None:
    choice = OptimiserChoice.parse(optim)
    penalties = [0.0, 1e-3, 0.5]
    generator = torch.Generator().manual_seed(3)
    start = [torch.randn(4, 5, generator=generator), torch.randn(4, generator=generator)]
    stack = stacked.StackedModels(start, np.array([penalties]).T, choice)
    single = [[part.clone().requires_grad_() for part in start] for _ in range(3)]
    theirs = [plain_optimiser(single[m], choice, penalties[m]) for m in range(3)]
    left = [0, 1, 2]
    for step in range(12):
        if step == 6:  # the middle one is finished
            left = [0, 2]
            stack.select(np.array([True, False, True]))
        gradients = [torch.randn(3, *part.shape, generator=generator) for part in start]
        stack.update([gradient[left].clone() for gradient in gradients])
        for m in range(3):
            for part, gradient in zip(single[m], gradients, strict=True):
                part.grad = gradient[m].clone()
            theirs[m].step()
    for position, m in enumerate(left):
        for part, expected in zip(stack.parameters, single[m], strict=True):
            torch.testing.assert_close(part[position], expected.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("nhid", "dropout", "optim"), [(0, 0.0, "adam"), (0, 0.0, "sgd,lr=0.1"), (7, 0.0, "adam"), (7, 0.4, "rmsprop")]
)
def test_parameters_follow_one_model_at_a_time(nhid: int, dropout: float, optim: str) -> None:
    x, y = data(4, 90, 11, 3)
    config = ClassifierSettings(nhid=nhid, dropout=dropout, optim=optim, batch_size=16)
    penalties = [1e-4, 1e-1]
    folds = np.stack([np.arange(0, 70), np.arange(20, 90)])  # 70 = 4 x 16 + 6: the last batch is short
    stream = stacked.RandomStream(SEED)
    start = stream.linear(11, nhid or 3) + (stream.linear(nhid, 3) if nhid else [])
    stack = stacked.StackedModels(start, np.array([penalties] * 2), config.optimiser)
    for _ in range(5):
        shuffled = folds[:, stream.permutation(70)]
        for first in range(0, 70, 16):
            batch = shuffled[:, first : first + 16]
            mask = stream.dropout(batch.shape[1], nhid, dropout) if dropout else None
            stack.step(torch.from_numpy(x[batch]), torch.from_numpy(y[batch]), mask)
    for m in range(4):
        single = OneModel(11, 3, penalties[m % 2], config, SEED)
        rows = folds[m // 2]
        for _ in range(5):
            single.one_pass(torch.from_numpy(x[rows]), torch.from_numpy(y[rows]))
        for ours, theirs in zip(stack.parameters, single.network.parameters(), strict=True):
            torch.testing.assert_close(ours[m], theirs.detach(), rtol=1e-5, atol=1e-5)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=6), st.integers(1, 4), st.integers(0, 3))
def test_models_keep_their_fold_when_others_leave(stays: list[bool], models_each: int, nhid: int) -> None:
    stream = stacked.RandomStream(0)
    start = stream.linear(4, nhid or 2) + (stream.linear(nhid, 2) if nhid else [])
    choice = OptimiserChoice.parse("sgd,lr=0.5")
    penalties = np.linspace(0, 1, len(stays) * models_each).reshape(len(stays), models_each)
    stack = stacked.StackedModels(start, penalties, choice)
    inputs, targets = torch.randn(len(stays), 6, 4), torch.randint(0, 2, (len(stays), 6))
    stack.step(inputs, targets, None)
    before = stack.logits(inputs).view(len(stays), models_each, 2, 6)
    keep = np.array(stays)
    stack.select(keep)
    assert stack.folds.tolist() == np.flatnonzero(keep).tolist()
    if keep.any():
        after = stack.logits(inputs[stack.folds]).view(-1, models_each, 2, 6)
        torch.testing.assert_close(after, before[stack.folds])


# --- the whole loop -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        ClassifierSettings(tenacity=2, epoch_size=2, max_epoch=60),
        ClassifierSettings(tenacity=1, epoch_size=2, optim="sgd,lr=0.1", batch_size=16),
        ClassifierSettings(nhid=8, tenacity=2, optim="rmsprop,lr=0.01"),
        ClassifierSettings(nhid=8, dropout=0.3, tenacity=1, optim="adam,lr=0.01"),
        ClassifierSettings(max_epoch=1, epoch_size=16),
    ],
    ids=lambda config: f"nhid{config.nhid}-{config.optim}",
)
def test_grid_and_final_fit_equal_one_model_at_a_time(config: ClassifierSettings) -> None:
    x, y = data(2, 150, 12, 4)
    rows = np.arange(120)
    folds = stratified(rows, y, 4)
    backend = SentEvalBackend(config)
    features = Features.from_array(x)
    grid, report = backend.score_grid(features, y, 4, folds, [1e-4, 1e-2])
    np.testing.assert_allclose(grid, reference_grid(x, y, 4, folds, [1e-4, 1e-2], config), atol=1e-12)
    assert (report.n_fits, report.worst_gradient) == (8, None)

    final = [Fold(rows, np.arange(120, 150)), Fold(rows[:90], np.arange(120, 150), rows[90:])]
    predictions, _ = backend.predict(features, y, 4, final, [1e-4, 1e-2])
    for fold, penalty, prediction in zip(final, [1e-4, 1e-2], predictions, strict=True):
        single = OneModel(12, 4, penalty, config, SEED)
        rows_of, labels_of = torch.from_numpy(x), torch.from_numpy(y)
        stop = None if fold.validation is None else (rows_of[fold.validation], labels_of[fold.validation])
        single.fit(rows_of[fold.train], labels_of[fold.train], stop)
        expected = single.probabilities(rows_of[fold.held_out]).numpy()
        np.testing.assert_allclose(prediction, expected, atol=2e-5)
        np.testing.assert_allclose(prediction.sum(axis=1), 1)


def test_recorded_outputs_of_upstreams_torch_mode() -> None:
    """The recorded outputs (kfold 3) are met to the last digit, since random numbers and their order are the same."""
    x, y = data(1, 240, 20, 2)
    features, rows, backend = Features.from_array(x), np.arange(240), SentEvalBackend()
    penalties = backend.penalties("kfold")

    outer = stratified(rows, y, 3)
    inner = [fold for part in outer for fold in stratified(part.train, y, 3)]
    grid, _ = backend.score_grid(features, y, 2, inner, penalties)
    means = [percent_means(grid[3 * i : 3 * i + 3]) for i in range(3)]
    chosen = [penalties[int(np.argmax(scores))] for scores in means]
    predictions, _ = backend.predict(features, y, 2, outer, chosen)
    tests = [round(100 * float(np.mean(p.argmax(axis=1) == y[f.held_out])), 2) for p, f in zip(predictions, outer, strict=True)]
    assert round(float(np.mean([max(scores) for scores in means])), 2) == 81.50
    assert round(float(np.mean(tests)), 2) == 77.92

    grid, _ = backend.score_grid(features, y, 2, stratified(rows[:180], y, 3), penalties)
    scores = percent_means(grid)
    assert max(scores) == 87.78
    best = penalties[int(np.argmax(scores))]
    assert binary_accuracy(backend, features, y, Fold(rows[:180], rows[180:]), best) == 75.00

    train, valid, test = rows[:120], rows[120:180], rows[180:]
    grid, _ = backend.score_grid(features, y, 2, [Fold(train, valid)], penalties)
    assert round(100 * grid.max(), 2) == 81.67
    best = penalties[int(grid.argmax())]
    assert binary_accuracy(backend, features, y, Fold(train, test, valid), best) == 88.33


def test_same_seed_same_answer_other_seed_another() -> None:
    x, y = data(3, 120, 10, 3)
    features, folds = Features.from_array(x), stratified(np.arange(120), y, 3)
    config = ClassifierSettings(nhid=6, dropout=0.2, max_epoch=12)
    first, again, other = (SentEvalBackend(config, seed).predict(features, y, 3, folds, [1e-4] * 3)[0] for seed in (7, 7, 8))
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.allclose(a, c)


@pytest.mark.parametrize("nhid", [0, 9])
def test_batched_equals_one_fold_at_a_time(nhid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(3, 121, 10, 3)
    features, folds = Features.from_array(x), stratified(np.arange(121), y, 5)
    assert len({len(fold.train) for fold in folds}) > 1, "folds of several sizes"
    backend = SentEvalBackend(ClassifierSettings(nhid=nhid, tenacity=2))
    together, report = backend.score_grid(features, y, 3, folds, PENALTIES)
    alone = [backend.score_grid(features, y, 3, [fold], [penalty])[0][0, 0] for fold in folds for penalty in PENALTIES]
    np.testing.assert_allclose(together.ravel(), alone, atol=1e-12)
    monkeypatch.setattr("medsenteval.probes.senteval_backend.STACK_BYTES", 1)
    in_turn, report_in_turn = backend.score_grid(features, y, 3, folds, PENALTIES)
    np.testing.assert_allclose(together, in_turn, atol=1e-12)
    assert report == report_in_turn


def test_dropout_still_learns_and_changes_the_model() -> None:
    x, y = data(1, 240, 20, 2)
    features, fold = Features.from_array(x), Fold(np.arange(180), np.arange(180, 240))
    with_dropout, without = (
        SentEvalBackend(ClassifierSettings(nhid=30, dropout=rate, optim="adam,lr=0.01")).predict(
            features, y, 2, [fold], [1e-5]
        )[0][0]
        for rate in (0.5, 0.0)
    )
    assert np.mean(with_dropout.argmax(axis=1) == y[180:]) > 0.85
    assert not np.allclose(with_dropout, without)


# --- early stopping -------------------------------------------------------------------------------------------------


def scripted(
    monkeypatch: pytest.MonkeyPatch, hits_of_model: Callable[[int, int], int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Replace training and scoring: model m has ``hits_of_model(m, check)`` correct rows. Returns who was there."""
    trained: list[list[int]] = []
    checked: list[list[int]] = []

    def train_passes(trainer: Any, stack: Any, rows: Any, stream: Any) -> None:
        trained.append(sorted(stack.folds.tolist()))

    def count_hits(trainer: Any, stack: Any, rows: Any) -> NDArray[np.int64]:
        each = len(stack.parameters[0]) // len(stack.folds)
        checked.append([fold * each + model for fold in stack.folds.tolist() for model in range(each)])
        return np.array([hits_of_model(model, len(checked) - 1) for model in checked[-1]], np.int64)

    monkeypatch.setattr(stacked.StackedTrainer, "_train_passes", train_passes)
    monkeypatch.setattr(stacked.StackedTrainer, "_count_hits", count_hits)
    return trained, checked


def run_scripted(config: ClassifierSettings, n_folds: int, penalties: Sequence[float]) -> tuple[Any, Any]:
    x, y = data(1, 30, 4, 2)
    folds = [Fold(np.arange(20), np.arange(20, 30)) for _ in range(n_folds)]
    return SentEvalBackend(config).score_grid(Features.from_array(x), y, 2, folds, penalties)


def test_misses_are_never_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    # Better, miss, better, miss, better, miss: with tenacity 2 the third miss ends it, although none follows another.
    script = [1, 1, 2, 2, 3, 3, 9, 9]
    _, checked = scripted(monkeypatch, lambda model, check: script[check])
    scores, report = run_scripted(ClassifierSettings(tenacity=2), 1, [1e-3])
    assert len(checked) == 6
    assert scores[0, 0] == 0.3
    assert report.n_unconverged == 0


@pytest.mark.parametrize("tenacity", [0, 1, 5])
def test_training_ends_at_the_miss_after_tenacity(tenacity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, checked = scripted(monkeypatch, lambda model, check: 4)
    run_scripted(ClassifierSettings(tenacity=tenacity), 1, [1e-3])
    assert len(checked) == 1 + tenacity + 1  # the first check always improves


@pytest.mark.parametrize(("max_epoch", "epoch_size", "n_checks"), [(200, 4, 51), (15, 1, 16), (1, 64, 1), (0, 4, 1), (9, 4, 3)])
def test_passes_may_reach_max_epoch_before_the_last_check(
    max_epoch: int, epoch_size: int, n_checks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, checked = scripted(monkeypatch, lambda model, check: check)
    _, report = run_scripted(ClassifierSettings(max_epoch=max_epoch, epoch_size=epoch_size), 1, [1e-3])
    assert len(checked) == n_checks
    assert (report.n_fits, report.n_unconverged) == (1, 1)


def test_a_fold_leaves_the_stack_when_its_last_model_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    # Model m improves until check m, and again at check 4, which comes too late for those that have missed one.
    trained, checked = scripted(monkeypatch, lambda model, check: 9 if check == 4 and model < 3 else min(check, model))
    scores, report = run_scripted(ClassifierSettings(tenacity=0), 2, [1e-3, 1e-2])
    assert checked == [[0, 1, 2, 3]] * 3 + [[2, 3]] * 2
    assert trained == [[0, 1]] * 3 + [[1]] * 2
    np.testing.assert_array_equal(scores, [[0.0, 0.1], [0.2, 0.3]])
    assert (report.n_fits, report.n_unconverged) == (4, 0)


def test_first_of_equally_good_models_is_kept() -> None:
    # One pass or a hundred: on rows that are right from the first check on, the first model is the one that predicts.
    x = np.repeat(np.array([[-3.0], [3.0]], np.float32), 20, axis=0)
    y = np.repeat(np.array([0, 1]), 20)
    fold = Fold(np.arange(40), np.arange(40), np.arange(40))
    short, long = (
        SentEvalBackend(ClassifierSettings(optim="sgd,lr=1", max_epoch=limit)).predict(
            Features.from_array(x), y, 2, [fold], [0.0]
        )[0][0]
        for limit in (0, 200)
    )
    assert np.mean(short.argmax(axis=1) == y) == 1
    np.testing.assert_array_equal(short, long)


# --- unusual input --------------------------------------------------------------------------------------------------


def test_a_class_missing_from_a_fold_is_a_column_all_the_same() -> None:
    x, y = data(5, 90, 6, 3)
    present, absent = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    fold = Fold(present, absent)
    config = ClassifierSettings(tenacity=1)
    grid, _ = SentEvalBackend(config).score_grid(Features.from_array(x), y, 3, [fold], PENALTIES)
    np.testing.assert_allclose(grid, reference_grid(x, y, 3, [fold], PENALTIES, config), atol=1e-12)
    (prediction,), _ = SentEvalBackend(config).predict(Features.from_array(x), y, 3, [fold], [1e-4])
    assert prediction.shape == (len(absent), 3)
    assert np.isfinite(prediction).all()


def test_too_few_rows_for_the_hold_out_are_refused() -> None:
    x, y = data(5, 30, 6, 2)
    with pytest.raises(ProbeError, match="19"):
        SentEvalBackend().predict(Features.from_array(x), y, 2, [Fold(np.arange(19), np.arange(19, 30))], [1e-3])


@pytest.mark.parametrize(
    ("labels", "train"),
    [(np.zeros(9, np.int64), 5), (np.full(10, 2), 5), (np.full(10, -1), 5), (np.zeros(10, np.int64), 0)],
)
def test_rows_that_cannot_be_trained_on_are_refused(labels: NDArray[np.int64], train: int) -> None:
    features = Features.from_array(np.zeros((10, 3), np.float32))
    with pytest.raises(ProbeError):
        SentEvalBackend().score_grid(features, labels, 2, [Fold(np.arange(train), np.arange(5, 10))], [1e-3])


def test_no_folds_give_an_empty_grid() -> None:
    features = Features.from_array(np.zeros((10, 3), np.float32))
    grid, report = SentEvalBackend().score_grid(features, np.zeros(10, np.int64), 2, [], PENALTIES)
    assert grid.shape == (0, 4)
    assert report.n_fits == 0


def test_pair_features_built_per_batch_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, y = data(6, 80, 5, 2)
    shuffled = np.random.default_rng(0).permutation(80)
    features = Features(matrix, np.arange(80), shuffled)
    folds = stratified(np.arange(80), y, 3)
    backend = SentEvalBackend(ClassifierSettings(max_epoch=12))
    whole, _ = backend.score_grid(features, y, 2, folds, PENALTIES)
    built = Features.from_array(features.take(slice(None)))
    np.testing.assert_array_equal(whole, backend.score_grid(built, y, 2, folds, PENALTIES)[0])
    monkeypatch.setattr(stacked, "WHOLE_INPUT_BYTES", 0)
    np.testing.assert_array_equal(whole, backend.score_grid(features, y, 2, folds, PENALTIES)[0])
    monkeypatch.setattr(stacked, "SCORING_BYTES", 1)
    np.testing.assert_array_equal(whole, backend.score_grid(features, y, 2, folds, PENALTIES)[0])


def test_memory_mapped_rows_are_read_in_place(tmp_path: Path) -> None:
    x, y = data(6, 80, 5, 2)
    np.save(tmp_path / "rows.npy", x[::-1])
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    folds = stratified(np.arange(80), y, 3)
    backend = SentEvalBackend(ClassifierSettings(max_epoch=12))
    expected, _ = backend.score_grid(Features.from_array(x), y, 2, folds, PENALTIES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = backend.score_grid(Features(mapped, np.arange(80)[::-1]), y, 2, folds, PENALTIES)
    np.testing.assert_array_equal(found, expected)


def test_number_of_torch_threads_is_restored() -> None:
    x, y = data(6, 40, 5, 2)
    torch.set_num_threads(2)
    SentEvalBackend(ClassifierSettings(max_epoch=1)).score_grid(
        Features.from_array(x), y, 2, stratified(np.arange(40), y, 2), PENALTIES
    )
    assert torch.get_num_threads() == 2
