"""Stored results as commands use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from medsenteval.cli.terminal import echo

if TYPE_CHECKING:
    from medsenteval.contracts import Result

__all__ = ["say_cautions", "settled"]


def settled(results: Sequence[Result]) -> list[Result]:
    """Return the newest result of each job, two encoders of one name under two, and say what was left out."""
    from medsenteval.running.job_results import one_for_each_job

    kept, notes = one_for_each_job(results)
    for note in notes:
        echo(f"Note: {note}.", err=True)
    return kept


def say_cautions(results: Sequence[Result]) -> None:
    """Name each score that is to be read with care, for tables whose cells have no place for its mark."""
    for result in results:
        for caution in result.cautions:
            echo(f"Caution: {result.task}, {result.encoder}: {caution}.")
