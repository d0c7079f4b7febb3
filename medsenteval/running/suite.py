"""Encoders times tasks into results: planned first, stored one by one, resumed where an earlier run stopped.

A job is one encoder on one task with one seed. A job whose result is stored is not run again; a task without data is
left out with the reason; a failing job is recorded and the rest goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from medsenteval import registry
from medsenteval.contracts import OWN_SIMILARITY, Dataset, Encoder, Result, Task
from medsenteval.datasets.locate import data_root, load_dataset
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import in_order, store_for, texts_in_roles
from medsenteval.encoders.endpoint_budget import TokenBudget
from medsenteval.engine import declared_training, evaluate_task, signature_of
from medsenteval.errors import BudgetError, DataMissingError, MedSentEvalError, SettingsError, caused_by
from medsenteval.running.executors import check_executor, open_executor, worker_count
from medsenteval.running.executors.executor import Executor
from medsenteval.running.executors.worker import ENVIRONMENT, RemoteWork
from medsenteval.running.plan import Plan, PlannedJob, estimate_job
from medsenteval.running.result_schema import Failure
from medsenteval.running.result_store import ResultStore, StoreError
from medsenteval.settings import Settings
from medsenteval.support.escaping import for_terminal
from medsenteval.support.interrupts import noticing_interrupts, raise_if_interrupted
from medsenteval.support.progress import Progress

_log: Final = logging.getLogger(__name__)
#: Seconds after which an interrupt is noticed at the latest.
_PATIENCE: Final = 0.5


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
        return for_terminal(f"{self.task.name}: {self.encoder.name}")

    @property
    def n_items(self) -> int:
        """How many items are scored: those of the test split, or all of them."""
        return len(self.dataset.splits.get("test", ())) or len(self.dataset)


@dataclass
class SuiteOutcome:
    """Results of a run, the reasons for tasks left out, and the errors of jobs that failed, by (encoder, task)."""

    results: list[Result] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[tuple[str, str], Exception] = field(default_factory=dict)
    reused: int = 0


#: What became of a job, and whether an earlier run made it.
_Done = tuple[Result | Exception, bool]


@dataclass
class Suite:
    """What to run and where things are kept; ``plan`` says what is left to do, ``run`` does it.

    ``encoders`` are specifications, which workers load too, or objects, which encode in this process. ``store`` None keeps
    results in memory only; ``cache`` None encodes every text anew. ``force`` runs stored jobs again, ``retry_failed`` those
    that failed before. ``executor`` says where work runs, see ``medsenteval.running.executors``; no score depends on it.
    ``budget`` bounds the tokens of all encoders that count them. ``announce`` receives a line for everything that happens,
    which is logged too. ``progress`` is that of ``Progress``.
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
    progress: bool | None = False
    budget: TokenBudget | None = None
    announce: Callable[[str], None] = lambda message: None

    @cached_property
    def _loaded(self) -> list[tuple[Encoder, str]]:
        loaded = [(registry.load_encoder(each), each) if isinstance(each, str) else (each, "") for each in self.encoders]
        if self.budget is not None:
            metered: list[Any] = [encoder for encoder, _ in loaded if hasattr(encoder, "token_budget")]
            if not metered:
                raise SettingsError("max_tokens is given, but no encoder of this run is an endpoint:, which counts tokens")
            for encoder in metered:
                encoder.token_budget.within = self.budget
        return loaded

    def plan(self, outcome: SuiteOutcome | None = None) -> list[Job]:
        """Read the data sets and look up every job; tasks that cannot be read are noted in ``outcome``."""
        outcome = outcome if outcome is not None else SuiteOutcome()
        if isinstance(self.executor, str):
            check_executor(self.executor)
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
                for encoder, spec in self._loaded:
                    signature = signature_of(task, dataset, encoder, settings)
                    job = Job(encoder, task, dataset, settings, signature, seconds_reading, None, spec)
                    jobs.append(replace(job, stored=self._stored(job)))
        return jobs

    def describe(self, jobs: Sequence[Job]) -> Plan:
        """Say what a run would do: jobs, results and vectors that are there, texts that are not, and how long it may take."""
        return Plan(tuple(map(self._planned, jobs)), worker_count(self.executor))

    def _planned(self, job: Job) -> PlannedJob:
        names = job.encoder.name, job.task.name, job.settings.seed
        if job.stored is not None:
            return PlannedJob(*names, "stored" if isinstance(job.stored, Result) else "failed before", job.n_items)
        n_texts = missing = 0
        for _, encoder, texts in texts_in_roles(job.task, job.dataset.for_encoder(job.encoder), job.encoder):
            n_texts += (n_distinct := len(order := in_order(texts)))
            if self.cache is not None and encoder.identity:
                n_distinct = len(store_for(self.cache, encoder, texts).find(order, check=False).missing)
            missing += n_distinct
        earlier = [] if self.store is None else self.store.latest_like(job.encoder.name, job.task.name)
        probe = job.settings.probe if job.task.uses_probe else "none"
        seconds = estimate_job(earlier, (job.encoder.name, job.encoder.identity), job.task.name, probe, n_texts, missing)
        return PlannedJob(*names, "to run", job.n_items, n_texts, missing, seconds)

    @noticing_interrupts()
    def run(self, outcome: SuiteOutcome | None = None) -> SuiteOutcome:
        """Run what is left to do and add it to ``outcome``; each result is stored as soon as it exists.

        What ``outcome`` holds of an earlier run, as of another point of a learning curve, is neither announced nor added again.
        An interrupt ends it with a KeyboardInterrupt that says what is kept.
        """
        outcome = outcome if outcome is not None else SuiteOutcome()
        for own in (task for task in self.tasks if task.own_data):
            self._say(logging.INFO, f"{own.name}: {own.own_data}; {own.family}, {own.protocol_under(self.settings)}")
        said = {*outcome.skipped, *outcome.failed}
        held = {(result.encoder, result.signature) for result in outcome.results}
        jobs = self.plan(outcome)
        for task, reason in outcome.skipped.items():
            if task not in said:
                self._say(logging.WARNING, f"{task}: skipped: {reason}")
        for place, error in outcome.failed.items():
            if place not in said:
                self._say(logging.ERROR, f"{place[1]}: failed: {error}")
        self._say(logging.INFO, str(self.describe(jobs)))
        for job, (made, reused) in zip(jobs, self._run_all(jobs), strict=True):
            if isinstance(made, Result):
                if (made.encoder, made.signature) not in held:
                    outcome.results.append(made)
                    outcome.reused += reused
            else:
                outcome.failed[job.encoder.name, job.task.name] = made
        return outcome

    def _say(self, level: int, message: str) -> None:
        _log.log(level, "%s", message)
        self.announce(message)

    def _run_all(self, jobs: Sequence[Job]) -> list[_Done]:
        done: dict[int, _Done] = {}
        # Encoder by encoder, so that a worker need not hold them all.
        place = {id(encoder): number for number, (encoder, _) in enumerate(self._loaded)}
        waiting = sorted(range(len(jobs)), key=lambda number: place[id(jobs[number].encoder)])
        # No worker is started where nothing is left for it.
        where = self.executor if any(job.stored is None for job in jobs) else "in-process"
        progress = Progress(len(jobs), self.progress)
        order, encoded, objects = tuple(waiting), [threading.Event() for _ in jobs], threading.Lock()

        @contextmanager
        def turn(number: int) -> Iterator[None]:
            """Let jobs of one encoder that run side by side encode in the order of the run.

            A text that two tasks share is then encoded in the batch of the first, as in one process, with the same last bits.
            Objects, which all encode in this process, take turns as well: they may share what is not safe for threads.
            """
            job = jobs[number]
            for earlier in order[: order.index(number)]:
                if jobs[earlier].encoder is job.encoder or not (jobs[earlier].spec or job.spec):
                    encoded[earlier].wait()
            # Jobs that another run was busy with have lost their place in the order.
            with nullcontext() if job.spec else objects:
                yield
            encoded[number].set()

        try:
            with open_executor(where) as executor:
                # A job that another run is busy with is left for the end, so that the two share the work.
                for wait in (False, True):

                    def run(number: int, wait: bool = wait) -> None:
                        try:
                            found = self._run(jobs[number], executor, progress, wait, turn(number))
                        finally:
                            encoded[number].set()
                        if found is not None:
                            done[number] = found
                            progress.job_done()

                    if executor is None:
                        for number in waiting:
                            run(number)
                    else:
                        self._side_by_side(run, waiting, executor.workers)
                    waiting = [number for number in waiting if number not in done]
        except (KeyboardInterrupt, BudgetError) as error:
            kept = "" if self.store is None else f" and stored in {self.store.folder}"
            why = f"{error}. " if isinstance(error, BudgetError) else ""
            raise type(error)(
                f"{why}{len(done)} of {len(jobs)} jobs are done{kept}; encoded texts are kept in the cache. "
                "The same command goes on from there"
            ) from error
        finally:
            progress.close()
        return [done[number] for number in range(len(jobs))]

    def _side_by_side(self, run: Callable[[int], None], numbers: Sequence[int], workers: int) -> None:
        """Run jobs in threads that wait for workers; one more than there are workers, so that none is ever out of work."""
        pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="job")
        try:
            for future in [pool.submit(run, number) for number in numbers]:
                # Awake now and then: an interrupt that reached another thread does not wake this one, which alone acts on it.
                while futures.wait([future], _PATIENCE).not_done:
                    pass
                future.result()
        finally:
            # On an interrupt the threads end as soon as the executor, which is closed next, fails their units.
            pool.shutdown(wait=False, cancel_futures=True)

    def _run(
        self, job: Job, executor: Executor | None, progress: Progress, wait: bool, turn: AbstractContextManager[None]
    ) -> _Done | None:
        """Do one job, or find it done; None means that another run has it and ``wait`` is False."""

        def announce(level: int, message: str) -> None:
            progress.write(partial(self._say, level), message)

        # What is stored needs no lock, and so no right to write.
        if job.stored is not None:
            return self._done_before(job, job.stored, announce)
        names = (job.encoder.name, job.task.name, job.signature)
        with nullcontext(True) if self.store is None else self.store.locked(*names, wait=wait) as held:
            if not held:
                return None
            # Looked up again inside the lock: another run may have done the job meanwhile.
            if (stored := self._stored(job)) is not None:
                return self._done_before(job, stored, announce)
            try:
                result = evaluate_task(
                    job.task,
                    job.dataset,
                    job.encoder,
                    job.settings,
                    cache=self.cache,
                    progress=progress,
                    seconds_reading=job.seconds_reading,
                    workers=None if executor is None else RemoteWork(executor, job.spec),
                    turn=turn,
                )
                raise_if_interrupted()
                if self.store is not None:
                    self.store.save(result)
                    if result.signature != job.signature:  # that of an encoder without an identity names its vectors, for one
                        self.store.forget_failure(*names)
            except (StoreError, BudgetError):
                raise  # nothing that follows could be stored, or encoded, either
            except Exception as error:
                raise_if_interrupted(error)
                # Whatever a model or a task raises concerns this job only.
                kind = type(error).__name__
                reason = str(error) if isinstance(error, MedSentEvalError) else f"{kind}: {error}"
                announce(logging.ERROR, f"{job.title}: failed: {reason}")
                # What the machine lacks says nothing of the encoder: a rerun tries again.
                if self.store is not None and not caused_by(error, ENVIRONMENT):
                    self.store.save(Failure(job.task.name, job.encoder.name, job.signature, reason, kind))
                return error, False
            tokens = result.performance.get("tokens")
            used = "" if tokens is None else f", {int(tokens):,} tokens"
            announce(logging.INFO, f"{job.title}: done in {sum(result.timings.values()):.1f} s{used}")
            return result, False

    def _done_before(self, job: Job, stored: Result | Failure, announce: Callable[[int, str], None]) -> _Done:
        """Return what an earlier run made of a job."""
        if isinstance(stored, Failure):
            announce(logging.WARNING, f"{job.title}: failed before ({stored.error}); --retry-failed tries it again")
            return MedSentEvalError(stored.error), False
        declared = declared_training(job.encoder, job.task)
        if declared != stored.trained_on and self.store is not None:  # declared since: no score depends on it
            stored = replace(stored, input={**stored.input, "trained_on": declared})
            self.store.save(stored)
        return stored, True

    def _stored(self, job: Job) -> Result | Failure | None:
        # Two encoders without an identity, or two own similarities, cannot be told apart, so nothing stored can be trusted.
        unknown = not job.encoder.identity or job.task.protocol_under(job.settings) == OWN_SIMILARITY
        if self.store is None or self.force or unknown:
            return None
        found = self.store.find(job.encoder.name, job.task.name, job.signature)
        return None if isinstance(found, Failure) and self.retry_failed else found
