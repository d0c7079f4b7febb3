"""Encoders times tasks into results: a task without data is skipped, a failing one recorded, and the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medsenteval import registry
from medsenteval.contracts import Encoder, Task
from medsenteval.datasets import data_root, load_dataset
from medsenteval.encoders.adapt import as_encoder
from medsenteval.engine import evaluate_task
from medsenteval.errors import DataMissingError, MedSentEvalError
from medsenteval.results import Result, save_result
from medsenteval.settings import Settings

__all__ = ["SuiteOutcome", "evaluate", "run_suite"]


@dataclass
class SuiteOutcome:
    """Results by (encoder, task), the reasons for tasks left out, and the errors of tasks that failed."""

    results: list[Result] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[tuple[str, str], MedSentEvalError] = field(default_factory=dict)


def run_suite(
    encoders: Iterable[Encoder],
    tasks: Iterable[Task],
    *,
    data: str | Path | None = None,
    settings: Settings | None = None,
    output: Path | None = None,
    progress: bool = False,
    announce: Callable[[str], None] = lambda message: None,
) -> SuiteOutcome:
    """Run every task for every encoder; each result is stored under ``output`` as soon as it exists."""
    settings = settings or Settings()
    root = data_root(data)
    outcome = SuiteOutcome()
    encoders = list(encoders)
    for task in tasks:
        started = time.perf_counter()
        try:
            dataset = load_dataset(task, root, settings)
        except DataMissingError as error:
            outcome.skipped[task.name] = str(error)
            announce(f"{task.name}: skipped: {error}")
            continue
        except MedSentEvalError as error:
            outcome.failed["", task.name] = error
            announce(f"{task.name}: failed: {error}")
            continue
        seconds_reading = time.perf_counter() - started
        for encoder in encoders:
            try:
                result = evaluate_task(task, dataset, encoder, settings, progress=progress, seconds_reading=seconds_reading)
            except MedSentEvalError as error:
                outcome.failed[encoder.name, task.name] = error
                announce(f"{task.name}: {encoder.name}: failed: {error}")
                continue
            outcome.results.append(result)
            if output is not None:
                save_result(output, result)
            announce(f"{task.name}: {encoder.name}: done in {sum(result.timings.values()):.1f} s")
    return outcome


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
    progress: bool = False,
) -> Results:
    """Evaluate anything that can encode and return a Result for each task.

    ``encoder`` is a specification ("lexical", "vectors:glove.txt"), a function from texts to rows, an object with ``.encode``,
    word vectors (a dict or gensim KeyedVectors), or SentEval's (batcher, prepare). ``data`` is the data folder; without it and
    without MEDSENTEVAL_DATA the bundled synthetic sample is used. Tasks without data are listed in ``.skipped``. The first
    error is raised after the other tasks have run, with the finished ones in its attribute ``results``.
    """
    outcome = run_suite(
        [as_encoder(encoder, name)],
        registry.select_tasks(tasks),
        data=data,
        settings=settings,
        output=None if output is None else Path(output),
        progress=progress,
    )
    results = Results(outcome)
    for error in outcome.failed.values():
        error.results = results  # type: ignore[attr-defined]
        raise error
    if not results:
        raise DataMissingError("; ".join(outcome.skipped.values()))
    return results
