"""What statistics return: an interval or the outcome of a test, with the numbers that it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """An estimate between two limits; ``method`` says how they were found, ``n`` on how many items."""

    estimate: float
    low: float
    high: float
    confidence: float
    method: str
    n: int


@dataclass(frozen=True)
class Significance:
    """The outcome of a two-sided test: its statistic, the p value and the number of items, tasks or encoders behind it."""

    test: str
    statistic: float
    p_value: float
    n: int
