"""``python -m tests.running.disturbances --rounds 30``: interrupt, kill, starve and corrupt runs, and print the outcome.

Every round disturbs one run at a random moment and looks at what it leaves; the next round goes on from there. Each campaign
ends with an undisturbed run, whose results must be those of a run that nobody disturbed. It takes long and needs a quiet
machine for its times, so it is no part of the test command, which does a few rounds of the same.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medsenteval.support.text_table import text_table
from tests.running.test_crashes import World, wait_until

EXECUTORS: Final = ("in-process", "processes:2", "dask:2")
#: Seconds after which an interrupted run counts as hanging.
PATIENCE: Final = 5.0


@dataclass
class Tally:
    """What became of the rounds of one campaign; ``faults`` must be none."""

    rounds: int = 0
    too_late: int = 0
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)


class Stage(World):
    """A world whose runs can be given less than they need, and that knows what a finished run leaves."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.finish(self.begin("in-process", output="undisturbed"))
        self.expected = self.results("undisturbed")

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "TMPDIR": str(self.temporary)}

    def begin(self, executor: str, output: str = "results", largest_file: int | None = None) -> subprocess.Popen[str]:
        """Start a run as a terminal does, whatever this process does with interrupts."""

        def prepare() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        arguments = ["run", "suite.toml", "--allow-code", "--allow-incomplete", "--probe", "exact", "-x", executor]
        # What an encoder writes down is not what fills the disk.
        environment = self.environment | ({} if largest_file is None else {"ENCODER_LOG": os.devnull})
        return subprocess.Popen(
            [sys.executable, "-m", "medsenteval", *arguments, "-o", str(self.folder / output)],
            cwd=self.folder,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wrong_results(self) -> list[str]:
        """Say which stored results are not those of an undisturbed run, and which failures were stored."""
        found = self.results()
        return [name for name, result in found.items() if result != self.expected.get(name)]


def started(stage: Stage, run: subprocess.Popen[str], rng: random.Random) -> None:
    """Wait until a run encodes, and a little more."""
    wait_until(lambda: stage.log.exists() or run.poll() is not None, seconds=300)
    time.sleep(rng.uniform(0, 1.5))


def ended(run: subprocess.Popen[str], tally: Tally) -> str:
    """Wait for the end of a run and of all its processes; return what it said."""
    begun = time.monotonic()
    try:
        said = run.communicate(timeout=90)[1]
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        tally.faults.append("did not end within 90 s")
        return run.communicate()[1]
    tally.slowest = max(tally.slowest, time.monotonic() - begun)
    if "Traceback" in said:
        tally.faults.append(f"a traceback: {said[-300:]}")
    return said


def interrupt(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> None:
    """Ctrl-C to the whole group, as a terminal sends it, or to the first process alone."""
    run = stage.begin(executor)
    started(stage, run, rng)
    if run.poll() is None:
        (os.killpg if tally.rounds % 2 else os.kill)(run.pid, signal.SIGINT)
    slowest, tally.slowest = tally.slowest, 0.0
    said = ended(run, tally)
    if tally.slowest > PATIENCE:
        tally.faults.append(f"took {tally.slowest:.1f} s to end")
    tally.slowest = max(slowest, tally.slowest)
    if run.returncode == 0:
        tally.too_late += 1
    elif run.returncode != 130 or "Interrupted: " not in said or "goes on" not in said:
        tally.faults.append(f"ended with {run.returncode}: {said[-300:]}")


def kill(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> None:
    """SIGKILL to the first process alone: its workers must end by themselves."""
    kept = stage.recorded()
    run = stage.begin(executor)
    started(stage, run, rng)
    tally.too_late += run.poll() is not None
    run.kill()
    ended(run, tally)
    try:
        wait_until(lambda: not lives(run.pid), seconds=60)
    except AssertionError:
        tally.faults.append("workers outlived the run")
        os.killpg(run.pid, signal.SIGKILL)
    if again := set(stage.encoded()) & kept:
        tally.faults.append(f"{len(again)} stored texts were encoded again")


def lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def starve(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> None:
    """No file may grow beyond a random size: vectors, records, results and scratch files fail to be written."""
    largest = rng.choice((rng.randrange(2_000), rng.randrange(40_000), rng.randrange(900_000)))
    run = stage.begin(executor, largest_file=largest)
    said = ended(run, tally)
    tally.too_late += run.returncode == 0
    if run.returncode not in (0, 2) or (run.returncode == 2 and "cannot be written" not in said and "Errno" not in said):
        tally.faults.append(f"with files of {largest} bytes ended with {run.returncode}: {said[-300:]}")


def corrupt(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> None:
    """Damage the files of a whole cache; every score must be computed again from sound vectors."""
    files = [path for path in (stage.folder / "cache").rglob("*") if path.is_file() and path.stat().st_size]
    for path in rng.sample(files, min(len(files), rng.choice((1, 2, 8)))):
        content = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 3, 50))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        damage = rng.randrange(4)
        changed = bytes(content[: rng.randrange(len(content))]) if damage == 0 else bytes(content)
        path.write_bytes(b"" if damage == 1 else bytes(len(content)) if damage == 2 else changed)
    shutil.rmtree(stage.folder / "results", ignore_errors=True)
    run = stage.begin(executor)
    said = ended(run, tally)
    if run.returncode != 0:
        tally.faults.append(f"ended with {run.returncode}: {said[-300:]}")
    if stage.results() != stage.expected:
        tally.faults.append("other results than without damage")


CAMPAIGNS: Final[dict[str, Callable[[Stage, str, random.Random, Tally], None]]] = {
    "interrupt": interrupt,
    "kill": kill,
    "full disk": starve,
    "corruption": corrupt,
}


def campaign(stage: Stage, name: str, executor: str, rounds: int, seed: int, tally: Tally) -> None:
    """Disturb so many runs, then let one finish; every fifth round begins with nothing done."""
    rng = random.Random(f"{name} {executor} {seed}")
    stage.forget()
    if name == "corruption":
        stage.finish(stage.begin("in-process"))
    while tally.rounds < rounds:
        stage.log.unlink(missing_ok=True)
        CAMPAIGNS[name](stage, executor, rng, tally)
        tally.rounds += 1
        tally.faults += [f"{path}: a wrong result" for path in stage.wrong_results()]
        if name != "corruption" and (tally.rounds % 5 == 0 or stage.results() == stage.expected):
            stage.forget()
    stage.finish(stage.begin(executor))
    if stage.results() != stage.expected:
        tally.faults.append("the last run's results are not those of an undisturbed one")
    left = [path.name for path in stage.temporary.iterdir() if path.name.startswith((".medsenteval", "medsenteval"))]
    scratch = [str(path) for part in ("cache", "results") for path in (stage.folder / part).rglob(".writing-*")]
    tally.faults += [f"left behind: {name}" for name in (*left, *scratch)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.running.disturbances", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="rounds of each campaign on each executor; default 30")
    parser.add_argument("--only", default="", help="campaigns whose name contains one of these, separated by commas")
    parser.add_argument("--executor", choices=EXECUTORS, help="one executor instead of all")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rows: list[list[Any]] = []
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="disturbances-") as folder:
        stage = Stage(Path(folder))
        for name in CAMPAIGNS:
            if not any(part in name for part in arguments.only.split(",")):
                continue
            for executor in EXECUTORS if arguments.executor is None else (arguments.executor,):
                tally = Tally()
                try:
                    campaign(stage, name, executor, arguments.rounds, arguments.seed, tally)
                except KeyboardInterrupt:  # the rounds so far are told, and the next campaign begins
                    tally.faults.append("stopped before its last, undisturbed run")
                took = f"{tally.slowest:.1f}"
                rows.append([name, executor, str(tally.rounds), str(tally.too_late), took, str(len(tally.faults))])
                faults += (new := [f"{name}, {executor}: {fault}" for fault in tally.faults])
                print("  ".join(rows[-1]), *new, sep="\n", file=sys.stderr, flush=True)
    header = ["Disturbance", "Executor", "Rounds", "Run was faster", "Slowest end, s", "Faults"]
    load = f"Load average of the machine: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores."
    print(text_table(header, rows, [False, False, *[True] * 4]), "", load, *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
