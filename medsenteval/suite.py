"""Encoders times tasks into results: planned first, stored one by one, resumed where an earlier run stopped.

A job is one encoder on one task with one seed. A job whose result is stored is not run again; a task without data is
left out with the reason; a failing job is recorded and the rest goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medsenteval import registry
from medsenteval.cache import EmbeddingCache
from medsenteval.contracts import Dataset, Encoder, Task
from medsenteval.datasets import data_root, load_dataset
from medsenteval.embedding import TextOrder, entry_for
from medsenteval.encoders.adapt import as_encoder
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataMissingError, MedSentEvalError
from medsenteval.results import Result, signature_of
from medsenteval.settings import Settings
from medsenteval.store import Failure, ResultStore

__all__ = ["Job", "Results", "Suite", "SuiteOutcome", "evaluate"]


@dataclass(frozen=True, eq=False)
class Job:
    """One encoder on one task with one seed, and what an earlier run left of it."""

    encoder: Encoder
    task: Task
    dataset: Dataset
    settings: Settings
    signature: str
    seconds_reading: float
    stored: Result | Failure | None

    @property
    def title(self) -> str:
        return f"{self.task.name}: {self.encoder.name}"


@dataclass
class SuiteOutcome:
    """Results of a run, the reasons for tasks left out, and the errors of jobs that failed, by (encoder, task)."""

    results: list[Result] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[tuple[str, str], MedSentEvalError] = field(default_factory=dict)
    reused: int = 0


@dataclass
class Suite:
    """What to run and where things are kept; ``plan`` says what is left to do, ``run`` does it.

    ``store`` None keeps results in memory only; ``cache`` None encodes every text anew. ``force`` runs stored jobs again,
    ``retry_failed`` those that failed before. ``announce`` receives a line for everything that happens.
    """

    encoders: Sequence[Encoder]
    tasks: Sequence[Task]
    settings: Settings = field(default_factory=Settings)
    seeds: Sequence[int] = ()
    data: str | Path | None = None
    store: ResultStore | None = None
    cache: EmbeddingCache | None = None
    force: bool = False
    retry_failed: bool = False
    progress: bool = False
    announce: Callable[[str], None] = lambda message: None

    def plan(self, outcome: SuiteOutcome | None = None) -> list[Job]:
        """Read the data sets and look up every job; tasks that cannot be read are noted in ``outcome``."""
        outcome = outcome if outcome is not None else SuiteOutcome()
        root = data_root(self.data)
        jobs = []
        for task in self.tasks:
            for seed in self.seeds or (self.settings.seed,):
                settings = self.settings.with_changes(seed=seed)
                started = time.perf_counter()
                try:
                    dataset = load_dataset(task, root, settings)
                except DataMissingError as error:
                    outcome.skipped[task.name] = str(error)
                    break
                except MedSentEvalError as error:
                    outcome.failed["", task.name] = error
                    break
                seconds_reading = time.perf_counter() - started
                for encoder in self.encoders:
                    signature = signature_of(task, dataset, encoder, settings)
                    stored = self._stored(encoder, task, signature)
                    jobs.append(Job(encoder, task, dataset, settings, signature, seconds_reading, stored))
        return jobs

    def describe(self, jobs: Sequence[Job]) -> str:
        """Say in one line what a run would do: jobs, results and vectors that are there, texts that are not."""
        done = sum(isinstance(job.stored, Result) for job in jobs)
        failed = sum(isinstance(job.stored, Failure) for job in jobs)
        texts, cached = 0, 0
        for job in jobs:
            if job.stored is None:
                order = TextOrder.of(job.dataset.all_texts())
                texts += len(order.texts)
                if self.cache is not None and job.encoder.identity:
                    entry = entry_for(self.cache, job.encoder, list(job.dataset.all_texts()))
                    missing = sum(len(order.block(block)) for block in entry.missing_blocks())
                    cached += len(order.texts) - missing
        plan = f"{len(jobs)} job(s): {done} stored, {failed} failed before, {len(jobs) - done - failed} to run"
        return f"{plan}; {texts - cached:,} of {texts:,} texts to encode" if texts else plan

    def run(self) -> SuiteOutcome:
        """Run what is left to do; each result is stored as soon as it exists."""
        outcome = SuiteOutcome()
        jobs = self.plan(outcome)
        for task, reason in outcome.skipped.items():
            self.announce(f"{task}: skipped: {reason}")
        for (_, task), error in outcome.failed.items():
            self.announce(f"{task}: failed: {error}")
        self.announce(self.describe(jobs))
        for job in jobs:
            self._run(job, outcome)
        return outcome

    def _run(self, job: Job, outcome: SuiteOutcome) -> None:
        lock = nullcontext() if self.store is None else self.store.locked(job.encoder.name, job.task.name, job.signature)
        with lock:
            # Looked up again inside the lock: another run may have done the job meanwhile.
            stored = self._stored(job.encoder, job.task, job.signature)
            if isinstance(stored, Result):
                outcome.results.append(stored)
                outcome.reused += 1
                return
            if isinstance(stored, Failure):
                self.announce(f"{job.title}: failed before ({stored.error}); --retry-failed tries it again")
                outcome.failed[job.encoder.name, job.task.name] = MedSentEvalError(stored.error)
                return
            try:
                result = evaluate_task(
                    job.task,
                    job.dataset,
                    job.encoder,
                    job.settings,
                    cache=self.cache,
                    progress=self.progress,
                    seconds_reading=job.seconds_reading,
                )
            except MedSentEvalError as error:
                outcome.failed[job.encoder.name, job.task.name] = error
                self.announce(f"{job.title}: failed: {error}")
                if self.store is not None:
                    kind = type(error).__name__
                    self.store.save(Failure(job.task.name, job.encoder.name, job.signature, str(error), kind))
                return
            outcome.results.append(result)
            if self.store is not None:
                self.store.save(result)
            self.announce(f"{job.title}: done in {sum(result.timings.values()):.1f} s")

    def _stored(self, encoder: Encoder, task: Task, signature: str) -> Result | Failure | None:
        # Without an identity two encoders of one name cannot be told apart, so nothing stored can be trusted.
        if self.store is None or self.force or not encoder.identity:
            return None
        found = self.store.find(encoder.name, task.name, signature)
        return None if isinstance(found, Failure) and self.retry_failed else found


class Results(dict[str, Result]):
    """Results by task name, printed as a table; ``skipped`` says why a task is missing."""

    def __init__(self, outcome: SuiteOutcome) -> None:
        super().__init__({result.task: result for result in outcome.results})
        self.skipped = outcome.skipped

    def __str__(self) -> str:
        from medsenteval.report.table import detail_table

        return detail_table(list(self.values()))


def evaluate(
    encoder: Any,
    tasks: str | Iterable[str] = "sentence",
    data: str | Path | None = None,
    settings: Settings | None = None,
    *,
    output: str | Path | None = None,
    name: str = "",
    identity: str = "",
    cache: bool = True,
    progress: bool = False,
) -> Results:
    """Evaluate anything that can encode and return a Result for each task.

    ``encoder`` is a specification ("lexical", "vectors:glove.txt"), a function from texts to rows, an object with ``.encode``,
    word vectors (a dict or gensim KeyedVectors), or SentEval's (batcher, prepare). ``data`` is the data folder; without it and
    without MEDSENTEVAL_DATA the bundled synthetic sample is used. Vectors of encoders that have an identity are cached;
    ``identity`` gives one to a function or object that has none, and must change whenever its vectors could. Tasks without
    data are listed in ``.skipped``. The first error is raised after the other tasks have run, with the finished ones
    in its attribute ``results``.
    """
    suite = Suite(
        [as_encoder(encoder, name, identity)],
        registry.select_tasks(tasks),
        settings or Settings(),
        data=data,
        store=None if output is None else ResultStore(Path(output)),
        cache=EmbeddingCache() if cache else None,
        force=True,
        progress=progress,
    )
    outcome = suite.run()
    results = Results(outcome)
    for error in outcome.failed.values():
        error.results = results  # type: ignore[attr-defined]
        raise error
    if not results:
        raise DataMissingError("; ".join(outcome.skipped.values()))
    return results
