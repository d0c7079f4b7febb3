"""Our tasks inside upstream SentEval: the same scores from its classifiers as from ours."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from medsenteval.datasets.locate import sample_root
from medsenteval.engine import SE
from medsenteval.errors import SettingsError, UnknownNameError
from medsenteval.interop import upstream_senteval as interop
from medsenteval.interop.upstream_senteval import _f1
from medsenteval.settings import SentEvalParams

PARAMS = {"task_path": str(sample_root()), "usepytorch": False, "kfold": 3, "seed": 1111, "classifier": {"nhid": 0}}


def letters(params: Any, batch: list[list[str]]) -> NDArray[np.float32]:
    alphabet = "abcdefghijklmnopqrstuvwxyz "
    return np.array([[" ".join(tokens).lower().count(c) / 10 for c in alphabet] for tokens in batch], dtype=np.float32)


def _score(C: float, train: tuple[Any, Any], test: tuple[Any, Any]) -> tuple[float, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = VALIDATION.LogisticRegression(C=C, random_state=1111).fit(*train)
    return float(model.score(*test)), model.predict(test[0])


class _Classifier:
    """SentEval's three validations without torch, written anew from their description: what our bridge hands data to."""

    def __init__(self, *data: Any, config: Any = None, **named: Any) -> None:
        self.data = data[:-1] if config is None else data
        self.config = config if config is not None else data[-1]
        self.named = named

    def _choose(self, X: Any, y: Any, grid: list[float], seed: int) -> tuple[float, float]:
        folds = StratifiedKFold(self.config["kfold"], shuffle=True, random_state=seed)
        means = []
        for C in grid:
            scores = [_score(C, (X[a], y[a]), (X[b], y[b]))[0] for a, b in folds.split(X, y)]
            means.append(round(100 * float(np.mean(scores)), 2))
        return grid[int(np.argmax(means))], max(means)


class _Nested(_Classifier):
    def run(self) -> tuple[float, float]:
        X, y = self.data
        dev, test = [], []
        for a, b in StratifiedKFold(self.config["kfold"], shuffle=True, random_state=1111).split(X, y):
            C, best = self._choose(X[a], y[a], [2.0**t for t in range(-2, 4)], 1111)
            dev.append(best)
            test.append(round(100 * _score(C, (X[a], y[a]), (X[b], y[b]))[0], 2))
        return round(float(np.mean(dev)), 2), round(float(np.mean(test)), 2)


class _KFold(_Classifier):
    def run(self) -> tuple[float, float, Any]:
        train, test = self.data
        C, best = self._choose(train["X"], train["y"], [2.0**t for t in range(-1, 6)], self.config["seed"])
        accuracy, predicted = _score(C, (train["X"], train["y"]), (test["X"], test["y"]))
        return best, round(100 * accuracy, 2), predicted


class _Split(_Classifier):
    def run(self) -> tuple[float, float]:
        X, y = self.named["X"], self.named["y"]
        grid = [1e9] if self.config.get("noreg") else [2.0**t for t in range(-2, 4)]
        scores = [round(100 * _score(C, (X["train"], y["train"]), (X["valid"], y["valid"]))[0], 2) for C in grid]
        accuracy, _ = _score(grid[int(np.argmax(scores))], (X["train"], y["train"]), (X["test"], y["test"]))
        return max(scores), round(100 * accuracy, 2)


class _Engine:
    """The part of SentEval's engine that its users rely on, with one task of its own."""

    def __init__(self, params: Any, batcher: Any, prepare: Any = None) -> None:
        self.params = SentEvalParams({"batch_size": 128, "nhid": 0, **params})
        self.batcher, self.prepare = batcher, prepare or (lambda params, samples: None)
        self.list_tasks = ["TREC"]

    def eval(self, name: str) -> Any:
        return SE(dict(self.params), self.batcher).eval(name)


VALIDATION = SimpleNamespace(
    InnerKFoldClassifier=_Nested, KFoldClassifier=_KFold, SplitClassifier=_Split, LogisticRegression=LogisticRegression
)


@pytest.fixture(params=["rewritten", "upstream"])
def upstream(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """SentEval itself where MEDSENTEVAL_SENTEVAL names a checkout of it, and always the parts above in its place."""
    if request.param == "upstream":
        named = os.environ.get("MEDSENTEVAL_SENTEVAL")
        if not named or not (Path(named) / "senteval").is_dir():
            pytest.skip("MEDSENTEVAL_SENTEVAL names no checkout of facebookresearch/SentEval")
        monkeypatch.syspath_prepend(named)
        return
    modules = {
        "senteval": SimpleNamespace(),
        "senteval.engine": SimpleNamespace(SE=_Engine),
        "senteval.tools": SimpleNamespace(),
        "senteval.tools.validation": VALIDATION,
        "senteval.utils": SimpleNamespace(cosine=lambda u, v: np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.slow
def test_upstreams_classifiers_on_our_tasks_equal_our_engine(upstream: None) -> None:
    seen: list[str] = []

    def prepare(params: Any, samples: list[list[str]]) -> None:
        seen.append(params.current_task)

    theirs = interop.engine(PARAMS, letters, prepare)
    ours = SE(PARAMS, letters)
    names = ["PubMed20K", "MedNLI", "RQE", "CitationSA", "BioC", "BioASQ", "BIOSSES", "ClinicalSTS"]
    results = theirs.eval(names)
    assert seen == names
    for name in names:
        expected = ours.eval(name)
        for key, value in results[name].items():
            if isinstance(value, dict) and "nsamples" in value:
                assert value["pearson"][0] == pytest.approx(expected[key]["pearson"][0], abs=1e-6)
            elif not isinstance(value, dict):
                assert value == expected[key], (name, key)
    assert {"f1", "F1score"} <= results["BioC"].keys()
    assert "f1" in results["BioASQ"]
    # Upstream's own names stay upstream's.
    expected = {key: value for key, value in ours.eval("TREC").items() if not key.startswith("n_")}
    assert {key: value for key, value in theirs.eval("TREC").items() if not key.startswith("n_")} == expected


def test_what_upstream_cannot_run_is_said(upstream: None) -> None:
    with pytest.raises(SettingsError, match="no protocol for 'relatedness'"):
        interop.engine(PARAMS, letters).eval("stsb")
    with pytest.raises(UnknownNameError):
        interop.engine(PARAMS, letters).eval("NoTask")


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("The detected shape was (750,) + inhomogeneous shape"), "senteval/sts.py"),
     (AttributeError("module 'inspect' has no attribute 'getargspec'"), "getfullargspec"),
     (AssertionError("Torch not compiled with CUDA enabled"), "usepytorch to False"),
     (AssertionError("torch.cuda required for Relatedness"), "ours runs on the CPU")],
)  # fmt: skip
def test_where_upstream_itself_breaks_the_patch_is_named(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: _Engine, name: str) -> Any:
        raise error

    monkeypatch.setattr(_Engine, "eval", broken)
    monkeypatch.setitem(sys.modules, "senteval.engine", SimpleNamespace(SE=_Engine))
    with pytest.raises(SettingsError, match=said):
        interop.engine(PARAMS, letters).eval("TREC")


def test_other_errors_of_upstream_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: _Engine, name: str) -> Any:
        raise ValueError("something else")

    monkeypatch.setattr(_Engine, "eval", broken)
    monkeypatch.setitem(sys.modules, "senteval.engine", SimpleNamespace(SE=_Engine))
    with pytest.raises(ValueError, match="something else"):
        interop.engine(PARAMS, letters).eval("TREC")


def test_a_missing_upstream_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "senteval.engine", None)
    monkeypatch.setitem(sys.modules, "senteval", None)
    with pytest.raises(SettingsError, match="put a clone of facebookresearch/SentEval"):
        interop.engine(PARAMS, letters)


def test_f1_is_scikit_learns_in_percent() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        gold, predicted = rng.random((2, 40)) < 0.4
        assert _f1(gold, predicted) == round(100 * f1_score(gold, predicted), 2)
