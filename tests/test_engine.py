"""SentEval's contract: params, batches of tokens, prepare, current_task, and the dictionaries of each family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval.datasets import load_dataset, sample_root
from medsenteval.errors import DataMissingError, EncoderError, SettingsError, UnknownNameError
from medsenteval.registry import task
from medsenteval.settings import SentEvalParams, Settings

PARAMS = {"task_path": str(sample_root()), "kfold": 2, "usepytorch": False}


def batcher(params: Any, batch: list[list[str]]) -> np.ndarray[Any, Any]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    sentences = [" ".join(tokens if tokens != [] else ["."]) for tokens in batch]
    return np.array([[sentence.count(letter) for letter in letters] for sentence in sentences], dtype=float)


KEYS = {
    "MedNLI": {"devacc", "acc", "ndev", "ntest"},
    "RQE": {"devacc", "acc", "f1", "ndev", "ntest"},
    "PubMed20K": {"devacc", "acc", "ndev", "ntest"},
    "PICO": {"devacc", "acc", "ndev", "ntest"},
    "ClinicalSA": {"devacc", "acc"},
    "CitationSA": {"devacc", "acc"},
    "BioC": {"devacc", "acc", "F1score", "f1"},
    "BioASQ": {"devacc", "acc", "f1", "ndev", "ntest"},
}


@pytest.mark.slow
def test_every_task_returns_sentevals_keys_with_rounded_percentages() -> None:
    engine = medsenteval.engine.SE(PARAMS | {"classifier": {"nhid": 0}}, batcher)
    results = engine.eval([*KEYS, "ClinicalSTS", "BIOSSES"])
    for name, keys in KEYS.items():
        assert keys <= set(results[name])
        for key in keys - {"ndev", "ntest"}:
            assert results[name][key] == round(results[name][key], 2)
            assert 0 <= results[name][key] <= 100
    assert results["MedNLI"]["ndev"] == len(load_dataset(task("MedNLI"), sample_root(), Settings()).splits["dev"])
    assert results["RQE"]["ndev"] == len(load_dataset(task("RQE"), sample_root(), Settings()).splits["train"])
    for name, key in (("ClinicalSTS", "clinical-STS"), ("BIOSSES", "BIOSSES")):
        scores = results[name][key]
        assert scores["nsamples"] == 100
        assert -1 <= scores["pearson"][0] <= 1
        assert 0 <= scores["spearman"][1] <= 1
        assert results[name]["all"]["pearson"]["wmean"] == scores["pearson"][0]
    assert engine.results == results


def test_prepare_sees_every_sentence_once_and_batcher_sees_token_lists() -> None:
    seen: dict[str, Any] = {"prepared": [], "sizes": [], "tasks": set()}

    def prepare(params: Any, samples: list[list[str]]) -> None:
        seen["prepared"].append(samples)
        params.word2id = {"x": 1}

    def watching(params: Any, batch: list[list[str]]) -> Any:
        assert params.word2id == {"x": 1}
        assert params["mine"] == "kept"
        assert params.unknown_key is None
        assert all(isinstance(tokens, list) and all(isinstance(t, str) for t in tokens) for tokens in batch)
        seen["sizes"].append(len(batch))
        seen["tasks"].add(params.current_task)
        return batcher(params, batch)

    params = PARAMS | {"mine": "kept", "batch_size": 16}
    engine = medsenteval.engine.SE(params, watching, prepare)
    engine.eval("C-STS")
    dataset = load_dataset(task("ClinicalSTS"), sample_root(), Settings())
    assert len(seen["prepared"]) == 1
    assert seen["prepared"][0] == [text.split() for text in dataset.all_texts()]
    assert max(seen["sizes"]) == 16
    assert seen["tasks"] == {"C-STS"}
    assert "word2id" not in params


def test_an_empty_sentence_reaches_the_batcher_as_an_empty_list() -> None:
    batches: list[list[str]] = []

    def watching(params: Any, batch: list[list[str]]) -> Any:
        batches.extend(batch)
        return batcher(params, batch)

    medsenteval.engine.SE(PARAMS, watching).eval("RQE")
    assert [] in batches


def test_a_similarity_of_the_users_own_replaces_the_cosine() -> None:
    def closeness(u: Any, v: Any) -> float:
        return -float(np.abs(u - v).sum())

    plain = medsenteval.engine.SE(PARAMS, batcher).eval("BIOSSES")["BIOSSES"]["pearson"][0]
    engine = medsenteval.engine.SE(PARAMS | {"similarity": closeness}, batcher)
    assert engine.eval("BIOSSES")["BIOSSES"]["pearson"][0] != plain
    assert engine.details["BIOSSES"].protocol == "own-similarity"


def test_errors_name_task_batch_and_shapes() -> None:
    with pytest.raises(EncoderError, match=r"BIOSSES, batch 0: .*shape \(1, 2\) for 128 texts"):
        medsenteval.engine.SE(PARAMS, lambda params, batch: np.zeros((1, 2))).eval("BIOSSES")


def test_finished_tasks_survive_a_failing_one() -> None:
    engine = medsenteval.engine.SE(PARAMS, batcher)
    with pytest.raises(UnknownNameError):
        engine.eval(["BIOSSES", "NoSuchTask"])
    assert list(engine.results) == ["BIOSSES"]


def test_params_are_checked_as_senteval_does() -> None:
    with pytest.raises(SettingsError, match="task_path"):
        medsenteval.engine.SE({}, batcher)
    with pytest.raises(SettingsError, match="nhid"):
        medsenteval.engine.SE(PARAMS | {"classifier": {"optim": "adam"}}, batcher)
    with pytest.raises(DataMissingError, match="does not exist"):
        medsenteval.engine.SE({"task_path": "/no/such/folder"}, batcher).eval("RQE")
    with pytest.raises(AssertionError):
        medsenteval.engine.SE(PARAMS, batcher).eval("Unheard")


@pytest.mark.parametrize(
    ("params", "probe"),
    [({}, "exact"), ({"usepytorch": False}, "sklearn"), ({"usepytorch": True}, "senteval"),
     ({"usepytorch": True, "classifier": {"nhid": 50}}, "mlp"), ({"classifier": {"nhid": 50}}, "mlp")],
)  # fmt: skip
def test_usepytorch_chooses_the_probe_and_defaults_are_sentevals(params: dict[str, Any], probe: str) -> None:
    settings = Settings.from_senteval_params(SentEvalParams(params))
    assert (settings.probe, settings.folds, settings.seed, settings.batch_size) == (probe, 5, 1111, 128)


def test_a_hidden_layer_without_torch_mode_is_refused() -> None:
    with pytest.raises(SettingsError, match="usepytorch is False"):
        Settings.from_senteval_params(SentEvalParams({"usepytorch": False, "classifier": {"nhid": 50}}))


@pytest.mark.parametrize(
    "wrong",
    [{"probe": "svm"}, {"grid": "huge"}, {"folds": 1}, {"batch_size": 0}, {"limit": 0}, {"resamples": 3}, {"confidence": 1.0},
     {"tolerance": 0.0}, {"training": {"momentum": 1}}, {"probe": "mlp", "grid": "wide"}],
)  # fmt: skip
def test_settings_outside_their_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Settings(**wrong)
