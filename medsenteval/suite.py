"""Encoders times tasks into results: planned first, stored one by one, resumed where an earlier run stopped.

A job is one encoder on one task with one seed. A job whose result is stored is not run again; a task without data is
left out with the reason; a failing job is recorded and the rest goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
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
from medsenteval.estimate import estimate_job
from medsenteval.executors import Executor, check_executor, open_executor, worker_count
from medsenteval.plan import Plan, PlannedJob
from medsenteval.progress import Progress
from medsenteval.results import Result, signature_of
from medsenteval.settings import Settings
from medsenteval.store import Failure, ResultStore

__all__ = ["Job", "Results", "Suite", "SuiteOutcome", "evaluate"]


@dataclass(frozen=True, eq=False)
class Job:
    """One encoder on one task with one seed, and what an earlier run left of it; ``spec`` is how workers load the encoder."""

    encoder: Encoder
    task: Task
    dataset: Dataset
    settings: Settings
    signature: str
    seconds_reading: float
    stored: Result | Failure | None
    spec: str = ""

    @property
    def title(self) -> str:
        return f"{self.task.name}: {self.encoder.name}"


@dataclass
class SuiteOutcome:
    """Results of a run, the reasons for tasks left out, and the errors of jobs that failed, by (encoder, task)."""

    results: list[Result] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[tuple[str, str], Exception] = field(default_factory=dict)
    reused: int = 0


@dataclass(frozen=True)
class _Done:
    """What became of one job."""

    outcome: Result | Exception
    reused: bool = False


@dataclass
class Suite:
    """What to run and where things are kept; ``plan`` says what is left to do, ``run`` does it.

    ``encoders`` are specifications or objects; workers load the former and get the latter pickled. ``store`` None keeps
    results in memory only; ``cache`` None encodes every text anew. ``force`` runs stored jobs again, ``retry_failed`` those
    that failed before. ``executor`` says where work runs, see ``medsenteval.executors``; no score depends on it.
    ``announce`` receives a line for everything that happens.
    """

    encoders: Sequence[Encoder | str]
    tasks: Sequence[Task]
    settings: Settings = field(default_factory=Settings)
    seeds: Sequence[int] = ()
    data: str | Path | None = None
    store: ResultStore | None = None
    cache: EmbeddingCache | None = None
    force: bool = False
    retry_failed: bool = False
    executor: str | Executor = "in-process"
    progress: bool = False
    announce: Callable[[str], None] = lambda message: None

    @cached_property
    def _loaded(self) -> list[tuple[Encoder, str]]:
        return [(registry.load_encoder(each), each) if isinstance(each, str) else (each, "") for each in self.encoders]

    def plan(self, outcome: SuiteOutcome | None = None) -> list[Job]:
        """Read the data sets and look up every job; tasks that cannot be read are noted in ``outcome``."""
        outcome = outcome if outcome is not None else SuiteOutcome()
        if isinstance(self.executor, str):
            check_executor(self.executor)
        root = data_root(self.data)
        loaded = self._loaded
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
                for encoder, spec in loaded:
                    signature = signature_of(task, dataset, encoder, settings)
                    stored = self._stored(encoder, task, signature)
                    jobs.append(Job(encoder, task, dataset, settings, signature, seconds_reading, stored, spec))
        return jobs

    def describe(self, jobs: Sequence[Job]) -> Plan:
        """Say what a run would do: jobs, results and vectors that are there, texts that are not, and how long it may take."""
        return Plan(tuple(map(self._planned, jobs)), worker_count(self.executor))

    def _planned(self, job: Job) -> PlannedJob:
        names = (job.encoder.name, job.task.name, job.settings.seed)
        if job.stored is not None:
            return PlannedJob(*names, "stored" if isinstance(job.stored, Result) else "failed before")
        texts = list(job.dataset.for_encoder(job.encoder).all_texts())
        order = TextOrder.of(texts)
        missing = len(order.texts)
        if self.cache is not None and job.encoder.identity:
            entry = entry_for(self.cache, job.encoder, texts, order)
            missing = sum(len(order.block(block)) for block in entry.unrecorded_blocks())
        earlier = [] if self.store is None else self.store.latest_like(job.encoder.name, job.task.name)
        probe = job.settings.probe if job.task.uses_probe else "none"
        identity, name = job.encoder.identity, job.encoder.name
        estimate = estimate_job(earlier, identity, name, job.task.name, probe, len(order.texts), missing)
        return PlannedJob(*names, "to run", len(order.texts), missing, estimate)

    def run(self) -> SuiteOutcome:
        """Run what is left to do; each result is stored as soon as it exists."""
        outcome = SuiteOutcome()
        jobs = self.plan(outcome)
        for task, reason in outcome.skipped.items():
            self.announce(f"{task}: skipped: {reason}")
        for (_, task), error in outcome.failed.items():
            self.announce(f"{task}: failed: {error}")
        self.announce(str(self.describe(jobs)))
        for job, done in zip(jobs, self._run_all(jobs), strict=True):
            if isinstance(done.outcome, Result):
                outcome.results.append(done.outcome)
                outcome.reused += done.reused
            else:
                outcome.failed[job.encoder.name, job.task.name] = done.outcome
        return outcome

    def _run_all(self, jobs: Sequence[Job]) -> list[_Done]:
        done: dict[int, _Done] = {}
        # Encoder by encoder, so that a worker need not hold them all.
        place = {id(encoder): number for number, (encoder, _) in enumerate(self._loaded)}
        waiting = sorted(range(len(jobs)), key=lambda number: place[id(jobs[number].encoder)])
        # No worker is started where nothing is left for it.
        where = self.executor if any(job.stored is None for job in jobs) else "in-process"
        progress = Progress(len(jobs), self.progress)
        try:
            with open_executor(where) as executor:
                # A job that another run is busy with is left for the end, so that the two share the work.
                for wait in (False, True):

                    def run(number: int, wait: bool = wait) -> None:
                        found = self._run(jobs[number], executor, progress, wait)
                        if found is not None:
                            done[number] = found
                            progress.job_done()

                    if executor is None:
                        for number in waiting:
                            run(number)
                    else:
                        self._side_by_side(run, waiting, executor.workers)
                    waiting = [number for number in waiting if number not in done]
        finally:
            progress.close()
        return [done[number] for number in range(len(jobs))]

    def _side_by_side(self, run: Callable[[int], None], numbers: Sequence[int], workers: int) -> None:
        """Run jobs in threads that wait for workers; one more than there are workers, so that none is ever out of work."""
        pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="job")
        try:
            for future in [pool.submit(run, number) for number in numbers]:
                future.result()
        finally:
            # On an interrupt the threads end as soon as the executor, which is closed next, fails their units.
            pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, job: Job, executor: Executor | None, progress: Progress, wait: bool) -> _Done | None:
        """Do one job, or find it done; None means that another run has it and ``wait`` is False."""

        def announce(message: str) -> None:
            progress.write(self.announce, message)

        names = (job.encoder.name, job.task.name, job.signature)
        with nullcontext(True) if self.store is None else self.store.locked(*names, wait=wait) as held:
            if not held:
                return None
            # Looked up again inside the lock: another run may have done the job meanwhile.
            stored = self._stored(job.encoder, job.task, job.signature)
            if isinstance(stored, Result):
                return _Done(stored, reused=True)
            if isinstance(stored, Failure):
                announce(f"{job.title}: failed before ({stored.error}); --retry-failed tries it again")
                return _Done(MedSentEvalError(stored.error))
            try:
                result = evaluate_task(
                    job.task,
                    job.dataset,
                    job.encoder,
                    job.settings,
                    cache=self.cache,
                    progress=progress,
                    seconds_reading=job.seconds_reading,
                    executor=executor,
                    spec=job.spec,
                )
            except Exception as error:
                # Whatever a model or a task raises concerns this job only.
                kind = type(error).__name__
                reason = str(error) if isinstance(error, MedSentEvalError) else f"{kind}: {error}"
                announce(f"{job.title}: failed: {reason}")
                if self.store is not None:
                    self.store.save(Failure(job.task.name, job.encoder.name, job.signature, reason, kind))
                return _Done(error)
            if self.store is not None:
                self.store.save(result)
            announce(f"{job.title}: done in {sum(result.timings.values()):.1f} s")
            return _Done(result)

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

        return "\n".join([detail_table(list(self.values())), *(f"Left out: {reason}" for reason in self.skipped.values())])


def evaluate(
    encoder: Any,
    tasks: str | Iterable[str | Task] = "sentence",
    data: str | Path | None = None,
    settings: Settings | None = None,
    *,
    output: str | Path | None = None,
    name: str = "",
    identity: str = "",
    cache: bool = True,
    progress: bool = False,
    executor: str | Executor = "in-process",
) -> Results:
    """Evaluate anything that can encode and return a Result for each task.

    ``encoder`` is a specification ("lexical", "vectors:glove.txt"), a function from texts to rows, an object with ``.encode``,
    word vectors (a dict or gensim KeyedVectors), or SentEval's (batcher, prepare). ``tasks`` are names of tasks or groups, or
    Task objects of your own. ``data`` is the data folder; without it and without MEDSENTEVAL_DATA the bundled synthetic sample
    is used. Vectors of encoders that have an identity are cached;
    ``identity`` gives one to a function or object that has none, and must change whenever its vectors could. ``executor`` says
    where work runs: "in-process", "processes:4", "dask:4" or "dask://HOST:PORT"; a script that starts processes must do so
    under ``if __name__ == "__main__":``. Tasks without data are listed in ``.skipped``. The first error is raised after the
    other tasks have run, with the finished ones in its attribute ``results``.
    """
    suite = Suite(
        [encoder if isinstance(encoder, str) else as_encoder(encoder, name, identity)],
        registry.select_tasks(tasks),
        settings or Settings(),
        data=data,
        store=None if output is None else ResultStore(Path(output)),
        cache=EmbeddingCache() if cache else None,
        force=True,
        executor=executor,
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
