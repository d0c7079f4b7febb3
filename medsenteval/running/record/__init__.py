"""The record: results of reference encoders on the open data sets, shipped with the toolkit as one bundle.

It was made by ``python -m benchmarks.reference_record``. It holds ids and answers, never texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from medsenteval.contracts import Result
from medsenteval.running.job_identity import comparability
from medsenteval.running.result_bundle import read_bundle

RECORD: Final = Path(__file__).parent / "reference.results.zip"


@cache
def _record() -> tuple[Result, ...]:
    return tuple(read_bundle(RECORD))


def reference_results(beside: Sequence[Result] = ()) -> list[Result]:
    """Return the record's results, or of these what compares with the results given: same task, protocol and data.

    What is among the results given is left out.
    """
    if not beside:
        return list(_record())
    wanted = set(map(_compared_by, beside))
    present = {(_compared_by(result), result.encoder_identity) for result in beside}
    found = [stored for stored in _record() if _compared_by(stored) in wanted]
    return [stored for stored in found if (_compared_by(stored), stored.encoder_identity) not in present]


def _compared_by(result: Result) -> tuple[str, int]:
    return comparability(result), result.seed


def differences_to_the_record(beside: Sequence[Result]) -> list[str]:
    """Say what differs where the record has a task, but not on the same data and under the same protocol."""
    comparable = set(map(_compared_by, _record()))
    first = {stored.task: stored for stored in reversed(_record())}
    found = {}
    for result in beside:
        if result.task in first and _compared_by(result) not in comparable:
            own, other = (each.signature.partition("|encoder=")[0].split("|") for each in (result, first[result.task]))
            here, there = (" ".join(part for part in a if part not in b) or "-" for a, b in ((own, other), (other, own)))
            found[result.task] = f"{result.task}: {here} here, {there} there"
    return list(found.values())


def note_on_the_record(results: Sequence[Result]) -> tuple[str, ...]:
    """Say which encoders' results come from the record, none if none do."""
    stored = set(map(id, _record()))
    names = dict.fromkeys(result.encoder for result in results if id(result) in stored)
    return (f"from the record that ships with the toolkit: {', '.join(names)}",) if names else ()
