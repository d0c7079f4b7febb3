"""Ctrl-C: it ends a run wherever it arrives, nothing half-done is stored, and the same command goes on from there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from medsenteval import Settings
from medsenteval.embedding.cache import CacheError, EmbeddingCache
from medsenteval.errors import EncoderError, MissingExtraError, caused_by
from medsenteval.registry import select_tasks
from medsenteval.running.executors.worker import guarded
from medsenteval.running.result_store import ResultStore
from medsenteval.running.suite import Suite
from medsenteval.support.interrupts import noticing_interrupts, raise_if_interrupted
from tests.conftest import CountingEncoder
from tests.running.test_crashes import World, cluster, wait_until

__all__ = ["cluster"]  # a fixture, found by its name

QUICK = Settings(folds=2, resamples=100)
#: Interrupts for each executor; the environment can ask for more.
INTERRUPTS = int(os.environ.get("MEDSENTEVAL_INTERRUPTS", "2"))


class TurnsIntoSystemError(CountingEncoder):
    """What a compiled loop does with an interrupt that arrives inside it."""

    def encode(self, texts: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error
        return super().encode(texts)


class Swallows(CountingEncoder):
    """What a callback of a library does with it: nothing, and the work goes on as if it were whole."""

    def encode(self, texts: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return super().encode(texts)
        raise AssertionError("unreachable")


@pytest.mark.parametrize("encoder", [TurnsIntoSystemError, Swallows])
def test_an_interrupt_in_any_form_is_an_interrupt_and_stores_nothing(encoder: Any, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    with pytest.raises(KeyboardInterrupt, match=r"0 of 2 jobs are done and stored in .*results.*goes on from there"):
        Suite([encoder()], select_tasks("BIOSSES,RQE"), QUICK, store=store).run()
    assert not list(tmp_path.rglob("*.json"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    raise_if_interrupted()


def test_interrupts_are_noticed_once_however_often_one_listens() -> None:
    with noticing_interrupts():
        with pytest.raises(KeyboardInterrupt), noticing_interrupts():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()
    raise_if_interrupted(ValueError())
    with pytest.raises(KeyboardInterrupt):
        raise_if_interrupted(_chained(SystemError(), KeyboardInterrupt()))


def _chained(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a thread as POSIX does")
def test_an_interrupt_that_reaches_another_thread_ends_the_wait_for_jobs() -> None:
    """As after a stop and a continue by a batch system: any thread may be handed the signal, and the first one sleeps."""
    ended, waited = threading.Event(), []

    def run(number: int) -> None:
        time.sleep(0.5)  # by then the first thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        waited.append(ended.wait(60))

    with pytest.raises(KeyboardInterrupt):
        Suite([CountingEncoder()], [], QUICK)._side_by_side(run, [0], 1)
    assert waited == []
    ended.set()


class Fails(CountingEncoder):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def encode(self, texts: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "stored"),
    [
        (ImportError("libcuda.so: cannot open shared object file"), False),
        (ModuleNotFoundError("no module named x"), False),
        (MissingExtraError("an encoder", "torch", "transformers"), False),
        (OSError("cannot load library"), False),
        (CacheError("no space"), False),
        (MemoryError(), False),
        (_chained(EncoderError("cannot be loaded"), ImportError("x")), False),
        (EncoderError("returned NaN"), True),
        (ValueError("x"), True),
    ],
)
def test_failures_of_the_environment_are_not_stored(error: Exception, stored: bool, tmp_path: Path) -> None:
    store = ResultStore(tmp_path)

    def run(encoder: CountingEncoder) -> Any:
        return Suite([encoder], select_tasks("BIOSSES"), QUICK, store=store).run()

    assert list(run(Fails(error)).failed.values()) == [error]
    assert len(store.failures()) == stored
    assert len(run(CountingEncoder()).results) == (0 if stored else 1)


def test_a_worker_tells_that_the_environment_failed() -> None:
    def unit() -> None:
        try:
            raise ImportError("x")
        except ImportError as error:
            raise EncoderError("y") from error

    def missing() -> None:
        raise MissingExtraError("an encoder", "torch", "transformers")

    for each, kind in ((unit, EncoderError), (missing, MissingExtraError)):
        with pytest.raises(kind) as caught:
            guarded(each).result()
        assert caused_by(caught.value, OSError)


# ---------------------------------------------------------------- whole runs, in processes of their own


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("world"))
    made.finish(made.start("--probe", "exact", output="undisturbed"))
    return made


def interrupt(world: World, rng: random.Random, *options: str, group: bool) -> tuple[int, str]:
    """Interrupt a run at some moment of its work; return its exit code and what it said."""
    world.log.unlink(missing_ok=True)
    run = world.start("--probe", "exact", *options, new_group=True)
    wait_until(lambda: world.log.exists() or run.poll() is not None, seconds=120)
    time.sleep(rng.uniform(0, 1.5))
    if run.poll() is None:
        (os.killpg if group else os.kill)(run.pid, signal.SIGINT)
    try:
        _, messages = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        raise
    return run.returncode, messages


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="interrupts processes as POSIX does")
@pytest.mark.parametrize("executor", ["in-process", "processes:2", "dask"])
def test_interrupted_runs_end_and_are_finished_by_the_next(executor: str, world: World, request: pytest.FixtureRequest) -> None:
    world.forget()
    # A process without workers is its own group: there is one way to interrupt it, not two. Workers of a cluster outlive a
    # run, and may still write to the log that tells when the next one is at work.
    times = {"in-process": max(1, INTERRUPTS // 2), "dask": 1}.get(executor, INTERRUPTS)
    if executor == "dask":
        executor, _ = request.getfixturevalue("cluster")
    rng = random.Random(executor)
    interrupted = 0
    while interrupted < times:
        code, messages = interrupt(world, rng, "--executor", executor, group=interrupted % 2 == 1)
        if code == 0:  # it was faster
            world.forget()
            continue
        assert code == 130, messages
        assert "Interrupted: " in messages
        # While the workers are still being started, the message is the general one.
        assert "goes on" in messages
        assert "Traceback" not in messages
        assert not list(world.folder.rglob("*.failed.json"))
        interrupted += 1
        if interrupted % 5 == 0:
            world.forget()
    world.finish(world.start("--probe", "exact", "--executor", executor))
    assert world.results() == world.results("undisturbed")


def test_a_cache_that_fails_is_no_failure_of_the_encoder(tmp_path: Path) -> None:
    (tmp_path / "encoded").write_text("a file where a folder should be")
    store = ResultStore(tmp_path / "results")
    suite = Suite([CountingEncoder()], select_tasks("BIOSSES"), QUICK, store=store, cache=EmbeddingCache(tmp_path))
    [error] = suite.run().failed.values()
    assert isinstance(error, CacheError)
    assert "cannot be written" in str(error)
    assert not store.failures()


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files as POSIX does")
@pytest.mark.slow
def test_a_full_disk_for_results_ends_the_run_and_stores_nothing(tmp_path: Path) -> None:
    """No file may grow beyond 2,000 bytes, less than a result takes; the vectors are not kept."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    command = [sys.executable, "-m", "medsenteval", "run", "-t", "BIOSSES", "-o", str(tmp_path), "--no-cache"]
    pipes: dict[str, Any] = {"capture_output": True, "text": True, "check": False, "timeout": 120}
    ended = subprocess.run(command, preexec_fn=limit, **pipes)
    assert ended.returncode == 2, ended.stderr
    assert "cannot be written: File too large; name another folder with --output" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".lock"]
    assert subprocess.run(command, **pipes).returncode == 0
    assert len(ResultStore(tmp_path).results()) == 1
