"""What of a data set may stand on a page that is shared: texts of restricted data sets stay where they are."""

from __future__ import annotations

import re

from medsenteval import registry
from medsenteval.errors import UnknownNameError
from medsenteval.running.result_schema import Failure


def access_of(task: str) -> str:
    """Return how a task's data is had: "open", "credentialed", ...; "unknown" for a task that is not registered here."""
    try:
        return registry.task(registry.canonical_task_name(task)).access
    except UnknownNameError:
        return "unknown"


def texts_may_be_shown(task: str, include_restricted: bool) -> bool:
    """Say whether items of a task may be quoted; whatever is not known to be open is restricted."""
    return include_restricted or access_of(task) == "open"


def public_note(note: str, may_be_shown: bool) -> str:
    """Return a note without what it quotes: the first of rejected rows, ids of empty texts and of contradictory rows."""
    if may_be_shown:
        return note
    return re.sub(r"(; the first|(?<= kept in )(\w+)): .*| \(first: [^;]*\)", r"\2", note, flags=re.DOTALL)


def public_error(failure: Failure, may_be_shown: bool) -> str:
    """Return why a job failed; a message can quote a row of data, so that of a restricted data set is kept back."""
    return failure.error if may_be_shown else f"{failure.kind}; its message may quote restricted data and is left out"
