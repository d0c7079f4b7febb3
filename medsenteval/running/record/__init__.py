"""The record: results of reference encoders on the open data sets, shipped with the toolkit as one bundle.

It was made by ``python -m benchmarks.reference_record``. It holds ids and answers, never texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from medsenteval.contracts import Result
from medsenteval.running.job_results import comparability
from medsenteval.running.result_bundle import read_bundle

__all__ = ["RECORD", "reference_results"]

RECORD: Final = Path(__file__).parent / "reference.results.zip"


@cache
def _record() -> tuple[Result, ...]:
    return tuple(read_bundle(RECORD))


def reference_results(beside: Sequence[Result] = ()) -> list[Result]:
    """Return the record's results, or of these what compares with the results given: same task, protocol and data.

    An encoder that is among the results given is left out.
    """
    if not beside:
        return list(_record())
    wanted = {(comparability(result), result.seed) for result in beside}
    present = {result.encoder_identity for result in beside}
    return [
        result
        for result in _record()
        if (comparability(result), result.seed) in wanted and result.encoder_identity not in present
    ]
