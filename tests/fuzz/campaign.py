"""A campaign: mutated inputs for every reader, each watched for foreign exceptions, time and memory."""

from __future__ import annotations

import random
import re
import resource
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from medsenteval.contracts import Dataset
from medsenteval.errors import MedSentEvalError
from tests.fuzz.reader import Files, Reader

__all__ = ["LONGEST_SECONDS", "MOST_MEGABYTES", "Campaign", "Tally", "limit_memory"]

LONGEST_SECONDS: Final = 2.0
MOST_MEGABYTES: Final = 500
_LARGEST_CORPUS: Final = 400
_VARIABLE: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\d+|\S*/\S+")


class Hang(BaseException):
    """An input took too long; not an Exception, so that no reader can catch it."""


@dataclass
class Tally:
    """What became of a reader's inputs."""

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    seconds: float = 0.0
    kinds: int = 0
    defects: list[str] = field(default_factory=list)


def limit_memory() -> None:
    """Allow 500 MB more address space than there is now; what needs more gets a MemoryError, which is a defect."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    most = now + MOST_MEGABYTES * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def _watched(seconds: float) -> Iterator[None]:
    """Interrupt after so many seconds of processor time; the clock would blame a reader for a busy machine."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Campaign:
    """Mutates, reads and counts; an input with a new outcome joins the corpus from which further ones are made."""

    def __init__(self, readers: Sequence[Reader], seed: int, findings: Path | None = None) -> None:
        self.readers = readers
        self.findings = findings
        self.tallies = {reader.name: Tally() for reader in readers}
        self._rng = random.Random(seed)
        self._corpus: dict[str, list[Files]] = {reader.name: [dict(reader.files)] for reader in readers}
        self._seen: dict[str, set[str]] = {reader.name: set() for reader in readers}

    def run(self, inputs: int, report: Callable[[str], None] = lambda line: None, deadline: float | None = None) -> None:
        """Spread ``inputs`` over the readers by weight, in rounds, so that an early end still covers all of them.

        No new round begins after the ``deadline``, a value of time.perf_counter.
        """
        weights = sum(reader.weight for reader in self.readers)
        rounds = max(1, min(100, inputs // 2000))
        warnings.simplefilter("ignore")
        # Memory is cheap on a file system that is memory; elsewhere a disk does.
        base = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with tempfile.TemporaryDirectory(dir=base) as scratch:
            for turn in range(1, rounds + 1):
                if deadline is not None and time.perf_counter() > deadline:
                    break
                for reader in self.readers:
                    target = round(inputs * reader.weight / weights * turn / rounds)
                    folder = Path(scratch, re.sub(r"\W", "_", reader.name))
                    self._some(reader, max(1, target) - self.tallies[reader.name].inputs, folder)
                report(f"round {turn} of {rounds}: {sum(tally.inputs for tally in self.tallies.values()):,} inputs")

    def _some(self, reader: Reader, count: int, folder: Path) -> None:
        tally = self.tallies[reader.name]
        begun = time.perf_counter()
        for _ in range(count):
            corpus = self._corpus[reader.name]
            # Half of them from what is valid: of what is refused already, little more is read.
            files = dict(reader.files if self._rng.random() < 0.5 else self._rng.choice(corpus))
            name = self._rng.choice(list(files))
            others = [content for known in self._rng.sample(corpus, min(3, len(corpus))) for content in known.values()]
            files[name] = reader.mutate(files[name], self._rng, others)
            if self._rng.random() < 0.03:
                del files[name]
            if not files:
                continue
            tally.inputs += 1
            self._one(reader, files, folder, tally)
        tally.seconds += time.perf_counter() - begun

    def _one(self, reader: Reader, files: Files, folder: Path, tally: Tally) -> None:
        written = self._write(reader, files, folder)
        if written is None:
            return
        begun = time.process_time()
        try:
            with _watched(LONGEST_SECONDS):
                outcome = _describe(reader.read(folder))
        except MedSentEvalError as error:
            outcome = f"{type(error).__name__}: {error}"
        except (Exception, Hang) as error:
            outcome = f"DEFECT {type(error).__name__}: {error}"
            self._found(reader, written, error, tally)
        tally.slowest = max(tally.slowest, time.process_time() - begun)
        kind = outcome.partition(":")[0]
        tally.outcomes[kind] += 1
        template = _VARIABLE.sub("_", outcome)[:300]
        seen, corpus = self._seen[reader.name], self._corpus[reader.name]
        if template not in seen:
            seen.add(template)
            tally.kinds += 1
            if len(corpus) < _LARGEST_CORPUS:
                corpus.append(files)

    def _write(self, reader: Reader, files: Files, folder: Path) -> Files | None:
        """Write the files, packed if the reader wants them so; what cannot even be packed is no input."""
        try:
            packed = files if reader.wrap is None else reader.wrap(files)
        except (ValueError, KeyError, OSError, OverflowError, struct.error):
            return None
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in packed.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        folder.mkdir(parents=True, exist_ok=True)
        return packed

    def _found(self, reader: Reader, files: Files, error: BaseException, tally: Tally) -> None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        defect = f"{reader.name}: {type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:200]}"
        known = {each.rpartition(": ")[0] for each in tally.defects}
        if defect.rpartition(": ")[0] in known:
            return
        tally.defects.append(defect)
        if self.findings is not None:
            folder = self.findings / f"{re.sub(r'[^a-zA-Z0-9]', '_', reader.name)}-{len(tally.defects)}"
            for name, content in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)), "utf-8")


def _describe(result: Any) -> str:
    """Name what was read by its shape, so that a new shape counts as a new outcome."""
    if isinstance(result, Dataset):
        reasons = sorted({_VARIABLE.sub("_", row.reason) for row in result.rejected})
        notes = sorted({_VARIABLE.sub("_", note) for note in result.notes})
        return f"read: {list(result.splits)} {reasons} {notes}"
    return f"read: {type(result).__name__} {min(len(result), 5) if hasattr(result, '__len__') else ''}"
