"""What a run is going to do and how long that may take, said before it does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from medsenteval.contracts import Result


def estimate_job(
    earlier: Sequence[Result], encoder: tuple[str, str], task: str, probe: str, n_texts: int, n_missing: int
) -> float | None:
    """Estimate the seconds that a job of ``n_texts`` takes, of which ``n_missing`` are not encoded; None if nothing tells.

    ``encoder`` is its name and identity. Encoding goes by the same encoder's texts per second on any task, fitting by the
    same task with the same probe, in proportion to its texts; the same encoder's own fits count before those of others, whose
    vectors may be longer.
    """
    own = [each for each in earlier if (each.encoder, each.encoder_identity) == encoder]
    encoded = sum(result.performance.get("texts_encoded", 0) for result in own)
    seconds = sum(result.timings.get("encode", 0.0) for result in own if result.performance.get("texts_encoded"))
    fitted = [result for result in earlier if result.task == task and result.probe == probe and result.performance.get("texts")]
    alike = [result for result in fitted if result in own] or fitted
    fits = [result.timings.get("fit", 0.0) * n_texts / result.performance["texts"] for result in alike]
    if not fits or (n_missing and not (encoded and seconds)):
        return None
    return median(fits) + (n_missing * seconds / encoded if n_missing else 0.0)


def in_words(seconds: float) -> str:
    """Say a time as a person would plan with it."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"


@dataclass(frozen=True)
class PlannedJob:
    """One job: "stored", "failed before" or "to run"; ``seconds`` is None where no earlier result tells.

    ``n_items`` are scored, ``n_texts`` are distinct, ``n_missing`` of these are not encoded yet.
    """

    encoder: str
    task: str
    seed: int
    state: str
    n_items: int
    n_texts: int = 0
    n_missing: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Plan:
    """All jobs of a suite; printed as one line, or as a table with a line for each."""

    jobs: tuple[PlannedJob, ...]
    workers: int = 1

    def __str__(self) -> str:
        states = [job.state for job in self.jobs]
        stored, failed, left = (states.count(state) for state in ("stored", "failed before", "to run"))
        summary = f"{len(states)} job(s): {stored} stored, {failed} failed before, {left} to run"
        if not left:
            return summary
        texts, missing = sum(job.n_texts for job in self.jobs), sum(job.n_missing for job in self.jobs)
        return f"{summary}; {missing:,} of {texts:,} texts to encode; estimated time: {self.time}"

    @property
    def time(self) -> str:
        """The time for everything, with how many jobs nothing is known of."""
        known = [job.seconds for job in self.jobs if job.state == "to run"]
        guessed = [seconds for seconds in known if seconds is not None]
        if not guessed:
            return "unknown" if known else in_words(0.0)
        total = in_words(sum(guessed) / self.workers)
        unknown = len(known) - len(guessed)
        return f"{total}, and unknown for {unknown} job(s)" if unknown else total

    def table(self, shows: Mapping[str, str] | None = None) -> str:
        """Return a line for each job, and the summary below; ``shows`` is the smallest difference that each task could show."""
        from medsenteval.support.text_table import text_table, without_empty

        rows = []
        for job in self.jobs:
            counts = ["", ""] if job.state != "to run" else [f"{job.n_texts:,}", f"{job.n_missing:,}"]
            time = "" if job.state != "to run" else "unknown" if job.seconds is None else in_words(job.seconds)
            items = [f"{job.n_items:,}", (shows or {}).get(job.task, "-")]
            rows.append([job.encoder, job.task, str(job.seed), *items, job.state, *counts, time])
        header = ["Encoder", "Task", "Seed", "Items", "Shows", "State", "Texts", "To encode", "Time"]
        right = [False, False, True, True, True, False, True, True, True]
        header, rows, right = without_empty("Shows", header, rows, right)
        said = "Shows: the smallest difference between two encoders that the items would show in four of five experiments.\n"
        return f"{text_table(header, rows, right)}\n{said if 'Shows' in header else ''}\n{self}"
