"""SentEval's contract: params, batches of tokens, prepare, current_task, and the dictionaries of each family."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import medsenteval
from medsenteval.contracts import Embeddings
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.encoders.adapt import as_encoder
from medsenteval.engine import _similarity_name, _what_was_seen, declared_training, evaluate_task
from medsenteval.errors import DataMissingError, EncoderError, SettingsError, UnknownNameError
from medsenteval.registry import task
from medsenteval.settings import SentEvalParams, Settings
from medsenteval.statistics.intervals import Correlated

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


def test_finished_tasks_survive_a_failing_one(tmp_path: Path) -> None:
    (tmp_path / "BIOSSES").symlink_to(sample_root() / "BIOSSES")
    engine = medsenteval.engine.SE(PARAMS | {"task_path": str(tmp_path)}, batcher)
    with pytest.raises(DataMissingError):
        engine.eval(["BIOSSES", "RQE"])
    assert list(engine.results) == ["BIOSSES"]


def test_every_name_is_looked_up_before_the_first_task_is_scored() -> None:
    def refuse(params: Any, batch: list[list[str]]) -> Any:
        raise AssertionError("nothing is encoded")

    engine = medsenteval.engine.SE(PARAMS, refuse)
    with pytest.raises(UnknownNameError, match="no task is called 'NoSuchTask'"):
        engine.eval(["BIOSSES", "NoSuchTask"])
    with pytest.raises(UnknownNameError, match=r"'ImageCaptionRetrieval' is not offered: .*COCO"):
        engine.eval(["BIOSSES", "imageCaptionRetrieval"])
    assert engine.results == {}


def test_correlations_are_tuples_with_scipys_names() -> None:
    found = medsenteval.engine.SE(PARAMS, batcher).eval("BIOSSES")
    for kind in ("pearson", "spearman"):
        result = found["BIOSSES"][kind]
        assert isinstance(result, Correlated)
        assert isinstance(result, tuple)
        assert result.correlation == result.statistic == result[0] == found["all"][kind]["all"]
        assert result.pvalue == result[1] < 1e-3


def test_simcse_keys_are_the_correlations_of_cosines(tmp_path: Path) -> None:
    engine = medsenteval.engine.SE(PARAMS, batcher)
    subsets, benchmark = engine.eval("STS12"), engine.eval("STSBenchmark")
    gold, predicted = (engine.details["STS12"].items[key] for key in ("gold", "predicted"))
    assert subsets["all"]["spearman"]["all"] == pytest.approx(stats.spearmanr(gold, predicted)[0], abs=1e-12)
    assert subsets["all"]["pearson"]["all"] == engine.details["STS12"].metric("pearson_pooled").value
    assert isinstance(benchmark["yhat"], np.ndarray)
    dataset = load_dataset(task("STSBenchmark"), sample_root(), Settings())
    everything: list[tuple[float, float]] = []
    for name, split in dataset.splits.items():
        assert split.texts2 is not None
        assert split.scores is not None
        u, v = (batcher(None, [text.split() for text in column]) for column in (split.texts, split.texts2))
        cosines = [medsenteval.utils.cosine(first, second) for first, second in zip(u, v, strict=True)]
        everything += zip(np.round(cosines, 12), split.scores, strict=True)
        assert benchmark[name]["nsamples"] == len(split)
        for kind, reference in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
            expected = reference(np.round(cosines, 12), split.scores)
            assert benchmark[name][kind].correlation == pytest.approx(expected.statistic, abs=1e-9)
            assert benchmark[name][kind].pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    ours, given = np.array(everything).T
    assert benchmark["all"]["pearson"]["all"] == pytest.approx(stats.pearsonr(ours, given).statistic, abs=1e-9)
    assert benchmark["all"]["spearman"]["all"] == pytest.approx(stats.spearmanr(ours, given).statistic, abs=1e-9)


def test_what_senteval_logs_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="medsenteval")
    engine = medsenteval.engine.SE(PARAMS | {"batch_size": 8}, batcher)
    results = engine.eval(["BioASQ", "BIOSSES"])
    messages = [record.getMessage() for record in caplog.records]
    assert [message for message in messages if message.startswith("*")] == [
        "***** Transfer task : BioASQ *****",
        "***** Transfer task : BIOSSES *****",
    ]
    progress = [message for message in messages if message.startswith("PROGRESS (encoding)")]
    assert len(progress) == 20
    assert progress[9] == progress[19] == "PROGRESS (encoding): 100.00%"
    found = results["BioASQ"]
    (penalty,) = engine.details["BioASQ"].details["penalties"]
    assert f"Best param found is reg = {penalty} with score {found['devacc']}" in messages
    assert any(message.startswith(f"devacc : {found['devacc']}, acc : {found['acc']}") for message in messages)
    scores = results["BIOSSES"]["BIOSSES"]
    assert f"BIOSSES : pearson = {scores['pearson'][0]:.4f}, spearman = {scores['spearman'][0]:.4f}" in messages


def test_utils_offer_sentevals_helpers() -> None:
    from medsenteval.utils import cosine, dotdict

    assert cosine([1, 2], np.array([2.0, 4.0])) == pytest.approx(1)
    assert cosine([1, 0], [-3, 3]) == pytest.approx(-np.sqrt(0.5))
    assert cosine([0, 0], [1, 1]) == 0
    params = dotdict({"a": 1})
    params.b = 2
    del params.a
    assert (params, params.missing) == ({"b": 2}, None)


def test_reading_options_reach_the_tasks() -> None:
    tokens: list[list[str]] = []

    def watching(params: Any, batch: list[list[str]]) -> Any:
        tokens.extend(batch)
        return batcher(params, batch)

    params = PARAMS | {"task_options": {"RQE": {"legacy": "yes"}}}
    engine = medsenteval.engine.SE(params, watching)
    engine.eval("RQE")
    assert "|legacy=yes|" in engine.details["RQE"].signature
    assert [] not in tokens
    with pytest.raises(SettingsError, match="legacy is 'maybe'"):
        medsenteval.engine.SE(PARAMS | {"task_options": {"RQE": {"legacy": "maybe"}}}, batcher).eval("RQE")


def test_the_order_of_pair_features_is_part_of_the_signature_where_it_can_move_a_score() -> None:
    dataset = load_dataset(task("RQE"), sample_root(), Settings())
    signatures = {
        probe: medsenteval.engine.signature_of(task("RQE"), dataset, as_encoder(len, name="n"), Settings(probe=probe))
        for probe in ("exact", "sklearn", "senteval", "mlp")
    }
    marked = {probe for probe, signature in signatures.items() if "|parts=u,v,u*v,|u-v||" in signature}
    assert marked == {"sklearn", "senteval", "mlp"}


def test_the_vectors_of_an_encoder_without_an_identity_stand_for_it() -> None:
    dataset, encoder = load_dataset(task("BIOSSES"), sample_root(), Settings()), as_encoder(len, name="n")

    def described(vectors: Any = None, encoder: Any = encoder) -> str:
        signature = medsenteval.engine.signature_of(task("BIOSSES"), dataset, encoder, Settings(), vectors)
        return next(part for part in signature.split("|") if part.startswith("encoder="))

    rows = np.ones((2, 3), dtype=np.float32)
    assert described() == "encoder=n (no identity)"
    assert described(rows) == "encoder=n (no identity, vectors 8092a638f3abb432)"
    assert described(rows, as_encoder("lexical,dimension=16")) == f"encoder={as_encoder('lexical,dimension=16').identity}"


def test_scripts_read_sentevals_defaults_back_from_params() -> None:
    own = {"seed": 7, "batch_size": 16, "kfold": 3, "nhid": 0, "classifier": {"nhid": 0, "optim": "rmsprop"}}
    assert medsenteval.engine.SE({"task_path": "x"}, batcher).params == {
        "task_path": "x", "seed": 1111, "batch_size": 128, "kfold": 5, "nhid": 0, "classifier": {"nhid": 0}
    }  # fmt: skip
    assert medsenteval.engine.SE({"task_path": "x", **own}, batcher).params == {"task_path": "x", **own}


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


def test_a_hidden_layer_without_torch_mode_is_ignored_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="nhid=50 is ignored, as in SentEval"):
        settings = Settings.from_senteval_params(SentEvalParams({"usepytorch": False, "classifier": {"nhid": 50}}))
    assert (settings.probe, settings.training) == ("sklearn", {})


@pytest.mark.parametrize(
    "wrong",
    [{"probe": "svm"}, {"grid": "huge"}, {"folds": 1}, {"batch_size": 0}, {"limit": 0}, {"resamples": 3},
     {"tolerance": 0.0}, {"training": {"momentum": 1}}, {"probe": "mlp", "grid": "wide"}],
)  # fmt: skip
def test_settings_outside_their_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        Settings(**wrong)


def test_an_encoder_that_knows_next_to_nothing_is_not_scored() -> None:
    biosses = task("BIOSSES")
    dataset = load_dataset(biosses, sample_root(), Settings(resamples=100))
    with pytest.raises(EncoderError, match=r"BIOSSES: .* knows [0-4]\.\d% of the words in the texts"):
        evaluate_task(biosses, dataset, as_encoder({"heart\t0.1": [1.0, 2.0]}), Settings())
    words = sorted({word for text in dataset.all_texts() for word in text.split()})
    rows = np.random.default_rng(0).standard_normal((len(words), 8))
    some = as_encoder(dict(zip(words[::3], rows[::3], strict=True)))
    result = evaluate_task(biosses, dataset, some, Settings(resamples=100))
    assert 0.05 <= result.coverage["tokens"] < 0.5
    assert "‡" in result.marks
    whole = evaluate_task(biosses, dataset, as_encoder(dict(zip(words, rows, strict=True))), Settings(resamples=100))
    assert "‡" not in whole.marks


def test_an_encoder_without_a_vocabulary_is_scored_and_not_marked() -> None:
    biosses = task("BIOSSES")
    dataset = load_dataset(biosses, sample_root(), Settings())
    result = evaluate_task(biosses, dataset, as_encoder(lambda texts: np.array([[len(t), 1.0] for t in texts])), Settings())
    assert "‡" not in result.marks


def seen(*parts: tuple[list[int] | None, dict[str, Any]], encoder: Any = None) -> dict[str, Any]:
    """Say what an encoder saw of texts with so many tokens."""
    counts = [None if tokens is None else np.array(tokens, dtype=np.uint32) for tokens, _ in parts]
    embedded = [Embeddings(np.ones((2, 3), dtype=np.float32), {}, tokens=each) for each in counts]
    return _what_was_seen(encoder, embedded, [said for _, said in parts])


def test_what_an_encoder_saw_of_texts_is_counted() -> None:
    assert seen(([3, 5, 9, 4], {"max_length": 4, "prompt": "p"})) == {
        "max_length": 4, "prompt": "p", "bytes_per_vector": 12, "texts_cut": 2, "texts_cut_share": 0.5,
        "tokens_lost_share": 6 / 21,
    }  # fmt: skip
    assert seen(([3, 4], {"max_length": 4}))["texts_cut"] == 0
    for tokens, limit in (([0, 0], 4), (None, 4), ([3, 9], None)):
        assert "texts_cut" not in seen((tokens, {"max_length": limit}))
    both = seen(([3, 5], {"max_length": 4, "prompt": "q"}), ([7, 20], {"max_length": 16, "prompt": "d"}))
    assert both == {
        "prompt": "", "query_prompt": "q", "document_prompt": "d", "query_max_length": 4, "document_max_length": 16,
        "bytes_per_vector": 12, "texts_cut": 2, "texts_cut_share": 0.5, "tokens_lost_share": 5 / 35,
    }  # fmt: skip
    assert seen((None, {}), encoder=SimpleNamespace(bytes_per_vector=lambda width: width))["bytes_per_vector"] == 3


@pytest.mark.parametrize(("told", "refused"), [({}, False), ({"tokens": 0.05}, False), ({"tokens": 0.049}, True)])
def test_an_encoder_that_knows_less_than_a_twentieth_is_refused(told: dict[str, float], refused: bool) -> None:
    encoder: Any = SimpleNamespace(name="mine", coverage=lambda texts: told)
    if refused:
        with pytest.raises(EncoderError, match=r"T: mine knows 4\.9% of the words in the texts, and below 5% a score would"):
            medsenteval.engine.known_share(encoder, ["a"], "T")
    else:
        assert medsenteval.engine.known_share(encoder, ["a"], "T") == told
    silent: Any = SimpleNamespace(name="mine")
    assert medsenteval.engine.known_share(silent, ["a"], "T") == {}


def test_an_own_similarity_is_named_with_a_hash_of_its_code() -> None:
    def one(u: Any, v: Any) -> float:
        return float(u @ v)

    first = _similarity_name(one)
    assert re.fullmatch(r"test_an_own_similarity_is_named_with_a_hash_of_its_code\.<locals>\.one [0-9a-f]{8}", first)

    def one(u: Any, v: Any) -> float:  # type: ignore[no-redef]
        return float(u @ v) + 1

    assert _similarity_name(one).split()[0] == first.split()[0]
    assert _similarity_name(one) != first
    assert _similarity_name(max) == "max"


def test_a_result_says_where_its_scores_come_from_and_what_they_cost() -> None:
    class Others:
        """Workers that use more memory than any machine has."""

        peak_memory_mb = 1e9

        def encoding(self, encoder: Any, task: str, role: str) -> None:
            asked.append((encoder.name, task, role))

        def score(self, task: Any, dataset: Any, embeddings: Any, settings: Any, title: str) -> Any:
            asked.append(title)
            return task.evaluate(task, dataset, embeddings, settings)

    asked: list[Any] = []
    biosses, settings = task("BIOSSES"), Settings(resamples=100, limit=30, seed=5)
    dataset = load_dataset(biosses, sample_root(), settings)
    first = next(dataset.all_texts())
    encoder = as_encoder(lambda texts: [[float(len(text)), 1.0] if text != first else [0.0, 0.0] for text in texts], "mine")
    result = evaluate_task(biosses, dataset, encoder, settings, seconds_reading=3.5, workers=Others())
    assert asked == [("mine", "BIOSSES", ""), "BIOSSES: mine"]
    n_texts = len(set(dataset.all_texts()))
    assert result.coverage == {"zero_vectors": 1 / n_texts}
    assert (result.performance["texts"], result.performance["texts_encoded"]) == (n_texts, n_texts)
    assert result.performance["texts_per_second"] == pytest.approx(n_texts / result.timings["encode"])
    assert (result.performance["peak_memory_mb"], "tokens" in result.performance) == (1e9, False)
    assert (result.timings["read"], list(result.timings)) == (3.5, ["read", "encode", "fit"])
    assert 0 < evaluate_task(biosses, dataset, encoder, settings).performance["peak_memory_mb"] < 1e6
    assert (result.n_train, result.n_test, result.seed, result.dimension, result.probe) == (0, 30, 5, 2, "none")
    assert (result.synthetic, result.headline, result.files) == (True, ("pearson", "spearman"), dataset.files)
    assert result.notes == dataset.notes
    assert set(result.versions) == {"medsenteval", "numpy", "scipy", "scikit-learn", "python"}
    assert result.versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", result.made)
    assert result.input == {"bytes_per_vector": 8, "trained_on": "unknown"}
    assert result.signature.startswith(f"BIOSSES@{biosses.version}|")
    assert f"|cosine|none|seed=5|limit=30|synthetic={dataset.fingerprint[:12]}|encoder=mine (no identity" in result.signature


@pytest.mark.parametrize(
    ("declared", "said"),
    [({}, "unknown"), ({"RQE": "yes"}, "unknown"), ({"BIOSSES": "no"}, "no"), ({"*": "yes"}, "yes"),
     ({"*": "yes", "BIOSSES": "no"}, "no")],
)  # fmt: skip
def test_what_is_declared_of_the_task_counts_before_what_is_declared_of_all(declared: dict[str, str], said: str) -> None:
    assert declared_training(SimpleNamespace(trained_on=declared), task("BIOSSES")) == said
    assert declared_training(SimpleNamespace(), task("BIOSSES")) == "unknown"
