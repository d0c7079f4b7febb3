"""``python -m tests.running.disturbances --rounds 30``: interrupt, kill, starve and corrupt runs, and print the outcome.

Every round disturbs one run at a random moment between its plan and its end, and looks at what it leaves; the next round goes
on from there. Each campaign ends with an undisturbed run, whose results must be those of a run that nobody disturbed. Runs are
short, but there are hundreds, so this is no part of the test command, which does a few rounds of the same. Only the time that
an interrupted run takes to end depends on how busy the machine is.
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
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medsenteval.support.text_table import text_table
from tests.running.test_crashes import SUITE, World, wait_until

EXECUTORS: Final = ("in-process", "processes:2")
#: Seconds after which an interrupted run counts as hanging, and those after which any run is given up.
PATIENCE: Final = 5.0
GIVEN_UP: Final = 120.0
N_TEXTS: Final = 1536
#: Faults, by the column of the table that counts them.
KINDS: Final = ("swallowed", "hung", "lost", "wrong", "left behind", "bad end")


@dataclass
class Tally:
    """What became of the rounds of one campaign; ``faults``, by kind, must be none."""

    rounds: int = 0
    too_late: int = 0
    slowest: float = 0.0
    faults: list[tuple[str, str]] = field(default_factory=list)

    def fault(self, kind: str, what: str) -> None:
        assert kind in KINDS
        self.faults.append((kind, f"round {self.rounds + 1}: {what}"))
        print(*self.faults[-1], sep=": ", file=sys.stderr, flush=True)

    def count(self, kind: str) -> str:
        return str(sum(each == kind for each, _ in self.faults))


class Run:
    """A run in a process group of its own, started as a terminal does, whatever this process does with interrupts."""

    def __init__(self, stage: Stage, executor: str, output: str = "results", largest_file: int | None = None) -> None:
        def prepare() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        arguments = ["run", "suite.toml", "--allow-code", "--allow-incomplete", "--probe", "exact", "-x", executor]
        # What an encoder writes down is not what fills the disk.
        environment = stage.environment | ({} if largest_file is None else {"ENCODER_LOG": os.devnull})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "medsenteval", *arguments, "-o", str(stage.folder / output)],
            cwd=stage.folder,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line)

    @property
    def said(self) -> str:
        return "".join(self._lines)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def code(self) -> int | None:
        return self.process.returncode

    def planned(self) -> None:
        """Wait until the run has said what it will do; from here on, work is begun."""
        wait_until(lambda: self._lines or not self.alive, seconds=GIVEN_UP)

    def ended(self, tally: Tally) -> float:
        """Wait for the end of the run and of all processes that it started; return the seconds that this took."""
        begun = time.monotonic()
        try:
            wait_until(lambda: not self.alive and not lives(self.process.pid), seconds=GIVEN_UP)
        except AssertionError:
            tally.fault("hung", f"{'the run' if self.alive else 'its workers'} did not end within {GIVEN_UP:.0f} s")
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        seconds = time.monotonic() - begun
        self._listener.join(GIVEN_UP)
        if "Traceback" in self.said:
            tally.fault("bad end", f"a traceback: {self.said[-600:]}")
        return seconds


def lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class Stage(World):
    """A world of short runs that knows what a finished run leaves, and how long one works on each executor."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, N_TEXTS, SUITE.replace("batch_size = 512", "batch_size = 64"))
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.spans: dict[str, float] = {}
        self.work("in-process", "undisturbed")  # numba may have to compile
        self.expected = self.results("undisturbed")
        assert len(self.expected) == 6

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "TMPDIR": str(self.temporary)}

    def work(self, executor: str, output: str = "results") -> None:
        """Let a run finish."""
        tally, run = Tally(), Run(self, executor, output)
        run.planned()
        self.spans[executor] = run.ended(tally)
        assert run.code == 0, run.said
        assert not tally.faults, tally.faults

    def left_behind(self) -> list[str]:
        """Return the scratch files that are there."""
        scratch = [path for part in ("cache", "results") for path in (self.folder / part).rglob(".writing-*")]
        return [path.name for path in (*scratch, *self.temporary.glob(".medsenteval-*"))]


def disturb(stage: Stage, executor: str, rng: random.Random, tally: Tally, how: Callable[[Run], None]) -> Run | None:
    """Do something to a run at a random moment; return the run, or None if it was faster."""
    stage.log.unlink(missing_ok=True)
    kept = stage.recorded()
    run = Run(stage, executor)
    run.planned()
    time.sleep(rng.uniform(0, stage.spans[executor]))
    sent = time.time()
    if run.alive:
        how(run)
    seconds = run.ended(tally)
    stored = [path.stat().st_mtime for path in (stage.folder / "results").rglob("*.json")]
    # Behind its last line Python itself is ended by the signal.
    if run.code in (0, -signal.SIGINT) and len(stored) == len(stage.expected) and max(stored) < sent + 0.5:
        tally.too_late += 1
        return None
    tally.slowest = max(tally.slowest, seconds)
    if again := set(stage.encoded()) & kept:
        tally.fault("lost", f"{len(again)} stored texts were encoded again")
    return run


def interrupt(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> bool:
    """Ctrl-C to the whole group, as a terminal sends it, to the first process alone, or to a run that was held.

    After a stop and a continue, as by a batch system, any thread may be handed the signal, while Python acts on it in one only.
    """

    def send(run: Run) -> None:
        group = run.process.pid
        if tally.rounds % 4 == 3:
            os.killpg(group, signal.SIGSTOP)
        (os.killpg if tally.rounds % 2 else os.kill)(group, signal.SIGINT)
        os.killpg(group, signal.SIGCONT)

    slowest, tally.slowest = tally.slowest, 0.0
    run = disturb(stage, executor, rng, tally, send)
    took, tally.slowest = tally.slowest, max(slowest, tally.slowest)
    if run is None:
        return False
    if took > PATIENCE:
        tally.fault("hung", f"took {took:.1f} s to end")
    if run.code == 0:
        tally.fault("swallowed", f"went on: {run.said[-300:]}")
    elif run.code != 130 or "Interrupted: " not in run.said or "goes on" not in run.said:
        tally.fault("bad end", f"ended with {run.code}: {run.said[-600:]}")
    return True


def kill(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> bool:
    """SIGKILL to the first process alone: its workers must end by themselves."""
    return disturb(stage, executor, rng, tally, lambda run: run.process.kill()) is not None


def starve(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> bool:
    """No file may grow beyond a random size: vectors, records, results and scratch files fail to be written."""
    largest = rng.choice((rng.randrange(2_000), rng.randrange(8_000), rng.randrange(60_000)))
    run = Run(stage, executor, largest_file=largest)
    tally.slowest = max(tally.slowest, run.ended(tally))
    if run.code == 0:
        tally.too_late += 1
        return False
    if run.code != 2 or ("cannot be written" not in run.said and "Errno" not in run.said):
        tally.fault("bad end", f"with files of {largest} bytes ended with {run.code}: {run.said[-600:]}")
    for name in stage.left_behind():
        tally.fault("left behind", f"with files of {largest} bytes: {name}")
    return True


def corrupt(stage: Stage, executor: str, rng: random.Random, tally: Tally) -> bool:
    """Damage the files of a whole cache; every score must be computed again from sound vectors."""
    files = [path for path in (stage.folder / "cache").rglob("*") if path.is_file() and path.stat().st_size]
    for path in rng.sample(sorted(files), min(len(files), rng.choice((1, 2, 8)))):
        content = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 3, 50))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        damage = rng.randrange(4)
        changed = bytes(content[: rng.randrange(len(content))]) if damage == 0 else bytes(content)
        path.write_bytes(b"" if damage == 1 else bytes(len(content)) if damage == 2 else changed)
    shutil.rmtree(stage.folder / "results", ignore_errors=True)
    run = Run(stage, executor)
    tally.slowest = max(tally.slowest, run.ended(tally))
    if run.code != 0:
        tally.fault("bad end", f"ended with {run.code}: {run.said[-600:]}")
    if absent := set(stage.expected) - set(stage.results()):
        tally.fault("lost", f"no results {sorted(absent)}")
    return True


CAMPAIGNS: Final[dict[str, Callable[[Stage, str, random.Random, Tally], bool]]] = {
    "interrupt": interrupt,
    "kill": kill,
    "full disk": starve,
    "corruption": corrupt,
}


def campaign(stage: Stage, name: str, executor: str, rounds: int, seed: int, tally: Tally) -> None:
    """Disturb so many runs, then let one finish; every fifth round begins with nothing done."""
    rng = random.Random(f"{name} {executor} {seed}")
    stage.forget()
    stage.work(executor)
    if name != "corruption":
        stage.forget()
    while tally.rounds < rounds:
        stored = set(stage.results())
        hit = CAMPAIGNS[name](stage, executor, rng, tally)
        found = stage.results()
        for path, result in found.items():
            if result != stage.expected.get(path):
                tally.fault("wrong", path)
        if name != "corruption" and (missing := stored - set(found)):
            tally.fault("lost", f"no longer there: {sorted(missing)}")
        tally.rounds += hit
        print(f"{name}, {executor}: {tally.rounds} of {rounds}, {len(tally.faults)} faults", file=sys.stderr, flush=True)
        if name != "corruption" and (tally.rounds % 5 == 0 or found == stage.expected):
            stage.forget()
        assert tally.too_late <= 3 * rounds, "runs end before they can be disturbed"
    stage.work(executor)
    if stage.results() != stage.expected:
        tally.fault("lost", "the last run's results are not those of an undisturbed one")
    for left in stage.left_behind():
        tally.fault("left behind", f"after the last run: {left}")


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
                tally, begun = Tally(), time.monotonic()
                try:
                    campaign(stage, name, executor, arguments.rounds, arguments.seed, tally)
                except KeyboardInterrupt:  # the rounds so far are told, and the next campaign begins
                    tally.fault("bad end", "stopped before its last, undisturbed run")
                took = time.monotonic() - begun
                counts = [tally.rounds, tally.too_late, *map(tally.count, KINDS), f"{tally.slowest:.1f}", f"{took:.0f}"]
                rows.append([name, executor, *map(str, counts)])
                faults += [f"{name}, {executor}: {kind}: {fault}" for kind, fault in tally.faults]
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    kinds = [kind.capitalize() for kind in KINDS]
    header = ["Disturbance", "Executor", "Rounds", "Too late", *kinds, "Slowest end, s", "In all, s"]
    load = f"Load average of the machine: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores."
    print(text_table(header, rows, [False, False, *[True] * (len(header) - 2)]), "", load, *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
