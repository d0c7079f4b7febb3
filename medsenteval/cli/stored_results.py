"""Stored results as commands use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from medsenteval.cli.terminal import echo

if TYPE_CHECKING:
    from medsenteval.contracts import Result

__all__ = ["settled"]


def settled(results: Sequence[Result]) -> list[Result]:
    """Return the newest result of each job, two encoders of one name under two, and say what was left out."""
    from medsenteval.running.job_results import one_for_each_job

    kept, notes = one_for_each_job(results)
    for note in notes:
        echo(f"Note: {note}.", err=True)
    return kept
