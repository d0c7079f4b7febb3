"""Scoring on workers: a whole task as one unit, or the outer folds of its nested cross-validation."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval import registry
from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.errors import UnknownNameError
from medsenteval.probes import fits_fold_by_fold
from medsenteval.probes.features import Features
from medsenteval.probes.fold_placement import folds_go_to
from medsenteval.running.executors.executor import Executor, as_rows
from medsenteval.running.executors.worker import opened
from medsenteval.settings import Settings

__all__ = ["score_on_workers"]

T = TypeVar("T")


def score_on_workers(
    task: Task,
    dataset: Dataset,
    embeddings: Embeddings,
    settings: Settings,
    executor: Executor,
    title: str,
    after_fit: Callable[[], object],
) -> Scores:
    """Score a task on workers.

    Scoring that cannot be sent (the user's own similarity, a task or data set that cannot be pickled) happens here; nothing but
    the place differs.
    """
    if task.uses_probe and task.protocol == "nested" and fits_fold_by_fold(settings):

        def spread(unit: Callable[..., T], features: Features, calls: Sequence[tuple[Any, ...]]) -> list[T]:
            matrix = executor.share(features.matrix)
            rest = (features.left, features.right, features.combination)
            results: dict[int, T] = {}
            work = [(f"{title}: outer fold {i}", (unit, matrix, rest, call)) for i, call in enumerate(calls)]
            try:
                for number, result in executor.run_all(fold_unit, work):
                    results[number] = result
                    after_fit()
            finally:
                executor.release(matrix)
            return [results[number] for number in range(len(calls))]

        with folds_go_to(spread):
            return task.evaluate(task, dataset, embeddings, settings)
    try:
        payload = pickle.dumps((_reference(task), dataset, embeddings.row_of, embeddings.second, settings), protocol=5)
    except Exception:  # pickling runs code of the objects, which may raise anything
        return task.evaluate(task, dataset, embeddings, settings)
    shared = executor.share(as_rows(payload)), executor.share(embeddings.matrix)
    try:
        return executor.run(f"{title}: scoring", score_unit, *shared)
    finally:
        for each in shared:
            executor.release(each)


def score_unit(payload: Any, matrix: Any) -> Scores:
    """Score one task in a worker."""
    task, dataset, row_of, second, settings = pickle.loads(opened(payload).tobytes())
    found: Task = registry.task(task) if isinstance(task, str) else task
    scored: Mapping[str, int] = row_of
    return found.evaluate(found, dataset, Embeddings(opened(matrix), scored, second=second), settings)


def fold_unit(
    unit: Callable[..., T],
    matrix: Any,
    rest: tuple[NDArray[np.intp], NDArray[np.intp] | None, str],
    call: tuple[Any, ...],
) -> T:
    """Fit and predict one outer fold in a worker."""
    return unit(Features(opened(matrix), *rest), *call)


def _reference(task: Task) -> str | Task:
    """Return the name of a task that workers know by it, else the task itself."""
    try:
        return task.name if registry.task(registry.canonical_task_name(task.name)) is task else task
    except UnknownNameError:
        return task
