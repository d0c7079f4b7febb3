"""Runs that are killed, workers that are killed, and runs that meet: nothing is lost, torn or done twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medsenteval.datasets.locate import load_dataset, locate, sample_root
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import in_order
from medsenteval.registry import task
from medsenteval.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kills processes as POSIX does")]

#: The environment can ask for more; tests/running/disturbances.py is the long campaign.
KILLS = int(os.environ.get("MEDSENTEVAL_KILLS", "3"))
N_TEXTS = 8_192

#: Takes its time, and writes down every text that it encodes.
ENCODER = """
import hashlib, os, time
import numpy as np

class Slow:
    def __init__(self, name):
        self.name, self.identity = name, name + "-1"
    def encode(self, texts):
        time.sleep(0.18)
        with open(os.environ["ENCODER_LOG"], "a") as stream:
            stream.write("".join(f"{self.name}\\t{text}\\n" for text in texts))
        digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
        return np.array([list(digest) for digest in digests], dtype=np.float32) / 16 - 8

first, second = Slow("first"), Slow("second")
"""

SUITE = """
encoders = ["python:slow_encoders:first", "python:slow_encoders:second"]
tasks = ["ClinicalSTS", "BioC", "BIOSSES"]
data = "data"
[settings]
probe = "exact"
resamples = 100
folds = 3
batch_size = 512
"""


class World:
    """A folder with data, encoders and a suite, and what runs of it leave behind."""

    def __init__(self, folder: Path, n_texts: int = N_TEXTS, suite: str = SUITE) -> None:
        self.folder, self.log = folder, folder / "log"
        sts = folder / "data" / "ClinicalSTS"
        sts.mkdir(parents=True)
        rows = (f"left sentence {i}\tright sentence {i}\t{i % 6}\n" for i in range(n_texts // 2))
        (sts / "clinicalSTS.test.txt").write_text("".join(rows))
        for name in ("BioC", "BIOSSES"):
            shutil.copytree(locate(task(name), sample_root()), folder / "data" / name)
        (folder / "slow_encoders.py").write_text(ENCODER)
        (folder / "suite.toml").write_text(suite)
        self.texts = {
            name: in_order(load_dataset(task(name), folder / "data", Settings(allow_incomplete=True)).all_texts())
            for name in ("ClinicalSTS", "BioC", "BIOSSES")
        }

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder), *filter(None, sys.path)])
        places = {"PYTHONPATH": path, "MEDSENTEVAL_CACHE": str(self.folder / "cache"), "ENCODER_LOG": str(self.log)}
        return {**os.environ, **places, "OMP_NUM_THREADS": "1"}

    def start(self, *options: str, output: str = "results", new_group: bool = False) -> subprocess.Popen[str]:
        arguments = ["run", "suite.toml", "--allow-code", "--allow-incomplete", "--output", str(self.folder / output), *options]
        command = [sys.executable, "-c", "from medsenteval.cli.main import main; main()", *arguments]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, start_new_session=new_group, **pipes)

    def finish(self, run: subprocess.Popen[str]) -> str:
        _, messages = run.communicate(timeout=120)
        assert run.returncode == 0, messages
        return messages

    def results(self, output: str = "results") -> dict[str, Any]:
        """What is stored, but for what it cost."""
        found = {}
        for path in sorted((self.folder / output).rglob("*.json")):
            stored = json.loads(path.read_text())
            found[str(path.relative_to(self.folder / output))] = {
                key: value for key, value in stored.items() if key not in ("timings", "performance", "made")
            }
        return found

    def encoded(self) -> Counter[tuple[str, str]]:
        """How often each encoder encoded each text since the log was last emptied; a killed writer may leave half a line."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter((parts[0], parts[1]) for parts in (line.split("\t") for line in lines) if len(parts) == 2)

    def recorded(self) -> set[tuple[str, str]]:
        """Which texts the cache holds for which encoder."""
        found: set[tuple[str, str]] = set()
        for encoder in ("first", "second"):
            store = EmbeddingCache(self.folder / "cache").store(f"{encoder}-1")
            for texts in self.texts.values():
                missing = set(store.find(texts).missing.tolist())
                found.update((encoder, text) for place, text in enumerate(texts) if place not in missing)
        return found

    def begun(self) -> bool:
        """Whether the cache holds a first block of vectors."""
        return any((self.folder / "cache").rglob("block-*"))

    def everything(self) -> set[tuple[str, str]]:
        return {(encoder, text) for encoder in ("first", "second") for texts in self.texts.values() for text in texts}

    def forget(self) -> None:
        for name in ("results", "cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.log.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def undisturbed(world: World) -> dict[str, Any]:
    world.finish(world.start(output="undisturbed"))
    assert world.encoded() == Counter(world.everything())
    results = world.results("undisturbed")
    assert len(results) == 6
    return results


@pytest.fixture
def clean(world: World, undisturbed: dict[str, Any]) -> World:
    world.forget()
    return world


def test_a_run_killed_at_any_moment_is_finished_by_the_next(clean: World, undisturbed: dict[str, Any]) -> None:
    rng = random.Random(1)
    killed, interrupted = 0, 0
    while killed < KILLS:
        # Every fifth run has worker processes, which must not outlive it.
        options = ("--executor", "processes:2") if killed % 5 == 1 else ()
        kept, stored = clean.recorded(), set(clean.results())
        clean.log.unlink(missing_ok=True)
        run = clean.start(*options)
        if killed == 0:
            wait_until(lambda run=run: clean.begun() or run.poll() is not None, seconds=120)
        elif rng.random() < 0.8:
            # Most kills come once encoding has begun: the imports before it leave nothing to break.
            wait_until(lambda run=run: clean.log.exists() or run.poll() is not None, seconds=120)
            time.sleep(rng.uniform(0, 3))
        else:
            time.sleep(rng.uniform(0, 3))
        if run.poll() is None:
            run.kill()
            killed += 1
        run.communicate()
        again = set(clean.encoded()) & kept
        assert not again, f"{len(again)} stored texts were encoded again"
        left, recorded = clean.results(), clean.recorded()
        assert stored <= set(left)
        for name, result in left.items():
            assert result == undisturbed[name]
        interrupted += bool(recorded) and recorded != clean.everything()
        if left == undisturbed:
            clean.forget()
    assert interrupted > KILLS // 5
    kept = clean.recorded()
    clean.log.unlink(missing_ok=True)
    clean.finish(clean.start())
    assert clean.results() == undisturbed
    assert set(clean.encoded()) == clean.everything() - kept
    assert not list((clean.folder / "results").rglob("*.failed.json"))


def test_two_runs_at_once_share_the_work(clean: World, undisturbed: dict[str, Any]) -> None:
    runs = [clean.start(), clean.start("--executor", "processes:2")]
    messages = [clean.finish(run) for run in runs]
    assert clean.results() == undisturbed
    assert clean.encoded() == Counter(clean.everything())
    done = [line.split(": done in")[0] for said in messages for line in said.splitlines() if ": done in" in line]
    assert len(done) == len(set(done)) == 6
    assert not list(clean.folder.rglob(".writing-*"))


@pytest.fixture
def cluster(world: World) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two workers, each a process of its own."""
    file = world.folder / "scheduler.json"
    file.unlink(missing_ok=True)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": world.environment}
    dask = [sys.executable, "-m", "dask"]
    scheduler_options = ["--port", "0", "--no-dashboard", "--scheduler-file", str(file), "--host", "127.0.0.1"]
    processes = [subprocess.Popen([*dask, "scheduler", *scheduler_options], cwd=world.folder, **quiet)]
    try:
        wait_until(file.exists, seconds=60)
        worker_options = ["--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        processes += [subprocess.Popen([*dask, "worker", *worker_options], cwd=world.folder, **quiet) for _ in range(2)]
        yield f"dask://{file}", processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_a_dask_worker_killed_in_the_middle_costs_nothing_but_time(
    clean: World, undisturbed: dict[str, Any], cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    run = clean.start("--executor", address)
    wait_until(lambda: clean.begun() or run.poll() is not None, seconds=120)
    assert 0 < len(clean.recorded()) < len(clean.everything())
    workers[0].send_signal(signal.SIGKILL)
    clean.finish(run)
    assert workers[1].poll() is None
    assert clean.results() == undisturbed
    # Of each text one copy, plus at most what the dead worker was at.
    assert set(clean.encoded()) == clean.everything()
    assert sum(clean.encoded().values()) - len(clean.everything()) <= 3 * 512


def wait_until(happens: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.02)
