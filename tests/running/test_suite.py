"""Runs of several tasks: results with intervals, baselines and predictions; stored whole; nothing lost when one fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

import medsenteval
from medsenteval import Settings
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.encoders.endpoint_budget import TokenBudget
from medsenteval.errors import DataMissingError, EncoderError, MedSentEvalError, SettingsError
from medsenteval.registry import select_tasks
from medsenteval.running.job_identity import comparability
from medsenteval.running.result_schema import Failure
from medsenteval.running.result_store import ResultStore, ResultWarning, StoreError, load_results
from medsenteval.running.suite import Suite, SuiteOutcome
from tests.conftest import CountingEncoder

Write = Callable[..., Path]

QUICK = Settings(folds=3, resamples=200)
SMALL = QUICK.with_changes(allow_incomplete=True)


def test_scores_follow_from_the_stored_predictions(counting: CountingEncoder) -> None:
    result = medsenteval.evaluate(counting, tasks="BioC", settings=QUICK.with_changes(folds=7))["BioC"]
    gold, predicted, fold = (np.array(result.items[key]) for key in ("gold", "predicted", "fold"))
    folds = range(7)
    accuracy = np.mean([accuracy_score(gold[fold == f], predicted[fold == f]) for f in folds])
    f1 = np.mean([f1_score(gold[fold == f], predicted[fold == f]) for f in folds])
    assert result.metric("acc").value == pytest.approx(100 * accuracy)
    assert result.metric("f1").value == pytest.approx(100 * f1)
    assert result.details["pooled_f1"] == pytest.approx(100 * f1_score(gold, predicted))
    # MedSentEval rounds the F1 of each fold, and their mean.
    rounded = [round(100 * f1_score(gold[fold == f], predicted[fold == f]), 2) for f in folds]
    assert result.senteval["F1score"] == result.senteval["f1"] == round(float(np.mean(rounded)), 2)
    assert result.senteval["f1"] != round(float(np.mean(rounded)), 3)
    rounded = [round(100 * accuracy_score(gold[fold == f], predicted[fold == f]), 2) for f in folds]
    assert (result.senteval["acc"], result.details["fold_accuracies"]) == (round(float(np.mean(rounded)), 2), rounded)
    assert result.metric("acc").baseline == pytest.approx(100 * max(np.mean(gold), 1 - np.mean(gold)))
    assert result.metric("f1").baseline == pytest.approx(100 * f1_score(gold, np.ones_like(gold)), abs=0.2)
    for metric in result.metrics:
        assert metric.low <= metric.value <= metric.high
    assert len(set(result.items["id"])) == len(gold) == result.n_test


def test_grouped_folds_are_another_protocol(counting: CountingEncoder) -> None:
    plain = medsenteval.evaluate(counting, tasks="BioC", settings=QUICK)["BioC"]
    grouped = medsenteval.evaluate(counting, tasks="BioC", settings=QUICK.with_changes(grouped=True))["BioC"]
    assert (plain.protocol, grouped.protocol) == ("nested-3", "nested-3-grouped-by-question")
    assert plain.signature != grouped.signature
    with pytest.raises(MedSentEvalError, match="do not say which rows belong together"):
        medsenteval.evaluate(counting, tasks="CitationSA", settings=QUICK.with_changes(grouped=True))
    with pytest.raises(MedSentEvalError, match="no folds to group"):
        medsenteval.evaluate(counting, tasks="MedNLI", settings=QUICK.with_changes(grouped=True))


def test_the_wide_grid_is_another_protocol(counting: CountingEncoder) -> None:
    result = medsenteval.evaluate(counting, tasks="BioASQ", settings=QUICK.with_changes(grid="wide", limit=60))["BioASQ"]
    assert result.protocol == "kfold-3-wide-grid"
    assert "limit=60" in result.signature


def test_results_are_the_same_whatever_the_batch_size_and_come_back_from_disk(
    counting: CountingEncoder, tmp_path: Path
) -> None:
    first = medsenteval.evaluate(counting, tasks="RQE,BIOSSES", settings=QUICK, output=tmp_path)
    again = medsenteval.evaluate(CountingEncoder(), tasks="RQE,BIOSSES", settings=QUICK.with_changes(batch_size=7))
    for name in first:
        assert first[name].metrics == again[name].metrics
        assert first[name].signature == again[name].signature
    stored = {result.task: result for result in ResultStore(tmp_path).results()}
    assert stored["RQE"].metrics == first["RQE"].metrics
    assert stored["RQE"].items["predicted"] == first["RQE"].items["predicted"]
    assert stored["RQE"].senteval == first["RQE"].senteval
    assert not list(tmp_path.rglob(".writing*"))


def test_a_stored_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"schema": 99}')
    with pytest.warns(ResultWarning, match=r"x\.json: .*schema: 99"):
        assert ResultStore(tmp_path).results() == []


def test_absent_data_is_skipped_and_all_absent_is_an_error(write: Write, counting: CountingEncoder) -> None:
    root = write({"CitationSA/train.txt": "positive\ta\nneutral\tbb\nnegative\tccc\n" * 5})
    found = medsenteval.evaluate(counting, tasks="CitationSA,RQE", data=root, settings=SMALL)
    assert list(found) == ["CitationSA"]
    assert "no folder RQE" in found.skipped["RQE"]
    assert "CitationSA" in str(found)
    assert "Left out: RQE: no folder RQE" in str(found)
    with pytest.raises(DataMissingError, match="no folder RQE"):
        medsenteval.evaluate(counting, tasks="RQE", data=root)


class FailsOnQuestions(CountingEncoder):
    name = "failing"

    def encode(self, texts: Any) -> Any:
        rows = super().encode(texts)
        rows[["?" in text for text in texts]] = np.nan
        return rows


def test_a_failing_task_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "out")
    outcome = Suite([FailsOnQuestions(), CountingEncoder()], select_tasks("BIOSSES,BioASQ"), QUICK, store=store).run()
    assert list(outcome.failed) == [("failing", "BioASQ")]
    assert "NaN or infinity" in str(outcome.failed["failing", "BioASQ"])
    finished = [(result.encoder, result.task) for result in outcome.results]
    assert finished == [("failing", "BIOSSES"), ("counting", "BIOSSES"), ("counting", "BioASQ")]
    assert len(store.results()) == 3
    assert len(list((tmp_path / "out").rglob("*.failed.json"))) == 1
    with pytest.raises(EncoderError) as caught:
        medsenteval.evaluate(FailsOnQuestions(), tasks="BIOSSES,BioASQ", settings=QUICK)
    assert list(caught.value.results) == ["BIOSSES"]  # type: ignore[attr-defined]


def test_what_failed_at_one_point_of_a_curve_is_not_announced_at_the_next(write: Write) -> None:
    root = write({"RQE/RQE_Train_8588_AMIA2016.xml": "<broken"})
    shutil.copytree(sample_root() / "BioASQ", root / "BioASQ")
    outcome, said = SuiteOutcome(), list[str]()
    for shots in (1, 2):
        settings = SMALL.with_changes(shots=shots, draws=2)
        Suite([FailsOnQuestions()], select_tasks("BioASQ,RQE,MR"), settings, data=root, announce=said.append).run(outcome)
    assert (set(outcome.skipped), set(outcome.failed)) == ({"MR"}, {("", "RQE"), ("failing", "BioASQ")})
    told = [line.partition(": ")[0] for line in said if "failed:" in line or "skipped:" in line]
    # BioASQ fails at each point, once for each.
    assert told == ["MR", "RQE", "BioASQ", "BioASQ"]


def test_a_point_given_twice_and_a_task_that_trains_nothing_count_once(tmp_path: Path) -> None:
    outcome = SuiteOutcome()
    for share in (0.5, 0.5, 1.0):
        settings = QUICK.with_changes(train_fraction=share, draws=2)
        Suite([CountingEncoder()], select_tasks("RQE,BIOSSES"), settings, store=ResultStore(tmp_path)).run(outcome)
    drawn = [f"kfold-3-fraction-{share}-draws-2" for share in ("0.5", "1")]
    assert [result.protocol for result in outcome.results] == [drawn[0], "cosine", drawn[1]]
    assert outcome.reused == 0


def test_unreadable_data_fails_its_task_only(write: Write, counting: CountingEncoder) -> None:
    files = {"CitationSA/train.txt": "neutral\ta\npositive\tb\n" * 6, "RQE/RQE_Train_8588_AMIA2016.xml": "<broken"}
    outcome = Suite([counting], select_tasks("RQE,CitationSA"), SMALL, data=write(files)).run()
    assert [result.task for result in outcome.results] == ["CitationSA"]
    assert "not well-formed" in str(outcome.failed["", "RQE"])


def test_the_signature_tells_what_can_move_a_score(counting: CountingEncoder) -> None:
    result = medsenteval.evaluate(counting, tasks="BioASQ", settings=QUICK)["BioASQ"]
    parts = ("BioASQ@1", "snippets=first", "kfold-3", "exact(tol=", "seed=1111", "synthetic=", "encoder=counting-1", "numpy=")
    assert all(part in result.signature for part in parts)
    json.dumps(result.to_json(), allow_nan=False)


def test_word_vectors_report_coverage() -> None:
    result = medsenteval.evaluate({"the": [1.0, 2.0], "of": [0.0, 1.0], "in": [1.0, 1.0]}, tasks="BIOSSES", settings=QUICK)[
        "BIOSSES"
    ]
    assert 0 < result.coverage["tokens"] < 0.5
    assert 0 <= result.coverage["zero_vectors"] < 1


def test_a_rerun_does_only_what_is_missing(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)

    def run(encoder: CountingEncoder, tasks: str, **options: Any) -> Any:
        return Suite([encoder], select_tasks(tasks), QUICK, store=store, **options).run()

    first = run(CountingEncoder(), "BIOSSES")
    again = CountingEncoder()
    outcome = run(again, "BIOSSES,ClinicalSTS")
    assert [result.task for result in outcome.results] == ["BIOSSES", "ClinicalSTS"]
    assert outcome.reused == 1
    assert outcome.results[0].metrics == first.results[0].metrics
    clinical = load_dataset(select_tasks("ClinicalSTS")[0], sample_root(), QUICK)
    assert {text for batch in again.batches for text in batch} == set(clinical.all_texts())
    forced = CountingEncoder()
    assert run(forced, "BIOSSES", force=True).reused == 0
    assert forced.batches
    other = CountingEncoder()
    other.identity = "counting-2"
    assert run(other, "BIOSSES").reused == 0


def test_a_failure_is_remembered_until_it_is_retried(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    tasks = select_tasks("BioASQ")
    broken, mended = FailsOnQuestions(), CountingEncoder()
    mended.name = broken.name
    assert Suite([broken], tasks, QUICK, store=store).run().failed
    said: list[str] = []
    again = Suite([mended], tasks, QUICK, store=store, announce=said.append)
    assert again.run().failed
    assert not mended.batches
    assert any("--retry-failed" in line for line in said)
    assert isinstance(again.plan()[0].stored, Failure)
    retried = Suite([mended], tasks, QUICK, store=store, retry_failed=True).run()
    assert len(retried.results) == 1
    assert not list(tmp_path.rglob("*.failed.json"))


def test_an_encoder_without_identity_is_never_taken_from_the_store(tmp_path: Path) -> None:
    def encode(texts: list[str]) -> Any:
        calls.append(len(texts))
        return [[len(text), text.count("e")] for text in texts]

    calls: list[int] = []
    for _ in range(2):
        medsenteval.evaluate(encode, tasks="BIOSSES", settings=QUICK, output=tmp_path)
    assert len(calls) % 2 == 0
    before = len(calls)
    for _ in range(2):
        medsenteval.evaluate(encode, tasks="BIOSSES", settings=QUICK, identity="letters-1")
    assert len(calls) - before == before // 2


def test_an_own_similarity_is_neither_taken_for_another_nor_replaces_it(tmp_path: Path, counting: CountingEncoder) -> None:
    def scaled(factor: float) -> Callable[[Any, Any], float]:
        return lambda u, v: factor * float(u @ v)

    def score(similarity: Any) -> Any:
        settings = QUICK.with_changes(similarity=similarity)
        return medsenteval.evaluate(counting, tasks="BIOSSES", settings=settings, output=tmp_path)["BIOSSES"]

    closer, farther, again = score(scaled(1.0)), score(scaled(-1.0)), score(scaled(1.0))
    assert farther.metric("pearson").value == -closer.metric("pearson").value != 0
    assert again.metric("pearson").value == closer.metric("pearson").value
    cosine = medsenteval.evaluate(counting, tasks="BIOSSES", settings=QUICK, output=tmp_path)["BIOSSES"]
    stored = ResultStore(tmp_path).results()
    assert {result.signature for result in stored} == {result.signature for result in (closer, farther, cosine)}
    # Functions with other code are other protocols to a comparison, wherever they stand in a signature.
    other = score(lambda u, v: -float(np.abs(u - v).sum()))
    assert comparability(other) != comparability(closer) == comparability(farther) != comparability(cosine)


def test_several_seeds_give_each_value_and_their_spread(tmp_path: Path) -> None:
    from medsenteval.running.score_table import detail_table, score_table

    encoder = CountingEncoder()
    outcome = Suite([encoder], select_tasks("BioASQ"), QUICK, seeds=(1, 2, 3), store=ResultStore(tmp_path)).run()
    assert [result.seed for result in outcome.results] == [1, 2, 3]
    values = [result.metric("acc").value for result in outcome.results]
    assert f"{np.mean(values):.2f}±{np.std(values, ddof=1):.2f}" in score_table(outcome.results)
    assert "seed 2" in detail_table(outcome.results)


def test_the_plan_counts_jobs_and_texts(tmp_path: Path) -> None:
    from medsenteval.embedding.cache import EmbeddingCache

    store, cache = ResultStore(tmp_path), EmbeddingCache(tmp_path / "cache")
    suite = Suite([CountingEncoder()], select_tasks("BIOSSES,RQE"), QUICK, store=store, cache=cache)
    assert str(suite.describe(suite.plan())).startswith("2 job(s): 0 stored, 0 failed before, 2 to run; ")
    suite.run()
    assert str(suite.describe(suite.plan())) == "2 job(s): 2 stored, 0 failed before, 0 to run"
    fresh = Suite([CountingEncoder()], suite.tasks, QUICK.with_changes(seed=5), store=suite.store, cache=suite.cache)
    assert "; 0 of " in str(fresh.describe(fresh.plan()))


def test_two_encoders_of_one_name_are_two_rows_not_two_seeds() -> None:
    from medsenteval.running.score_table import score_table

    one, other = CountingEncoder(), CountingEncoder()
    other.identity = "counting-2"
    table = score_table(Suite([one, other], select_tasks("BIOSSES"), QUICK).run().results)
    assert "±" not in table
    assert sum(line.startswith("counting") for line in table.splitlines()) == 2


def test_the_plan_estimates_time_from_earlier_results(tmp_path: Path) -> None:
    from medsenteval.embedding.cache import EmbeddingCache

    store, cache = ResultStore(tmp_path), EmbeddingCache(tmp_path / "cache")

    def plan(tasks: str, **options: Any) -> Any:
        suite = Suite([CountingEncoder()], select_tasks(tasks), QUICK, store=store, cache=cache, **options)
        return suite, suite.describe(suite.plan())

    suite, first = plan("BIOSSES")
    assert str(first).endswith("texts to encode; estimated time: unknown")
    result = suite.run().results[0]
    _, forced = plan("BIOSSES", force=True)
    (job,) = forced.jobs
    assert (job.n_missing, job.seconds) == (0, pytest.approx(result.timings["fit"]))
    assert str(forced).endswith("estimated time: under 1 s")
    _, more = plan("BIOSSES,ClinicalSTS", force=True)
    assert str(more).endswith("estimated time: under 1 s, and unknown for 1 job(s)")
    assert more.jobs[1].n_missing > 0
    assert more.jobs[1].seconds is None
    lines = more.table().splitlines()
    assert lines[0].split() == ["Encoder", "Task", "Seed", "Items", "State", "Texts", "To", "encode", "Time"]
    shown = more.table({"BIOSSES": "0.114"})
    assert shown.splitlines()[0].split()[4:6] == ["Shows", "State"]
    assert "Shows: the smallest difference between two encoders" in shown
    assert any(line.startswith("counting") and line.endswith("unknown") for line in lines)


def test_an_estimate_goes_by_the_same_encoder_task_and_probe(counting: CountingEncoder) -> None:
    from dataclasses import replace

    from medsenteval.running.plan import estimate_job, in_words

    plain = medsenteval.evaluate(counting, "BIOSSES", settings=QUICK)["BIOSSES"]
    numbers = {"texts": 100, "texts_encoded": 100}
    slow = replace(plain, timings={"encode": 10.0, "fit": 4.0}, performance=numbers)
    stranger = replace(slow, encoder_identity="other", timings={"encode": 1.0, "fit": 8.0})
    cached = replace(slow, performance={"texts": 100, "texts_encoded": 0}, timings={"encode": 90.0, "fit": 4.0})
    asked: dict[str, Any] = {"task": "BIOSSES", "probe": plain.probe, "n_texts": 200, "n_missing": 50}
    own = "counting", "counting-1"
    assert estimate_job([slow, stranger], own, **asked) == 5.0 + 8.0
    assert estimate_job([slow, cached], own, **asked) == 5.0 + 8.0  # what was not encoded tells nothing of encoding
    assert estimate_job([cached], own, **asked) is None
    assert estimate_job([stranger], own, **asked) is None
    assert estimate_job([stranger], own, **{**asked, "n_missing": 0}) == 16.0
    assert estimate_job([replace(slow, task="RQE"), stranger], own, **asked) == 5.0 + 16.0
    assert estimate_job([], own, **{**asked, "n_missing": 0}) is None
    assert estimate_job([slow], own, **{**asked, "probe": "mlp"}) is None
    assert [in_words(seconds) for seconds in (0.2, 42.4, 600, 7_200)] == ["under 1 s", "42 s", "10 min", "2.0 h"]


def test_whatever_a_model_raises_fails_its_job_only(tmp_path: Path) -> None:
    class Breaks(CountingEncoder):
        name = "breaks"

        def encode(self, texts: Any) -> Any:
            raise MemoryError("no memory left on device")

    said: list[str] = []
    suite = Suite(
        [Breaks(), CountingEncoder()], select_tasks("BIOSSES"), QUICK, store=ResultStore(tmp_path), announce=said.append
    )
    outcome = suite.run()
    assert [result.encoder for result in outcome.results] == ["counting"]
    assert isinstance(outcome.failed["breaks", "BIOSSES"], MemoryError)
    assert any("MemoryError: no memory left on device" in line for line in said)


def test_a_job_that_another_run_has_is_left_for_the_end(tmp_path: Path) -> None:
    import threading

    store = ResultStore(tmp_path)
    suite = Suite([CountingEncoder()], select_tasks("BIOSSES,ClinicalSTS"), QUICK, store=store)
    first = suite.plan()[0]
    said: list[str] = []
    done = threading.Event()

    def announce(message: str) -> None:
        said.append(message)
        if message.startswith("ClinicalSTS: counting: done"):
            done.set()

    suite.announce = announce
    with store.locked(first.encoder.name, first.task.name, first.signature) as held:
        assert held
        runner = threading.Thread(target=suite.run)
        runner.start()
        assert done.wait(timeout=60)
    runner.join(timeout=60)
    finished = [line.split(":")[0] for line in said if ": done in" in line]
    assert finished == ["ClinicalSTS", "BIOSSES"]


def test_a_folder_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file", "utf-8")
    encoder = CountingEncoder()
    with pytest.raises(StoreError, match="cannot be written"):
        Suite([encoder], select_tasks("BIOSSES"), QUICK, store=ResultStore(tmp_path / "results")).run()
    assert not encoder.batches


def test_a_budget_needs_an_encoder_that_counts_tokens() -> None:
    suite = Suite(["lexical"], select_tasks("BIOSSES"), QUICK, budget=TokenBudget(5))
    with pytest.raises(SettingsError, match=r"^max_tokens is given, but no encoder of this run is an endpoint:"):
        suite.plan()


def test_a_stored_result_learns_of_a_later_declaration_without_being_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    first = medsenteval.evaluate("lexical,dimension=16", "BIOSSES", output=tmp_path / "results")["BIOSSES"]
    assert first.trained_on == "no"  # it is trained on nothing
    (tmp_path / "mine.toml").write_text('yes = ["BIOSSES"]\n', "utf-8")
    spec = f"lexical,dimension=16,trained_on={tmp_path / 'mine.toml'}"
    again = medsenteval.evaluate(spec, "BIOSSES", output=tmp_path / "results")["BIOSSES"]
    assert (again.trained_on, again.made) == ("yes", first.made)
    (stored,) = load_results([str(tmp_path / "results")], tmp_path)
    assert stored.trained_on == "yes"
