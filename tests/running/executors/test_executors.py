"""Where work runs: the same bits everywhere, models loaded once per worker, and workers that die are replaced."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from logging import CRITICAL
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval import Settings, registry
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.errors import (
    EncoderError,
    ExecutorError,
    MedSentEvalError,
    MissingExtraError,
    SettingsError,
    WorkerDiedError,
)
from medsenteval.registry import select_tasks
from medsenteval.running.executors import check_executor, open_executor, worker_count
from medsenteval.running.executors.executor import Executor, Outcome, Stopped
from medsenteval.running.executors.worker import encode_unit, guarded, opened
from medsenteval.running.result_store import ResultStore
from medsenteval.running.results import Results
from medsenteval.running.suite import Suite
from medsenteval.support.cores import available_cores, limit_cores, one_thread_per_product
from tests.conftest import CountingEncoder

QUICK = Settings(folds=3, resamples=200, allow_incomplete=True)
#: Starting a cluster takes seconds.
DASK = pytest.param("dask", marks=pytest.mark.slow)
SHORT_TRAINING = {"max_epoch": 4, "epoch_size": 1, "tenacity": 1}

#: Encoders that workers import: vectors from a hash of the text, a line in a log for every call.
ENCODERS = """
import hashlib, os, signal, threading
import numpy as np

LOG = os.environ.get("ENCODER_LOG")

def note(line):
    if LOG:
        with open(LOG, "a") as stream:
            stream.write(line + "\\n")

def rows(texts):
    digests = [hashlib.blake2b(text.encode(), digest_size=32).digest() for text in texts]
    return np.array([list(digest) for digest in digests], dtype=np.float32) / 16 - 8

class Hashes:
    name, identity = "hashes", "hashes-1"
    def __init__(self):
        note(f"loaded {os.getpid()}")
    def encode(self, texts):
        note(f"encoded {os.getpid()} {len(texts)}")
        return rows(texts)

class Neighbours(Hashes):
    # Like a neural encoder, whose last bits depend on the batch; here all bits do.
    name, identity = "neighbours", "neighbours-1"
    def encode(self, texts):
        return rows(texts) + rows(["|".join(texts)])

class Other(Hashes):
    name, identity = "other", "other-1"

class Learns(Hashes):
    name, identity = "learns", "learns-1"
    def prepare(self, texts):
        self.scale = 1 + len(texts) % 7
    def encode(self, texts):
        return rows(texts) * self.scale

class Changes(Hashes):
    name = "changes"
    @property
    def identity(self):
        return f"changes-{os.getpid()}"

class KillsOnce(Hashes):
    name, identity = "kills-once", "kills-once-1"
    def encode(self, texts):
        mark = LOG + ".killed"
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts)

class Kills(Hashes):
    name, identity = "kills", "kills-1"
    def encode(self, texts):
        note(f"killed {os.getpid()}")
        os.kill(os.getpid(), signal.SIGKILL)

class Fails(Hashes):
    name, identity = "fails", "fails-1"
    def encode(self, texts):
        raise RuntimeError("no such layer")
"""


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on sys.path, which spawned workers inherit, with the encoders above and their log."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "encoders_of_test.py").write_text(ENCODERS)
    os.environ["ENCODER_LOG"] = str(folder / "log")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    del os.environ["ENCODER_LOG"]


@pytest.fixture(scope="module")
def processes(module_folder: Path) -> Iterator[Executor]:
    with open_executor("processes:2") as executor:
        assert executor is not None
        yield executor


@pytest.fixture(scope="module")
def cluster(module_folder: Path) -> Iterator[str]:
    """A Dask cluster of two workers, which come back however long that takes on a busy machine; yields its address."""
    distributed = pytest.importorskip("distributed")
    import dask

    options: dict[str, Any] = {"dashboard_address": None, "worker_dashboard_address": None, "silence_logs": CRITICAL}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(2, threads_per_worker=1, local_directory=str(module_folder), **options) as started,
    ):
        yield started.scheduler_address


@pytest.fixture(scope="module")
def dask(cluster: str) -> Iterator[Executor]:
    with open_executor(f"dask://{cluster}") as executor:
        assert executor is not None
        yield executor


@pytest.fixture
def log(module_folder: Path) -> Iterator[Path]:
    path = module_folder / "log"
    path.write_text("")
    yield path
    Path(f"{path}.killed").unlink(missing_ok=True)


def lines(log: Path, kind: str) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines() if line.startswith(kind)]


def comparable(results: Results) -> dict[str, Any]:
    """Everything of the results but what they cost."""
    stored = {result.task: result.to_json() for result in results.values()}
    cost = ("timings", "performance", "made")
    return {name: {k: v for k, v in fields.items() if k not in cost} for name, fields in stored.items()}


def run(executor: Executor | str, probe: str = "exact", tasks: str = "BioC,RQE,BIOSSES", **changes: Any) -> dict[str, Any]:
    cache = changes.pop("cache", False)
    settings = QUICK.with_changes(probe=probe, **changes)
    if probe in ("senteval", "mlp"):
        settings = settings.with_changes(training=SHORT_TRAINING)
    return comparable(medsenteval.evaluate("lexical,dimension=64", tasks, settings=settings, cache=cache, executor=executor))


@cache
def in_process(probe: str, tasks: str) -> dict[str, Any]:
    return run("in-process", probe, tasks)


@pytest.mark.parametrize(
    ("probe", "name"),
    [
        pytest.param(probe, name, marks=[pytest.mark.slow] if probe != "exact" or name == "dask" else [])
        for probe in ("exact", "sklearn", "senteval", "mlp")
        for name in ("processes", "dask")
    ],
)
def test_results_are_the_same_to_the_last_bit_on_any_executor(probe: str, name: str, request: pytest.FixtureRequest) -> None:
    tasks = "BioC,RQE,BIOSSES" if probe == "exact" else "BioC"
    assert in_process(probe, tasks) == run(request.getfixturevalue(name), probe, tasks)


@pytest.mark.slow
def test_neither_workers_nor_batches_nor_the_cache_change_a_bit(processes: Executor) -> None:
    expected = run("in-process")
    assert expected == run(processes, batch_size=7)
    assert expected == run("in-process", batch_size=300, cache=True)
    assert expected == run(processes, batch_size=50, cache=True)
    with open_executor("processes:1") as one:
        assert one is not None
        assert one.workers == 1
        assert expected == run(one)


def test_texts_that_tasks_share_are_encoded_in_the_same_batches_everywhere(
    processes: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs side by side encode in the order of the run, so that a text is encoded with the first task that has it."""
    pairs = [f"left {i}\tright {i}\t{i % 6}\n" for i in range(600)]
    task = registry.task("ClinicalSTS")
    tasks = [replace(task, name=f"STS{number}", folders=(f"STS{number}",)) for number in range(3)]
    for number in range(3):
        folder = tmp_path / "data" / f"STS{number}"
        folder.mkdir(parents=True)
        (folder / "clinicalSTS.test.txt").write_text("".join(pairs[100 * number : 100 * number + 400]))

    def run_all(executor: Executor | str, cache: str) -> dict[str, Any]:
        monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / cache))
        spec, data = "python:encoders_of_test:Neighbours", tmp_path / "data"
        return comparable(medsenteval.evaluate(spec, tasks, data, QUICK, executor=executor))

    here = run_all("in-process", "first")
    assert here == run_all("in-process", "first")
    assert here == run_all(processes, "second")


@pytest.mark.slow
def test_cores_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.support import cores

    words = ["the", "of", "and", "in", "a", "patient", "with", "to"]
    glove = {word: np.random.default_rng(i).standard_normal(20) for i, word in enumerate(words)}

    def both(limit: int) -> list[Any]:
        monkeypatch.setattr(cores, "_limit", limit)
        found = [run("in-process", probe, "BioC") for probe in ("exact", "sklearn", "senteval")]
        vectors = medsenteval.evaluate(glove, "BioC,BIOSSES", settings=QUICK, cache=False)
        return [*found, comparable(vectors)]

    assert both(1) == both(2)


def test_one_large_task_spreads_over_the_workers_and_each_loads_the_model_once(
    processes: Executor, log: Path, tmp_path: Path
) -> None:
    pairs = [f"left {i}\tright {i}\t{i % 6}\n" for i in range(2000)]
    folder = tmp_path / "data" / "ClinicalSTS"
    folder.mkdir(parents=True)
    (folder / "clinicalSTS.test.txt").write_text("".join(pairs))
    spec, data = "python:encoders_of_test:Hashes", tmp_path / "data"
    there = medsenteval.evaluate(spec, "ClinicalSTS", data, QUICK, executor=processes)
    assert there["ClinicalSTS"].performance["texts_encoded"] == 4000
    assert sum(int(line[2]) for line in lines(log, "encoded")) == 4000
    workers = {line[1] for line in lines(log, "encoded")}
    assert len(workers) == 2
    assert str(os.getpid()) not in workers
    loaded = [line[1] for line in lines(log, "loaded")]
    assert sorted(loaded) == sorted({*workers, str(os.getpid())})
    log.write_text("")
    again = medsenteval.evaluate(spec, "ClinicalSTS", data, QUICK, executor=processes)
    assert not lines(log, "encoded")
    assert comparable(there) == comparable(again)


def test_an_object_encodes_in_the_coordinator(processes: Executor) -> None:
    """Whatever it holds: nothing of it is pickled."""
    lock = threading.Lock()
    here: list[int] = []

    def function(texts: list[str]) -> Any:
        with lock:
            here.append(os.getpid())
        return [[len(text), 3.0 * text.count("e"), text.count("a")] for text in texts]

    expected = comparable(medsenteval.evaluate(function, "BIOSSES,BioC", settings=QUICK))
    calls = len(here)
    assert comparable(medsenteval.evaluate(function, "BIOSSES,BioC", settings=QUICK, executor=processes)) == expected
    assert len(here) == 2 * calls


def test_objects_take_turns_in_the_coordinator(processes: Executor) -> None:
    """Two of them may share a model, a tokeniser or an array."""
    shared: list[list[float]] = []

    def sharing(weight: float) -> Callable[[list[str]], Any]:
        def encode(texts: list[str]) -> Any:
            shared.clear()
            for text in texts:
                shared.append([float(len(text)), weight * text.count("e")])
                time.sleep(0.001)
            return list(shared)

        return encode

    def predicted(where: str | Executor) -> list[tuple[str, str, Any]]:
        both = [sharing(1.0), sharing(2.0)]
        found = medsenteval.evaluate(both, "BIOSSES,ClinicalSTS", settings=QUICK, name=["one", "two"], executor=where)
        return [(result.encoder, result.task, result.items["predicted"]) for result in found.values()]

    assert predicted(processes) == predicted("in-process")


def test_objects_take_turns_though_another_run_had_their_jobs_at_first(processes: Executor, tmp_path: Path) -> None:
    counted, now, most = threading.Lock(), 0, 0

    class Busy(ResultStore):
        @contextmanager
        def locked(self, encoder: str, task: str, signature: str, wait: bool = True) -> Iterator[bool]:
            yield wait

    class Noted(CountingEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            nonlocal now, most
            with counted:
                now += 1
                most = max(most, now)
            time.sleep(0.05)
            with counted:
                now -= 1
            return super().encode(texts)

    encoders = [Noted(), Noted()]
    encoders[1].name = encoders[1].identity = "other"
    suite = Suite(encoders, select_tasks("BIOSSES,ClinicalSTS"), QUICK, store=Busy(tmp_path), cache=None, executor=processes)
    assert len(suite.run().results) == 4
    assert most == 1


def test_an_encoder_that_learns_from_the_texts_learns_in_the_coordinator(processes: Executor) -> None:
    spec = "python:encoders_of_test:Learns"
    expected = comparable(medsenteval.evaluate(spec, "BIOSSES,BioC,ClinicalSTS", settings=QUICK, cache=False))
    found = medsenteval.evaluate(spec, "BIOSSES,BioC,ClinicalSTS", settings=QUICK, cache=False, executor=processes)
    assert comparable(found) == expected


def test_the_users_own_similarity_is_computed_in_the_coordinator(processes: Executor) -> None:
    lock = threading.Lock()

    def closeness(u: Any, v: Any) -> float:
        with lock:
            return -float(np.abs(u - v).sum())

    settings = QUICK.with_changes(similarity=closeness)
    expected = comparable(medsenteval.evaluate("lexical", "BIOSSES", settings=settings))
    assert comparable(medsenteval.evaluate("lexical", "BIOSSES", settings=settings, executor=processes)) == expected


@pytest.mark.parametrize("name", ["processes", DASK])
def test_a_worker_that_dies_is_replaced_and_its_unit_done(name: str, request: pytest.FixtureRequest, log: Path) -> None:
    executor = request.getfixturevalue(name)
    spec = "python:encoders_of_test:KillsOnce"
    found = medsenteval.evaluate(spec, "BIOSSES", settings=QUICK, executor=executor, cache=False)
    assert Path(f"{log}.killed").exists()
    assert comparable(found) == comparable(medsenteval.evaluate(spec, "BIOSSES", settings=QUICK, cache=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["processes", "dask"])
def test_a_job_that_always_kills_its_worker_fails_and_the_rest_goes_on(
    name: str, request: pytest.FixtureRequest, log: Path, tmp_path: Path
) -> None:
    executor, store = request.getfixturevalue(name), ResultStore(tmp_path)
    encoders = ["python:encoders_of_test:Kills", "lexical,dimension=64"]
    outcome = Suite(encoders, select_tasks("BIOSSES"), QUICK, store=store, executor=executor).run()
    assert [(result.encoder, result.task) for result in outcome.results] == [("lexical", "BIOSSES")]
    error = outcome.failed["kills", "BIOSSES"]
    assert isinstance(error, WorkerDiedError)
    assert "BIOSSES: encoding with kills" in str(error)
    assert "memory" in str(error)
    assert len(lines(log, "killed")) >= 3
    (failure,) = tmp_path.rglob("*.failed.json")
    assert "WorkerDiedError" in failure.read_text()


def test_an_error_in_a_worker_is_the_error_of_the_job(processes: Executor, tmp_path: Path) -> None:
    spec = "python:encoders_of_test:Fails"
    said: list[str] = []
    suite = Suite([spec], select_tasks("BIOSSES"), QUICK, store=ResultStore(tmp_path), executor=processes, announce=said.append)
    outcome = suite.run()
    assert isinstance(outcome.failed["fails", "BIOSSES"], RuntimeError)
    assert any("failed: RuntimeError: no such layer" in line for line in said)
    with pytest.raises(RuntimeError, match="no such layer") as caught:
        medsenteval.evaluate(spec, "BIOSSES", settings=QUICK, executor=processes)
    assert "encode_unit" in str(caught.value.__cause__)


def test_a_worker_with_other_weights_refuses_to_work(processes: Executor) -> None:
    with pytest.raises(EncoderError, match=r"a worker loaded 'changes-\d+', the coordinator 'changes-\d+'"):
        medsenteval.evaluate("python:encoders_of_test:Changes", "BIOSSES", settings=QUICK, executor=processes)


def test_errors_that_cannot_be_pickled_come_home_as_their_message() -> None:
    def missing() -> None:
        raise MissingExtraError("a probe", "torch", "torch")

    class Odd(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def odd() -> None:
        raise Odd(1, 2)

    with pytest.raises(MedSentEvalError, match="a probe needs the package 'torch'"):
        guarded(missing).result()
    with pytest.raises(ExecutorError, match="Odd: 1 and 2"):
        guarded(odd).result()


def test_a_worker_remembers_two_encoders(log: Path) -> None:
    for spec in ("Hashes", "Neighbours", "Hashes", "Other", "Hashes", "Neighbours"):
        identity = f"{spec.lower()}-1"
        encode_unit((f"python:encoders_of_test:{spec}", identity, "BIOSSES", ""), ["a text"], 128, "BIOSSES, unit 0")
    assert len(lines(log, "loaded")) == 4


def test_an_array_is_shared_for_a_while(processes: Executor) -> None:
    matrix = np.arange(12.0).reshape(4, 3)[1:]
    with processes.shared(matrix) as shared:
        assert np.array_equal(opened(shared), matrix)
        assert np.array_equal(processes.run("an array", opened, shared), matrix)
    assert not shared.exists()


def test_work_is_handed_out_only_as_fast_as_it_is_finished(processes: Executor) -> None:
    taken: list[int] = []

    def calls() -> Iterator[tuple[str, tuple[int]]]:
        for number in range(40):
            taken.append(number)
            yield "a number", (-number,)

    flow = processes.run_all(abs, calls())
    assert isinstance(flow, Generator)
    first = next(flow)
    assert first[0] == first[1]
    assert len(taken) == 2 * processes.workers + 1
    flow.close()
    assert len(taken) == 2 * processes.workers + 1


@pytest.mark.parametrize("wrong", ["threads", "processes:0", "processes:x", "in-process:2", "dask:2", "dask://", "ray://a:1"])
def test_unknown_executors_are_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="it can be in-process, processes:N or dask://HOST:PORT"):
        check_executor(wrong)
    with pytest.raises(SettingsError):
        Suite([CountingEncoder()], select_tasks("BIOSSES"), executor=wrong).plan()


def test_executors_are_counted_by_their_text() -> None:
    assert [worker_count(text) for text in ("processes:3", "in-process", "dask://host:1")] == [3, 1, 1]
    assert worker_count("processes") == available_cores()


@pytest.mark.slow
def test_an_address_where_nobody_answers_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medsenteval.running.executors.dask_executor._PATIENCE", 1)
    with (
        pytest.raises(ExecutorError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9"),
        open_executor("dask://127.0.0.1:9"),
    ):
        pass
    with (
        pytest.raises(ExecutorError, match=r"no Dask scheduler answers at /no/such\.json"),
        open_executor("dask:///no/such.json"),
    ):
        pass


def test_dask_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[dask\]"), open_executor("dask://host:1"):
        pass


def test_limits_count_those_inside() -> None:
    from threadpoolctl import threadpool_info

    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before = threads()
    with one_thread_per_product():
        with one_thread_per_product():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before


def test_cores_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.support import cores

    monkeypatch.setattr(cores, "_limit", None)
    limit_cores(1)
    assert available_cores() == 1


def test_encoding_elsewhere_refuses_a_width_that_changes(tmp_path: Path, counting: CountingEncoder) -> None:
    from medsenteval.embedding.embed import Encoded, embed_texts

    def two_widths(units: Any, *_: Any) -> Iterator[tuple[int, Encoded]]:
        for number, unit in enumerate(units):
            yield number, Encoded(np.zeros((len(unit), 2 + number), dtype=np.float32), np.zeros(len(unit), dtype=np.uint32))

    texts = [f"text {i}" for i in range(300)]
    with pytest.raises(EncoderError, match="width 3, but 2"):
        embed_texts(counting, texts, batch_size=9, task_name="T", cache=EmbeddingCache(tmp_path), remote=two_widths)


@pytest.mark.parametrize("kind", ["processes:1", DASK])
def test_work_on_a_closed_executor_is_stopped_and_no_failure(kind: str, request: pytest.FixtureRequest) -> None:
    where = f"dask://{request.getfixturevalue('cluster')}" if kind == "dask" else kind
    stopped: list[type[BaseException]] = []

    def wait(executor: Executor) -> None:
        try:
            executor.run("sleeping", time.sleep, 60)
        except BaseException as error:
            stopped.append(type(error))

    def interrupted() -> tuple[Executor | None, list[threading.Thread]]:
        with suppress(KeyboardInterrupt), open_executor(where) as executor:
            assert executor is not None
            executor.run("starting", time.sleep, 0)
            threads = [threading.Thread(target=wait, args=(executor,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.5)
            raise KeyboardInterrupt
        return executor, threads

    executor, threads = interrupted()
    for thread in threads:
        thread.join(timeout=30)
    assert stopped == [Stopped] * 3
    assert executor is not None
    with pytest.raises(Stopped):
        executor.run("late", time.sleep, 0)


class Scripted(Executor):
    """Runs units in its threads; before each try it does what comes next in a script."""

    def __init__(self, *script: Exception | float) -> None:
        super().__init__(2, at_once=2)
        self.script, self.tried, self.how_closed = list(script), 0, ""

    def _outcome(self, unit: Any, arguments: tuple[Any, ...], ended: threading.Event) -> Outcome:
        self.tried += 1
        step = self.script.pop(0) if self.script else 0.0
        if isinstance(step, Exception):
            raise step
        return replace(guarded(unit, *arguments), peak_memory_mb=step)

    def shared(self, array: Any) -> Any:
        raise NotImplementedError

    def close(self, at_once: bool = False) -> None:
        self.closed, self.how_closed = True, "at once" if at_once else "in time"
        self._waiting.shutdown()


def test_a_unit_is_tried_three_times_and_then_named_with_what_helps() -> None:
    died = WorkerDiedError("it died")
    executor = Scripted(died, died, 7.0)
    with executor:
        assert executor.run("adding", sum, [1, 2]) == 3
        assert (executor.tried, executor.peak_memory_mb) == (3, 7.0)
        executor.script = [3.0]
        executor.run("adding", sum, [1, 2])
        assert executor.peak_memory_mb == 7.0
    assert executor.how_closed == "in time"
    executor = Scripted(died, died, died, died)
    with executor, pytest.raises(WorkerDiedError, match=r"^adding: it died, 3 times; the usual reason is that memory ran out"):
        executor.run("adding", sum, [1, 2])
    assert executor.tried == 3


def test_the_error_of_a_unit_is_raised_at_once_and_ends_the_others() -> None:
    taken: list[int] = []

    def calls() -> Iterator[tuple[str, tuple[int]]]:
        for number in range(40):
            taken.append(number)
            yield "a number", (number,)

    def failing(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    executor = Scripted()
    with pytest.raises(ValueError, match=r"^three$") as caught, executor:
        list(executor.run_all(failing, calls()))
    assert isinstance(caught.value.__cause__, ExecutorError)
    assert "in failing" in str(caught.value.__cause__)
    assert executor.tried <= len(taken) < 40
    assert executor.how_closed == "at once"
    with pytest.raises(Stopped):
        executor.run("late", sum, [1])


def test_errors_of_the_machine_are_told_from_those_of_the_work() -> None:
    def raised(error: Exception) -> Any:
        raise error

    chained = ValueError("x")
    chained.__cause__ = OSError("no disk")
    kinds = [type(guarded(raised, error).cause) for error in (ValueError("x"), MemoryError(), ImportError("x"), chained)]
    assert kinds == [ExecutorError, OSError, OSError, OSError]
    outcome = guarded(raised, ValueError("x"))
    assert outcome.peak_memory_mb > 0
    assert str(outcome.cause).startswith("in a worker:\nTraceback")
    assert guarded(sum, [1, 2]).value == 3


def test_tasks_are_scored_by_workers_with_whatever_reads_them_left_here(processes: Executor) -> None:
    """The function that reads a file cannot be sent, and is not needed."""
    biosses = registry.task("BIOSSES")
    lock = threading.Lock()

    def read(folder: Path, options: Any) -> Any:
        with lock:
            return biosses.read(folder, options)

    mine = replace(biosses, name="Mine", folders=("BIOSSES",), read=read, evaluate=_named_by_its_process)
    result = medsenteval.evaluate("lexical,dimension=16", [mine], settings=QUICK, executor=processes)["Mine"]
    assert result.details["process"] != os.getpid()
    # An evaluation that cannot be sent is done here.
    local = replace(mine, evaluate=lambda *given: _named_by_its_process(*given))
    result = medsenteval.evaluate("lexical,dimension=16", [local], settings=QUICK, executor=processes)["Mine"]
    assert result.details["process"] == os.getpid()


def _named_by_its_process(task: Any, *given: Any) -> Any:
    scores = registry.task("BIOSSES").evaluate(task, *given)
    return replace(scores, details={"process": os.getpid()})
