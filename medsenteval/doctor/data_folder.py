"""Examining the data folder: which tasks can be run on it, and what is wrong with those that cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medsenteval.contracts import Task
from medsenteval.datasets.locate import load_dataset
from medsenteval.doctor.findings import Finding
from medsenteval.errors import DataMissingError, MedSentEvalError
from medsenteval.settings import Settings


def examine_data(tasks: Sequence[Task], root: Path) -> list[Finding]:
    """Read every task's data set and return what was found."""
    findings, absent = [Finding("data folder", "ok", str(root))], []
    for task in tasks:
        try:
            dataset = load_dataset(task, root, Settings())
        except DataMissingError:
            absent.append(task.name)
            continue
        except MedSentEvalError as error:
            findings.append(
                Finding(task.name, "problem", str(error), f"`medsenteval tasks {task.name}` says what it should be")
            )
            continue
        counts = ", ".join(f"{name} {len(split):,}" for name, split in dataset.splits.items())
        origin = "synthetic sample, " if dataset.synthetic else ""
        notes = "; ".join(dataset.notes)
        findings.append(Finding(task.name, "note" if notes else "ok", f"{origin}{counts}{': ' + notes if notes else ''}"))
    if absent:
        findings.append(
            Finding(
                "absent", "note", ", ".join(absent),
                "`medsenteval tasks NAME` says how to get the data; a run leaves these tasks out and says so",
            )
        )  # fmt: skip
    return findings
