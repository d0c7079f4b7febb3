"""Scores that are not there, and why."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval import registry
from medsenteval.contracts import Result
from medsenteval.registry import TASK_GROUPS
from medsenteval.report.privacy import public_error, texts_may_be_shown
from medsenteval.running.result_schema import Failure


def missing_scores(
    results: Sequence[Result], encoders: Sequence[str], failures: Sequence[Failure], include_restricted: bool
) -> list[tuple[str, tuple[str, ...], str]]:
    """List failed jobs, tasks that only some encoders have, and tasks of the same groups that none has.

    Each is a task, the encoders that have no score of it (all, where none is named), and the reason.
    """
    have = {(result.encoder, result.task) for result in results}
    tasks = list(dict.fromkeys(result.task for result in results))
    missing: list[tuple[str, tuple[str, ...], str]] = []
    failed = [failure for failure in failures if (failure.encoder, failure.task) not in have]
    for failure in failed:
        error = public_error(failure, texts_may_be_shown(failure.task, include_restricted))
        missing.append((failure.task, (failure.encoder,), f"failed: {error}"))
    told = have | {(failure.encoder, failure.task) for failure in failed}
    for task in tasks:
        without = tuple(name for name in encoders if (name, task) not in told)
        missing += [(task, without, "no result stored: not run")] if without else []
    mentioned = {task for _, task in told}
    why = "no result stored: not run, or its data was absent. To get it:"
    for table in TASK_GROUPS.values():
        if any(task in table for task in tasks):
            absent = [registry.task(name) for name in table if name not in mentioned]
            missing += [(each.name, (), f"{why} {each.obtain}") for each in absent]
    return missing
